"""ALTER TABLE ... ADD, DROP and REPLACE PARTITION FIELD, as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from versioned_catalog import Catalog, InvalidRequestError, NotFoundError, Table
from versioned_catalog.model.partitioning import changed_partitioning, split_fields
from versioned_catalog.model.schema import Schema


@pytest.fixture
def schema(tmp_path: Path) -> Schema:
    fields = ["days(ts)", "bucket(4, id)"]
    ddl = "id INT, ts TIMESTAMP, `a b` STRING, s STRUCT<x: INT>"
    return Catalog.create_path(tmp_path, ddl, partitioned_by=fields).schema


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("ADD PARTITION FIELD id", ["days(ts)", "bucket(4, id)", "id"]),
        ("add partition field Bucket( 16 , ID )", ["days(ts)", "bucket(4, id)", "bucket(16, id)"]),
        (
            "ADD PARTITION FIELD truncate(2, `a b`)",
            ["days(ts)", "bucket(4, id)", "truncate(2, `a b`)"],
        ),
        ("ADD PARTITION FIELD s.x", ["days(ts)", "bucket(4, id)", "s.x"]),
        ("ADD PARTITION FIELD hour(ts)", ["days(ts)", "bucket(4, id)", "hours(ts)"]),
        ("DROP PARTITION FIELD bucket(4, id)", ["days(ts)"]),
        ("DROP PARTITION FIELD day(ts)", ["bucket(4, id)"]),
        ("REPLACE PARTITION FIELD days(ts) WITH hours(ts)", ["hours(ts)", "bucket(4, id)"]),
        (
            "REPLACE\nPARTITION FIELD bucket(4, id)\nWITH bucket(8, id)",
            ["days(ts)", "bucket(8, id)"],
        ),
        # The names that Iceberg gives to fields
        ("DROP PARTITION FIELD ts_day", ["bucket(4, id)"]),
        ("DROP PARTITION FIELD `ID_bucket`", ["days(ts)"]),
        ("REPLACE PARTITION FIELD id_bucket_4 WITH id", ["days(ts)", "id"]),
    ],
)
def test_partition_fields_are_added_dropped_and_replaced(
    schema: Schema, change: str, expected: list[str]
) -> None:
    assert changed_partitioning(schema, change, "t", {}) == expected


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("ADD PARTITION FIELD days(ts)", "t is partitioned by days\\(ts\\) already"),
        ("ADD PARTITION FIELD day(ts)", "already"),
        ("ADD PARTITION FIELD bucket(16, id) AS a.b", "one name after AS"),
        ("DROP PARTITION FIELD id", "its fields are days\\(ts\\), bucket\\(4, id\\)"),
        ("REPLACE PARTITION FIELD id WITH ts", "not partitioned by id"),
        ("DROP PARTITION FIELD ts_hour", "ts_hour"),
        ("REPLACE PARTITION FIELD days(ts) WITH bucket(4, id)", "already"),
        ("SET PARTITION FIELD id", "is not a change"),
        ("REPLACE PARTITION FIELD id", "is not a change"),
        ("ADD PARTITION FIELD void(id)", "void"),
    ],
)
def test_invalid_changes_are_refused(schema: Schema, change: str, reason: str) -> None:
    with pytest.raises((InvalidRequestError, NotFoundError), match=reason):
        changed_partitioning(schema, change, "t", {})


def test_a_column_comes_before_a_name_of_iceberg(tmp_path: Path) -> None:
    schema = Catalog.create_path(
        tmp_path, "ts TIMESTAMP, ts_day INT", partitioned_by=["days(ts)", "ts_day"]
    ).schema
    assert changed_partitioning(schema, "DROP PARTITION FIELD ts_day", "t", {}) == ["days(ts)"]


def test_a_name_of_iceberg_that_two_fields_have_is_refused(tmp_path: Path) -> None:
    fields = ["bucket(4, a)", "bucket(8, a)"]
    schema = Catalog.create_path(tmp_path, "a INT", partitioned_by=fields).schema
    with pytest.raises(InvalidRequestError, match=r"bucket\(4, a\) or bucket\(8, a\)"):
        changed_partitioning(schema, "DROP PARTITION FIELD a_bucket", "t", {})
    assert changed_partitioning(schema, "DROP PARTITION FIELD a_bucket_4", "t", {}) == [
        "bucket(8, a)"
    ]


def test_an_unknown_column_is_refused(schema: Schema) -> None:
    with pytest.raises(NotFoundError, match="nope"):
        changed_partitioning(schema, "ADD PARTITION FIELD nope", "t", {})


def test_lists_of_fields_are_split() -> None:
    assert split_fields("days(ts), bucket(4, id),`a,b`") == ("days(ts)", "bucket(4, id)", "`a,b`")
    assert split_fields(" ") == ()
    for text in ("a,", "bucket(4", "`a", "a)"):
        with pytest.raises(InvalidRequestError, match="commas"):
            split_fields(text)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    ddl = "id INT, ts TIMESTAMP"
    return Catalog.create_path(tmp_path / "t", ddl, partitioned_by=["days(ts)"])


def alter(table: Table, change: str) -> list[str]:
    fields = changed_partitioning(table.schema, change, "t", table.state.properties)
    table.alter().set_partitioning(fields).commit()
    return table.partitioning


def test_a_field_is_found_by_its_name(table: Table) -> None:
    assert alter(table, "ADD PARTITION FIELD bucket(16, id) AS shard") == [
        "days(ts)",
        "bucket(16, id)",
    ]
    table.alter().rename_column("id", "number").commit()
    assert alter(table, "REPLACE PARTITION FIELD ts_day WITH day(ts) AS `day of ts`") == [
        "days(ts)",
        "bucket(16, number)",
    ]
    with pytest.raises(InvalidRequestError, match="not partitioned by ts_day"):
        alter(table, "DROP PARTITION FIELD ts_day")
    assert alter(table, "REPLACE PARTITION FIELD `Day of ts` WITH hours(ts) AS h") == [
        "hours(ts)",
        "bucket(16, number)",
    ]
    assert alter(table, "DROP PARTITION FIELD SHARD") == ["hours(ts)"]
    with pytest.raises(InvalidRequestError, match="not partitioned by shard"):
        alter(table, "DROP PARTITION FIELD shard")
    assert alter(table, "ADD PARTITION FIELD bucket(16, number)") == [
        "hours(ts)",
        "bucket(16, number)",
    ]
    with pytest.raises(InvalidRequestError, match="not partitioned by shard"):
        alter(table, "DROP PARTITION FIELD shard")  # another field of the same form
    assert alter(table, "DROP PARTITION FIELD h") == ["bucket(16, number)"]


def test_names_of_fields_and_columns_do_not_mix(table: Table) -> None:
    with pytest.raises(InvalidRequestError, match="since a column is"):
        alter(table, "ADD PARTITION FIELD bucket(4, id) AS TS")
    alter(table, "ADD PARTITION FIELD bucket(4, id) AS x")
    with pytest.raises(InvalidRequestError, match="two fields"):
        alter(table, "ADD PARTITION FIELD bucket(8, id) AS X")
    table.alter().add_column("x", "INT").commit()
    assert alter(table, "DROP PARTITION FIELD x") == ["days(ts)"]


def test_a_name_is_no_property_and_rewrites_nothing(table: Table) -> None:
    before = table.state.schema_version
    alter(table, "REPLACE PARTITION FIELD ts_day WITH day(ts) AS d")
    assert table.state.schema_version == before
    assert table.properties == {}
    with pytest.raises(InvalidRequestError, match="can't be set"):
        table.alter().set_property("__partition.d", "1 days").commit()
    table.rollback(0)
    with pytest.raises(InvalidRequestError, match="not partitioned by d"):
        alter(table, "DROP PARTITION FIELD d")


def test_alter_in_sql_takes_names(table: Table) -> None:
    table.alter_sql("ALTER TABLE t ADD PARTITION FIELD bucket(16, id) AS shard").commit()
    assert table.partitioning == ["days(ts)", "bucket(16, id)"]
    table.alter_sql("ALTER TABLE t DROP PARTITION FIELD shard").commit()
    assert table.partitioning == ["days(ts)"]
