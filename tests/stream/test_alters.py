"""Each change of the schema in mid-stream; what must be read is written by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stream.tables import Reader, Row, ids, table_at
from versioned_catalog import InvalidRequestError, SchemaChangedError, Table
from versioned_catalog.alteration import Alteration
from versioned_catalog.stream.offsets import Limits, OnDrop, SchemaMode, Settings
from versioned_catalog.stream.row_stream import TableStream

COLUMNS = (
    "id BIGINT NOT NULL, n INT, s STRING DEFAULT 'd', p STRUCT<x: INT, y: STRING>, "
    "l ARRAY<STRUCT<a: INT>>, k INT NOT NULL DEFAULT 1"
)
P = {"x": pa.int32(), "y": pa.string()}


def arrow(row: Row, **types: pa.DataType) -> pa.Table:
    """A row, in types that fit the table at any time."""
    found: dict[str, pa.DataType] = {
        "n": pa.int32(),
        "m": pa.int32(),
        "k": pa.int32(),
        "z": pa.int32(),
        "p": pa.struct(P),
        "l": pa.list_(pa.struct({"a": pa.int32()})),
        **types,
    }
    schema = pa.schema([(name, found.get(name, pa.array([v]).type)) for name, v in row.items()])
    return pa.Table.from_pylist([row], schema)


FIRST: Row = {"id": 1, "n": 10, "s": "a", "p": {"x": 1, "y": "p"}, "l": [{"a": 1}], "k": 1}


def later(**changes: Any) -> Row:
    """The row with the ID 2 as it is written after the ALTER."""
    row = {"id": 2, "n": 20, "s": "b", "p": {"x": 2, "y": "q"}, "l": [{"a": 2}], "k": 2, **changes}
    return {name: value for name, value in row.items() if value is not ...}


SECOND = later()


@dataclass(frozen=True)
class Case:
    """An ALTER, a row written after it, and what it is to a stream from before.

    Args:
        said: what ``schemaMode = stop`` says of it; None if it does not stop the stream.
    """

    alter: Callable[[Alteration], Alteration]
    written: Row
    seen: Row
    said: str | None = None
    types: dict[str, pa.DataType] = field(default_factory=dict)


CASES = {
    "rename": Case(
        lambda a: a.rename_column("n", "m"), later(n=..., m=20), SECOND, "n was renamed to m"
    ),
    "rename to a name that was taken": Case(
        lambda a: a.rename_column("n", "old").rename_column("k", "n").rename_column("old", "k"),
        later(n=2, k=20),
        SECOND,
        "n was renamed to k",
    ),
    "move": Case(lambda a: a.move_column("k", first=True), SECOND, SECOND, "columns were moved"),
    "add": Case(lambda a: a.add_column("z", "INT", default=7), later(z=3), SECOND, "z was added"),
    "add a field": Case(
        lambda a: a.add_column("p.z", "INT", default=7),
        later(p={"x": 2, "y": "q", "z": 3}),
        SECOND,
        "p.z was added",
        {"p": pa.struct({**P, "z": pa.int32()})},
    ),
    "widen": Case(
        lambda a: a.change_type("n", "BIGINT"),
        SECOND,
        SECOND,
        "n is BIGINT now, and was INT",
        {"n": pa.int64()},
    ),
    "widen a field": Case(
        lambda a: a.change_type("p.x", "BIGINT"),
        SECOND,
        SECOND,
        "p.x is BIGINT now, and was INT",
        {"p": pa.struct({**P, "x": pa.int64()})},
    ),
    "widen inside a list": Case(
        lambda a: a.change_type("l.element.a", "BIGINT"),
        SECOND,
        SECOND,
        "l.element.a is BIGINT now, and was INT",
        {"l": pa.list_(pa.struct({"a": pa.int64()}))},
    ),
    "drop": Case(lambda a: a.drop_column("n"), later(n=...), later(n=None), "n was dropped"),
    "drop with a default": Case(
        lambda a: a.drop_column("s"), later(s=...), later(s=None), "s was dropped"
    ),
    "drop what is NOT NULL": Case(
        lambda a: a.drop_column("k"), later(k=...), later(k=None), "k was dropped"
    ),
    "drop a field": Case(
        lambda a: a.drop_column("p.y"),
        later(p={"x": 2}),
        later(p={"x": 2, "y": None}),
        "p.y was dropped",
        {"p": pa.struct({"x": pa.int32()})},
    ),
    "drop a struct": Case(
        lambda a: a.drop_column("p"), later(p=...), later(p=None), "p was dropped"
    ),
    "drop and add again": Case(
        lambda a: a.drop_column("n").add_column("n", "INT", default=7),
        later(n=99),
        later(n=None),
        "n was dropped; n was added",
    ),
    "drop and add a field again": Case(
        lambda a: a.drop_column("p.x").add_column("p.x", "INT"),
        later(p={"y": "q", "x": 99}),
        later(p={"x": None, "y": "q"}),
        "p.x was dropped; p.x was added",
        {"p": pa.struct({"y": pa.string(), "x": pa.int32()})},
    ),
    "widen and drop": Case(
        lambda a: a.change_type("n", "BIGINT").drop_column("n"),
        later(n=...),
        later(n=None),
        "n was dropped",
    ),
    "default": Case(lambda a: a.set_default("s", "e"), SECOND, SECOND),
    "nullable": Case(lambda a: a.drop_not_null("k"), later(k=None), later(k=None)),
    "comment": Case(lambda a: a.set_comment("n", "number"), SECOND, SECOND),
}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = table_at(tmp_path, COLUMNS)
    table.append(arrow(FIRST))
    return table


def altered(table: Table, case: Case) -> None:
    case.alter(table.alter()).commit()
    table.append(arrow(case.written, **case.types))


@pytest.mark.parametrize("name", CASES)
def test_a_stream_goes_on_in_the_schema_of_its_start(table: Table, name: str) -> None:
    reader = Reader(table.stream())
    assert reader.batch() == [FIRST]
    altered(table, CASES[name])
    assert reader.batch() == [CASES[name].seen]


@pytest.mark.parametrize("name", CASES)
def test_one_batch_may_hold_rows_of_both_schemas(table: Table, name: str) -> None:
    reader = Reader(table.stream())
    altered(table, CASES[name])
    assert sorted(reader.batch(), key=lambda row: row["id"]) == [FIRST, CASES[name].seen]


@pytest.mark.parametrize("name", CASES)
def test_a_new_dataframe_takes_the_new_schema(table: Table, name: str) -> None:
    reader = Reader(table.stream())
    reader.batch()
    altered(table, CASES[name])
    again = Reader(table.stream(), reader.at)
    assert again.batch() == table.scan(filters=[("id", "=", 2)]).to_arrow().to_pylist()


@pytest.mark.parametrize("name", CASES)
def test_the_same_dataframe_goes_on_in_the_old_schema(table: Table, name: str) -> None:
    old = Settings(schema_version=table.state.schema_version)
    reader = Reader(table.stream())
    reader.batch()
    altered(table, CASES[name])
    assert Reader(table.stream(old), reader.at).batch() == [CASES[name].seen]


@pytest.mark.parametrize("name", CASES)
def test_stop_ends_a_batch_at_the_alter(table: Table, name: str) -> None:
    stop = Settings(schema_mode=SchemaMode.STOP)
    reader = Reader(table.stream(stop))
    altered(table, CASES[name])
    said = CASES[name].said
    if said is None:
        assert len(reader.batch()) == 2
        return
    assert reader.batch() == [FIRST]
    for _ in range(2):
        with pytest.raises(
            SchemaChangedError, match="t: the schema changed at version 2"
        ) as caught:
            reader.batch()
        assert said in str(caught.value)
        assert caught.value.condition == "VERSIONED_SCHEMA_CHANGED"
    new = Reader(table.stream(stop), reader.at)
    assert new.batch() == table.scan(filters=[("id", "=", 2)]).to_arrow().to_pylist()


@pytest.mark.parametrize("name", CASES)
def test_a_drop_fails_on_request(table: Table, name: str) -> None:
    reader = Reader(table.stream(Settings(on_drop=OnDrop.FAIL)))
    altered(table, CASES[name])
    if "drop" not in name:
        assert len(reader.batch()) == 2
        return
    assert reader.batch() == [FIRST]
    with pytest.raises(InvalidRequestError, match=r"t: the column .* was dropped at version 2"):
        reader.batch()


def test_a_drop_of_what_is_not_read_does_not_fail(table: Table) -> None:
    stream = table.stream(Settings(on_drop=OnDrop.FAIL))
    start = stream.latest(stream.initial())
    table.alter().drop_column("n").commit()
    read = tuple(column for column in stream.schema.columns if column.name != "n")
    assert stream.latest(start, columns=read).version == start.version + 1
    with pytest.raises(InvalidRequestError, match="the column n was dropped at version 2"):
        stream.latest(start)


def test_a_value_that_does_not_fit_names_column_and_segment(table: Table) -> None:
    reader = Reader(table.stream())
    reader.batch()
    table.alter().change_type("n", "BIGINT").commit()
    table.append(arrow(later(n=2**40), n=pa.int64()))
    path = table.state.segments.paths[-1]
    with pytest.raises(InvalidRequestError) as caught:
        reader.batch()
    text = str(caught.value)
    assert "the column n is BIGINT now" in text
    assert path in text
    assert "INT" in text


def test_rows_between_two_alters_have_their_own_schema(table: Table) -> None:
    """n is widened, then dropped: rows in between hold it as BIGINT, and rows after it not at all."""
    reader = Reader(table.stream())
    table.alter().change_type("n", "BIGINT").commit()
    table.append(arrow(SECOND, n=pa.int64()))
    table.alter().drop_column("n").commit()
    table.append(arrow({**later(n=...), "id": 3}))
    assert [(row["id"], row["n"]) for row in reader.batch()] == [(1, 10), (2, 20), (3, None)]


def test_a_column_that_came_later_than_a_row_has_its_read_default(table: Table) -> None:
    """A dropped column is null in newer rows, and keeps its default in rows older than it."""
    table.alter().add_column("z", "INT", default=7).commit()
    reader = Reader(table.stream())
    table.alter().drop_column("z").commit()
    table.append(arrow(SECOND))
    assert [(row["id"], row["z"]) for row in reader.batch()] == [(1, 7), (2, None)]


def test_all_columns_are_nullable(table: Table) -> None:
    table.alter().add_column("q", "STRUCT<r: INT NOT NULL>").commit()
    schema = table.stream().schema
    assert all(column.nullable for column in schema.columns)
    assert table.stream().arrow_schema.field("q").type.field("r").nullable


def test_a_pinned_stream_reads_what_its_pin_sees(table: Table) -> None:
    """A pin keeps a dropped column as a hidden one, with its write default; others see null."""
    table.pin_schema("old")
    pinned, plain = Reader(table.seen_as("old").stream()), Reader(table.stream())
    for reader in (pinned, plain):
        assert reader.batch() == [FIRST]
    table.alter().drop_column("s").rename_column("n", "m").commit()
    table.append(arrow(later(s=..., n=..., m=20)))
    assert pinned.batch() == [later(s="d")]
    assert plain.batch() == [later(s=None)]
    table.seen_as("old").append(arrow({**SECOND, "id": 3}))
    assert pinned.batch() == [{**SECOND, "id": 3}]
    assert plain.batch() == [{**SECOND, "id": 3, "s": None}]


def test_a_rollback_that_is_skipped_leaves_the_schema_of_the_stream(tmp_path: Path) -> None:
    """Rows between hold n as BIGINT; after the rollback it is INT again, and rows are added."""
    from versioned_catalog.stream.offsets import OnRewrite

    table = table_at(tmp_path)
    table.append(ids(1))
    table.alter().change_type("n", "BIGINT").commit()
    wide = table.stream(Settings(starting_version=0, on_rewrite=OnRewrite.SKIP))
    table.append(pa.table({"id": [2], "n": [20]}))
    table.rollback(1)
    table.append(ids(3))
    back = table.stream(Settings(starting_version=0, on_rewrite=OnRewrite.SKIP))
    for stream in (wide, back):
        rows = Reader(stream).batch()
        assert [(row["id"], row["n"]) for row in rows] == [(1, 10), (2, 20), (3, 30)]
        assert Reader(stream).ids(Limits(segments=1)) == [1]


def test_a_schema_version_that_does_not_exist_is_refused(table: Table) -> None:
    with pytest.raises(LookupError, match="t has no schema version 9"):
        TableStream(table._handle, Settings(schema_version=9))
