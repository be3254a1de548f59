"""CHECK constraints and logical types: no commit brings a row that violates one, whoever makes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checks.rules import COLUMNS, RULES, Rule, ids, opened_files, refused, rows
from versioned_catalog import (
    Catalog,
    CommitConflictError,
    NotFoundError,
    Table,
)

CHECK, NUMBERS, _ = RULES


LATER = {"numbers": [pytest.mark.thorough], "texts": [pytest.mark.thorough]}


@pytest.fixture(params=[pytest.param(r, id=r.name, marks=LATER.get(r.name, [])) for r in RULES])
def rule(request: pytest.FixtureRequest) -> Rule:
    found: Rule = request.param
    return found


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(tmp_path / "w", roots={"lake": tmp_path / "lake"})


@pytest.fixture
def table(catalog: Catalog) -> Table:
    return catalog.create_table("t", COLUMNS)


@pytest.fixture
def ruled(table: Table, rule: Rule) -> Table:
    rule.add(table.alter()).commit()
    return table


WRITES: dict[str, Callable[[Table, pa.Table], object]] = {
    "append": lambda table, new: table.append(new),
    "overwrite": lambda table, new: table.overwrite(new),
    "overwrite where": lambda table, new: table.overwrite_where(new, [("id", "=", 1)]),
    "update": lambda table, new: table.update(
        {name: new[name][0].as_py() for name in ("n", "s")}, [("id", "=", 1)]
    ),
    "append a column": lambda table, new: table.append(
        new.append_column("new", pa.array([1], pa.int32())), merge_schema=True
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_every_write_is_checked(ruled: Table, rule: Rule, name: str) -> None:
    ruled.append(rows(1, 2))
    version, seen = ruled.version, ids(ruled)
    error = refused(
        lambda: WRITES[name](ruled, rule.violating(9)), "t: ", "row to write", *rule.said
    )
    assert error.condition == "VERSIONED_CHECK_VIOLATION"
    assert error.sqlstate == "23514"
    assert (ruled.refresh().version, ids(ruled)) == (version, seen)
    WRITES[name](ruled, rows(9, n=None, s=None))
    assert ruled.refresh().version == version + 1


def test_rows_that_are_there_are_checked(table: Table, rule: Rule) -> None:
    table.append(rows(1))
    table.append(rule.violating(2))
    error = refused(lambda: rule.add(table.alter()).commit(), "a row of the table", *rule.said)
    assert error.condition == "VERSIONED_CHECK_VIOLATION"
    assert not rule.holds(table.refresh())
    table.delete([("id", "=", 2)])
    rule.add(table.alter()).commit()
    rule.drop(table.alter()).commit()
    table.append(rule.violating(3))
    assert (ids(table), rule.holds(table)) == ([1, 3], False)


def test_rows_that_are_marked_are_not_checked(catalog: Catalog, rule: Rule) -> None:
    table = catalog.create_table("t", COLUMNS, properties={"row_changes": "mark"})
    table.append(pa.concat_tables([rows(1), rule.violating(2)]))
    table.delete([("id", "=", 2)])
    assert table.state.segments.shown_rows == 1
    assert table.state.segments.rows == 2
    rule.add(table.alter()).commit()
    table.delete([("id", "=", 1)])


def test_an_append_in_flight_is_checked_by_a_rule_that_came_first(
    catalog: Catalog, table: Table, rule: Rule
) -> None:
    planned = []
    for data in (rule.violating(0), rows(1)):
        transaction = catalog.load_table("t").transaction()
        plan = transaction.plan_write(data.schema)
        planned.append((transaction, plan, plan.write(data.schema, data.to_batches())))
    rule.add(table.alter()).commit()
    (bad, bad_plan, bad_records), (good, good_plan, good_records) = planned
    refused(lambda: bad.commit_append(bad_plan, bad_records), *rule.said)
    good.commit_append(good_plan, good_records)
    assert ids(table) == [1]


def test_a_rule_is_checked_against_appends_that_came_first(
    catalog: Catalog, table: Table, rule: Rule
) -> None:
    change = rule.add(table.alter())
    catalog.load_table("t").append(rule.violating(1))
    refused(change.commit, "a row of the table", *rule.said)
    assert not rule.holds(catalog.load_table("t"))


def test_a_rule_and_a_drop_of_its_column_at_once(
    catalog: Catalog, table: Table, rule: Rule
) -> None:
    change = rule.add(table.alter())
    catalog.load_table("t").alter().drop_column(rule.column).commit()
    with pytest.raises((CommitConflictError, NotFoundError)):
        change.commit()
    assert not rule.holds(catalog.load_table("t"))


def test_compaction_and_copies_of_rows_keep_it(ruled: Table, rule: Rule) -> None:
    for at in range(3):
        ruled.append(rows(at))
    ruled.maintenance.compact()
    ruled.delete([("id", "=", 1)])
    assert ids(ruled) == [0, 2]
    refused(lambda: ruled.append(rule.violating(3)), *rule.said)


def test_a_merge_is_checked_by_the_rules_of_both_sides(table: Table, rule: Rule) -> None:
    table.create_branch("b")
    branch = table.branch("b")
    branch.append(rule.violating(1))
    rule.add(table.alter()).commit()
    refused(lambda: table.merge_branch("b"), "row to write", *rule.said)
    branch.delete([("id", "=", 1)])
    branch.alter().add_check("other", "id < 9").set_logical("id", "OID").commit()
    table.append(rows(10))
    refused(lambda: table.merge_branch("b"), "a row of the table violates the constraint other")
    table.delete([("id", "=", 10)])
    table.merge_branch("b")
    assert table.refresh().logical_types["id"] == "OID"
    assert table.checks["other"] == "id < 9"
    refused(lambda: table.append(rule.violating(2)), *rule.said)


def test_imported_files_are_checked(
    catalog: Catalog, ruled: Table, rule: Rule, tmp_path: Path
) -> None:
    folder = tmp_path / "lake"
    folder.mkdir()
    pq.write_table(rows(1), folder / "a.parquet")
    ruled.import_files(str(folder))
    pq.write_table(rule.violating(2), folder / "b.parquet")
    refused(lambda: ruled.import_files(str(folder)), *rule.said)
    assert ids(ruled) == [1]


def test_writes_through_a_pin_are_checked(table: Table, rule: Rule) -> None:
    table.pin_schema("old")
    table.alter().add_column("m", "INT", default=0).commit()
    rule.add(table.alter()).commit()
    seen = table.seen_as("old")
    seen.append(rows(1))
    refused(lambda: seen.append(rule.violating(2)), *rule.said)
    assert ids(table) == [1]


def test_rows_of_sinks_and_of_transactions_are_checked(
    catalog: Catalog, ruled: Table, rule: Rule
) -> None:
    sink = ruled.sink("app")
    sink.write(rows(1), 0)
    refused(lambda: sink.write(rule.violating(2), 1), *rule.said)
    other = catalog.create_table("other", COLUMNS)
    transaction = catalog.transaction()
    transaction.table("other").append(rows(7))
    refused(lambda: transaction.table("t").append(rule.violating(2)), *rule.said)
    transaction.abort()
    assert (ids(ruled), ids(other)) == ([1], [])
    with catalog.transaction() as transaction:
        rule.add(transaction.table("other").alter()).commit()
        transaction.table("other").append(rows(1))
        transaction.table("t").append(rows(3))
    assert (ids(ruled), rule.holds(other.refresh())) == ([1, 3], True)


def test_it_goes_and_comes_back_with_the_rows(catalog: Catalog, ruled: Table, rule: Rule) -> None:
    """By rollback, DROP and UNDROP, a replacement, and a rollback over that."""
    ruled.append(rows(1))
    with_rule = ruled.version
    rule.drop(ruled.alter()).commit()
    ruled.append(rule.violating(2))
    ruled.rollback(with_rule)
    assert (ids(ruled), rule.holds(ruled)) == ([1], True)
    refused(lambda: ruled.append(rule.violating(2)), *rule.said)
    catalog.drop_table("t")
    catalog.undrop("t")
    again = catalog.load_table("t")
    refused(lambda: again.append(rule.violating(2)), *rule.said)
    new = catalog.replace_table("t", COLUMNS)
    assert not rule.holds(new)
    new.append(rule.violating(2))
    new.rollback(with_rule)
    assert (ids(new), rule.holds(new)) == ([1], True)
    refused(lambda: new.append(rule.violating(2)), *rule.said)


def test_a_clone_has_it_and_is_named(catalog: Catalog, ruled: Table, rule: Rule) -> None:
    clone = catalog.clone_table("c", "t")
    refused(lambda: clone.append(rule.violating(3)), "c: ", *rule.said)
    rule.drop(clone.alter()).commit()
    assert rule.holds(ruled.refresh())


def test_a_recovered_table_keeps_it(tmp_path: Path, ruled: Table, rule: Rule) -> None:
    ruled.append(rows(1))
    Catalog.recover(ruled.location, tmp_path / "new")
    new = Catalog.load_path(tmp_path / "new")
    assert (rule.holds(new), ids(new)) == (True, [1])
    assert new.state.features.write >= ruled.state.features.write - {"checksums"}
    refused(lambda: new.append(rule.violating(2)), *rule.said)


@pytest.mark.parametrize("rule", [CHECK, NUMBERS], ids=["check", "numbers"], indirect=False)
def test_segments_whose_statistics_show_that_all_is_well_are_not_read(
    table: Table, rule: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule.add(table.alter()).commit()
    opened = opened_files(table, monkeypatch)
    table.append(rows(1, 2, 3))
    table.append(pa.concat_tables([rows(4, n=None), rows(5)]))
    assert not opened
    refused(lambda: table.append(pa.concat_tables([rule.violating(4), rows(5)])), *rule.said)
    assert len(opened) == 1
