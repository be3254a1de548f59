"""Metadata tables in SQL: of ``t.history``, only the commits that a query asks for are read.

Needs a JVM because Spark pushes what is asked for to the jar's scan.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from pyspark_versioned.sql import iceberg_history
from versioned_catalog import Catalog, InvalidRequestError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NEWEST = 30
ALL = list(range(NEWEST + 1))


@pytest.fixture
def history(catalog: Catalog, ns: str) -> str:
    """The history of a table of thirty appends."""
    table = catalog.create_table(f"{ns}.t", "id BIGINT", properties={"auto_maintain": "off"})
    for number in range(NEWEST):
        table.append(pa.table({"id": [number]}))
    return f"versioned.{ns}.t.history"


@pytest.mark.parametrize(
    "query, versions, read",
    [
        ("ORDER BY version DESC LIMIT 3", [30, 29, 28], "newest 3"),
        ("ORDER BY time DESC, operation LIMIT 3", [30, 29, 28], "newest 3"),
        ("ORDER BY version DESC LIMIT 3 OFFSET 2", [28, 27, 26], "newest 5"),
        ("ORDER BY version DESC LIMIT 100", ALL[::-1], "newest 100"),
        ("WHERE version >= 28 ORDER BY version", [28, 29, 30], "from version 28"),
        ("WHERE version > 28 ORDER BY version", [29, 30], "from version 28"),
        ("WHERE version = 28 AND operation = 'append'", [28], "from version 28"),
        ("WHERE version > 28 AND version >= 30", [30], "from version 30"),
        ("WHERE version > 40", [], "from version 40"),
        ("WHERE version >= -1 ORDER BY version", ALL, "from version 0"),
        ("WHERE version < 3 ORDER BY version", [0, 1, 2], None),
        ("WHERE NOT version >= 3 ORDER BY version", [0, 1, 2], None),
        ("WHERE version >= 28 OR version < 1 ORDER BY version", [0, 28, 29, 30], None),
        ("WHERE base_version >= 28 ORDER BY version", [29, 30], None),
        ("ORDER BY version LIMIT 3", [0, 1, 2], None),
        ("ORDER BY operation DESC, version DESC LIMIT 2", [0, 30], None),
        ("WHERE operation = 'create' ORDER BY version DESC LIMIT 3", [0], None),
    ],
)
def test_only_what_is_asked_for_is_read(
    sql_spark: SparkSession, history: str, query: str, versions: list[int], read: str | None
) -> None:
    frame = sql_spark.sql(f"SELECT version FROM {history} {query}")
    assert [row.version for row in frame.collect()] == versions
    scan = frame._jdf.queryExecution().optimizedPlan().collectLeaves().head().scan()  # type: ignore[operator]
    _, _, part = scan.description().partition(", ")
    assert part == (read or "")


@pytest.fixture
def marked(sql_spark: SparkSession, ns: str) -> str:
    """1 adds rows 1 to 4, 2 marks one of them, 3 adds row 5, 4 takes 3 back, and 5 adds row 6."""
    t = f"versioned.{ns}.m"
    sql_spark.sql(f"CREATE TABLE {t} (id INT) TBLPROPERTIES ('row_changes' = 'mark')")
    sql_spark.sql(
        f"INSERT INTO {t} SELECT /*+ COALESCE(1) */ id FROM VALUES (1), (2), (3), (4) AS v(id)"
    )
    sql_spark.sql(f"DELETE FROM {t} WHERE id = 3")
    sql_spark.sql(f"INSERT INTO {t} VALUES (5)")
    sql_spark.sql(f"CALL versioned.system.rollback_to_version('{ns}.m', 2)")
    sql_spark.sql(f"INSERT INTO {t} VALUES (6)")
    return t


def rows_of(spark: SparkSession, statement: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(statement).collect()]


def test_a_version_that_was_taken_back_is_no_ancestor(sql_spark: SparkSession, marked: str) -> None:
    columns = "snapshot_id, parent_id, is_current_ancestor"
    expected = [
        (0, None, True),
        (1, 0, True),
        (2, 1, True),
        (3, 2, False),
        (4, 2, True),
        (5, 4, True),
    ]
    history = f"SELECT {columns} FROM {marked}.history ORDER BY"
    assert rows_of(sql_spark, f"{history} made_current_at") == expected
    assert rows_of(sql_spark, f"{history} version DESC LIMIT 3") == expected[:2:-1]
    assert (
        rows_of(sql_spark, f"SELECT made_current_at = time FROM {marked}.history") == [(True,)] * 6
    )
    snapshots = f"SELECT snapshot_id, parent_id FROM {marked}.snapshots ORDER BY committed_at"
    assert rows_of(sql_spark, snapshots) == [row[:2] for row in expected]
    application = sql_spark.sparkContext.applicationId
    summary = f"SELECT summary['spark.app.id'], summary['added-records'] FROM {marked}.snapshots"
    assert rows_of(sql_spark, f"{summary} WHERE snapshot_id = 1") == [(application, "4")]


def test_tables_of_all_versions(sql_spark: SparkSession, catalog: Catalog, marked: str) -> None:
    entries = f"SELECT status, snapshot_id, record_count FROM {marked}.all_entries ORDER BY 2, 1"
    assert rows_of(sql_spark, entries) == [(1, 1, 4), (1, 3, 1), (2, 4, 1), (1, 5, 1)]
    for name in ("all_files", "all_data_files"):
        files = f"SELECT record_count, deleted_record_count FROM {marked}.{name} ORDER BY 1, 2"
        assert rows_of(sql_spark, files) == [(1, 0), (1, 0), (4, 0), (4, 1)]
    deletes = f"SELECT record_count, referenced_data_file FROM {marked}.all_delete_files"
    first = f"SELECT file_path FROM {marked}.files WHERE record_count = 4"
    assert rows_of(sql_spark, deletes) == [(1, *rows_of(sql_spark, first)[0])]
    manifests = "SELECT added_snapshot_id, added_data_files_count, deleted_data_files_count"
    assert rows_of(sql_spark, f"{manifests} FROM {marked}.manifests") == [(1, 1, 0), (5, 1, 0)]
    every = [(1, 1, 0), (2, 0, 0), (3, 1, 0), (4, 0, 1), (5, 1, 0)]
    assert rows_of(sql_spark, f"{manifests} FROM {marked}.all_manifests") == every
    paths = rows_of(sql_spark, f"SELECT path, length FROM {marked}.all_manifests")
    assert all(Path(path).stat().st_size == length for path, length in paths)
    assert (
        rows_of(sql_spark, f"{manifests} FROM {marked}.manifests VERSION AS OF 3")
        == every[:1] + every[2:3]
    )


def test_tables_of_all_versions_after_an_expiry(
    sql_spark: SparkSession, catalog: Catalog, marked: str
) -> None:
    table = catalog.load_table(marked.removeprefix("versioned."))
    table.set_tag("x", 1)
    table.maintenance.expire(timedelta(0), 3, dry_run=False, force=True)
    assert table.refresh().state.floor == 4
    entries = f"SELECT status, snapshot_id, record_count FROM {marked}.all_entries ORDER BY 2, 1"
    assert rows_of(sql_spark, entries) == [(0, 1, 4), (0, 4, 4), (1, 5, 1)]
    files = f"SELECT record_count, deleted_record_count FROM {marked}.all_files ORDER BY 1, 2"
    assert rows_of(sql_spark, files) == [(1, 0), (4, 0), (4, 1)]
    manifests = f"SELECT path, length, existing_data_files_count FROM {marked}.manifests"
    (kept, entry) = rows_of(sql_spark, manifests)
    assert (kept[2], entry[2]) == (1, 0)
    assert Path(kept[0]).stat().st_size == kept[1]
    history = f"SELECT snapshot_id, parent_id FROM {marked}.history WHERE version < 3"
    assert rows_of(sql_spark, history) == [(0, None), (1, 0), (2, 1)]


def test_positions_of_deleted_rows(sql_spark: SparkSession, marked: str) -> None:
    first = rows_of(sql_spark, f"SELECT file_path FROM {marked}.files WHERE record_count = 4")
    shown = f"SELECT file_path, pos FROM {marked}.position_deletes"
    assert rows_of(sql_spark, shown) == [(*first[0], 2)]
    assert rows_of(sql_spark, f"{shown} VERSION AS OF 1") == []
    sql_spark.sql(f"DELETE FROM {marked} WHERE id = 1")
    assert rows_of(sql_spark, f"{shown} ORDER BY pos") == [(*first[0], 0), (*first[0], 2)]


def test_too_many_positions_are_refused(
    sql_spark: SparkSession, catalog: Catalog, marked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iceberg_history, "MOST_POSITIONS", 0)
    table = catalog.load_table(marked.removeprefix("versioned."))
    with pytest.raises(InvalidRequestError, match="delete_files counts them"):
        iceberg_history.position_deletes(table, {}, {})
