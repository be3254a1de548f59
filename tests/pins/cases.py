"""Every change of a schema, and what a pinned job and one that follows see of the rows after it.

The expectations are written by hand: ``Change.now`` says what a row of the pinned schema is in the
schema after the change, and ``AFTER`` what the pinned job must see after each of its operations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from versioned_catalog import Catalog, Table
from versioned_catalog.alteration import Alteration

Row = dict[str, Any]

COLUMNS = (
    "id BIGINT NOT NULL, n INT, s STRING DEFAULT 'd', j INT, k INT NOT NULL DEFAULT 1, "
    "p STRUCT<x: INT, y: STRING>, l ARRAY<STRUCT<a: INT>>"
)
P = pa.struct({"x": pa.int32(), "y": pa.string()})
L = pa.list_(pa.struct({"a": pa.int32()}))
ARROW = pa.schema(
    {
        "id": pa.int64(),
        "n": pa.int32(),
        "s": pa.string(),
        "j": pa.int32(),
        "k": pa.int32(),
        "p": P,
        "l": L,
    }
)


def row(id: int, n: int | None, s: str | None, x: int | None = None, y: str | None = None) -> Row:
    p = None if x is None else {"x": x, "y": y}
    return {"id": id, "n": n, "s": s, "j": id, "k": id, "p": p, "l": [{"a": id}]}


ROWS = [row(1, 10, "a", 1, "p"), row(2, 20, "b", 2, "q"), row(3, None, None)]
INSERTED = row(4, 40, "c", 4, "t")
UPSERTED = [row(2, 200, "u"), row(6, 60, "v", 6, "w")]


@dataclass(frozen=True)
class Change:
    """A change of the schema, after which a job is pinned to the schema before.

    Args:
        now: a row of the pinned job, and the value of what it does not see, in the schema after.
        old, new: the value of what it does not see in rows from before, and in rows that it adds.
        touch: what another job then sets in the row with ID 1: 77, seen by ``now``.
        default: what the pinned job stores in ``s`` if it does not give it.
        keyed: whether it applies to tables with a primary key; None for both kinds.
    """

    name: str
    alter: Callable[[Alteration], Alteration]
    now: Callable[[Row, Any], Row] = lambda row, _: row
    old: Any = None
    new: Any = None
    touch: Row | None = None
    default: str | None = "d"
    keyed: bool | None = None


def _without(row: Row, *names: str) -> Row:
    return {name: value for name, value in row.items() if name not in names}


def _renamed(row: Row, **names: str) -> Row:
    return {names.get(name, name): value for name, value in row.items()}


def _field(row: Row, change: Callable[[Row], Row]) -> Row:
    return {**row, "p": None if row["p"] is None else change(row["p"])}


def _elements(row: Row, change: Callable[[Row], Row]) -> Row:
    return {**row, "l": None if row["l"] is None else [change(one) for one in row["l"]]}


CHANGES = [
    Change("nothing", lambda a: a.set_comment("n", "n")),
    Change("add", lambda a: a.add_column("e", "INT"), lambda r, u: {**r, "e": u}, touch={"e": 77}),
    Change(
        "add with a default",
        lambda a: a.add_column("e", "INT", default=5),
        lambda r, u: {**r, "e": u},
        old=5,
        new=5,
        touch={"e": 77},
    ),
    Change(
        "add first and NOT NULL",
        lambda a: a.add_column("e", "INT", default=5, nullable=False, first=True),
        lambda r, u: {"e": u, **r},
        old=5,
        new=5,
        touch={"e": 77},
    ),
    Change(
        "add and set another default",
        lambda a: a.add_column("e", "INT", default=5, after="id").set_default("e", 6),
        lambda r, u: {"id": r["id"], "e": u, **r},
        old=5,
        new=6,
        touch={"e": 77},
    ),
    Change("drop", lambda a: a.drop_column("s"), lambda r, _: _without(r, "s")),
    Change(
        "drop and add again",
        lambda a: a.drop_column("s").add_column("s", "INT", default=9),
        lambda r, u: {**_without(r, "s"), "s": u},
        old=9,
        new=9,
        touch={"s": 77},
    ),
    Change("rename", lambda a: a.rename_column("n", "m"), lambda r, _: _renamed(r, n="m")),
    Change(
        "swap names",
        lambda a: a.rename_column("n", "x").rename_column("j", "n").rename_column("x", "j"),
        lambda r, _: _renamed(r, n="j", j="n"),
    ),
    Change(
        "rename and add the name again",
        lambda a: a.rename_column("s", "t").add_column("s", "STRING", default="z"),
        lambda r, u: {**_renamed(r, s="t"), "s": u},
        old="z",
        new="z",
        touch={"s": "77"},
    ),
    Change(
        "move",
        lambda a: a.move_column("p", first=True).move_column("id", after="k"),
        lambda r, _: {name: r[name] for name in ("p", "n", "s", "j", "k", "id", "l")},
    ),
    Change("widen to BIGINT", lambda a: a.change_type("n", "BIGINT")),
    Change(
        "widen to DOUBLE",
        lambda a: a.change_type("n", "DOUBLE"),
        lambda r, _: {**r, "n": None if r["n"] is None else float(r["n"])},
    ),
    Change(
        "widen to DECIMAL",
        lambda a: a.change_type("n", "DECIMAL(12,2)"),
        lambda r, _: {
            **r,
            "n": None if r["n"] is None else Decimal(r["n"]).quantize(Decimal("0.01")),
        },
    ),
    Change("set NOT NULL", lambda a: a.set_not_null("j")),
    Change("drop NOT NULL", lambda a: a.drop_not_null("k")),
    Change("set a default", lambda a: a.set_default("s", "e"), default="e"),
    Change("drop a default", lambda a: a.drop_default("s"), default=None),
    Change("set the partitioning", lambda a: a.set_partitioning(["bucket(2, id)"])),
    Change("set the sort order", lambda a: a.set_property("sort_by", "n DESC"), keyed=False),
    Change(
        "add a field",
        lambda a: a.add_column("p.z", "INT", default=5),
        lambda r, u: _field(r, lambda p: {**p, "z": u}),
        old=5,
        new=5,
        touch={"p.z": 77},
    ),
    Change(
        "drop a field",
        lambda a: a.drop_column("p.y"),
        lambda r, _: _field(r, lambda p: _without(p, "y")),
    ),
    Change(
        "drop a field and add it again",
        lambda a: a.drop_column("p.y").add_column("p.y", "INT", default=9),
        lambda r, u: _field(r, lambda p: {**_without(p, "y"), "y": u}),
        old=9,
        new=9,
        touch={"p.y": 77},
    ),
    Change(
        "rename a field",
        lambda a: a.rename_column("p.x", "w"),
        lambda r, _: _field(r, lambda p: _renamed(p, x="w")),
    ),
    Change(
        "move a field",
        lambda a: a.move_column("p.y", first=True),
        lambda r, _: _field(r, lambda p: {"y": p["y"], "x": p["x"]}),
    ),
    Change("widen a field", lambda a: a.change_type("p.x", "BIGINT")),
    Change("drop a struct", lambda a: a.drop_column("p"), lambda r, _: _without(r, "p")),
    Change(
        "add a field to elements",
        lambda a: a.add_column("l.element.b", "INT", default=5),
        lambda r, u: _elements(r, lambda one: {**one, "b": u}),
        old=5,
        new=5,
        touch={"l": [{"a": 1, "b": 77}]},
    ),
    Change(
        "rename a field of elements",
        lambda a: a.rename_column("l.element.a", "b"),
        lambda r, _: _elements(r, lambda one: _renamed(one, a="b")),
    ),
    Change(
        "several at once",
        lambda a: (
            a.rename_column("n", "m")
            .change_type("m", "BIGINT")
            .drop_column("s")
            .add_column("e", "INT", default=5, first=True)
            .add_column("p.z", "STRING", default="f")
            .rename_column("p.x", "w")
        ),
        lambda r, u: {
            "e": u,
            **_field(_renamed(_without(r, "s"), n="m"), lambda p: {**_renamed(p, x="w"), "z": "f"}),
        },
        old=5,
        new=5,
        touch={"e": 77},
    ),
]

AFTER: dict[str, Callable[[str | None], list[Row]]] = {
    "read": lambda _: ROWS,
    "insert": lambda default: [*ROWS, {**INSERTED, "s": default}],
    "update": lambda _: [
        ROWS[0],
        {**ROWS[1], "n": 21, "p": {"x": 22, "y": "q"}},
        ROWS[2],
    ],
    "delete": lambda _: [ROWS[1], ROWS[2]],
    "merge": lambda default: [
        {**ROWS[0], "n": 11, "p": {"x": 12, "y": "p"}},
        ROWS[2],
        {**row(5, 50, default), "p": {"x": 5, "y": "m"}},
    ],
    "upsert": lambda _: [ROWS[0], UPSERTED[0], ROWS[2], UPSERTED[1]],
    "partial upsert": lambda default: [
        {**ROWS[0], "n": 111},
        *ROWS[1:],
        {**row(7, 77, default), "k": 1, "l": None},
    ],
    "compact": lambda _: ROWS,
}
"""What the pinned job sees after each operation, by ID, given the default of ``s``."""

ADDED = {"insert": {4}, "merge": {5}, "upsert": {2, 6}, "partial upsert": {7}}
"""The IDs of the rows that an operation writes whole, with the defaults of what the job does not see."""


def create(catalog: Catalog, keyed: bool, name: str = "t") -> Table:
    """A table with the rows, pinned."""
    table = catalog.create_table(name, COLUMNS, primary_key=["id"] if keyed else ())
    table.append(pa.Table.from_pylist(ROWS, ARROW))
    table.pin_schema("job", owner="tests")
    return table


def touch(table: Table, change: Change) -> None:
    """Set what the pinned job does not see, in one row."""
    if change.touch is not None:
        table.update(change.touch, [("id", "=", 1)])


def expected_now(change: Change, operation: str) -> list[Row]:
    """The rows in the schema after the change."""
    found = []
    for seen in AFTER[operation](change.default):
        if seen["id"] in ADDED.get(operation, set()):
            unseen = change.new
        elif seen["id"] == 1 and change.touch is not None:
            unseen = "77" if isinstance(change.old, str) else 77
        else:
            unseen = change.old
        found.append(change.now(seen, unseen))
    return found
