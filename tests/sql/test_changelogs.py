"""Iceberg's changelog views and ``t.changes`` show each change once, with its kind and order."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWN = ["_change_type", "_change_ordinal", "_commit_snapshot_id"]


def rows_of(spark: SparkSession, statement: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.sql(statement).collect())


@pytest.fixture
def t(sql_spark: SparkSession, ns: str) -> str:
    """Version 1 adds rows 1 and 2, 2 changes 2, 3 deletes 1, and 4 is only a tag."""
    t = f"versioned.{ns}.tbl"
    sql_spark.sql(f"CREATE TABLE {t} (id INT, name STRING)")
    sql_spark.sql(f"INSERT INTO {t} VALUES (1, 'a'), (2, 'b')")
    sql_spark.sql(f"UPDATE {t} SET name = 'c' WHERE id = 2")
    sql_spark.sql(f"DELETE FROM {t} WHERE id = 1")
    sql_spark.sql(f"ALTER TABLE {t} CREATE TAG x")
    return t


def view(spark: SparkSession, ns: str, arguments: str, name: str = "tbl_changes") -> list[Any]:
    call = f"CALL versioned.system.create_changelog_view(table => '{ns}.tbl', {arguments})"
    assert [tuple(row) for row in spark.sql(call).collect()] == [(name,)]
    assert spark.table(name).columns == ["id", "name", *OWN]
    return rows_of(spark, f"SELECT * FROM {name}")


def test_a_view_shows_the_changes_after_its_start(sql_spark: SparkSession, t: str, ns: str) -> None:
    bounds = "options => map('start-snapshot-id', '1', 'end-snapshot-id', '2')"
    assert view(sql_spark, ns, bounds) == [
        (2, "b", "DELETE", 0, 2),
        (2, "c", "INSERT", 0, 2),
    ]
    own_name = "changelog_view => 'mine', options => map('start-snapshot-id', '2')"
    expected = [(1, "a", "DELETE", 0, 3)]
    assert view(sql_spark, ns, own_name, "mine") == expected
    sql_spark.sql(f"INSERT INTO {t} VALUES (9, 'z')")
    sql_spark.sql(f"ALTER TABLE {t} ADD COLUMN extra INT")
    assert rows_of(sql_spark, "SELECT * FROM mine") == expected
    assert view_is_empty(sql_spark, ns, "options => map('start-snapshot-id', '6')")


def view_is_empty(spark: SparkSession, ns: str, arguments: str) -> bool:
    spark.sql(f"CALL versioned.system.create_changelog_view(table => '{ns}.tbl', {arguments})")
    return spark.table("tbl_changes").count() == 0


@pytest.mark.thorough
def test_identifiers_make_updates(sql_spark: SparkSession, t: str, ns: str) -> None:
    expected = [
        (1, "a", "DELETE", 3, 3),
        (1, "a", "INSERT", 1, 1),
        (2, "b", "INSERT", 1, 1),
        (2, "b", "UPDATE_BEFORE", 2, 2),
        (2, "c", "UPDATE_AFTER", 2, 2),
    ]
    assert view(sql_spark, ns, "identifier_columns => array('ID')") == expected
    both = "identifier_columns => array('id', 'name')"
    kinds = {row[2] for row in view(sql_spark, ns, both)}
    assert kinds == {"INSERT", "DELETE"}
    off = "identifier_columns => array('id'), compute_updates => false"
    assert {row[2] for row in view(sql_spark, ns, off)} == {"INSERT", "DELETE"}
    sql_spark.sql(f"INSERT INTO {t} VALUES (2, 'd')")
    sql_spark.sql(f"UPDATE {t} SET name = 'e' WHERE id = 2")
    with pytest.raises(Exception, match="several rows with the same id;"):
        view(sql_spark, ns, "identifier_columns => array('id')")


def test_a_primary_key_makes_updates(sql_spark: SparkSession, ns: str) -> None:
    t = f"versioned.{ns}.tbl"
    sql_spark.sql(f"CREATE TABLE {t} (id INT PRIMARY KEY, name STRING)")
    sql_spark.sql(f"INSERT INTO {t} VALUES (1, 'a'), (2, 'b')")
    sql_spark.sql(f"UPDATE {t} SET name = 'c' WHERE id = 2")
    expected = [
        (1, "a", "INSERT", 1, 1),
        (2, "b", "INSERT", 1, 1),
        (2, "b", "UPDATE_BEFORE", 2, 2),
        (2, "c", "UPDATE_AFTER", 2, 2),
    ]
    for arguments in ("compute_updates => true", "identifier_columns => array('id')"):
        assert view(sql_spark, ns, arguments) == expected
    by_name = view(sql_spark, ns, "identifier_columns => array('name')")
    assert [row for row in by_name if row[4] == 2] == [
        (2, "b", "DELETE", 2, 2),
        (2, "c", "INSERT", 2, 2),
    ]


def test_net_changes(sql_spark: SparkSession, t: str, ns: str) -> None:
    assert view(sql_spark, ns, "net_changes => true") == [(2, "c", "INSERT", 4, 4)]
    with pytest.raises(Exception, match="net_changes has no updates"):
        view(sql_spark, ns, "net_changes => true, identifier_columns => array('id')")


def test_times_bound_a_view(sql_spark: SparkSession, catalog: Catalog, t: str, ns: str) -> None:
    time.sleep(0.002)
    sql_spark.sql(f"INSERT INTO {t} VALUES (5, 'e')")
    times = catalog.load_table(f"{ns}.tbl").inspect.history()["time"].to_pylist()
    second, last = (int(times[at].timestamp() * 1000) for at in (2, 5))
    ends = f"options => map('start-timestamp', '{second}', 'end-timestamp', '{last}')"
    assert view(sql_spark, ns, ends) == [(1, "a", "DELETE", 0, 3), (5, "e", "INSERT", 2, 5)]
    assert view_is_empty(sql_spark, ns, f"options => map('start-timestamp', '{last}')")
    assert view_is_empty(sql_spark, ns, "options => map('end-timestamp', '1678335750489')")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("options => map('begin', '1')", "there are start-snapshot-id"),
        ("options => map('end-snapshot-id', 'x')", "write a number"),
        ("options => map('end-snapshot-id', '1', 'end-timestamp', '1')", "not both"),
        ("options => map('end-snapshot-id', '99')", "no version 99"),
        ("identifier_columns => array('nope')", "no column nope"),
        ("compute_updates => true", "has no primary key"),
    ],
)
def test_what_is_refused(
    sql_spark: SparkSession, t: str, ns: str, arguments: str, reason: str
) -> None:
    with pytest.raises(Exception, match=reason):
        view(sql_spark, ns, arguments)


def test_the_metadata_table_has_all_changes_that_can_be_read(
    sql_spark: SparkSession, catalog: Catalog, t: str, ns: str
) -> None:
    expected = [
        (1, "a", "DELETE", 3, 3),
        (1, "a", "INSERT", 1, 1),
        (2, "b", "DELETE", 2, 2),
        (2, "b", "INSERT", 1, 1),
        (2, "c", "INSERT", 2, 2),
    ]
    assert rows_of(sql_spark, f"SELECT * FROM {t}.changes") == expected
    sql_spark.sql(f"INSERT INTO {t} VALUES (5, 'e')")
    newest = f"SELECT id, _change_type FROM {t}.changes WHERE _commit_snapshot_id = 5"
    assert rows_of(sql_spark, newest) == [(5, "INSERT")]
    table = catalog.load_table(f"{ns}.tbl")
    table.maintenance.expire(timedelta(0), 4, dry_run=False, force=True)
    kept = rows_of(sql_spark, f"SELECT id, _change_type, _commit_snapshot_id FROM {t}.changes")
    assert kept == [(1, "DELETE", 3), (5, "INSERT", 5)]


def test_a_table_of_that_name_comes_first(
    sql_spark: SparkSession, catalog: Catalog, t: str, ns: str
) -> None:
    catalog.create_namespace(f"{ns}.tbl")
    sql_spark.sql(f"CREATE TABLE {t}.changes (a INT)")
    assert sql_spark.table(f"{t}.changes").columns == ["a"]
