"""Options of reads and writes: one list, for every path."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import DateType, IntegerType, LongType, StringType, StructType

from pyspark_versioned.option_names import ANY_USE, OPTIONS, Option, Use, accepted
from pyspark_versioned.options import parse_options
from pyspark_versioned.source import VersionedDataSource
from pyspark_versioned.stream_options import stream_settings, wanted_changes
from versioned_catalog import Catalog, InvalidRequestError, NotFoundError, Table
from versioned_catalog.read.filters import Intersects

PAGE = Path(__file__).parents[1] / "docs" / "options.md"

TYPOS = {
    "verionAsOf": "versionAsOf",
    "version-as-of": "versionAsOf",
    "timestamp_as_of": "timestampAsOf",
    "timestamp": "timestampAsOf",
    "pushdwon": "pushdown",
}
TYPOS_OF_WRITES = {
    "mergeShema": "mergeSchema",
    "overwrite_schema": "overwriteSchema",
    "replace_where": "replaceWhere",
    "distributionmode_": "distributionMode",
    "partionOverwriteMode": "partitionOverwriteMode",
}

DELTA = """
    replaceOn replaceUsing targetAlias replaceWhere mergeSchema excludeRegex overwriteSchema userMetadata
    useNullIntolerantEqualityWithDPO partitionOverwriteMode maxFilesPerTrigger maxBytesPerTrigger
    ignoreFileDeletion ignoreChanges ignoreDeletes skipChangeCommits failOnDataLoss optimizeWrite
    dataChange startingTimestamp startingVersion endingVersion endingTimestamp readChangeFeed
    readChangeData compression maxRecordsPerFile txnAppId txnVersion schemaTrackingLocation
    schemaLocation
    streamingSourceTrackingId allowSourceColumnDrop allowSourceColumnRename allowSourceColumnTypeChange
    withEventTimeOrder queryName checkpointLocation path versionAsOf timestampAsOf writePartitionColumns
"""
"""Options of Delta 4, from its documentation and its class DeltaOptions."""

ICEBERG = """
    snapshot-id as-of-timestamp branch tag split-size lookback file-open-cost vectorization-enabled
    batch-size locality start-snapshot-id end-snapshot-id start-timestamp end-timestamp
    stream-from-timestamp streaming-max-files-per-micro-batch streaming-max-rows-per-micro-batch
    streaming-skip-delete-snapshots streaming-skip-overwrite-snapshots aggregate-push-down-enabled
    write-format target-file-size-bytes delete-format target-delete-file-size-bytes check-nullability
    snapshot-property.team fanout-enabled check-ordering isolation-level validate-from-snapshot-id
    compression-codec compression-level compression-strategy distribution-mode delete-granularity
    use-table-distribution-and-ordering merge-schema mergeSchema output-spec-id overwrite-mode
    advisory-partition-size rewritten-file-scan-task-set-id
"""
"""Options of Iceberg 1.10, from its documentation and its SparkReadOptions and SparkWriteOptions."""

SPARK = """
    path pathGlobFilter recursiveFileLookup modifiedBefore modifiedAfter ignoreCorruptFiles
    ignoreMissingFiles mergeSchema datetimeRebaseMode int96RebaseMode compression partitionOverwriteMode
    maxRecordsPerFile basePath inferSchema checkpointLocation queryName maxFilesPerTrigger
    maxBytesPerTrigger latestFirst fileNameOnly maxFileAge cleanSource sourceArchiveDir maxCachedFiles
    versionAsOf timestampAsOf startingVersion endingVersion startingTimestamp endingTimestamp
    startingBoundInclusive endingBoundInclusive computeUpdates deduplicationMode
"""
"""Spark's options of tables, of Parquet files, and of streams of files."""


def of_name(option: str, use: Use) -> dict[str, str]:
    return accepted({option: "1"}, [use], "versioned.n.t", named=True)


