"""Situations of Apache Iceberg: moves of columns, and identifier fields."""

from __future__ import annotations

from conformance.lake import Lake, alter, refused, rows
from conformance.registry import Situation, Source

SITUATIONS: list[Situation] = []
update = Source(
    "iceberg", "core/src/test/java/org/apache/iceberg/TestSchemaUpdate.java", SITUATIONS
)


@update.passes("testMultipleMoves", "Several moves of one change apply one after the other.")
def multiple_moves(lake: Lake) -> None:
    table = lake.table("a INT, b INT, c INT, d INT", (1, 2, 3, 4))
    # c a b d; d c a b; d c b a
    table.alter().move_column("c", first=True).move_column("d", first=True).move_column(
        "a", after="b"
    ).commit()
    assert table.schema.names == ["d", "c", "b", "a"]
    assert rows(table) == [(4, 3, 2, 1)]


@update.passes("testMoveTopLevelColumnFirst", "A column is moved to the front.")
def move_first(lake: Lake) -> None:
    table = lake.table("id INT, data STRING", (1, "a"))
    alter(table, "ALTER COLUMN data FIRST")
    assert rows(table) == [("a", 1)]
    assert table.schema.names == ["data", "id"]


@update.passes("testMoveTopLevelColumnAfterLast", "The first column is moved behind the last one.")
def move_after_last(lake: Lake) -> None:
    table = lake.table("id INT, data STRING", (1, "a"))
    alter(table, "ALTER COLUMN id AFTER data")
    assert rows(table) == [("a", 1)]


@update.passes("testMoveNestedFieldFirst", "A field of a struct is moved to its front.")
def move_nested_first(lake: Lake) -> None:
    table = lake.table("id INT, s STRUCT<n: INT, d: STRING>", (1, {"n": 5, "d": "x"}))
    alter(table, "ALTER COLUMN s.d FIRST")
    assert list(rows(table, "s")[0][0].items()) == [("d", "x"), ("n", 5)]


@update.passes("testMoveListElementField", "A field of an array's elements is moved.")
def move_in_list(lake: Lake) -> None:
    table = lake.table("l ARRAY<STRUCT<n: INT, d: STRING>>", ([{"n": 5, "d": "x"}],))
    alter(table, "ALTER COLUMN l.element.n AFTER d")
    assert list(rows(table)[0][0][0].items()) == [("d", "x"), ("n", 5)]


@update.passes("testMoveMapValueStructField", "A field of a map's values is moved.")
def move_in_map(lake: Lake) -> None:
    table = lake.table("m MAP<STRING, STRUCT<n: INT, d: STRING>>", ([("k", {"n": 5, "d": "x"})],))
    alter(table, "ALTER COLUMN m.value.d FIRST")
    assert list(rows(table)[0][0][0][1].items()) == [("d", "x"), ("n", 5)]


@update.passes(
    "testMoveAddedTopLevelColumnAfterAddedColumn", "Columns that were just added are moved."
)
def move_added(lake: Lake) -> None:
    table = lake.table("id INT, data STRING")
    table.alter().add_column("ts", "TIMESTAMP").add_column("count", "BIGINT").move_column(
        "ts", after="id"
    ).move_column("count", after="ts").commit()
    assert table.schema.names == ["id", "ts", "count", "data"]


@update.passes("testMoveAddedNestedStructField", "A nested field that was just added is moved.")
def move_added_nested(lake: Lake) -> None:
    table = lake.table("s STRUCT<n: INT, d: STRING>", ({"n": 1, "d": "x"},))
    table.alter().add_column("s.ts", "DATE").move_column("s.ts", after="n").commit()
    assert list(rows(table)[0][0].items()) == [("n", 1), ("ts", None), ("d", "x")]


@update.passes("testMoveSelfReferenceFails", "A column can't be moved behind itself.")
def move_after_itself(lake: Lake) -> None:
    with refused("after itself"):
        alter(lake.table("id INT, data STRING"), "ALTER COLUMN id AFTER id")


