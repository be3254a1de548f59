"""Columns with logical types: what may be written, and what becomes of the types."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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

SCHEMA = "id BIGINT, u STRING, n INT"
UUIDS = [f"00000000-0000-7000-8000-{at:012x}" for at in range(20)]
NO_UUID = UUIDS[10].upper()


def rows(*ids: int, u: str | None = "", n: int | None = 1) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "u": pa.array([UUIDS[i] if u == "" else u for i in ids], pa.string()),
            "n": pa.array([n] * len(ids), pa.int32()),
        }
    )


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Catalog(tmp_path).create_table(
        "t", SCHEMA, properties={"logical_type.u": "uuid", "logical_type.n": "UINT8"}
    )


def ids(table: Table) -> list[int]:
    return sorted(table.refresh().scan(["id"]).to_arrow()["id"].to_pylist())


def refused(what: Callable[[], object], *texts: str) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as caught:
        what()
    for text in texts:
        assert text in str(caught.value)
    return caught.value


WRITES: dict[str, Callable[[Table, Any, Any], object]] = {
    "append": lambda table, u, n: table.append(rows(9, u=u, n=n)),
    "overwrite": lambda table, u, n: table.overwrite(rows(9, u=u, n=n)),
    "overwrite where": lambda table, u, n: table.overwrite_where(
        rows(9, u=u, n=n), [("id", "=", 1)]
    ),
    "update": lambda table, u, n: table.update({"u": u, "n": n}, [("id", "=", 1)]),
    "append a column": lambda table, u, n: table.append(
        rows(9, u=u, n=n).append_column("new", pa.array([1], pa.int32())), merge_schema=True
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_every_write_is_checked(table: Table, name: str) -> None:
    table.append(rows(1, 2))
    version, seen = table.version, ids(table)
    error = refused(
        lambda: WRITES[name](table, NO_UUID, 1),
        "t: the column u is UUID",
        "to write",
        NO_UUID,
        "hexa",
    )
    assert error.condition == "VERSIONED_CHECK_VIOLATION"
    refused(lambda: WRITES[name](table, UUIDS[3], 256), "column n is UINT8", "n = 256", "0 to 255")
    assert (table.refresh().version, ids(table)) == (version, seen)
    WRITES[name](table, None, None)
    assert table.refresh().version == version + 1


def test_rows_that_are_there_are_checked(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", SCHEMA)
    table.append(rows(1))
    table.append(rows(2, u=NO_UUID))
    refused(lambda: table.alter().set_logical("u", "UUID").commit(), "a row of the table", NO_UUID)
    assert table.refresh().logical_types == {}
    table.delete([("id", "=", 2)])
    table.alter().set_logical("u", "UUID").commit()
    assert table.logical_types == {"u": "UUID"}
    table.alter().drop_logical("u").commit()
    table.append(rows(3, u="x"))
    assert (ids(table), table.properties) == ([1, 3], {})
    table.alter().drop_logical("u").drop_logical("gone").add_column("m", "INT").commit()


def test_it_is_bound_to_the_column_and_goes_with_it(table: Table) -> None:
    table.alter().rename_column("u", "v").add_column("u", "STRING").commit()
    assert table.logical_types == {"v": "UUID", "n": "UINT8"}
    table.append(pa.table({"u": ["x"], "v": [UUIDS[1]]}))
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
    assert table.logical_types == {"u": "UUID"}
    with pytest.raises(NotFoundError):
        table.alter().set_logical("other", "UUID").commit()
    refused(lambda: table.alter().set_logical("u", "UIDD"), "UIDD")


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
        lambda: table.alter().set_default("u", "x").commit(),
        "its default 'x' is none",
        "hexadecimal",
    )
    refused(lambda: table.alter().set_default("n", 256).commit(), "its default 256")
    table.alter().set_default("u", UUIDS[1]).set_default("n", 255).commit()
    table.append(pa.table({"id": [1]}))
    assert table.scan(["u", "n"]).to_arrow().to_pylist() == [{"u": UUIDS[1], "n": 255}]
    with_default = table.alter().add_column("w", "STRING", default="x").set_logical("w", "UUID")
    refused(with_default.commit, "its default 'x'")


def test_fields_of_structs_have_one_and_elements_have_none(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", "s STRUCT<`a.b`: STRING>, l ARRAY<STRING>")
    refused(
        lambda: table.alter().set_logical("l.element", "UUID").commit(), "many values in one row"
    )
    table.alter().set_logical(("s", "a.b"), "JSON").commit()
    assert table.logical_types == {"s.`a.b`": "JSON"}
    assert table.properties == {"logical_type.s.`a.b`": "JSON"}
    table.append(pa.table({"s": [{"a.b": "{}"}, None]}))
    refused(lambda: table.append(pa.table({"s": [None, {"a.b": "{"}]})), "s.`a.b` = '{'")


def test_an_enumeration_gets_labels_and_loses_them(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", SCHEMA)
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
    stored = {"__logical.2": '{"type":"uuid"}', "__logical.3": '{"type":"uint8"}'}
    assert dict(table.state.properties) == stored
    refused(lambda: table.alter().set_property("__logical.2", "x").commit(), "set logical_type.")


def test_a_property_that_stores_none_makes_an_error(table: Table) -> None:
    columns = {"__logical.2": '{"type":"uid"}'}
    from versioned_catalog.model.logical_columns import logical_columns

    with pytest.raises(CorruptTableError, match=r"__logical\.2"):
        logical_columns(columns)
    with pytest.raises(CorruptTableError, match=r"__logical\.x"):
        logical_columns({"__logical.x": '{"type":"uuid"}'})


def test_an_append_in_flight_is_checked_by_a_type_that_came_first(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", SCHEMA)
    planned = []
    for at, value in enumerate((NO_UUID, UUIDS[1])):
        transaction = Catalog(tmp_path).load_table("t").transaction()
        data = rows(at, u=value)
        plan = transaction.plan_write(data.schema)
        planned.append((transaction, plan, plan.write(data.schema, data.to_batches())))
    table.alter().set_logical("u", "UUID").commit()
    (bad, bad_plan, bad_records), (good, good_plan, good_records) = planned
    refused(lambda: bad.commit_append(bad_plan, bad_records), "the column u is UUID")
    good.commit_append(good_plan, good_records)
    assert ids(table) == [1]


def test_a_type_is_checked_against_appends_that_came_first(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", SCHEMA)
    changes = [table.alter().set_logical(*each) for each in (("u", "UUID"), ("n", "UINT8"))]
    Catalog(tmp_path).load_table("t").append(rows(1, u=NO_UUID, n=-1))
    for change in changes:
        refused(change.commit, "a row of the table")
    assert Catalog(tmp_path).load_table("t").logical_types == {}


def test_two_types_of_a_column_at_once(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", SCHEMA)
    change = table.alter().set_logical("n", "ENUM('b', 'a')")
    Catalog(tmp_path).load_table("t").alter().set_logical("n", "ENUM('a', 'b')").commit()
    with pytest.raises((CommitConflictError, InvalidRequestError), match="never given to another"):
        change.commit()
    assert Catalog(tmp_path).load_table("t").logical_types == {"n": "ENUM('a', 'b')"}


def test_a_type_and_a_drop_of_its_column_at_once(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", SCHEMA)
    change = table.alter().set_logical("u", "UUID")
    Catalog(tmp_path).load_table("t").alter().drop_column("u").commit()
    with pytest.raises((CommitConflictError, NotFoundError)):
        change.commit()
    assert Catalog(tmp_path).load_table("t").logical_types == {}


def test_rollback_clone_and_replacement(table: Table) -> None:
    catalog = Catalog(table.location.rsplit("/", 1)[0])
    table.append(rows(1))
    with_type = table.version
    table.alter().drop_logical("u").commit()
    table.append(rows(2, u="x"))
    table.rollback(with_type)
    assert (ids(table), table.logical_types) == ([1], {"u": "UUID", "n": "UINT8"})
    clone = catalog.clone_table("c", "t")
    assert clone.logical_types == table.logical_types
    refused(lambda: clone.append(rows(3, u="x")), "c: the column u is UUID")
    clone.alter().drop_logical("u").commit()
    assert "u" in table.refresh().logical_types
    new = catalog.replace_table("t", SCHEMA)
    assert new.logical_types == {}
    new.append(rows(1, u="x"))


def test_a_merge_is_checked_by_the_types_of_both_sides(table: Table) -> None:
    table.alter().drop_logical("u").commit()
    table.create_branch("b")
    branch = table.branch("b")
    branch.append(rows(1, u="x"))
    table.alter().set_logical("u", "UUID").commit()
    refused(lambda: table.merge_branch("b"), "the column u is UUID", "u = 'x'")
    branch.delete([("id", "=", 1)])
    branch.alter().set_logical("id", "OID").commit()
    table.append(rows(2))
    table.merge_branch("b")
    assert table.refresh().logical_types == {"u": "UUID", "n": "UINT8", "id": "OID"}


def test_a_merge_forgets_the_type_of_a_column_that_one_side_dropped(table: Table) -> None:
    table.create_branch("b")
    table.branch("b").alter().drop_column("n").commit()
    table.alter().set_logical("id", "UINT32").commit()
    table.merge_branch("b")
    assert table.refresh().logical_types == {"u": "UUID", "id": "UINT32"}
    assert set(table.state.properties) == {"__logical.1", "__logical.2"}


def test_a_merge_checks_the_types_of_one_side_with_the_columns_of_the_other(table: Table) -> None:
    table.alter().drop_logical("n").drop_logical("u").commit()
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
        "id BIGINT NOT NULL, u STRING, n INT",
        primary_key=["id"],
        partitioned_by=["id"],
        properties={"logical_type.u": "UUID", "logical_type.id": "OID", "logical_type.n": "UINT8"},
    )
    table.append(rows(1))
    refused(lambda: table.append(rows(-1)), "the column id is OID", "id = -1")
    refused(lambda: table.append(rows(2, n=-1)), "the column n is UINT8", "n = -1")
    one = pa.array([1, 2], pa.int64())
    table.upsert(pa.table({"id": one, "n": pa.array([1, 1], pa.int32())}), partial=True)
    refused(
        lambda: table.upsert(pa.table({"id": one, "u": [UUIDS[1], "x"]}), partial=True), "u = 'x'"
    )
    table.upsert(pa.table({"id": one, "u": [UUIDS[7], None]}), partial=True)
    table.delete([("id", "=", 2)])
    shown = table.refresh().scan().to_arrow().to_pylist()
    assert shown == [{"id": 1, "u": UUIDS[7], "n": 1}]


def test_imported_files_are_checked(tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    folder.mkdir()
    pq.write_table(rows(1), folder / "a.parquet")
    catalog = Catalog(tmp_path / "w", roots={"lake": folder})
    table = catalog.create_table("t", SCHEMA, properties={"logical_type.u": "UUID"})
    table.import_files(str(folder))
    pq.write_table(rows(2, u="x"), folder / "b.parquet")
    refused(lambda: table.import_files(str(folder)), "the column u is UUID")
    assert ids(table) == [1]


def test_a_pin_keeps_the_type_of_a_column_that_was_dropped(table: Table) -> None:
    table.pin_schema("old")
    table.alter().drop_column("u").rename_column("n", "m").commit()
    assert table.logical_types == {"m": "UINT8"}
    seen = table.seen_as("old")
    assert seen.logical_types == {"u": "UUID", "n": "UINT8"}
    seen.append(rows(1))
    refused(lambda: seen.append(rows(2, u="x")), "UUID")
    refused(lambda: seen.append(rows(2, n=-1)), "UINT8")
    assert ids(table) == [1]
    table.retire_schema("old")
    assert set(table.refresh().state.properties) == {"__logical.3"}


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
    assert "'logical_type.u' = 'UUID'" in ddl
    assert table.evolve_to(ddl, dry_run=True).changes == ()
    lower = ddl.replace("'logical_type.u' = 'UUID'", "'logical_type.U' = 'uuid'")
    assert table.evolve_to(lower, dry_run=True).changes == ()
    without = f"""CREATE TABLE t ({SCHEMA}) TBLPROPERTIES ('logical_type.n' = 'UINT16')"""
    plan = table.evolve_to(without, dry_run=True)
    assert plan.sql == [
        "ALTER TABLE t UNSET TBLPROPERTIES IF EXISTS ('logical_type.u')",
        "ALTER TABLE t SET TBLPROPERTIES ('logical_type.n' = 'UINT16')",
    ]
    apply_plan(table.handle, plan)
    assert catalog.load_table("t").logical_types == {"n": "UINT16"}
    other = catalog.create_table("other", table.schema, properties={"logical_type.n": "UINT16"})
    assert other.logical_types == {"n": "UINT16"}


def test_a_statement_sets_and_unsets_it(table: Table) -> None:
    table.alter_sql("ALTER TABLE t UNSET TBLPROPERTIES ('logical_type.u')").commit()
    assert table.logical_types == {"n": "UINT8"}
    table.alter_sql("ALTER TABLE t SET TBLPROPERTIES ('logical_type.u' = 'JSON')").commit()
    assert table.logical_types == {"n": "UINT8", "u": "JSON"}


def test_numbers_whose_statistics_show_that_all_is_well_are_not_read(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.alter().drop_logical("u").commit()
    store = type(table.handle.log.store)
    opened: list[str] = []
    real = store.open

    def recorded(self: Any, path: str) -> Any:
        opened.append(path)
        return real(self, path)

    monkeypatch.setattr(store, "open", recorded)
    table.append(rows(1, 2))
    assert not opened
    table.alter().set_logical("n", "ENUM('a', 'b')").commit()
    assert not opened
    table.alter().set_logical("u", "UUID").commit()
    assert len(opened) == 1


def test_it_comes_back_with_a_table(table: Table) -> None:
    catalog = Catalog(table.location.rsplit("/", 1)[0])
    table.append(rows(1))
    then, shown = table.version, {"u": "UUID", "n": "UINT8"}
    catalog.drop_table("t")
    catalog.undrop("t")
    again = catalog.load_table("t")
    assert again.logical_types == shown
    refused(lambda: again.append(rows(2, u="x")), "UUID")
    new = catalog.replace_table("t", SCHEMA)
    new.append(rows(2, u="x"))
    new.rollback(then)
    assert (ids(new), new.logical_types) == ([1], shown)
    refused(lambda: new.append(rows(2, u="x")), "UUID")


def test_transactions_over_tables_are_checked(table: Table) -> None:
    catalog = Catalog(table.location.rsplit("/", 1)[0])
    other = catalog.create_table("other", SCHEMA)
    transaction = catalog.transaction()
    transaction.table("other").append(rows(7))
    refused(lambda: transaction.table("t").append(rows(1, u="x")), "the column u is UUID")
    transaction.abort()
    assert (ids(table), ids(other)) == ([], [])
    with catalog.transaction() as transaction:
        transaction.table("other").alter().set_logical("u", "UUID").commit()
        transaction.table("other").append(rows(1))
        transaction.table("t").append(rows(1))
    assert (ids(table), other.refresh().logical_types) == ([1], {"u": "UUID"})


def test_sinks_changes_and_publications_have_the_base(table: Table) -> None:
    table.alter().set_property("publish", "iceberg").commit()
    sink = table.sink("app")
    sink.write(rows(1), 0)
    refused(lambda: sink.write(rows(2, u="x"), 1), "the column u is UUID")
    feed = table.refresh().changes(0).to_arrow()
    assert feed.select(["u", "n"]).to_pylist() == [{"u": UUIDS[1], "n": 1}]
    (newest,) = sorted(Path(table.location).glob("**/*.metadata.json"))[-1:]
    metadata = json.loads(newest.read_text())
    fields = {field["name"]: field["type"] for field in metadata["schemas"][-1]["fields"]}
    assert fields == {"id": "long", "u": "string", "n": "int"}


def test_a_table_that_is_registered_must_have_the_declared_types(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    text = {"logical_type.u": "UUID"}
    Catalog.create_path(lake / "t", SCHEMA, properties=text)
    catalog = Catalog(tmp_path / "w", roots={"lake": lake})
    for wrong in ({"logical_type.u": "JSON"}, {"logical_type.n": "UINT8"}):
        declared = creation(SCHEMA, properties=wrong)
        refused(
            lambda declared=declared: catalog.register_table("t", lake / "t", declared=declared),
            "the property logical_type.",
        )
    same = creation(SCHEMA, properties={"logical_type.U": "uuid"})
    table = catalog.register_table("t", lake / "t", declared=same)
    assert table.logical_types == {"u": "UUID"}


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
    assert {"logical type UUID of u", "logical type UINT8 of n"} <= set(exported.left_out)


def test_a_statement_of_a_schema_file_creates_it(table: Table) -> None:
    catalog = Catalog(table.location.rsplit("/", 1)[0])
    other = catalog.create_from_ddl(table.ddl(name="other"))
    assert other.logical_types == table.logical_types
    refused(lambda: other.append(rows(1, u="x")), "other: the column u is UUID")
