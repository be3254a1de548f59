"""Strict and live schemas: rows with columns that the table lacks, and two writers that bring some."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, CommitConflictError, InvalidRequestError, Table
from versioned_catalog.commit.operations import Append
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.model.ddl import render_type
from versioned_catalog.model.types import Now
from versioned_catalog.write.plan import WritePlan
from versioned_catalog.write.retry import commit_replanned

INT, LONG, TEXT = pa.int32(), pa.int64(), pa.string()


def rows(values: list[dict[str, Any]], **types: pa.DataType) -> pa.Table:
    return pa.Table.from_pylist(values, pa.schema(list(types.items())))


def shown(table: Table) -> list[dict[str, Any]]:
    found = Catalog.load_path(table.location).scan().to_arrow().to_pylist()
    return sorted(found, key=lambda row: str(list(row.values())))


def make(columns: str, mode: str | None = "live", **how: Any) -> Table:
    properties = {} if mode is None else {"schema_mode": mode}
    return Catalog.create_path(f"memory://{uuid4()}", columns, properties=properties, **how)


def another(table: Table) -> Table:
    return Catalog.load_path(table.location)


def ids(table: Table) -> dict[str, int]:
    return {column.name: column.id for column in another(table).schema.columns}


# Columns of nulls, and types that need a third one.


@pytest.mark.parametrize("keyed", [False, True])
def test_a_column_of_nulls_gets_its_type_with_its_first_value(keyed: bool) -> None:
    table = make("a INT", primary_key=["a"] if keyed else [])
    untyped = pa.table({"a": pa.array([1], INT), "x": pa.nulls(1), "y": pa.array([1], LONG)})
    table.append(untyped)
    assert table.schema.names == ["a", "y"]
    table.append(rows([{"a": 2, "x": 5}], a=INT, x=LONG))
    assert {c.name: render_type(c.type) for c in table.schema.columns}["x"] == "BIGINT"
    table.append(untyped.set_column(0, "a", pa.array([3], INT)))
    assert [row["x"] for row in shown(table)] == [None, 5, None]
    table.overwrite(untyped)
    table.append(pa.table({"a": pa.array([4], INT), "z": pa.nulls(1)}))
    assert table.schema.names == ["a", "y", "x"]


def test_a_column_of_nulls_that_another_writer_adds_meanwhile_stays_null() -> None:
    table = make("a INT")
    data = pa.table({"a": pa.array([1], INT), "x": pa.nulls(1), "c": pa.array([2], INT)})

    def meanwhile() -> None:
        another(table).alter().add_column("x", "INT", default=7).commit()

    write_late(table, data, meanwhile)
    assert shown(table) == [{"a": 1, "x": None, "c": 2}]


def test_a_strict_table_refuses_an_unknown_column_of_nulls() -> None:
    table = make("a INT", None)
    with pytest.raises(InvalidRequestError, match="has no column x"):
        table.append(pa.table({"a": pa.array([1], INT), "x": pa.nulls(1)}))
    table.append(pa.table({"a": pa.array([1], INT), "x": pa.nulls(1)}), merge_schema=True)
    assert shown(table) == [{"a": 1}]


def decimal(text: str, precision: int, scale: int) -> pa.Array:
    return pa.array([Decimal(text)], pa.decimal128(precision, scale))


BOTH: list[tuple[str, pa.Array, str, Any]] = [
    ("DECIMAL(4,2)", decimal("123.4", 4, 1), "DECIMAL(5,2)", Decimal("123.40")),
    ("DECIMAL(4,1)", decimal("12.34", 4, 2), "DECIMAL(5,2)", Decimal("12.34")),
    ("INT", pa.array([0.5], pa.float32()), "DOUBLE", 0.5),
    ("FLOAT", pa.array([2**24 + 1], INT), "DOUBLE", float(2**24 + 1)),
    ("BIGINT", decimal("0.25", 4, 2), "DECIMAL(22,2)", Decimal("0.25")),
    ("DECIMAL(3,1)", pa.array([1000], pa.int16()), "DECIMAL(11,1)", Decimal("1000.0")),
]


@pytest.mark.parametrize(("first", "given", "both", "value"), BOTH)
def test_two_types_of_which_neither_holds_the_other_get_one_that_holds_both(
    first: str, given: pa.Array, both: str, value: Any
) -> None:
    table = make(f"a {first}, s STRUCT<x: {first}>")
    table.append(pa.table({"a": given, "s": pa.StructArray.from_arrays([given], ["x"])}))
    assert render_type(table.schema.get(("a",)).type) == both
    assert shown(table) == [{"a": value, "s": {"x": value}}]


def test_types_that_no_type_holds_are_refused() -> None:
    table = make("a BIGINT")
    with pytest.raises(InvalidRequestError, match=r"\ba\b.*BIGINT"):
        table.append(pa.table({"a": pa.array([0.5])}))
    assert table.version == 0


def test_the_refusal_does_not_advise_what_is_set_already() -> None:
    data = rows([{"a": 1, "b": 1}], a=INT, b=INT)
    with pytest.raises(InvalidRequestError, match="or let every write change the schema"):
        make("a INT", None).append(data)
    with pytest.raises(InvalidRequestError, match="does not follow the table property") as found:
        make("a INT").append(data, merge_schema=False)
    assert "let every write" not in str(found.value)


# The property.


@pytest.mark.parametrize("mode", ["Live", "on", ""])
def test_another_mode_is_refused(mode: str) -> None:
    with pytest.raises(InvalidRequestError, match="it must be 'strict' or 'live'"):
        make("a INT", mode)
    table = make("a INT", None)
    with pytest.raises(InvalidRequestError, match="it must be 'strict' or 'live'"):
        table.alter().set_property("schema_mode", mode).commit()


def test_the_property_can_be_changed() -> None:
    table = make("a INT", None)
    wider = rows([{"a": 1, "b": 2}], a=INT, b=INT)
    with pytest.raises(InvalidRequestError, match="no column b"):
        table.append(wider)
    table.alter().set_property("schema_mode", "live").commit()
    table.append(wider)
    table.alter().set_property("schema_mode", "strict").commit()
    with pytest.raises(InvalidRequestError, match="no column c"):
        table.append(rows([{"c": 1}], c=INT))
    assert shown(table) == [{"a": 1, "b": 2}]


@pytest.mark.parametrize("mode", [None, "strict", "live"])
def test_a_write_overrides_the_mode(mode: str | None) -> None:
    table = make("a INT", mode)
    with pytest.raises(InvalidRequestError, match="no column b"):
        table.append(rows([{"b": 1}], b=INT), merge_schema=False)
    assert (table.version, table.schema.names) == (0, ["a"])
    table.append(rows([{"b": 1}], b=INT), merge_schema=True)
    assert shown(table) == [{"a": None, "b": 1}]


# Live writes.


@pytest.mark.parametrize("method", ["append", "overwrite", "overwrite_partitions"])
def test_new_columns_and_wider_types_come_with_the_rows(method: str) -> None:
    table = make("a INT, s STRUCT<x: INT>, l ARRAY<STRUCT<e: INT>>, m MAP<STRING, STRUCT<v: INT>>")
    item = {
        "a": 2**40,
        "s": {"x": 1, "y": 2},
        "l": [{"e": 1, "f": 2}],
        "m": [("k", {"v": 1, "w": 2})],
    }
    given = rows(
        [{**item, "new": "n"}],
        a=LONG,
        s=pa.struct({"x": INT, "y": INT}),
        l=pa.list_(pa.struct({"e": INT, "f": LONG})),
        m=pa.map_(TEXT, pa.struct({"v": INT, "w": INT})),
        new=TEXT,
    )
    assert getattr(table, method)(given) == 1  # one commit
    assert shown(table) == [{**item, "new": "n"}]
    schema, widened = another(table).schema, [("a",), ("l", "element", "f")]
    assert [render_type(schema.get(path).type) for path in widened] == ["BIGINT", "BIGINT"]


def test_a_writer_with_fewer_columns_changes_nothing() -> None:
    table = make("a BIGINT, b INT, s STRUCT<x: INT, y: INT>")
    table.append(rows([{"a": 1, "s": {"y": 2}}], a=INT, s=pa.struct({"y": INT})))
    assert table.state.schema_version == 0
    assert shown(table) == [{"a": 1, "b": None, "s": {"x": None, "y": 2}}]


def test_a_type_that_does_not_widen_is_refused() -> None:
    table = make("a INT")
    with pytest.raises(InvalidRequestError, match="a is INT, and STRING does not widen to it"):
        table.append(rows([{"a": "x", "b": 1}], a=TEXT, b=INT))
    assert (another(table).version, table.schema.names) == (0, ["a"])


def test_a_dropped_name_becomes_a_new_column() -> None:
    table = make("a INT, note STRING")
    stale = rows([{"a": 2, "note": "new"}], a=INT, note=TEXT)
    table.append(rows([{"a": 1, "note": "old"}], a=INT, note=TEXT))
    table.alter().drop_column("note").commit()
    table.append(stale)
    assert ids(table) == {"a": 1, "note": 3}
    assert shown(table) == [{"a": 1, "note": None}, {"a": 2, "note": "new"}]


def test_a_stale_plan_of_known_columns_brings_no_dropped_column_back() -> None:
    """The rows name a column that the table had when they were planned: that column, which is gone."""
    table = make("a INT, note STRING")
    another(table).alter().drop_column("note").commit()
    table.append(rows([{"a": 1, "note": "x"}], a=INT, note=TEXT))
    assert shown(table) == [{"a": 1}]


def test_upserts_bring_new_columns_and_wider_types() -> None:
    table = make("k INT, v INT", primary_key=["k"])
    table.upsert(rows([{"k": 1, "v": 1}, {"k": 2, "v": 2}], k=INT, v=INT))
    table.upsert(rows([{"k": 1, "w": 5}], k=INT, w=INT), partial=True)
    assert shown(table) == [{"k": 1, "v": 1, "w": 5}, {"k": 2, "v": 2, "w": None}]
    table.upsert(rows([{"k": 2, "v": 2**40}], k=INT, v=LONG))
    table.upsert(rows([{"k": 3, "x": 3}], k=INT, x=INT))
    assert shown(table) == [
        {"k": 1, "v": 1, "w": 5, "x": None},
        {"k": 2, "v": 2**40, "w": None, "x": None},
        {"k": 3, "v": None, "w": None, "x": 3},
    ]
    table.overwrite_where(rows([{"k": 4, "y": 1}], k=INT, y=INT), [("k", "<", 3)])
    assert [(row["k"], row["x"], row["y"]) for row in shown(table)] == [(3, 3, None), (4, None, 1)]


def test_an_overwrite_of_some_rows() -> None:
    table = make("a INT")
    table.append(rows([{"a": 1}, {"a": 2}], a=INT))
    table.overwrite_where(rows([{"a": 5, "b": 6}], a=INT, b=INT), [("a", "=", 1)])
    assert shown(table) == [{"a": 2, "b": None}, {"a": 5, "b": 6}]


# Refusals name what would let the rows in.


def test_the_refusal_names_all_changes_in_sql_and_python() -> None:
    table = make("a INT, n INT, s STRUCT<x: INT>", None)
    table.name = "db.t"
    given = rows([], n=LONG, x=TEXT, y=INT, s=pa.struct({"z": pa.date32()}))
    with pytest.raises(InvalidRequestError) as caught:
        table.append(given)
    assert caught.value.condition == "VERSIONED_COLUMN_NOT_FOUND"
    assert str(caught.value) == (
        "db.t: the table has no column x, y, s.z; the column n is INT, and BIGINT does not widen to it. "
        "Cast n to INT if the values fit. If y is what the table calls a, rename that column to y. "
        "To let the rows in as they are: ALTER TABLE db.t ALTER COLUMN n TYPE BIGINT; "
        "ALTER TABLE db.t ADD COLUMN x STRING; ALTER TABLE db.t ADD COLUMN y INT; "
        "ALTER TABLE db.t ADD COLUMN s.z DATE (in Python: alter().change_type('n', 'BIGINT')"
        ".add_column('x', 'STRING').add_column('y', 'INT').add_column('s.z', 'DATE').commit()). "
        "Or write with the option mergeSchema (in Python: merge_schema=True), or let every write "
        "change the schema with the table property schema_mode = live"
    )
    alteration = table.alter().change_type("n", "BIGINT").add_column("x", "STRING")
    alteration.add_column("y", "INT").add_column("s.z", "DATE").commit()
    table.append(given)


def test_the_refusal_knows_the_new_name_of_a_renamed_column() -> None:
    table = make("a INT, b INT, c INT", None)
    table.alter().rename_column("a", "total").drop_column("b").commit()
    with pytest.raises(InvalidRequestError) as caught:
        table.append(rows([], a=INT, b=INT))
    assert "has no column a (which is total now), b. To let" in str(caught.value)


def test_a_refusal_promises_nothing_that_does_not_help() -> None:
    """`b` could be added, but no change lets text into `a`."""
    with pytest.raises(InvalidRequestError) as caught:
        make("a INT", None).append(rows([], a=TEXT, b=INT))
    assert "To let the rows in" not in str(caught.value)


# Races: two writers planned on the same version.


def write_late(table: Table, data: pa.Table, during: Callable[[], object], **how: Any) -> int:
    """Append, with something that happens between the plan and the commit."""
    transaction = table.transaction()
    plan = transaction.plan_write(data.schema, **how)
    records = plan.write(data.schema, data.to_batches(), table.store)
    during()
    return transaction.commit_append(plan, records)


def test_two_writers_add_the_same_column() -> None:
    table, other = (made := make("a INT")), another(made)
    data = rows([{"a": 2, "b": 2}], a=INT, b=INT)

    def meanwhile() -> None:
        other.append(rows([{"a": 1, "b": 1}], a=INT, b=INT))

    assert write_late(table, data, meanwhile) == 2
    assert ids(table) == {"a": 1, "b": 2}
    assert shown(table) == [{"a": 1, "b": 1}, {"a": 2, "b": 2}]
    assert table.state.next_column_id == 3  # the second writer added nothing


def test_segments_that_fit_are_committed_as_they_are() -> None:
    table, other = (made := make("a INT")), another(made)
    data = rows([{"a": 2, "b": 2}], a=INT, b=INT)
    transaction = table.transaction()
    plan = transaction.plan_write(data.schema)
    records = plan.write(data.schema, data.to_batches(), table.store)
    other.append(rows([{"a": 1, "b": 1}], a=INT, b=INT))
    transaction.commit_append(plan, records)
    assert records[0].path in another(table).state.segments.paths


@pytest.mark.parametrize("key", [None, ["a"]])
@pytest.mark.parametrize("fields", [[], ["PARTITION"]])
def test_two_writers_add_different_columns(key: list[str] | None, fields: list[str]) -> None:
    how: dict[str, Any] = {} if key is None else {"primary_key": key}
    if fields:
        how["partitioned_by"] = ["a"]
    table = make("a INT NOT NULL, z INT", **how)
    other = another(table)
    data = rows([{"a": 2, "b": 2}, {"a": 3, "b": 3}], a=INT, b=INT)
    write_late(table, data, lambda: other.append(rows([{"a": 1, "c": "x"}], a=INT, c=TEXT)))
    assert ids(table) == {"a": 1, "z": 2, "c": 3, "b": 4}
    assert shown(table) == [
        {"a": 1, "z": None, "c": "x", "b": None},
        {"a": 2, "z": None, "c": None, "b": 2},
        {"a": 3, "z": None, "c": None, "b": 3},
    ]
    assert another(table).maintenance.verify(deep=True).findings == ()


def test_nested_fields_in_a_race() -> None:
    table = make("s STRUCT<x: INT, q: INT>, l ARRAY<STRUCT<e: BIGINT>>")
    other = another(table)
    data = rows(
        [{"l": [{"g": 1, "e": 5}, None], "s": {"y": 1, "x": 2}}, {"l": None, "s": None}],
        l=pa.list_(pa.struct({"g": INT, "e": INT})),
        s=pa.struct({"y": INT, "x": INT}),
    )

    def meanwhile() -> None:
        change = other.alter().add_column("s.z", "INT", default=7).drop_column("s.q")
        change.add_column("s.y", "BIGINT").commit()

    write_late(table, data, meanwhile)
    assert shown(table) == [
        {"s": None, "l": None},
        {"s": {"x": 2, "z": 7, "y": 1}, "l": [{"e": 5, "g": 1}, None]},
    ]
    assert list(ids(table)) == ["s", "l"]


def test_nested_names_in_another_case_in_a_race() -> None:
    table = make("s STRUCT<x: INT, y: INT>")
    other = another(table)
    data = rows([{"S": {"Y": 2}, "c": 1}], S=pa.struct({"Y": INT}), c=INT)
    write_late(
        table, data, lambda: other.alter().drop_column("s.x").add_column("d", "INT").commit()
    )
    assert shown(table) == [{"s": {"y": 2}, "d": None, "c": 1}]


def test_rows_keep_the_types_that_they_were_given_with() -> None:
    """They were widened to BIGINT, and fit the column that is INT by now."""
    table = make("a INT, v BIGINT, m DECIMAL(20, 2)")
    other = another(table)
    data = rows([{"a": 1, "v": 7, "m": 5, "c": 1}], a=INT, v=INT, m=INT, c=INT)

    def meanwhile() -> None:
        change = other.alter().drop_column("v").add_column("v", "INT")
        change.drop_column("m").add_column("m", "SMALLINT").change_type("m", "INT").commit()

    write_late(table, data, meanwhile)
    assert shown(table) == [{"a": 1, "v": 7, "m": 5, "c": 1}]


def test_other_arrow_types_in_a_race() -> None:
    table = make("a INT")
    given = {
        "d": pa.array(["x", None, "x"]).dictionary_encode(),
        "l": pa.array([[1], None, []], pa.large_list(INT)),
        "t": pa.array(["u", None, "v"], pa.large_string()),
        "n": pa.nulls(3),
    }
    data = pa.table(given)
    write_late(table, data, lambda: another(table).alter().add_column("b", "INT").commit())
    found = another(table).scan(["d", "l", "t"]).to_arrow().to_pylist()
    assert found == data.drop_columns(["n"]).to_pylist()
    assert "n" not in another(table).schema.names, "nothing says yet which type it has"


def test_a_rollback_after_a_write_was_planned_again() -> None:
    """Its segments hold BIGINT, planned when the column was that."""
    table = make("a INT, n INT")
    other = another(table)
    data = rows([{"a": 1, "n": 1, "c": 1}], a=INT, n=INT, c=INT)
    transaction, tries = table.transaction(), list[WritePlan]()
    plan = transaction.plan_write(data.schema)
    records = plan.write(data.schema, data.to_batches(), table.store)
    other.alter().change_type("n", "BIGINT").add_column("c", "INT").commit()

    def commit(plan: WritePlan, records: Sequence[SegmentRecord]) -> int:
        tries.append(plan)
        if len(tries) == 2:
            other.rollback(0)
        return table._handle.commit(Append(plan.based_on, tuple(records), plan.changes))

    with pytest.raises(CommitConflictError, match="rolled back from BIGINT to INT"):
        commit_replanned(table._handle, plan, records, commit)
    assert [len(plan.changes) for plan in tries] == [1, 0]


def test_a_partial_upsert_in_a_race() -> None:
    table = make("k INT, v INT", primary_key=["k"])
    table.upsert(rows([{"k": 1, "v": 1}], k=INT, v=INT))
    other = another(table)
    data = rows([{"k": 1, "w": 5}, {"k": 2, "w": 6}], k=INT, w=INT)
    write_late(
        table,
        data,
        lambda: other.alter().add_column("u", "INT", default=9).commit(),
        partial=True,
    )
    assert shown(table) == [{"k": 1, "v": 1, "u": 9, "w": 5}, {"k": 2, "v": None, "u": 9, "w": 6}]


def test_the_last_row_of_a_key_wins_in_a_race() -> None:
    table = make("k INT", primary_key=["k"])
    data = rows([{"k": 1, "v": n} for n in range(9)], k=INT, v=INT)
    write_late(table, data, lambda: another(table).alter().add_column("u", "INT").commit())
    assert shown(table) == [{"k": 1, "u": None, "v": 8}]


@pytest.mark.parametrize("method", ["overwrite", "overwrite_partitions", "overwrite_where"])
def test_overwrites_in_a_race_replace_what_they_were_planned_on(method: str) -> None:
    table = make("p INT, v INT", partitioned_by=["p"])
    table.append(rows([{"p": 1, "v": 1}], p=INT, v=INT))
    other = another(table)
    transaction = table.transaction()
    data = rows([{"p": 1, "w": 9}], p=INT, w=INT)
    plan = transaction.plan_write(data.schema)
    records = plan.write(data.schema, data.to_batches(), table.store)
    other.append(rows([{"p": 1, "x": 3}], p=INT, x=INT))
    commit = getattr(transaction, f"commit_{method}")
    commit(plan, records, *([[("p", "=", 1)]] if method == "overwrite_where" else []))
    assert shown(table) == [
        {"p": 1, "v": None, "x": 3, "w": None},
        {"p": 1, "v": None, "x": None, "w": 9},
    ]


def test_a_concurrent_rename_of_a_column_that_the_rows_name() -> None:
    """By then the name is unknown, and becomes a new column."""
    table = make("a INT, b INT")
    table.append(rows([{"a": 1, "b": 1}], a=INT, b=INT))
    other = another(table)
    data = rows([{"a": 2, "b": 2, "c": 2}], a=INT, b=INT, c=INT)
    write_late(table, data, lambda: other.alter().rename_column("b", "old").commit())
    assert ids(table) == {"a": 1, "old": 2, "b": 3, "c": 4}
    assert shown(table) == [
        {"a": 1, "old": 1, "b": None, "c": None},
        {"a": 2, "old": None, "b": 2, "c": 2},
    ]


def test_a_concurrent_drop_and_a_concurrent_widening() -> None:
    table = make("a INT, b INT, d DATE")
    table.append(rows([{"a": 1, "b": 1}], a=INT, b=INT))
    other = another(table)
    data = rows([{"a": 2, "b": 2, "c": 2}], a=INT, b=INT, c=INT)

    def meanwhile() -> None:
        other.alter().drop_column("b").change_type("a", "BIGINT").commit()

    write_late(table, data, meanwhile)
    assert ids(table) == {"a": 1, "d": 3, "b": 4, "c": 5}
    assert shown(table) == [
        {"a": 1, "d": None, "b": None, "c": None},
        {"a": 2, "d": None, "b": 2, "c": 2},
    ]


def test_a_dropped_column_that_the_rows_lack_does_not_come_back() -> None:
    table = make("a INT, b INT, s STRUCT<x: INT, y: INT>")
    other = another(table)
    data = rows([{"a": 2, "c": 2, "s": {"x": 1}}], a=INT, c=INT, s=pa.struct({"x": INT}))
    write_late(table, data, lambda: other.alter().drop_column("b").drop_column("s.y").commit())
    assert shown(table) == [{"a": 2, "s": {"x": 1}, "c": 2}]


def test_the_time_of_a_default_is_that_of_the_first_plan() -> None:
    table = make("a INT")
    table.alter().add_column("at", "TIMESTAMP").set_default("at", Now.TIMESTAMP).commit()
    plan = table.transaction().plan_write(rows([], a=INT, b=INT).schema)
    data = rows([{"a": 1, "b": 1}], a=INT, b=INT)
    records = plan.write(data.schema, data.to_batches(), table.store)
    another(table).alter().add_column("c", "INT").commit()
    table.transaction().commit_append(plan, records)
    assert [row["at"] for row in shown(table)] == [plan.now]


def test_types_that_do_not_meet_are_a_conflict() -> None:
    table, other = (made := make("a INT")), another(made)
    with pytest.raises(CommitConflictError, match="c is BIGINT, and STRING does not widen to it"):
        write_late(
            table,
            rows([{"c": "text"}], c=TEXT),
            lambda: other.append(rows([{"c": 1}], c=LONG)),
        )
    assert shown(table) == [{"a": None, "c": 1}]


def test_types_that_widen_meet() -> None:
    table, other = (made := make("a INT")), another(made)
    data = rows([{"c": 2**40}], c=LONG)
    write_late(table, data, lambda: other.append(rows([{"c": 1}], c=INT)))
    assert ids(table) == {"a": 1, "c": 2}
    assert shown(table) == [{"a": None, "c": 2**40}, {"a": None, "c": 1}]


def test_a_table_that_became_strict_is_not_changed() -> None:
    table, other = (made := make("a INT")), another(made)
    data = rows([{"c": 1}], c=INT)

    def meanwhile() -> None:
        other.alter().add_column("b", "INT").set_property("schema_mode", "strict").commit()

    with pytest.raises(CommitConflictError, match="which adds columns"):
        write_late(table, data, meanwhile)
    assert (shown(table), list(ids(table))) == ([], ["a", "b"])


def test_an_option_on_a_strict_table_conflicts() -> None:
    table, other = (made := make("a INT", "strict")), another(made)
    data = rows([{"c": 1}], c=INT)
    with pytest.raises(CommitConflictError, match="which adds columns"):
        write_late(
            table, data, lambda: other.alter().add_column("b", "INT").commit(), merge_schema=True
        )


@pytest.mark.parametrize("theirs", ["replace", "drop"])
def test_a_table_that_was_replaced_or_dropped_gets_no_rows(theirs: str, tmp_path: Any) -> None:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("db", if_not_exists=True)
    table = catalog.create_table("db.t", "a INT", properties={"schema_mode": "live"})

    def meanwhile() -> None:
        if theirs == "drop":
            catalog.drop_table("db.t")
        else:
            catalog.replace_table("db.t", "a INT", properties={"schema_mode": "live"})

    with pytest.raises(Exception, match=r"replaced|dropped|no table"):
        write_late(table, rows([{"c": 1}], c=INT), meanwhile)


# Many races. The rows of a writer have its own number in both columns.


def race(columns: tuple[str, str], rounds: int) -> list[str]:
    """Run races of two writers, each with a column of its own name, and return what is wrong."""
    wrong: list[str] = []
    with ThreadPoolExecutor(2) as pool:
        for number in range(rounds):
            table = make("a INT")
            barrier = threading.Barrier(2)

            def run(at: int, table: Table = table, barrier: threading.Barrier = barrier) -> int:
                data = rows([{"a": at, columns[at]: at}], **{"a": INT, columns[at]: INT})
                return write_late(another(table), data, barrier.wait)

            list(pool.map(run, (0, 1)))
            wrong += [f"race {number}: {problem}" for problem in problems(table, columns)]
    return wrong


def problems(table: Table, columns: tuple[str, str]) -> list[str]:
    """What two writers should have left behind, and did not."""
    found = another(table)
    expected = sorted({"a", *columns})
    wrong = [] if sorted(found.schema.names) == expected else [f"columns {found.schema.names}"]
    held = sorted(found.scan().to_arrow().to_pylist(), key=lambda row: row["a"])
    for at in (0, 1):
        row = {"a": at, **dict.fromkeys(columns), columns[at]: at}
        if row not in held:
            wrong.append(f"the row {row} is not among {held}")
    used = [column.id for column in found.schema.columns]
    if len(held) != 2 or found.version != 2 or found.state.next_column_id != max(used) + 1:
        wrong.append(f"{len(held)} rows, version {found.version}, IDs {used}")
    return wrong


@pytest.mark.parametrize("columns", [("b", "c"), ("b", "b")])
def test_two_writers_of_new_columns_lose_no_row(columns: tuple[str, str]) -> None:
    assert race(columns, 20) == []


@pytest.mark.nightly
@pytest.mark.parametrize("columns", [("b", "c"), ("b", "b")])
def test_many_races_of_new_columns_lose_no_row(columns: tuple[str, str]) -> None:
    assert race(columns, 500) == []


def test_the_checker_of_races_rejects_a_lost_row_and_a_column_that_is_there_twice() -> None:
    table = make("a INT")
    table.append(rows([{"a": 0, "b": 0}], a=INT, b=INT))
    assert problems(table, ("b", "c"))
    table.append(rows([{"a": 1, "c2": 1}], a=INT, c2=INT))
    assert problems(table, ("b", "c"))
    swapped = make("a INT")
    swapped.append(rows([{"a": 0, "c": 0}], a=INT, c=INT))
    swapped.append(rows([{"a": 1, "b": 1}], a=INT, b=INT))
    assert problems(swapped, ("b", "c"))
