"""Columns with logical types: what may be written, and what becomes of the types."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from checks.rules import COLUMNS, UUIDS, ids, opened_files, refused, rows
from versioned_catalog import (
    Catalog,
    CommitConflictError,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    Table,
)
from versioned_catalog.migrate.schema_plan import apply_plan
from versioned_catalog.names.creation import creation

pytestmark = pytest.mark.thorough


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Catalog(tmp_path).create_table(
        "t", COLUMNS, properties={"logical_type.s": "uuid", "logical_type.n": "UINT8"}
    )


def test_it_can_be_dropped_where_it_is_not(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", COLUMNS)
    table.alter().set_logical("s", "UUID").commit()
    assert table.logical_types == {"s": "UUID"}
    table.alter().drop_logical("s").commit()
    table.append(rows(3, s="x"))
    assert (ids(table), table.properties) == ([3], {})
    table.alter().drop_logical("s").drop_logical("gone").add_column("m", "INT").commit()


def test_it_is_bound_to_the_column_and_goes_with_it(table: Table) -> None:
    table.alter().rename_column("s", "v").add_column("s", "STRING").commit()
    assert table.logical_types == {"v": "UUID", "n": "UINT8"}
    table.append(pa.table({"s": ["x"], "v": [UUIDS[1]]}))
    refused(lambda: table.append(pa.table({"v": ["x"]})), "the column v is UUID")
    table.alter().drop_column("v").commit()
    table.alter().add_column("v", "STRING").commit()
    assert table.logical_types == {"n": "UINT8"}
    table.append(pa.table({"v": ["x"]}))


def test_types_that_it_does_not_fit_are_refused(table: Table) -> None:
    refused(lambda: table.alter().set_logical("id", "UUID").commit(), "UUID needs STRING or BINARY")
    refused(
        lambda: table.alter().change_type("n", "DOUBLE").commit(),
        "n can't be UINT8 and DOUBLE",
        "alter().drop_logical('n')",
    )
    table.alter().change_type("n", "BIGINT").commit()
    refused(lambda: table.append(pa.table({"n": [256]})), "UINT8")
    table.alter().drop_logical("n").change_type("n", "DECIMAL(22,2)").commit()
    assert table.logical_types == {"s": "UUID"}
    with pytest.raises(NotFoundError):
        table.alter().set_logical("other", "UUID").commit()
    refused(lambda: table.alter().set_logical("s", "UIDD"), "UIDD")


def test_a_live_write_widens_it_only_to_a_base(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table(
        "t",
        "a SMALLINT, b SMALLINT",
        properties={"schema_mode": "live", "logical_type.a": "UINT8"},
    )
    refused(
        lambda: table.append(pa.table({"a": pa.array([1.5], pa.float64())})), "a can't be UINT8"
    )
    table.append(pa.table({"a": pa.array([255], pa.int64())}))
    assert table.refresh().scan(["a"]).to_arrow()["a"].to_pylist() == [255]


def test_defaults_are_values_of_it(table: Table) -> None:
    refused(
        lambda: table.alter().set_default("s", "x").commit(),
        "its default 'x' is none",
        "hexadecimal",
    )
    refused(lambda: table.alter().set_default("n", 256).commit(), "its default 256")
    table.alter().set_default("s", UUIDS[1]).set_default("n", 255).commit()
    table.append(pa.table({"id": [1]}))
    assert table.scan(["s", "n"]).to_arrow().to_pylist() == [{"s": UUIDS[1], "n": 255}]
    with_default = table.alter().add_column("w", "STRING", default="x").set_logical("w", "UUID")
    refused(with_default.commit, "its default 'x'")


def test_an_enumeration_gets_labels_and_loses_them(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", COLUMNS)
    table.alter().set_logical("n", "ENUM('low', 'high')").commit()
    table.append(rows(1, n=2))
    refused(lambda: table.append(rows(2, n=3)), "ENUM('low', 'high')", "from 1 to 2")
    table.alter().set_logical("n", "ENUM('low', 'high', 'top')").commit()
    table.append(rows(3, n=3))
    refused(
        lambda: table.alter().set_logical("n", "ENUM('low', 'top')").commit(),
        "the label 2 of the ENUM is 'high'",
    )
    refused(
        lambda: table.alter().set_logical("n", "ENUM('low', NULL, 'top')").commit(),
        "a row of the table",
        "n = 2",
    )
    table.alter().set_logical("n", "ENUM(NULL, 'high', 'top')").commit()
    refused(lambda: table.append(rows(4, n=1)), "n = 1")
    refused(
        lambda: table.alter().set_logical("n", "ENUM('lowest', 'high', 'top')").commit(),
        "never given to another label",
    )
    assert table.refresh().logical_types == {"n": "ENUM(NULL, 'high', 'top')"}


@pytest.mark.parametrize("key", ["logical.n", "logical_types.n", "logicalType.n", "LOGICAL_TYPE.n"])
def test_a_key_that_is_almost_one_is_refused(table: Table, key: str) -> None:
    refused(
        lambda: table.alter().set_property(key, "UINT8").commit(), "did you mean logical_type.n?"
    )


def test_it_is_a_write_feature(table: Table) -> None:
    """Earlier releases would write without checking; they read the base."""
    assert "logical-types" in table.state.features.write
    assert "logical-types" not in table.state.features.read
    stored = {"__logical.3": '{"type":"uuid"}', "__logical.2": '{"type":"uint8"}'}
    assert dict(table.state.properties) == stored
    refused(lambda: table.alter().set_property("__logical.2", "x").commit(), "set logical_type.")


def test_a_property_that_stores_none_makes_an_error(table: Table) -> None:
    columns = {"__logical.2": '{"type":"uid"}'}
    from versioned_catalog.model.logical_columns import logical_columns

    with pytest.raises(CorruptTableError, match=r"__logical\.2"):
        logical_columns(columns)
    with pytest.raises(CorruptTableError, match=r"__logical\.x"):
        logical_columns({"__logical.x": '{"type":"uuid"}'})


def test_two_types_of_a_column_at_once(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", COLUMNS)
    change = table.alter().set_logical("n", "ENUM('b', 'a')")
    Catalog(tmp_path).load_table("t").alter().set_logical("n", "ENUM('a', 'b')").commit()
    with pytest.raises((CommitConflictError, InvalidRequestError), match="never given to another"):
        change.commit()
    assert Catalog(tmp_path).load_table("t").logical_types == {"n": "ENUM('a', 'b')"}


def test_a_merge_forgets_the_type_of_a_column_that_one_side_dropped(table: Table) -> None:
    table.create_branch("b")
    table.branch("b").alter().drop_column("n").commit()
    table.alter().set_logical("id", "UINT32").commit()
    table.merge_branch("b")
    assert table.refresh().logical_types == {"s": "UUID", "id": "UINT32"}
    assert set(table.state.properties) == {"__logical.1", "__logical.3"}


def test_a_merge_checks_the_types_of_one_side_with_the_columns_of_the_other(table: Table) -> None:
    table.alter().drop_logical("n").drop_logical("s").commit()
    for name in ("gone", "wide", "default"):
        table.create_branch(name)
    table.branch("gone").alter().drop_column("n").commit()
    table.branch("wide").alter().change_type("n", "DOUBLE").commit()
    table.branch("default").alter().set_default("n", 256).commit()
    table.alter().set_logical("n", "UINT8").commit()
    refused(lambda: table.merge_branch("wide"), "n can't be UINT8 and DOUBLE")
    refused(lambda: table.merge_branch("default"), "its default 256")
    table.merge_branch("gone")
    assert dict(table.refresh().state.properties) == {}


def test_keys_partitions_and_partial_upserts(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table(
        "t",
        "id BIGINT NOT NULL, s STRING, n INT",
        primary_key=["id"],
        partitioned_by=["id"],
        properties={"logical_type.s": "UUID", "logical_type.id": "OID", "logical_type.n": "UINT8"},
    )
    table.append(rows(1))
    refused(lambda: table.append(rows(-1)), "the column id is OID", "id = -1")
    refused(lambda: table.append(rows(2, n=-1)), "the column n is UINT8", "n = -1")
    one = pa.array([1, 2], pa.int64())
    table.upsert(pa.table({"id": one, "n": pa.array([1, 1], pa.int32())}), partial=True)
    refused(
        lambda: table.upsert(pa.table({"id": one, "s": [UUIDS[1], "x"]}), partial=True), "s = 'x'"
    )
    table.upsert(pa.table({"id": one, "s": [UUIDS[7], None]}), partial=True)
    table.delete([("id", "=", 2)])
    shown = table.refresh().scan().to_arrow().to_pylist()
    assert shown == [{"id": 1, "s": UUIDS[7], "n": 1}]


def test_a_pin_keeps_the_type_of_a_column_that_was_dropped(table: Table) -> None:
    table.pin_schema("old")
    table.alter().drop_column("s").rename_column("n", "m").commit()
    assert table.logical_types == {"m": "UINT8"}
    seen = table.seen_as("old")
    assert seen.logical_types == {"s": "UUID", "n": "UINT8"}
    seen.append(rows(1))
    refused(lambda: seen.append(rows(2, s="x")), "the column s is UUID", ": s = 'x'")
    refused(lambda: seen.append(rows(2, n=-1)), "the column m is UINT8", ": m = -1")
    table.alter().drop_column("m").commit()
    again = table.seen_as("old")
    refused(lambda: again.append(rows(2, n=-1)), "the column n is UINT8", ": n = -1")
    assert ids(table) == [1]
    table.retire_schema("old")
    assert dict(table.refresh().state.properties) == {}


def test_generated_columns_and_compaction(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    table = catalog.create_table(
        "t",
        "id BIGINT, d BIGINT",
        generated={"d": "id * 2"},
        properties={"logical_type.d": "UINT32"},
    )
    for at in range(3):
        table.append(pa.table({"id": [at]}))
    refused(lambda: table.append(pa.table({"id": [-1]})), "the column d is UINT32", "d = -2")
    table.maintenance.compact()
    assert (ids(table), table.logical_types) == ([0, 1, 2], {"d": "UINT32"})


def test_schema_files_keep_and_change_it(table: Table) -> None:
    catalog = Catalog(table.location.rsplit("/", 1)[0])
    ddl = table.ddl()
    assert "'logical_type.s' = 'UUID'" in ddl
    assert table.evolve_to(ddl, dry_run=True).changes == ()
    lower = ddl.replace("'logical_type.s' = 'UUID'", "'logical_type.S' = 'uuid'")
    assert table.evolve_to(lower, dry_run=True).changes == ()
    without = f"""CREATE TABLE t ({COLUMNS}) TBLPROPERTIES ('logical_type.n' = 'UINT16')"""
    plan = table.evolve_to(without, dry_run=True)
    assert plan.sql == [
        "ALTER TABLE t UNSET TBLPROPERTIES IF EXISTS ('logical_type.s')",
        "ALTER TABLE t SET TBLPROPERTIES ('logical_type.n' = 'UINT16')",
    ]
    apply_plan(table.handle, plan)
    assert catalog.load_table("t").logical_types == {"n": "UINT16"}
    other = catalog.create_table("other", table.schema, properties={"logical_type.n": "UINT16"})
    assert other.logical_types == {"n": "UINT16"}


def test_a_statement_sets_and_unsets_it(table: Table) -> None:
    table.alter_sql("ALTER TABLE t UNSET TBLPROPERTIES ('logical_type.s')").commit()
    assert table.logical_types == {"n": "UINT8"}
    table.alter_sql("ALTER TABLE t SET TBLPROPERTIES ('logical_type.s' = 'JSON')").commit()
    assert table.logical_types == {"n": "UINT8", "s": "JSON"}


def test_numbers_whose_statistics_show_that_all_is_well_are_not_read(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.alter().drop_logical("s").commit()
    opened = opened_files(table, monkeypatch)
    table.append(rows(1, 2))
    assert not opened
    table.alter().set_logical("n", "ENUM('a', 'b')").commit()
    assert not opened
    table.alter().set_logical("s", "UUID").commit()
    assert len(opened) == 1


def test_changes_and_publications_have_the_base(table: Table) -> None:
    table.alter().set_property("publish", "iceberg").commit()
    table.append(rows(1))
    feed = table.refresh().changes(0).to_arrow()
    assert feed.select(["s", "n"]).to_pylist() == [{"s": UUIDS[1], "n": 1}]
    (newest,) = sorted(Path(table.location).glob("**/*.metadata.json"))[-1:]
    metadata = json.loads(newest.read_text())
    fields = {field["name"]: field["type"] for field in metadata["schemas"][-1]["fields"]}
    assert fields == {"id": "long", "s": "string", "n": "int"}


def test_a_table_that_is_registered_must_have_the_declared_types(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    text = {"logical_type.s": "UUID"}
    Catalog.create_path(lake / "t", COLUMNS, properties=text)
    catalog = Catalog(tmp_path / "w", roots={"lake": lake})
    for wrong in ({"logical_type.s": "JSON"}, {"logical_type.n": "UINT8"}):
        declared = creation(COLUMNS, properties=wrong)
        refused(
            lambda declared=declared: catalog.register_table("t", lake / "t", declared=declared),
            "the property logical_type.",
        )
    same = creation(COLUMNS, properties={"logical_type.S": "uuid"})
    table = catalog.register_table("t", lake / "t", declared=same)
    assert table.logical_types == {"s": "UUID"}


def test_columns_that_are_narrowed_are_checked_in_both_types(table: Table) -> None:
    table.alter().change_type("n", "BIGINT").commit()
    table.append(rows(1, n=255))
    table.alter().narrow("n", "INT").commit()
    table.append(rows(2, n=7))
    refused(lambda: table.append(rows(3, n=300)), "n = 300")
    table.alter().set_logical("n", "UINT16").commit()
    table.append(rows(3, n=300))
    refused(lambda: table.alter().set_logical("n", "UINT8").commit(), "n = 300")
    refused(lambda: table.alter().narrow("n", "SMALLINT").commit(), "UINT16 needs INT or BIGINT")
    assert ids(table) == [1, 2, 3]


def test_an_export_says_that_it_is_left_out(table: Table, tmp_path: Path) -> None:
    table.append(rows(1))
    exported = table.export(tmp_path / "out", format="parquet")
    assert {"logical type UUID of s", "logical type UINT8 of n"} <= set(exported.left_out)


def test_a_statement_of_a_schema_file_creates_it(table: Table) -> None:
    catalog = Catalog(table.location.rsplit("/", 1)[0])
    other = catalog.create_from_ddl(table.ddl(name="other"))
    assert other.logical_types == table.logical_types
    refused(lambda: other.append(rows(1, s="x")), "other: the column s is UUID")