@pytest.mark.parametrize(
    ("option", "meant", "use"),
    [
        *((option, meant, Use.READ) for option, meant in TYPOS.items()),
        *((option, meant, Use.WRITE) for option, meant in TYPOS_OF_WRITES.items()),
    ],
)
@pytest.mark.parametrize("case", [str, str.lower])
def test_a_misspelled_option_is_refused(option: str, meant: str, use: Use, case: type[str]) -> None:
    """Spark passes some options on in lower case."""
    text = f"^versioned.n.t: the option {case(option)} is unknown; did you mean {meant}\\?$"
    with pytest.raises(InvalidRequestError, match=text) as caught:
        of_name(case(option), use)
    assert caught.value.condition == "VERSIONED_INVALID_OPTION"


@pytest.mark.parametrize("option", ["header", "team", "spark.sql.shuffle.partitions"])
def test_an_option_that_nobody_knows_is_refused_with_those_that_there_are(option: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"{option} is unknown. The options are version"):
        of_name(option, Use.READ)
    with pytest.raises(InvalidRequestError, match=f"{option} is unknown. The options are path, "):
        parse_options({"path": "x", option: "true"})


def test_every_option_that_others_document_is_listed() -> None:
    known = {one.name.lower().rstrip("*") for one in OPTIONS}
    for text in (DELTA, ICEBERG, SPARK):
        asked = {name.lower() for name in text.split()}
        assert not {name for name in asked if name not in known and "snapshot-prop" not in name}


def test_an_option_is_honoured_or_names_what_to_use() -> None:
    """In every use, by path and by name, in any case."""
    for option in OPTIONS:
        key = option.name.replace("*", "x").upper()
        for use in Use:
            for named in (False, True):
                value = option.values[0] if option.values else "1"
                if use in option.uses(named=named):
                    found = accepted({key: value}, [use], "t", named=named)
                    assert [one.lower() for one in found] == [(option.same_as or key).lower()]
                    continue
                where = "by table name" if named else "by path"
                shown = key if option.name.endswith("*") else option.name
                text = (
                    re.escape(f"t: the option {shown} is not supported in ")
                    + f".* {where}; .{{10}}"
                )
                with pytest.raises(InvalidRequestError, match=text):
                    accepted({key: value}, [use], "t", named=named)


def test_other_names_of_options() -> None:
    both = [Use.WRITE]
    given = {
        "txnAppId": "job",
        "TXNVERSION": "3",
        "overwrite-mode": "DYNAMIC",
        "merge-schema": "true",
    }
    assert accepted(given, both, named=True) == {
        "application": "job",
        "batch": "3",
        "partitionOverwriteMode": "dynamic",
        "mergeSchema": "true",
    }
    assert accepted({"Tag": "Release"}, [Use.READ], named=False) == {"versionAsOf": "Release"}
    at = accepted({"as-of-timestamp": "1767225600123"}, [Use.READ], named=True)
    assert at == {"timestampAsOf": "2026-01-01T00:00:00.123000+00:00"}
    for wrong, text in (
        (
            {"txnAppId": "a", "application": "b"},
            "txnAppId and application are the same option; give only one",
        ),
        ({"partitionOverwriteMode": "some"}, "'some'; it must be static or dynamic"),
    ):
        with pytest.raises(InvalidRequestError, match=text):
            accepted(wrong, both, named=True)
    with pytest.raises(InvalidRequestError, match="it must be a number of milliseconds"):
        accepted({"as-of-timestamp": "2026-01-01"}, [Use.READ], named=True)


def test_an_option_that_nothing_honours_is_the_first_to_be_refused() -> None:
    """Its error says what to use; the other options then have a meaning."""
    for given in (("startingVersion", "readChangeFeed"), ("readChangeFeed", "startingVersion")):
        with pytest.raises(InvalidRequestError, match="readChangeFeed is not supported"):
            accepted(dict.fromkeys(given, "1"), [Use.READ], named=True)


def test_what_spark_adds_to_options_is_kept() -> None:
    own = {"__required_write_privileges__": "INSERT"}
    assert accepted(own, [Use.READ], named=True) == own


