"""scan(columns=["s.b"]): nested columns with the named fields alone, as PyIceberg shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, InvalidRequestError, NotFoundError, Table
from versioned_catalog.read.tasks import SegmentTask

DDL = (
    "id INT, s STRUCT<a: INT, b: STRING, t: STRUCT<x: INT, y: INT>>, l ARRAY<STRUCT<a: INT, b: INT>>, "
    "m MAP<STRING, STRUCT<a: INT, b: INT>>, `o.p` INT"
)
ROW: dict[str, Any] = {
    "id": 1,
    "s": {"a": 2, "b": "three", "t": {"x": 4, "y": 5}},
    "l": [{"a": 6, "b": 7}, None],
    "m": [("k", {"a": 8, "b": 9})],
    "o.p": 10,
}
EMPTY = {"id": 2, "s": None, "l": None, "m": None, "o.p": None}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = Catalog.create_path(tmp_path / "t", DDL)
    table.append(pa.Table.from_pylist([ROW, EMPTY], table.scan().schema))
    return table


@pytest.mark.parametrize(
    ("columns", "row", "leaves"),
    [
        (["s.b"], {"s": {"b": "three"}}, ["s.b"]),
        (["S.B"], {"s": {"b": "three"}}, ["s.b"]),
        (["`s`.`b`"], {"s": {"b": "three"}}, ["s.b"]),
        (["s.t.y"], {"s": {"t": {"y": 5}}}, ["s.t.y"]),
        (["s.b", "s.a"], {"s": {"a": 2, "b": "three"}}, ["s.a", "s.b"]),
        (["s.b", "id", "s.t.x"], {"s": {"b": "three", "t": {"x": 4}}, "id": 1}, ["id", "s.b", "s.t.x"]),
        (["l.element.b"], {"l": [{"b": 7}, None]}, ["l.list.element.b"]),
        (["l.element"], {"l": ROW["l"]}, ["l.list.element.a", "l.list.element.b"]),
        (["m.value.a"], {"m": [("k", {"a": 8})]}, ["m.key_value.key", "m.key_value.value.a"]),
        (["o.p"], {"o.p": 10}, ["o_p"]),
        (["`o.p`", "s.t"], {"o.p": 10, "s": {"t": {"x": 4, "y": 5}}}, ["s.t.x", "s.t.y", "o_p"]),
    ],
)  # fmt: skip
def test_only_the_named_fields_are_read(
    table: Table, columns: list[str], row: dict[str, Any], leaves: list[str]
) -> None:
    scan = table.scan(columns)
    rows = scan.to_arrow()
    assert rows.schema.equals(scan.schema)
    assert rows.to_pylist() == [row, {name: None if name != "id" else 2 for name in row}]
    (task,) = [task for task, _ in scan.tasks()]
    assert isinstance(task, SegmentTask)
    assert task.plan.physical_paths == leaves


def test_a_filter_may_use_fields_that_are_not_shown(table: Table) -> None:
    for filters, columns, row in (
        ([("s.a", "=", 2)], ["s.b"], {"s": {"b": "three"}}),
        ([("s.t.x", ">", 3), ("id", "=", 1)], ["s.t.y"], {"s": {"t": {"y": 5}}}),
        ([("s.t.x", "=", 4)], ["s.a", "_sequence"], {"s": {"a": 2}, "_sequence": 1}),
        ([("s.a", "=", 2)], ["m.value.b"], {"m": [("k", {"b": 9})]}),
    ):
        scan = table.scan(columns, filters)
        assert scan.to_arrow().to_pylist() == [row]
        assert [field.name for field in scan.schema] == [*row]
        assert scan.count() == 1


def test_old_segments_and_defaults(table: Table) -> None:
    table.alter().add_column("s.c", "INT", default=11).rename_column("s.b", "B2").commit()
    table.alter().change_type("s.a", "BIGINT").commit()
    found = table.scan(["s.c", "s.b2", "s.a"]).to_arrow()
    assert found["s"].to_pylist() == [{"a": 2, "B2": "three", "c": 11}, None]
    assert table.scan(["s.c"]).to_arrow()["s"].to_pylist() == [{"c": 11}, None]
    table.alter().narrow("s.a", "SMALLINT").commit()
    narrowed = table.scan(["s.b2"], [("s.a", "=", 2)]).to_arrow()
    assert narrowed["s"].to_pylist() == [{"B2": "three"}]
    assert table.scan(["s.a"]).to_arrow().schema.field("s").type == pa.struct([("a", pa.int16())])


def test_merged_rows(tmp_path: Path) -> None:
    table = Catalog.create_path(
        tmp_path / "k", "id INT, s STRUCT<a: INT, b: INT>", primary_key=["id"]
    )
    for a in (1, 2):
        table.append(pa.Table.from_pylist([{"id": 1, "s": {"a": a, "b": -a}}], table.scan().schema))
    assert table.scan(["s.b"], [("s.a", "=", 2)]).to_arrow().to_pylist() == [{"s": {"b": -2}}]
    assert table.scan(["s.b"], [("s.a", "=", 1)]).to_arrow().num_rows == 0


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        (["s.c"], NotFoundError, "there is no column s.c"),
        (["z.b"], NotFoundError, "there is no column z.b"),
        (["l.b"], NotFoundError, "so write l.element.b"),
        (["m.b"], NotFoundError, "so write m.value.b"),
        (["m.key"], InvalidRequestError, "not read without its values; ask for m"),
        (["s.b", "s.b"], InvalidRequestError, "listed twice: s.b"),
        (["s.b", "s"], InvalidRequestError, "listed twice: s.b"),
        (["id", "ID"], InvalidRequestError, "listed twice: id"),
        (["_sequence", "_sequence"], InvalidRequestError, "listed twice: _sequence"),
        (["s.t.x", "s.t"], InvalidRequestError, "listed twice: s.t.x"),
        ("s.b", InvalidRequestError, "columns must be a list of names"),
        ([("s", "b")], InvalidRequestError, "columns must be a list of names"),
    ],
)
def test_what_is_refused(table: Table, columns: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        table.scan(columns)


def test_a_dropped_field_names_the_pin_that_shows_it(table: Table) -> None:
    table.pin_schema("old")
    table.alter().drop_column("s.b").commit()
    with pytest.raises(NotFoundError, match="read it with schema='old'"):
        table.scan(["s.b"])
    seen = table.seen_as("old")
    assert seen.scan(["s.b"]).to_arrow()["s"].to_pylist() == [{"b": "three"}, None]
