"""Iceberg's procedures work under their names, or say what to write instead.

Needs a JVM because Spark calls them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from versioned_catalog import Catalog, Table
from versioned_catalog.model.analysis import analyzed_columns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def table(catalog: Catalog, ns: str) -> Table:
    """Four versions, of which each adds a row: 1 to 4."""
    table = catalog.create_table(
        f"{ns}.sample", "id INT, name STRING", properties={"auto_maintain": "off"}
    )
    for number in range(1, 5):
        table.append(pa.table({"id": pa.array([number], pa.int32()), "name": [f"n{number}"]}))
    return table


def call(spark: SparkSession, ns: str, text: str) -> list[tuple[Any, ...]]:
    text = text.replace("db.sample", f"{ns}.sample")
    return [tuple(row) for row in spark.sql(f"CALL versioned.system.{text}").collect()]


def ids(table: Table) -> list[int]:
    return sorted(table.refresh().scan(["id"]).to_arrow()["id"].to_pylist())


def test_going_back(sql_spark: SparkSession, table: Table, ns: str) -> None:
    assert call(sql_spark, ns, "rollback_to_snapshot('db.sample', 1)") == [(4, 5, [])]
    assert ids(table) == [1]
    assert call(sql_spark, ns, "set_current_snapshot('db.sample', 3)") == [(5, 6, [])]
    assert ids(table) == [1, 2, 3]
    table.refresh().set_tag("s1", 2)
    assert call(sql_spark, ns, "set_current_snapshot(table => 'db.sample', ref => 's1')") == [
        (7, 8, [])
    ]
    assert ids(table) == [1, 2]
    with pytest.raises(Exception, match="either snapshot_id or ref"):
        call(sql_spark, ns, "set_current_snapshot('db.sample')")


def test_ancestors(sql_spark: SparkSession, table: Table, ns: str) -> None:
    for text, newest in (("ancestors_of('db.sample')", 4), ("ancestors_of('db.sample', 1)", 1)):
        rows = call(sql_spark, ns, text)
        assert [row[0] for row in rows] == [*range(newest, -1, -1)]
        assert rows[0][1].timestamp() == pytest.approx(table.as_of(newest).state.time.timestamp())


@pytest.mark.thorough
def test_rewriting(sql_spark: SparkSession, table: Table, ns: str) -> None:
    size = sum(table.state.segments.core["bytes"].to_pylist())
    assert call(sql_spark, ns, "rewrite_data_files('db.sample')") == [(4, 1, size, 0)]
    rewrite = "rewrite_data_files(table => 'db.sample', "
    assert call(sql_spark, ns, f"{rewrite}options => map('rewrite-all', 'true'))")[0][:2] == (1, 1)
    sort = f"{rewrite}strategy => 'sort', sort_order => "
    assert call(sql_spark, ns, f"{sort}'zorder(id,name)')")[0][:2] == (1, 1)
    assert call(sql_spark, ns, f"{rewrite}where => 'id = 3 and name = \"foo\"')")[0][:2] == (0, 0)
    assert ids(table) == [1, 2, 3, 4]
    for text, message in (
        (f"{sort}'id DESC NULLS LAST,name ASC NULLS FIRST')", "WRITE ORDERED BY"),
        (f"{rewrite}options => map('min-input-files', 'x'))", "write a number from 1"),
        (f"{rewrite}options => map('max-file-size-bytes', '1'))", "is not supported"),
        (f"{rewrite}strategy => 'other')", "write binpack or sort"),
        (f"{rewrite}sort_order => 'zorder(id,name)')", "strategy => 'sort'"),
        (f"{rewrite}options => map('rewrite-all', 'yes'))", "write true or false"),
    ):
        with pytest.raises(Exception, match=message):
            call(sql_spark, ns, text)


@pytest.mark.thorough
def test_metadata_needs_no_rewriting(sql_spark: SparkSession, table: Table, ns: str) -> None:
    for name in ("rewrite_manifests", "rewrite_position_delete_files"):
        assert call(sql_spark, ns, f"{name}('db.sample')") == [(0, 0)]
    options = "options => map('rewrite-all', 'true')"
    positions = f"rewrite_position_delete_files(table => 'db.sample', {options})"
    assert call(sql_spark, ns, positions) == [(0, 0)]
    assert call(sql_spark, ns, "rewrite_manifests(table => 'db.sample', spec_id => 1)") == [(0, 0)]
    assert call(sql_spark, ns, "compute_partition_stats('db.sample')") == [(None,)]
    with pytest.raises(Exception, match="sort_by is not supported"):
        call(sql_spark, ns, "rewrite_manifests(table => 'db.sample', sort_by => array('a'))")


@pytest.mark.thorough
def test_expiring(sql_spark: SparkSession, table: Table, ns: str) -> None:
    old = "TIMESTAMP '2021-06-30 00:00:00.000'"
    assert call(sql_spark, ns, f"expire_snapshots('db.sample', {old}, 100)")[0][:3] == (0, 0, 0)
    assert call(sql_spark, ns, "remove_orphan_files(table => 'db.sample', dry_run => true)") == []
    assert call(sql_spark, ns, "remove_orphan_files(table => 'db.sample')") == []
    for vacuous in (
        "equal_schemes => map('file', 'file1')",
        "equal_authorities => map('a', 'b')",
        "prefix_mismatch_mode => 'DELETE'",
        "prefix_listing => true",
    ):
        assert call(sql_spark, ns, f"remove_orphan_files(table => 'db.sample', {vacuous})") == []
    with pytest.raises(Exception, match="shorter than 1:00:00"):
        call(sql_spark, ns, "expire_snapshots('db.sample', current_timestamp())")
    with pytest.raises(Exception, match="use older_than or retain_last"):
        call(sql_spark, ns, "expire_snapshots(table => 'db.sample', snapshot_ids => ARRAY(123))")
    for location in ("a/data", "dat"):
        with pytest.raises(Exception, match=f"a table has no folder '{location}'"):
            call(
                sql_spark,
                ns,
                f"remove_orphan_files(table => 'db.sample', location => '{location}')",
            )
    for location in ("/elsewhere", f"{table.location}x", "data/../..", "s3://a/b"):
        with pytest.raises(Exception, match="which is not in the table's folder"):
            call(
                sql_spark,
                ns,
                f"remove_orphan_files(table => 'db.sample', location => '{location}')",
            )
    for location in ("data/", f"{table.location}/data", f"file://{table.location}", table.location):
        remove = f"remove_orphan_files(table => 'db.sample', location => '{location}')"
        assert call(sql_spark, ns, remove) == []
    with pytest.raises(Exception, match="file_list_view is not supported"):
        call(sql_spark, ns, "remove_orphan_files(table => 'db.sample', file_list_view => 'v')")
    assert ids(table) == [1, 2, 3, 4]


@pytest.mark.thorough
def test_statistics(sql_spark: SparkSession, table: Table, ns: str) -> None:
    compute = "compute_table_stats(table => 'db.sample'"
    assert call(sql_spark, ns, f"{compute}, columns => array('id'))") == [("id", 4, 4, 5)]
    call(sql_spark, ns, "compute_table_stats('db.sample')")
    assert sorted(analyzed_columns(table.refresh().state.properties)) == [1, 2]
    with pytest.raises(Exception, match="only the newest version"):
        call(sql_spark, ns, f"{compute}, snapshot_id => 1)")


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("migrate('db.sample')", "system.snapshot"),
    ],
)
@pytest.mark.thorough
def test_what_to_write_instead(
    sql_spark: SparkSession, table: Table, ns: str, text: str, instead: str
) -> None:
    with pytest.raises(Exception, match=rf"no procedure .* in this catalog: .*{instead}"):
        call(sql_spark, ns, text)


def test_a_group_of_few_files_is_left(sql_spark: SparkSession, table: Table, ns: str) -> None:
    rewrite = "rewrite_data_files(table => 'db.sample', options => map('min-input-files', '{}'))"
    assert call(sql_spark, ns, rewrite.format(5))[0][:2] == (0, 0)
    assert call(sql_spark, ns, rewrite.format(4))[0][:2] == (4, 1)
    assert ids(table) == [1, 2, 3, 4]


def test_sorting_by_the_order_of_the_table(sql_spark: SparkSession, table: Table, ns: str) -> None:
    sort = "rewrite_data_files(table => 'db.sample', strategy => 'sort'"
    with pytest.raises(Exception, match="WRITE ORDERED BY"):
        call(sql_spark, ns, f"{sort})")
    table.alter().set_property("sort_by", "id DESC NULLS FIRST, name").commit()
    for order in ("id DESC, name", "id DESC NULLS FIRST", "name, id DESC NULLS FIRST"):
        with pytest.raises(Exception, match="WRITE ORDERED BY"):
            call(sql_spark, ns, f"{sort}, sort_order => '{order}')")
    order = "ID DESC NULLS FIRST,name ASC NULLS FIRST"
    assert call(sql_spark, ns, f"{sort}, sort_order => '{order}')")[0][:2] == (4, 1)
    (path,) = table.refresh().inspect.segments()["path"].to_pylist()
    stored = pq.read_table(Path(table.location) / path)["id"].to_pylist()
    assert stored == [4, 3, 2, 1]