def shown(option: Option) -> str:
    """An option's line in the documentation."""
    cells = [f"`{option.name}`", " ".join(WHO[one] for one in option.of)]
    cells += [
        ", ".join(one.value for one in Use if one in uses) or "—"
        for uses in (option.path, option.named)
    ]
    refused = option.instead.removesuffix("; leave it out")
    same = f"another name of `{option.same_as}`" if option.same_as else ""
    does = "; ".join(
        text for text in (same, option.does if option.does != "the same" else "") if text
    )
    complete = option.path == option.named == ANY_USE
    cells += [does or "—", "—" if complete else refused]
    return "| " + " | ".join(cells) + " |"


WHO = {"V": "Versioned", "S": "Spark", "D": "Delta", "I": "Iceberg"}


def test_the_documentation_shows_every_option() -> None:
    """To update the page, replace the lines of a section by those of ``shown``."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for topic in dict.fromkeys(option.topic for option in OPTIONS):
        start = lines.index(f"## {topic}")
        rows = [line for line in lines[start:] if line.startswith(("| `", "## "))]
        end = next((i for i, line in enumerate(rows[1:], 1) if line.startswith("## ")), len(rows))
        assert rows[1:end] == [shown(one) for one in OPTIONS if one.topic == topic]


def test_every_honoured_option_has_a_type() -> None:
    assert [o.name for o in OPTIONS if bool(o.type) != bool(o.path | o.named)] == []
    assert [o.name for o in OPTIONS if o.values and not all(v in o.type for v in o.values)] == []


def test_a_box_is_a_column_and_four_numbers() -> None:
    box = parse_options({"path": "/t", "BOX": " `a:b`.g : -1.5, 2,1e3 ,Infinity"}).box
    assert box == Intersects(("a:b", "g"), (-1.5, 2.0, 1000.0, math.inf))
    for text in ("1,2,3,4", "g:1,2,3", "g:1,2,3,x", ":1,2,3,4", "g"):
        with pytest.raises(InvalidRequestError, match="must be a column and four numbers"):
            parse_options({"path": "/t", "box": text})


def meaning(options: dict[str, str]) -> tuple[object, ...]:
    """What options mean to reads, writes, streams and changes."""
    parsed = parse_options({"path": "/t"} | options)
    changes = wanted_changes({"readChanges": "true"} | dict(parsed.stream), "t")
    settings = stream_settings(parsed.stream, None, "t")
    return (replace(parsed, stream={}), settings, changes)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("onOverflow", "null"),
        ("overwriteSchema", "true"),
        ("partialUpdate", "true"),
        ("onRewrite", "skip"),
        ("onDrop", "fail"),
        ("schemaMode", "stop"),
        ("computeUpdates", "true"),
        ("deduplicationMode", "none"),
    ],
)
def test_an_option_without_a_value_has_the_stated_default(name: str, other: str) -> None:
    (default,) = (o.default for o in OPTIONS if o.name == name)
    assert default is not None
    assert meaning({name: default}) == meaning({})
    assert meaning({name: other}) != meaning({})


# Overwrites by path

COLUMNS = StructType().add("id", IntegerType()).add("day", DateType()).add("s", StringType())
ARROW = pa.schema([("id", pa.int32()), ("day", pa.date32()), ("s", pa.string())])
DAYS = 20454  # 2026-01-01
OLD = [(1, 0, "a"), (2, 0, "a"), (3, 1, "a"), (4, 2, "a")]


def batch(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    """Rows of an ID, a number of days after 2026-01-01 (or None), and a text."""
    days = [None if day is None else DAYS + day for _, day, _ in rows]
    return pa.RecordBatch.from_arrays(
        [
            pa.array([one[0] for one in rows], pa.int32()),
            pa.array(days, pa.int32()).cast(pa.date32()),
            pa.array([one[2] for one in rows], pa.string()),
        ],
        schema=ARROW,
    )


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = Catalog.create_path(tmp_path / "t", "id INT, day DATE, s STRING", partitioned_by=["day"])
    made.append(batch(OLD))
    return made


def overwrite(
    table: Table, rows: list[tuple[Any, ...]], mode: bool = True, **options: str
) -> list[int]:
    """The IDs of the table after a write."""
    source = VersionedDataSource({"path": table.location, **options})
    writer = source.writer(COLUMNS, mode)
    writer.commit([writer.write(iter([batch(rows)]))])
    ids: list[int] = table.refresh().scan(["id"]).to_arrow().column("id").to_pylist()
    return sorted(ids)


def test_an_overwrite_replaces_the_partitions_that_it_writes(table: Table) -> None:
    rows = [(10, 0, "b")]
    assert overwrite(table, rows, partitionOverwriteMode="Dynamic") == [3, 4, 10]
    assert overwrite(table, [(11, 1, "b")], sessionOverwriteMode="dynamic") == [4, 10, 11]
    assert overwrite(
        table, [(12, 2, "b")], sessionOverwriteMode="dynamic", **{"overwrite-mode": "static"}
    ) == [12]
    again = {"txnAppId": "job", "txnVersion": "7", "partitionOverwriteMode": "dynamic"}
    assert overwrite(table, [(13, 0, "b")], **again) == [12, 13]
    assert overwrite(table, [(14, 2, "b")], **again) == [12, 13], "the batch is done"


def test_an_overwrite_without_partitions_replaces_all_rows(tmp_path: Path) -> None:
    """As Spark's own INSERT OVERWRITE; also where no row is written."""
    table = Catalog.create_path(tmp_path / "t", "id INT, day DATE, s STRING")
    table.append(batch(OLD))
    assert overwrite(table, [], partitionOverwriteMode="dynamic") == []


