"""Situations of Delta Lake: deleted and updated rows."""

from __future__ import annotations

import pyarrow.compute as pc

from conformance.lake import (
    Lake,
    alter,
    changed,
    put,
    refused,
    rows,
    segments,
)
from conformance.registry import Situation, Source
from versioned_catalog import (
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    Table,
    expr,
)

SITUATIONS: list[Situation] = []
SPARK = "spark/src/test/scala/org/apache/spark/sql/delta"
vectors = Source("delta", f"{SPARK}/deletionvectors/DeletionVectorsSuite.scala", SITUATIONS)
deletes = Source("delta", f"{SPARK}/DeleteSuiteBase.scala", SITUATIONS)
updates = Source("delta", f"{SPARK}/UpdateSuiteBase.scala", SITUATIONS)


MARK = {"row_changes": "mark"}


def marked(lake: Lake) -> Table:
    """Ten rows in one segment, of which 1, 4 and 7 are marked as deleted."""
    table = lake.table("id INT, v STRING", *[(n, f"v{n}") for n in range(10)], properties=MARK)
    table.delete([("id", "in", [1, 4, 7])])
    return table


LEFT = [0, 2, 3, 5, 6, 8, 9]


@vectors.passes("read Delta table with deletion vectors", "Rows that a vector marks are not read.")
def read_marked(lake: Lake) -> None:
    table = marked(lake)
    assert [row[0] for row in rows(table)] == LEFT
    assert (table.count(), segments(table)) == (7, 1)


@vectors.passes(
    "read Delta table with deletion vectors with a filter", "Filters apply beside the marks."
)
def filter_marked(lake: Lake) -> None:
    table = marked(lake)
    assert rows(table, "id", filters=[("id", "in", [1, 2])]) == [(2,)]
    assert rows(table, "id", filters=[("id", "=", 4)]) == []


@vectors.passes(
    "select metadata columns from a Delta table with deletion vectors",
    "The paths of files, and positions in them, are read beside the rows that are left.",
)
def positions_of_marked(lake: Lake) -> None:
    table = marked(lake)
    found = table.scan(["id", "_row_position", "_segment"]).to_arrow().to_pylist()
    assert sorted((row["id"], row["_row_position"]) for row in found) == [(n, n) for n in LEFT]
    assert {row["_segment"] for row in found} == set(table.inspect.segments()["path"].to_pylist())


@vectors.passes(
    "DELETE with DVs - existing table already has DVs",
    "A second DELETE marks further rows, and no row again.",
)
def mark_again(lake: Lake) -> None:
    table = marked(lake)
    table.delete([("id", "in", [4, 5])])
    assert [row[0] for row in rows(table)] == [0, 2, 3, 6, 8, 9]
    assert changed(table, table.version) == [("delete", 5, "v5")]


@vectors.passes(
    "DELETE with DVs - table with a user column named 'path' does not conflict",
    "A column may be called path.",
)
def column_path(lake: Lake) -> None:
    table = lake.table("path STRING, n INT", ("a", 1), ("b", 2), properties=MARK)
    table.delete([("path", "=", "a")])
    assert rows(table) == [("b", 2)]


@vectors.passes(
    "DELETE with DVs with column mapping mode",
    "Rows are deleted by columns that have IDs, here after a rename.",
)
def delete_renamed(lake: Lake) -> None:
    table = marked(lake)
    alter(table, "RENAME COLUMN id TO key")
    table.delete([("key", "=", 0)])
    assert [row[0] for row in rows(table)] == LEFT[1:]


@vectors.passes(
    "UPDATE with DVs - update deleted rows updates nothing",
    "An UPDATE of marked rows changes nothing.",
)
def update_marked(lake: Lake) -> None:
    table = marked(lake)
    before = table.version
    assert table.update({"v": "x"}, [("id", "=", 4)]) == before
    assert "x" not in [value for _, value in rows(table)]


@vectors.passes(
    "insert into Delta table with DVs", "Rows are added to a table with marks, also equal ones."
)
def insert_marked(lake: Lake) -> None:
    table = marked(lake)
    put(table, (4, "again"))
    assert (4, "again") in rows(table)
    assert table.count() == 8


@vectors.passes(
    "UPDATE with DVs - update rewrite files with DVs",
    "An UPDATE of all rows does not bring marked ones back.",
)
def update_all_marked(lake: Lake) -> None:
    table = marked(lake)
    table.update({"v": "x"})
    assert rows(table) == [(n, "x") for n in LEFT]


@vectors.passes(
    "Check no resource leak when DV files are missing (table corrupted)",
    "A file that is needed and gone is an error.",
)
def missing_file(lake: Lake) -> None:
    table = marked(lake)
    (path,) = table.inspect.segments()["path"].to_pylist()
    next(lake.warehouse.rglob(path.rsplit("/", 1)[-1])).unlink()
    with refused("is missing, and version 2 needs it", CorruptTableError):
        table.refresh().scan().to_arrow()


