"""Options of reads and writes, and the refusal of streams."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql.types import DateType, LongType, StructType

from pyspark_versioned.option_names import check_spelling
from pyspark_versioned.options import parse_options
from pyspark_versioned.source import VersionedDataSource
from versioned_catalog import Catalog, InvalidRequestError

TYPOS = {
    "verionAsOf": "versionAsOf",
    "version-as-of": "versionAsOf",
    "timestamp_as_of": "timestampAsOf",
    "timestamp": "timestampAsOf",
    "mergeShema": "mergeSchema",
    "merge-schema": "mergeSchema",
    "overwrite_schema": "overwriteSchema",
    "distribution-mode": "distributionMode",
    "partionBy": "partitionBy",
    "primary_key": "primaryKey",
    "pushdwon": "pushdown",
}

OTHERS = [
    # Spark's own options, for files, JDBC and tables
    *("path", "paths", "header", "mode", "compression", "inferSchema", "enforceSchema"),
    *("pathGlobFilter", "timeZone", "timestampFormat", "timestampNTZFormat", "dateFormat", "multiLine"),
    *("columnNameOfCorruptRecord", "partitionColumn", "numPartitions", "pushDownLimit"),
    *("partitionOverwriteMode", "maxRecordsPerFile", "spark.sql.shuffle.partitions"),
    *("checkpointLocation", "recursiveFileLookup", "pushDownPredicate", "numRows", "dbtable", "url"),
    "__required_write_privileges__",
    # options of Iceberg and Delta
    *("snapshot-id", "as-of-timestamp", "branch", "split-size", "fanout-enabled", "overwrite-mode"),
    *("write-format", "check-nullability", "target-file-size-bytes", "snapshot-property.team"),
    *("isolation-level", "compression-codec", "validate-from-snapshot-id", "stream-from-timestamp"),
    *("replaceWhere", "userMetadata", "txnAppId", "txnVersion", "dataChange", "optimizeWrite"),
    *("startingVersion", "endingTimestamp", "readChangeFeed", "schemaLocation", "targetAlias"),
    # a user's own option
    *("team", "storage.key", "warehouse"),
]  # fmt: skip


@pytest.mark.parametrize(("option", "meant"), TYPOS.items())
@pytest.mark.parametrize("case", [str, str.lower])
def test_a_misspelled_option_is_refused(option: str, meant: str, case: type[str]) -> None:
    """Spark passes some options on in lower case."""
    text = f"^versioned.n.t: the option {case(option)} is unknown; did you mean {meant}\\?$"
    with pytest.raises(InvalidRequestError, match=text) as caught:
        check_spelling(["header", case(option)], "versioned.n.t")
    assert caught.value.condition == "VERSIONED_INVALID_OPTION"


def test_options_of_others_and_valid_options_are_accepted() -> None:
    check_spelling(OTHERS, "t")
    check_spelling([*TYPOS.values(), *(one.upper() for one in TYPOS.values()), "io"], "t")


def test_the_data_source_accepts_all_of_its_options() -> None:
    with pytest.raises(
        InvalidRequestError, match=r"(?i)verionAsOf is unknown; did you mean versionAsOf"
    ):
        parse_options({"path": "x", "verionAsOf": "3"})
    with pytest.raises(InvalidRequestError, match=r"header is unknown\. The options are path, "):
        parse_options({"path": "x", "header": "true"})


def test_a_stream_by_python_alone_creates_its_table_once(tmp_path: Path) -> None:
    given = {"path": str(tmp_path / "t"), "checkpointLocation": "c", "partitionBy": "day"}
    rows = StructType().add("id", LongType(), nullable=False).add("day", DateType())
    for _ in range(2):
        VersionedDataSource(given).streamWriter(rows, overwrite=False)
    table = Catalog.load_path(tmp_path / "t")
    assert (table.version, table.partitioning) == (0, ["day"])
    assert [column.nullable for column in table.schema.columns] == [True, True]
