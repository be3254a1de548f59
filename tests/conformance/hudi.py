"""Situations of Apache Hudi."""

from __future__ import annotations

import pyarrow as pa

from conformance.lake import Lake, alter, put, refused, rows
from conformance.registry import Situation, Source
from versioned_catalog import Table

SITUATIONS: list[Situation] = []
hudi = Source("hudi", "website/docs/schema_evolution.md", SITUATIONS)


def evolving(table: Table, data: pa.Table) -> list[tuple[object, ...]]:
    """Add rows that may change the schema, and return all rows."""
    table.append(data, merge_schema=True)
    return rows(table)


@hudi.passes(
    "Add a new nullable column at root level at the end",
    "Rows bring a further column; old rows show null.",
)
def hudi_column(lake: Lake) -> None:
    table = lake.table("id BIGINT", (1,))
    assert evolving(table, pa.table({"id": [2], "new": ["x"]})) == [(1, None), (2, "x")]


@hudi.passes(
    "Add a new nullable column to inner struct (at the end)",
    "Rows bring a further field of a struct.",
)
def hudi_field(lake: Lake) -> None:
    table = lake.table("s STRUCT<a: BIGINT>", ({"a": 1},))
    assert evolving(table, pa.table({"s": [{"a": 2, "b": "x"}]})) == [
        ({"a": 1, "b": None},),
        ({"a": 2, "b": "x"},),
    ]


@hudi.passes(
    "Add a new complex type field with default (map and array)",
    "A map and an array are added with a default.",
)
def hudi_complex(lake: Lake) -> None:
    table = lake.table("id BIGINT", (1,))
    table.alter().add_column("l", "ARRAY<INT>", default=[1, 2]).add_column(
        "m", "MAP<STRING, INT>", default={"a": 1}
    ).commit()
    assert rows(table) == [(1, [1, 2], [("a", 1)])]


@hudi.differs(
    "Add a new nullable column and change the ordering of fields",
    "The write succeeds, and reading fails if only some files were rewritten.",
    "all rows are read, whatever the order of columns in each file is.",
)
def hudi_order(lake: Lake) -> None:
    table = lake.table("a BIGINT, b STRING", (1, "x"), primary_key=["a"])
    alter(table, "ALTER COLUMN b FIRST")
    table.append(pa.table({"c": [0.5], "a": [2], "b": ["y"]}), merge_schema=True)
    assert rows(table, "a", "b", "c") == [(1, "x", None), (2, "y", 0.5)]


@hudi.passes(
    "Add a custom nullable Hudi meta column, e.g. `_hoodie_meta_col`",
    "A column may be named like an internal one.",
)
def hudi_meta(lake: Lake) -> None:
    table = lake.table("id BIGINT", (1,))
    assert evolving(table, pa.table({"id": [2], "_hoodie_meta_col": ["x"]})) == [
        (1, None),
        (2, "x"),
    ]


@hudi.passes(
    "Promote datatype from `int` to `long` for a field at root level",
    "Rows with BIGINT widen a column of INT.",
)
def hudi_long(lake: Lake) -> None:
    table = lake.table("n INT", (1,))
    assert evolving(table, pa.table({"n": [2**40]})) == [(1,), (2**40,)]


@hudi.passes(
    "Promote datatype from `int` to `long` for a nested field", "Rows widen a field of a struct."
)
def hudi_nested_long(lake: Lake) -> None:
    table = lake.table("s STRUCT<a: INT>", ({"a": 1},))
    assert evolving(table, pa.table({"s": [{"a": 2**40}]})) == [({"a": 2**40},), ({"a": 1},)]


@hudi.passes(
    "Promote datatype from `int` to `long` for a complex type (value of map or array)",
    "Rows widen the values of a map and the elements of an array.",
)
def hudi_complex_long(lake: Lake) -> None:
    table = lake.table("m MAP<STRING, INT>, l ARRAY<INT>", ([("a", 1)], [1]))
    wide = pa.table(
        {"m": pa.array([[("b", 2**40)]], pa.map_(pa.string(), pa.int64())), "l": [[2**40]]}
    )
    assert evolving(table, wide) == [([("a", 1)], [1]), ([("b", 2**40)], [2**40])]