@pytest.mark.parametrize(
    ("condition", "rows", "expected"),
    [
        ("day = '2026-01-01'", [(10, 0, "b")], [3, 4, 10]),
        ("day = '2026-01-01'", [], [3, 4]),
        ("day >= DATE '2026-01-02' AND id < 4", [(2, 5, "b")], [1, 2, 2, 4]),
        ("id IN (1, 3)", [(3, 9, "b")], [2, 3, 4]),
    ],
)
def test_an_overwrite_replaces_the_rows_that_match(
    table: Table, condition: str, rows: list[tuple[Any, ...]], expected: list[int]
) -> None:
    assert overwrite(table, rows, replaceWhere=condition) == expected


@pytest.mark.parametrize("rows", [[(10, 1, "b")], [(10, 0, "b"), (11, None, "b")]])
def test_rows_that_do_not_match_the_condition_are_refused(table: Table, rows: Any) -> None:
    text = r"does not match replaceWhere \(day = '2026-01-01'\).*nothing was changed"
    with pytest.raises(InvalidRequestError, match=text):
        overwrite(table, rows, replaceWhere="day = '2026-01-01'")
    assert table.refresh().version == 1


def test_a_new_table_has_rows_that_match_only(tmp_path: Path) -> None:
    given = {"path": str(tmp_path / "new"), "replaceWhere": "id > 5"}
    writer = VersionedDataSource(given).writer(COLUMNS, True)
    with pytest.raises(InvalidRequestError, match="does not match replaceWhere"):
        writer.write(iter([batch([(3, 0, "b")])]))
    writer.commit([writer.write(iter([batch([(6, 0, "b")])]))])
    assert Catalog.load_path(tmp_path / "new").count() == 1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"replaceWhere": "_segment = 'a'"}, "a row to write has no _segment yet"),
        ({"replaceWhere": "id = 1", "partitionOverwriteMode": "dynamic"}, "do not go together"),
        ({"overwriteSchema": "true", "partitionOverwriteMode": "dynamic"}, "do not go together"),
        ({"overwriteSchema": "true", "sessionOverwriteMode": "dynamic"}, "do not go together"),
        (
            {"overwriteSchema": "true", "schemaVersion": "0"},
            "does not go with schemaVersion; leave",
        ),
        ({"overwriteSchema": "true", "onOverflow": "null"}, "does not go with onOverflow; leave"),
        ({"mergeSchema": "1"}, "mergeSchema is '1'; it must be true or false"),
        (
            {"partitionBy": "s"},
            "is partitioned by day, not by s; leave out partitionBy or bucketBy",
        ),
        (
            {"replaceWhere": "id = 1", "txnAppId": "a", "txnVersion": "1"},
            "do not go with replaceWhere",
        ),
        ({"replaceWhere": "year(day) = 2026"}, "a comparison with a constant"),
        ({"replaceWhere": "nope = 1"}, "nope"),
        ({"replaceUsing": "id"}, "replaceUsing is not supported in .*; use MERGE INTO"),
        ({"userMetadata": "x"}, "userMetadata is not supported.*set_tag"),
        ({"maxRecordsPerFile": "10"}, "target_segment_bytes"),
        ({"startingVersion": "1"}, "startingVersion is not supported in writes by path"),
        ({"checkpointLocation": "c"}, "checkpointLocation is not supported in writes by path"),
    ],
)
def test_an_overwrite_that_asks_for_what_it_can_not_have_is_refused(
    table: Table, options: dict[str, str], text: str
) -> None:
    with pytest.raises((InvalidRequestError, NotFoundError), match=text):
        overwrite(table, [(1, 0, "a")], **options)
    assert table.refresh().version == 1