@update.passes("testMoveMissingColumnFails", "A column that does not exist can't be moved.")
def move_missing(lake: Lake) -> None:
    with refused("no column items"):
        alter(lake.table("id INT, data STRING"), "ALTER COLUMN items FIRST")


@update.passes("testMoveBeforeAddFails", "A column can't be moved before it is added.")
def move_before_add(lake: Lake) -> None:
    table = lake.table("id INT, data STRING")
    with refused("no column ts"):
        table.alter().move_column("ts", first=True).add_column("ts", "DATE").commit()


@update.passes(
    "testMoveMissingReferenceColumnFails", "A column can't be moved behind one that does not exist."
)
def move_after_missing(lake: Lake) -> None:
    with refused("no column items"):
        alter(lake.table("id INT, data STRING"), "ALTER COLUMN id AFTER items")


@update.passes("testMovePrimitiveMapKeyFails", "The key of a map can't be moved.")
def move_map_key(lake: Lake) -> None:
    with refused("m.key can't be moved"):
        alter(lake.table("m MAP<STRING, STRING>"), "ALTER COLUMN m.key FIRST")


@update.passes("testMovePrimitiveListElementFails", "The element of an array can't be moved.")
def move_list_element(lake: Lake) -> None:
    with refused("l.element can't be moved"):
        alter(lake.table("l ARRAY<STRING>"), "ALTER COLUMN l.element FIRST")


@update.passes("testMoveBetweenStructsFails", "A field can't be moved into another struct.")
def move_between_structs(lake: Lake) -> None:
    table = lake.table("s1 STRUCT<a: INT, b: INT>, s2 STRUCT<c: INT, d: INT>")
    with refused("no column s1.c"):
        alter(table, "ALTER COLUMN s1.a AFTER c")


@update.passes("testAddExistingIdentifierFields", "A NOT NULL column becomes an identifier field.")
def identifier(lake: Lake) -> None:
    table = lake.table("id INT NOT NULL, data STRING", (1, "a"))
    alter(table, "SET IDENTIFIER FIELDS id")
    assert table.refresh().properties["identifier_fields"] == "id"


@update.passes("testRemoveIdentifierFields", "Identifier fields are removed, and the columns stay.")
def no_identifier(lake: Lake) -> None:
    table = lake.table("id INT NOT NULL, data STRING", (1, "a"))
    alter(table, "SET IDENTIFIER FIELDS id")
    alter(table, "DROP IDENTIFIER FIELDS id")
    assert "identifier_fields" not in table.refresh().properties
    assert rows(table) == [(1, "a")]


@update.passes(
    "testSetIdentifierFieldsFails",
    "Nullable columns, doubles and fields of arrays are no identifier fields.",
)
def wrong_identifiers(lake: Lake) -> None:
    table = lake.table("id INT NOT NULL, data STRING, d DOUBLE NOT NULL, p ARRAY<STRUCT<x: INT>>")
    for path, reason in (
        ("data", "may be null"),
        ("d", "DOUBLE"),
        ("p.element.x", "inside a list"),
    ):
        with refused(f"{path} can't be an identifier field.*{reason}"):
            alter(table, f"SET IDENTIFIER FIELDS {path}")


@update.passes(
    "testDeleteIdentifierFieldColumnsFails",
    "A column that is an identifier field can't be dropped.",
)
def drop_identifier(lake: Lake) -> None:
    table = lake.table("id INT NOT NULL, data STRING")
    alter(table, "SET IDENTIFIER FIELDS id")
    with refused("id can't be changed so, since it is an identifier field"):
        alter(table, "DROP COLUMN id")


@update.passes("testRenameIdentifierFields", "An identifier field is renamed and stays one.")
def rename_identifier(lake: Lake) -> None:
    table = lake.table("id INT NOT NULL, data STRING")
    alter(table, "SET IDENTIFIER FIELDS id")
    alter(table, "RENAME COLUMN id TO key")
    assert table.refresh().properties["identifier_fields"] == "key"