@hudi.differs(
    "Add a new non-nullable column at root level at the end",
    "A NOT NULL column can't be added.",
    "it can with a default, which old rows show; without one it is refused.",
)
def hudi_required(lake: Lake) -> None:
    table = lake.table("id BIGINT", (1,))
    with refused("NOT NULL without a default"):
        alter(table, "ADD COLUMN n INT NOT NULL")
    alter(table, "ADD COLUMN n INT NOT NULL DEFAULT 5")
    assert rows(table) == [(1, 5)]


@hudi.differs(
    "Add a new non-nullable column to inner struct (at the end)",
    "A NOT NULL field can't be added to a struct.",
    "it can with a default, which old structs show.",
)
def hudi_required_field(lake: Lake) -> None:
    table = lake.table("s STRUCT<a: INT>", ({"a": 1},), (None,))
    table.alter().add_column("s.b", "INT", default=5, nullable=False).commit()
    assert rows(table) == [(None,), ({"a": 1, "b": 5},)]


@hudi.passes(
    "Change datatype from `long` to `int` for a nested field",
    "A field does not get narrower than its values.",
)
def hudi_narrow(lake: Lake) -> None:
    table = lake.table("s STRUCT<a: BIGINT>", ({"a": 2**40},))
    with refused("the column s.a can't (change|be narrowed) from BIGINT to INT"):
        alter(table, "ALTER COLUMN s.a TYPE INT")


@hudi.passes(
    "Change datatype from `long` to `int` for a complex type (value of map or array)",
    "Values of a map do not get narrower.",
)
def hudi_narrow_map(lake: Lake) -> None:
    table = lake.table("m MAP<STRING, BIGINT>", ([("a", 2**40)],))
    with refused("the column m.value can't (change|be narrowed) from BIGINT to INT"):
        alter(table, "ALTER COLUMN m.value TYPE INT")


@hudi.passes(
    "Sample runbook", "An upsert brings a new column and a wider one; other rows keep their values."
)
def hudi_runbook(lake: Lake) -> None:
    table = lake.table(
        "rowId STRING, name STRING, n INT",
        ("row_1", "bob", 0),
        ("row_2", "john", 0),
        primary_key=["rowId"],
    )
    more = {
        "rowId": ["row_2", "row_5"],
        "name": ["john", "maroon"],
        "n": [3, 2**40],
        "new": ["x", "y"],
    }
    table.upsert(pa.table(more), merge_schema=True)
    assert rows(table) == [
        ("row_1", "bob", 0, None),
        ("row_2", "john", 3, "x"),
        ("row_5", "maroon", 2**40, "y"),
    ]


@hudi.differs(
    "You cannot add, delete, or perform operations on nested columns of the Array type",
    "Fields of structs in arrays can't be changed.",
    "they can.",
)
def hudi_array(lake: Lake) -> None:
    table = lake.table("l ARRAY<STRUCT<a: INT, b: INT>>", ([{"a": 1, "b": 2}],))
    alter(table, "ADD COLUMN l.element.c INT")
    alter(table, "DROP COLUMN l.element.a")
    assert rows(table) == [([{"b": 2, "c": None}],)]


@hudi.differs(
    "Partition columns cannot be evolved",
    "Columns of the partitioning can't be changed.",
    "they may be renamed, moved and widened; they are not dropped before the partitioning changes.",
)
def hudi_partition(lake: Lake) -> None:
    table = lake.table("p INT, v INT", (1, 1), partitioned_by=["p"])
    alter(table, "RENAME COLUMN p TO q")
    alter(table, "ALTER COLUMN q TYPE BIGINT")
    put(table, (2**40, 2))
    assert rows(table, filters=[("q", "=", 1)]) == [(1, 1)]