@pytest.mark.parametrize("name", ["replaceWhere", "partitionOverwriteMode", "overwriteSchema"])
def test_options_of_overwrites_go_with_mode_overwrite(table: Table, name: str) -> None:
    value = {"replaceWhere": "id = 1", "overwriteSchema": "true"}.get(name, "dynamic")
    with pytest.raises(InvalidRequestError, match=f"{name} goes with mode overwrite"):
        overwrite(table, [(1, 0, "a")], mode=False, **{name: value})


def test_a_condition_on_a_timestamp_depends_on_the_session(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "id INT, at TIMESTAMP")
    source = VersionedDataSource({"path": table.location, "replaceWhere": "at > '2026-01-01'"})
    with pytest.raises(InvalidRequestError, match=r"time zone.*write by table name"):
        source.writer(StructType().add("id", IntegerType()), True)


def test_options_of_streams_are_refused_in_batches(table: Table) -> None:
    for given, text in (
        ({"startingVersion": "0"}, "startingVersion is an option of streams"),
        ({"onRewrite": "skip"}, "onRewrite is not supported in reads by path"),
        ({"maxRowsPerTrigger": "5"}, "maxRowsPerTrigger is not supported in reads by path"),
        ({"mergeSchema": "true"}, "mergeSchema is not supported in reads by path"),
    ):
        with pytest.raises(InvalidRequestError, match=text):
            VersionedDataSource({"path": table.location, **given}).reader(COLUMNS)


def test_a_stream_by_python_alone_creates_its_table_once(tmp_path: Path) -> None:
    given = {"path": str(tmp_path / "t"), "checkpointLocation": "c", "partitionBy": "day"}
    rows = StructType().add("id", LongType(), nullable=False).add("day", DateType())
    for _ in range(2):
        VersionedDataSource(given).streamWriter(rows, overwrite=False)
    table = Catalog.load_path(tmp_path / "t")
    assert (table.version, table.partitioning) == (0, ["day"])
    assert [column.nullable for column in table.schema.columns] == [True, True]


@pytest.mark.parametrize("name", ["segments", "microBatch", "changes", "compact", "tableName"])
def test_what_the_jar_reads_is_no_option(name: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"the option {name} is unknown"):
        parse_options({"path": "/t", name: "{}"})


@pytest.mark.parametrize("path", ["versioned.t", "versioned.db.t", "versioned.a.b.t"])
def test_the_name_of_a_table_in_a_catalog_is_no_folder(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the folder is there, is written as one, or has a warehouse."""
    monkeypatch.chdir(tmp_path)
    name = path.removeprefix("versioned.")
    with pytest.raises(InvalidRequestError) as refused:
        VersionedDataSource({"path": path})
    assert refused.value.condition == "VERSIONED_INVALID_OPTION"
    assert f'option("warehouse", W) and {name}; or write ./{path}' in str(refused.value)
    assert not list(tmp_path.iterdir())
    for plain in (f"./{path}", f"{tmp_path}/{path}", f"{path}/", "other.db.t", "versioned"):
        VersionedDataSource({"path": plain})
    VersionedDataSource({"path": path, "warehouse": str(tmp_path / "warehouse")})
    Catalog.create_path(tmp_path / path, "id INT")
    assert VersionedDataSource({"path": path}).schema().names == ["id"]