@deletes.passes(
    "SC-12232: should not delete the rows where condition evaluates to null",
    "Rows for which the condition is null stay.",
)
def delete_null(lake: Lake) -> None:
    table = lake.table("a INT, b STRING", (0, "x"), (1, "y"), (None, "z"))
    table.delete([("a", "=", 0)])
    assert rows(table) == [(1, "y"), (None, "z")]


@deletes.passes("SC-12232: delete rows with null values using isNull", "IS NULL deletes nulls.")
def delete_is_null(lake: Lake) -> None:
    table = lake.table("a INT, b STRING", (0, "x"), (None, "z"))
    table.delete([("a", "is null", None)])
    assert rows(table) == [(0, "x")]


@deletes.passes(
    "basic case - delete from a Delta table", "DELETE without a condition deletes all rows."
)
def delete_all(lake: Lake) -> None:
    table = lake.table("a INT", (1,), (2,))
    table.delete(None)
    assert (rows(table), segments(table)) == ([], 0)


@deletes.passes("where key columns", "A DELETE by partition drops files without reading them.")
def delete_partition(lake: Lake) -> None:
    table = lake.table("k INT, v INT", (1, 1), (2, 2), partitioned_by=["k"])
    table.delete([("k", "=", 1)])
    assert (rows(table), segments(table)) == ([(2, 2)], 1)


@deletes.passes("where data columns and partition columns", "A DELETE by partition and value.")
def delete_both(lake: Lake) -> None:
    table = lake.table("k INT, v INT", (1, 1), (1, 2), (2, 2), partitioned_by=["k"])
    table.delete([("k", "=", 1), ("v", "=", 2)])
    assert rows(table) == [(1, 1), (2, 2)]


@deletes.passes(
    "delete on partitioned table with special chars",
    "Partition values hold blanks, slashes and umlauts.",
)
def delete_special(lake: Lake) -> None:
    table = lake.table("p STRING, n INT", ("a b/ä%=", 1), ("x", 2), partitioned_by=["p"])
    table.delete([("p", "=", "a b/ä%=")])
    assert rows(table) == [("x", 2)]


@updates.passes("basic update - without where", "UPDATE without a condition changes all rows.")
def update_all(lake: Lake) -> None:
    table = lake.table("k INT, v INT", (1, 4), (2, 2))
    table.update({"v": expr("v + 1"), "k": 0})
    assert rows(table) == [(0, 3), (0, 5)]


@updates.passes(
    "basic update - with where and complex input", "UPDATE computes from the values before it."
)
def update_where(lake: Lake) -> None:
    table = lake.table("k INT, v INT", (1, 4), (2, 2))
    table.update({"v": pc.field("k") + pc.field("v"), "k": pc.field("v")}, [("k", "=", 1)])
    assert rows(table) == [(2, 2), (4, 5)]


@updates.passes(
    "basic update - with where and no row matched", "An UPDATE that matches no row changes nothing."
)
def update_none(lake: Lake) -> None:
    table = lake.table("k INT", (1,))
    assert table.update({"k": 9}, [("k", "=", 5)]) == 1


@updates.passes("set to null", "A column is set to null.")
def update_null(lake: Lake) -> None:
    table = lake.table("k INT, v INT", (1, 4))
    table.update({"v": None})
    assert rows(table) == [(1, None)]


@updates.differs(
    "type mismatch",
    "A value of a wider number type is cast to the column's.",
    "in Python it is refused, unless the expression casts it; Spark's UPDATE casts, as there.",
)
def update_type(lake: Lake) -> None:
    table = lake.table("k INT, v INT", (1, 4))
    double = pc.field("k") + pc.field("v").cast("float64")
    with refused("v is INT, and DOUBLE does not widen", InvalidRequestError):
        table.update({"v": double})
    table.update({"v": double.cast("int32")})
    assert rows(table) == [(1, 5)]


@updates.passes(
    "nested data support", "A field of a struct is updated; the others and null structs stay."
)
def update_nested(lake: Lake) -> None:
    table = lake.table("s STRUCT<a: INT, b: STRUCT<c: INT>>", ({"a": 1, "b": {"c": 2}},), (None,))
    table.update({"s.b.c": 9})
    assert rows(table) == [(None,), ({"a": 1, "b": {"c": 9}},)]


@updates.passes(
    "Negative case - check target columns during analysis",
    "A column that is not there can't be set.",
)
def update_missing(lake: Lake) -> None:
    with refused("no column missing", NotFoundError):
        lake.table("k INT", (1,)).update({"missing": 1})


vectors.not_applicable(
    "throw error when non-pinned TahoeFileIndex snapshot is used",
    "An index of files must be pinned to a snapshot.",
    "a scan always belongs to one version.",
)
