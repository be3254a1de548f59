"""Narrowing a column: which types may follow which, and what the commit checks."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, CommitConflictError, InvalidRequestError, Snapshot, Table
from versioned_catalog.model.types import Array, Atom, Char, Column, Varchar
from versioned_catalog.model.types import Decimal as Digits
from versioned_catalog.model.widening import narrows

B, S, N, L = Atom.BYTE, Atom.SHORT, Atom.INT, Atom.LONG
BIG = 2**40


@pytest.mark.parametrize(
    ("old", "new", "legal"),
    [
        (L, N, True), (L, B, True), (N, S, True), (Atom.DOUBLE, Atom.FLOAT, True),
        (Atom.DOUBLE, N, True), (Digits(12, 2), Digits(5, 1), True), (Digits(20, 0), L, True),
        (Atom.TIMESTAMP_NTZ, Atom.DATE, True), (Atom.STRING, Varchar(3), True),
        (Varchar(5), Varchar(4), True), (Varchar(5), Char(5), False), (Atom.STRING, N, False),
        (L, Atom.DOUBLE, False), (Atom.DOUBLE, L, False), (Atom.TIMESTAMP, Atom.DATE, False),
        (N, N, False), (N, L, False), (Array(Column(1, "element", L)), N, False),
    ],
)  # fmt: skip
def test_a_type_narrows_to_those_that_widen_to_it(old: Any, new: Any, legal: bool) -> None:
    assert narrows(old, new) is legal


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(tmp_path)


@pytest.fixture
def table(catalog: Catalog) -> Table:
    table = catalog.create_table("t", "id INT, n BIGINT, x STRUCT<a: BIGINT>, l ARRAY<BIGINT>")
    write(table, 1, 5)
    return table


def write(table: Table, id_: int, n: int | None) -> None:
    table.append(pa.table({"id": pa.array([id_], pa.int32()), "n": pa.array([n], pa.int64())}))


def values(table: Table | Snapshot, name: str = "n") -> list[Any]:
    return sorted(table.scan([name]).to_arrow()[name].to_pylist(), key=repr)


@pytest.mark.parametrize("path", ["n", "x.a", "l.element"])
def test_a_value_that_does_not_fit_forbids_the_change(table: Table, path: str) -> None:
    struct = pa.struct([("a", pa.int64())])
    table.append(
        pa.table(
            {
                "id": pa.array([2, 3], pa.int32()),
                "n": [BIG, None],
                "x": pa.array([{"a": BIG}, None], struct),
                "l": [[1, BIG], None],
            }
        )
    )
    version = table.version
    with pytest.raises(
        InvalidRequestError, match=f"{path} can't be narrowed .* 1 of its values do"
    ):
        table.alter().narrow(path, "INT").commit()
    with pytest.raises(InvalidRequestError, match=r"may not hold every value \(narrow"):
        table.alter().change_type(path, "INT").commit()
    assert table.version == version
    table.delete([("id", "=", 2)])
    table.alter().narrow(path, "INT").commit()
    assert table.scan().to_arrow().num_rows == 2
    assert values(table) == [5, None]


def test_unknown_numbers_of_nulls_prove_nothing(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    from versioned_catalog.commit import narrowing_rules

    state = table.state
    column = state.schema.get(("n",))
    assert narrowing_rules._is_proven(state, column, N)
    assert narrowing_rules._is_proven(state, column, Atom.BYTE)
    write(table, 2, 200)
    assert not narrowing_rules._is_proven(table.state, column, Atom.BYTE)

    class Bounds(narrowing_rules.SegmentBounds):
        def _statistic(self, name: str, column: Column) -> pa.Array:
            known = super()._statistic(name, column)
            return pa.nulls(len(known), pa.int64()) if name == "nulls" else known

    monkeypatch.setattr(narrowing_rules, "SegmentBounds", Bounds)
    assert not narrowing_rules._is_proven(table.state, column, Atom.BYTE)
    assert narrowing_rules._is_proven(table.state, column, N)


def test_old_versions_keep_their_types_and_values(table: Table) -> None:
    write(table, 2, BIG)
    wide = table.version
    table.delete([("n", "=", BIG)])
    table.alter().narrow("n", "INT").commit()
    write_int = pa.table({"id": pa.array([4], pa.int32()), "n": pa.array([7], pa.int32())})
    table.append(write_int)
    assert table.scan(["n"]).schema.field("n").type == pa.int32()
    assert values(table) == [5, 7]
    assert sorted(values(table.snapshot(wide))) == [5, BIG]
    with pytest.raises(InvalidRequestError, match="BIGINT does not widen to it"):
        write(table, 3, 1)
    table.maintenance.compact(strategy="full")
    assert values(table) == [5, 7]
    assert not table.state.converts
    table.rollback(wide)
    assert table.schema.get("n").type is L
    assert sorted(values(table)) == [5, BIG]


def test_rows_planned_before_are_checked_by_their_statistics(table: Table) -> None:
    late, large = table.transaction(), table.transaction()
    rows = {"id": pa.array([2], pa.int32())}
    fitting = pa.table({**rows, "n": [6]})
    plans = [late.plan_write(fitting.schema), large.plan_write(fitting.schema)]
    written = [
        plan.write(data.schema, data.to_batches(), table.store)
        for plan, data in zip(plans, (fitting, pa.table({**rows, "n": [BIG]})), strict=True)
    ]
    table.alter().narrow("n", "INT").commit()
    late.commit_append(plans[0], written[0])
    with pytest.raises(CommitConflictError, match="n was narrowed from BIGINT to INT since"):
        large.commit_append(plans[1], written[1])
    assert values(table.refresh()) == [5, 6]


def test_a_narrowed_column_widens_again_as_far_as_its_segments_allow(table: Table) -> None:
    table.alter().narrow("n", "SMALLINT").commit()
    table.alter().change_type("n", "INT").commit()
    assert table.schema.get("n").widest is L
    with pytest.raises(InvalidRequestError, match="narrowed from BIGINT, which segments may still"):
        table.alter().change_type("n", "DOUBLE").commit()
    table.alter().change_type("n", "DECIMAL(22,2)").commit()
    assert table.schema.get("n").widest is None
    assert values(table) == [Decimal("5.00")]


def test_defaults_follow_or_forbid(catalog: Catalog) -> None:
    table = catalog.create_table("t", "id INT, n BIGINT DEFAULT 5, m BIGINT")
    table.append(pa.table({"id": pa.array([1], pa.int32())}))
    table.alter().add_column("o", "BIGINT", default=BIG).commit()
    table.alter().set_default("m", BIG).commit()
    table.alter().narrow("n", "TINYINT").commit()
    assert table.schema.get("n").write_default.json == '"5"'
    for path in ("m", "o"):
        with pytest.raises(InvalidRequestError, match=r"default .* does not fit"):
            table.alter().narrow(path, "INT").commit()


@pytest.mark.thorough
def test_what_rows_are_found_by_is_not_narrowed(catalog: Catalog) -> None:
    key = catalog.create_table("k", "id BIGINT, v BIGINT", primary_key=["id"])
    parts = catalog.create_table("p", "id BIGINT, v BIGINT", partitioned_by=["bucket(4, id)"])
    for table in (key, parts):
        with pytest.raises(InvalidRequestError, match="id can't be narrowed, since it is"):
            table.alter().narrow("id", "INT").commit()
        table.alter().narrow("v", "INT").commit()


def test_the_newest_rows_of_a_key_are_those_that_must_fit(catalog: Catalog) -> None:
    table = catalog.create_table("k", "id INT, v BIGINT", primary_key=["id"])

    def upsert(*pairs: tuple[int, int]) -> None:
        ids, numbers = zip(*pairs, strict=True)
        type_ = table.scan(["v"]).schema.field("v").type
        table.append(pa.table({"id": pa.array(ids, pa.int32()), "v": pa.array(numbers, type_)}))

    upsert((1, BIG), (2, 2), (3, BIG))
    with pytest.raises(InvalidRequestError, match="2 of its values do not fit"):
        table.alter().narrow("v", "INT").commit()
    upsert((1, 1))
    with pytest.raises(InvalidRequestError, match="1 of its values does not fit"):
        table.alter().narrow("v", "INT").commit()
    table.delete([("id", "=", 3)])
    table.alter().narrow("v", "INT").commit()
    assert values(table, "v") == [1, 2]
    table.maintenance.compact(strategy="full")
    assert values(table, "v") == [1, 2]


@pytest.mark.parametrize(
    ("sql", "match"),
    [
        (
            "ALTER TABLE t ALTER COLUMN n TYPE INT USING CAST(n AS INT)",
            "add a column, fill it with",
        ),
        ("ALTER TABLE t ALTER COLUMN n TYPE DATE", "only widenings"),
    ],
)
def test_other_conversions_are_refused(table: Table, sql: str, match: str) -> None:
    with pytest.raises(InvalidRequestError, match=match):
        table.alter_sql(sql).commit()


def test_the_statement_narrows(table: Table) -> None:
    table.alter_sql("ALTER TABLE t ALTER COLUMN n TYPE INT").commit()
    assert table.schema.get("n").type is N
    assert values(table) == [5]


@pytest.mark.thorough
def test_a_published_table_is_not_narrowed(catalog: Catalog) -> None:
    table = catalog.create_table("t", "n BIGINT", properties={"publish": "iceberg"})
    with pytest.raises(InvalidRequestError, match=r"narrowed from BIGINT to INT|can't change"):
        table.alter().narrow("n", "INT").commit()
    plain = catalog.create_table("u", "n BIGINT")
    plain.alter().narrow("n", "INT").commit()
    with pytest.raises(InvalidRequestError, match="narrowed from BIGINT to INT"):
        plain.alter().set_property("publish", "iceberg").commit()


@pytest.mark.thorough
def test_checkpoints_keep_the_bounds_of_both_types(table: Table) -> None:
    write(table, 2, BIG)
    table.delete([("id", "=", 2)])
    table.alter().narrow("n", "INT").commit()
    for number in range(40):  # enough for a checkpoint
        rows = {"id": pa.array([number], pa.int32()), "n": pa.array([number], pa.int32())}
        table.append(pa.table(rows))
    fresh = Catalog.load_path(table.location)
    assert values(fresh) == values(table)
    assert sorted(values(fresh)) == sorted([5, *range(40)])
    found = fresh.scan(["n"], filters=[("n", ">", 38)])
    assert found.report().pruned == found.report().segments - 1
    assert found.to_arrow()["n"].to_pylist() == [39]
    assert fresh.maintenance.verify(deep=True).findings == ()


@pytest.mark.thorough
def test_dates_and_texts(catalog: Catalog) -> None:
    table = catalog.create_table("t", "t TIMESTAMP_NTZ, s STRING, d DOUBLE")
    day = dt.datetime(2026, 1, 31)
    table.append(pa.table({"t": [day], "s": ["äöü"], "d": [0.5]}))
    change = table.alter().narrow("t", "DATE").narrow("s", "VARCHAR(3)").narrow("d", "FLOAT")
    change.commit()
    assert table.scan().to_arrow().to_pylist() == [{"t": day.date(), "s": "äöü", "d": 0.5}]
    for filter_ in (("t", "=", day.date()), ("s", "=", "äöü"), ("d", "<=", 0.5)):
        assert table.scan(filters=[filter_]).count() == 1
