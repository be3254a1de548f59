"""Identity columns: which numbers rows get, what is refused, and what happens when the table changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checks.rules import refused
from versioned_catalog import (
    Catalog,
    CorruptTableError,
    Identity,
    NotFoundError,
    Table,
)
from versioned_catalog.commit.numbers import give_back, take
from versioned_catalog.model.identity import Taken, identities_of

LEAST, GREATEST = -(2**63), 2**63 - 1


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(tmp_path)


@pytest.fixture
def table(catalog: Catalog) -> Table:
    return catalog.create_table("tab", "id BIGINT, name STRING", identity={"id": Identity()})


def by_default(catalog: Catalog, start: int = 1, step: int = 1, name: str = "d") -> Table:
    how = Identity(always=False, start=start, step=step)
    return catalog.create_table(name, "id BIGINT, name STRING", identity={"id": how})


def names(*names: str) -> pa.Table:
    return pa.table({"name": list(names)})


def numbered(*ids: int | None) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "name": ["x"] * len(ids)})


def shown(table: Table, *columns: str) -> list[tuple[Any, ...]]:
    read = table.refresh().scan(list(columns or ("id", "name"))).to_arrow()
    return sorted(zip(*read.to_pydict().values(), strict=True))


def ids(table: Table, column: str = "id") -> list[int]:
    return [number for (number,) in shown(table, column)]


def stored(table: Table) -> str:
    return table.refresh().state.properties["__identity.1"]


def test_rows_are_numbered(table: Table) -> None:
    table.append(names("a", "b"))
    table.append(pa.table({"id": pa.nulls(1, pa.int64()), "name": ["c"]}))
    assert shown(table) == [(1, "a"), (2, "b"), (3, "c")]
    assert table.identity == {"id": Identity(always=True, start=1, step=1)}
    assert stored(table) == '{"always":true,"start":1,"step":1,"next":4}'
    assert table.properties == {}
    column = table.schema.get(("id",))
    assert not column.nullable


def test_an_overwrite_goes_on_counting(table: Table) -> None:
    table.append(names("a", "b"))
    table.overwrite(names("c"))
    table.overwrite_where(names("d"), [("name", "=", "c")])
    assert shown(table) == [(4, "d")]


@pytest.mark.parametrize(
    ("start", "step", "expected"),
    [
        (5, 1, [5, 6, 7]),
        (-1, 2, [-1, 1, 3]),
        (10, -3, [4, 7, 10]),
        (LEAST, 1, [LEAST, LEAST + 1, LEAST + 2]),
        (GREATEST, -(2**62), [GREATEST - 2**63, GREATEST - 2**62, GREATEST]),
    ],
)
def test_start_and_step(catalog: Catalog, start: int, step: int, expected: list[int]) -> None:
    table = by_default(catalog, start, step)
    table.append(names("a", "b"))
    table.append(names("c"))
    assert ids(table) == expected


@pytest.mark.parametrize(("start", "step"), [(GREATEST - 2, 2), (LEAST + 3, -3), (0, GREATEST)])
def test_numbers_end(catalog: Catalog, start: int, step: int) -> None:
    table = by_default(catalog, start, step)
    table.append(names("a"))
    table.append(names("b"))
    refused(lambda: table.append(names("c")), "d: the identity column id has no numbers left")
    assert ids(table) == sorted([start, start + step])
    table.delete([("id", "=", start)])


def test_numbers_end_in_the_middle_of_a_batch(catalog: Catalog) -> None:
    table = by_default(catalog, GREATEST - 2, 1)
    refused(lambda: table.append(names("a", "b", "c", "d")), "has no numbers left")
    assert ids(table) == []
    before = table.state.properties["__identity.1"]
    assert f'"next":{GREATEST + 1}' in before  # those that were taken are gone


def test_always_takes_no_numbers(table: Table) -> None:
    refused(
        lambda: table.append(numbered(7)),
        "tab: id is GENERATED ALWAYS",
        "the number 7",
        "BY DEFAULT",
    )
    refused(lambda: table.append(numbered(None, 8)), "the number 8")
    refused(lambda: table.overwrite(numbered(7)), "GENERATED ALWAYS")
    refused(lambda: table.update({"id": 5}), "tab: id is GENERATED ALWAYS", "can't be updated")
    assert ids(table) == []
    table.append(names("a"))
    table.update({"name": "b"}, [("id", "=", 1)])
    assert shown(table) == [(1, "b")]


def test_by_default_takes_numbers_and_counts_on(catalog: Catalog) -> None:
    table = by_default(catalog)
    table.append(numbered(1, None, 1))
    table.append(names("a"))
    assert ids(table) == [1, 1, 1, 2]
    table.update({"id": 9}, [("id", "=", 2)])
    assert ids(table) == [1, 1, 1, 9]
    refused(lambda: table.update({"id": None}), "NOT NULL")


def test_many_batches_take_few_commits(table: Table) -> None:
    batches = pa.Table.from_batches([pa.record_batch({"name": ["x"] * 3}) for _ in range(100)])
    version = table.version
    table.append(batches)
    assert ids(table) == list(range(1, 301))
    assert table.version - version < 10
    table.append(names("a"))
    assert ids(table)[-1] == 301


def test_two_columns(catalog: Catalog) -> None:
    both = {"a": Identity(start=5, step=5), "b": Identity(always=False, start=0, step=3)}
    table = catalog.create_table("tab", "a BIGINT, x INT, b BIGINT", identity=both)
    table.append(pa.table({"x": pa.array([1, 2], pa.int32())}))
    table.append(pa.table({"x": pa.array([3], pa.int32()), "b": pa.array([100], pa.int64())}))
    assert shown(table, "a", "x", "b") == [(5, 1, 0), (10, 2, 3), (15, 3, 100)]


def test_beside_a_generated_column(catalog: Catalog) -> None:
    table = catalog.create_table(
        "tab", "id BIGINT, x INT, y INT", identity={"id": Identity()}, generated={"y": "x + 1"}
    )
    table.append(pa.table({"x": pa.array([3], pa.int32())}))
    assert shown(table, "id", "x", "y") == [(1, 3, 4)]


@pytest.mark.parametrize(
    ("schema", "options", "text"),
    [
        ("id INT, x INT", {}, "is no BIGINT"),
        ("id DECIMAL(20, 0), x INT", {}, "is no BIGINT"),
        ("id BIGINT DEFAULT 5, x INT", {}, "has a DEFAULT"),
        ("id BIGINT, x INT", {"primary_key": ["x"]}, "primary key"),
        ("id BIGINT, x INT", {"primary_key": ["id"]}, "primary key"),
        ("id BIGINT, x INT", {"partitioned_by": ["bucket(4, id)"]}, "partition by another"),
        ("id BIGINT, x BIGINT", {"generated": {"x": "id + 1"}}, "compute them from others"),
    ],
)
def test_what_can_not_number_rows(
    catalog: Catalog, schema: str, options: dict[str, Any], text: str
) -> None:
    refused(
        lambda: catalog.create_table("tab", schema, identity={"id": Identity()}, **options),
        "tab: the identity column id",
        text,
    )


def test_what_is_no_identity(catalog: Catalog) -> None:
    refused(lambda: Identity(step=0), "INCREMENT BY 0")
    refused(lambda: Identity(start=2**63), "no BIGINT")
    with pytest.raises(NotFoundError, match="no column q"):
        catalog.create_table("tab", "id BIGINT", identity={"q": Identity()})
    refused(
        lambda: catalog.create_table("tab", "s STRUCT<id: BIGINT>", identity={"s.id": Identity()}),
        "is no BIGINT at the top level",
    )


def test_what_an_alter_can_not_do(table: Table) -> None:
    refused(lambda: table.alter().change_type("id", "decimal(20, 0)").commit(), "is no BIGINT")
    refused(lambda: table.alter().drop_not_null("id").commit(), "stays NOT NULL")
    refused(lambda: table.alter().set_default("id", 5).commit(), "has a DEFAULT")
    refused(lambda: table.alter().set_partitioning(["id"]).commit(), "partition by another")
    refused(lambda: table.alter().set_property("__identity.1", "x").commit(), "SYNC IDENTITY")
    assert table.version == 0


def test_a_renamed_and_moved_column_goes_on(table: Table) -> None:
    table.append(names("a"))
    table.alter().rename_column("id", "nr").move_column("nr", after="name").commit()
    table.append(names("b"))
    assert shown(table, "nr", "name") == [(1, "a"), (2, "b")]
    refused(lambda: table.update({"nr": 5}), "nr is GENERATED ALWAYS")


def test_a_dropped_column_ends(table: Table) -> None:
    table.append(names("a"))
    table.alter().drop_column("id").commit()
    assert "__identity.1" not in table.state.properties
    table.alter().add_column("id", "BIGINT").commit()
    table.append(names("b"))
    assert shown(table, "name", "id") == [("a", None), ("b", None)]


def test_an_append_in_flight_outlives_a_drop_of_the_column(catalog: Catalog, table: Table) -> None:
    rows = names("a")
    transaction = table.transaction()
    plan = transaction.plan_write(rows.schema)
    catalog.load_table("tab").alter().drop_column("id").commit()
    transaction.commit_append(plan, plan.write(rows.schema, rows.to_batches()))
    assert shown(table, "name") == [("a",)]


def test_a_rollback_gives_no_number_back(table: Table) -> None:
    for name in "abc":
        table.append(names(name))
    table.rollback(2)
    table.append(names("d"))
    assert shown(table) == [(1, "a"), (4, "d")]


def test_a_rollback_over_a_drop_of_the_column(table: Table) -> None:
    table.append(names("a", "b"))
    version = table.version
    table.alter().drop_column("id").commit()
    table.append(names("c"))
    table.rollback(version)
    table.append(names("d"))
    assert shown(table) == [(1, "a"), (2, "b"), (3, "d")]


def test_replace_and_restore(catalog: Catalog, table: Table) -> None:
    table.append(names("a"))
    version = table.version
    new = catalog.replace_table(
        "tab", "id BIGINT, name STRING", identity={"id": Identity(start=50)}
    )
    new.append(names("b"))
    assert shown(new) == [(50, "b")]
    new.rollback(version)
    new.append(names("c"))
    assert shown(new) == [(1, "a"), (2, "c")]


def test_a_restore_gives_no_number_back(catalog: Catalog, table: Table) -> None:
    table.append(names("a"))
    version = table.version
    table.append(names("b"))
    for number in (3, 4):
        catalog.replace_table("tab", "x INT")
        table.refresh().rollback(version)
        table.append(names("c"))
        assert shown(table) == [(1, "a"), (number, "c")]


def test_branches_share_numbers(table: Table) -> None:
    table.append(names("a"))
    for name in ("one", "two"):
        table.create_branch(name)
    one, two = table.branch("one"), table.branch("two")
    one.append(names("b"))
    two.append(names("c"))
    table.append(names("d"))
    one.append(names("e"))
    assert [ids(each) for each in (table, one, two)] == [[1, 4], [1, 2, 5], [1, 3]]
    table.merge_branch("one")
    table.merge_branch("two")
    table.append(names("f"))
    assert shown(table) == [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "e"), (6, "f")]


def test_a_branch_moves_the_table_forward(table: Table) -> None:
    table.create_branch("audit")
    table.branch("audit").append(names("a"))
    table.merge_branch("audit", fast_forward=True)
    table.append(names("b"))
    assert shown(table) == [(1, "a"), (2, "b")]


def test_a_clone_counts_by_itself(catalog: Catalog, table: Table) -> None:
    table.append(names("a", "b"))
    clone = catalog.clone_table("c", "tab")
    clone.append(names("c"))
    table.append(names("d"))
    assert ids(clone) == ids(table) == [1, 2, 3]


def test_maintenance_keeps_numbers(table: Table) -> None:
    for name in "abcd":
        table.append(names(name))
    table.delete([("name", "=", "b")])
    table.maintenance.compact()
    assert shown(table) == [(1, "a"), (3, "c"), (4, "d")]
    table.refresh().append(names("e"))
    assert ids(table) == [1, 3, 4, 5]


def test_a_drop_and_an_undrop(catalog: Catalog, table: Table) -> None:
    table.append(names("a"))
    catalog.drop_table("tab")
    back = catalog.undrop("tab")
    back.append(names("b"))
    assert ids(back) == [1, 2]


def test_a_recovered_table_goes_on_after_its_rows(
    catalog: Catalog, table: Table, tmp_path: Path
) -> None:
    table.append(names("a"))
    table.log.write_checkpoint(table.state)
    for name in "bc":
        table.append(names(name))
    log = tmp_path / "tab/_versioned/log"
    for entry in sorted(log.iterdir())[3:]:
        entry.unlink()
    Catalog.recover(tmp_path / "tab", tmp_path / "new")
    back = Catalog.load_path(tmp_path / "new")
    before = ids(back)
    assert before[0] == 1
    assert before[-1] > 1
    back.append(names("d"))
    assert shown(back)[-1] == (before[-1] + 1, "d")


def test_a_pin_that_does_not_see_the_column(catalog: Catalog) -> None:
    table = catalog.create_table("tab", "id BIGINT, name STRING", identity={"id": Identity()})
    table.pin_schema("old")
    table.append(names("a"))
    table.seen_as("old").append(names("b"))
    assert shown(table) == [(1, "a"), (2, "b")]


def test_imports(catalog: Catalog, table: Table, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    pq.write_table(numbered(7), folder / "with.parquet")
    own = Catalog(tmp_path, roots={"in": folder})
    refused(lambda: own.load_table("tab").import_files(folder), "tab: id is GENERATED ALWAYS")
    assert ids(table) == []
    (folder / "with.parquet").unlink()
    pq.write_table(names("a"), folder / "without.parquet")
    refused(
        lambda: own.load_table("tab").import_files(folder),
        "tab: root:in",
        "import copies instead, whose rows the table numbers (copy=True)",
    )
    own.load_table("tab").import_files(folder, copy=True)
    assert shown(table) == [(1, "a")]


def test_sync(catalog: Catalog) -> None:
    table = by_default(catalog, start=100, step=2)
    assert table.sync_identity("id") == 0
    table.append(numbered(1, 2, 99))
    version = table.version
    assert table.sync_identity("id") == version  # all before the first number
    table.append(numbered(100, 105))
    assert table.sync_identity("id") == table.version > version + 1
    table.append(names("a"))
    assert ids(table)[-1] == 106
    table.delete(None)
    version = table.refresh().version
    assert table.sync_identity("id") == version  # it never goes back
    table.append(names("b"))
    assert ids(table) == [108]
    refused(lambda: table.sync_identity("name"), "d: the column name is no identity column")


def test_sync_downwards(catalog: Catalog) -> None:
    table = by_default(catalog, start=-10, step=-2)
    table.append(numbered(1, -9, -13))
    table.sync_identity("id")
    table.append(names("a"))
    assert ids(table)[0] == -14


def test_what_was_taken_last_is_given_back(catalog: Catalog, table: Table) -> None:
    (column,) = identities_of(table.state.properties)
    first = take(table.handle, column, 10)
    assert first == Taken(1, 1, 10, 1)
    give_back(table.handle, first, 4)
    second = take(catalog.load_table("tab").handle, column, 10)
    assert second.first == 5
    third = take(table.handle, column, 10)
    give_back(table.handle, second, 0)  # others were taken since
    assert third.first == 15
    assert take(table.handle, column, 1).first == 25


def test_rows_give_back_only_what_was_taken_last(catalog: Catalog, table: Table) -> None:
    """As the jar commits: numbers are taken first, and told with the rows."""
    (column,) = identities_of(table.state.properties)
    rows = numbered(1, 2)
    mine = take(table.handle, column, 100)
    plan = table.transaction().plan_write(rows.schema)
    plan = replace(plan, identities=(), base=replace(plan.based_on, taken=(mine,)))
    records = plan.write(rows.schema, rows.to_batches())
    other = take(catalog.load_table("tab").handle, column, 10)
    table.transaction().commit_append(plan, records)
    assert stored(table).endswith('"next":111}')
    again = replace(plan, base=replace(plan.based_on, taken=(other,)))
    records = plan.write(rows.schema, rows.to_batches())
    table.transaction().commit_append(again, records)
    assert stored(table).endswith('"next":101}')  # no row holds one of those


def test_a_write_that_fails_gives_the_rest_back(table: Table) -> None:
    def batches() -> Any:
        yield pa.record_batch({"name": ["a"] * 4})
        yield pa.record_batch({"name": ["b"]})
        raise OSError("gone")

    schema = pa.schema([("name", pa.string())])
    with pytest.raises(OSError, match="gone"):
        table.append(pa.RecordBatchReader.from_batches(schema, batches()))
    table.append(names("c"))
    assert shown(table) == [(6, "c")]


def test_a_damaged_property(table: Table) -> None:
    for text in ("x", "{}", '{"always":1,"start":1,"step":1,"next":1}', '{"always":true}'):
        with pytest.raises(CorruptTableError, match="does not hold an identity column"):
            identities_of({"__identity.1": text})


def test_the_feature(catalog: Catalog, table: Table) -> None:
    assert table.state.features.write >= {"identity"}
    assert "identity" not in table.state.features.read
    assert "identity" not in catalog.create_table("plain", "a INT").state.features.write
