"""Situations of Apache Iceberg: changes of schemas."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa

from conformance.lake import Lake, alter, ids, put, refused, rows, shown
from conformance.registry import Situation, Source
from versioned_catalog import VersionedError

SITUATIONS: list[Situation] = []
update = Source(
    "iceberg", "core/src/test/java/org/apache/iceberg/TestSchemaUpdate.java", SITUATIONS
)
union = Source(
    "iceberg", "core/src/test/java/org/apache/iceberg/TestSchemaUnionByFieldName.java", SITUATIONS
)

NESTED = (
    "id INT NOT NULL, data STRING, prefs STRUCT<a: BOOLEAN, b: BOOLEAN>, "
    "points ARRAY<STRUCT<x: BIGINT, y: BIGINT>>, places MAP<STRING, STRUCT<lat: FLOAT, long: FLOAT>>"
)


@update.passes("testNoChanges", "An update without changes leaves the schema as it is.")
def no_changes(lake: Lake) -> None:
    table = lake.table(NESTED)
    before = table.schema
    assert table.evolve_to(table.ddl(ids=True)).changes == ()
    assert table.refresh().schema == before


@update.passes(
    "testDeleteFields", "Each column and nested field is dropped by its path; the others stay."
)
def delete_fields(lake: Lake) -> None:
    row = (1, "a", {"a": True, "b": False}, [{"x": 1, "y": 2}], [("k", {"lat": 0.5, "long": 1.5})])
    table = lake.table(NESTED, row)
    for path in ("prefs.a", "points.element.x", "places.value.lat", "data"):
        alter(table, f"DROP COLUMN {path}")
    assert rows(table) == [(1, {"b": False}, [{"y": 2}], [("k", {"long": 1.5})])]


@update.passes("testDeleteFieldsCaseSensitiveDisabled", "Names in another case find their columns.")
def delete_any_case(lake: Lake) -> None:
    table = lake.table(NESTED)
    alter(table, "DROP COLUMN Prefs.A")
    alter(table, "DROP COLUMN DATA")
    assert table.refresh().schema.names == ["id", "prefs", "points", "places"]
    assert "b: BOOLEAN" in shown(table)
    assert "a: BOOLEAN" not in shown(table)


@update.passes(
    "testUpdateTypes", "INT becomes BIGINT and FLOAT becomes DOUBLE, also within a map's values."
)
def update_types(lake: Lake) -> None:
    table = lake.table(NESTED, (7, "a", None, None, [("k", {"lat": 0.5, "long": 1.5})]))
    before = ids(table, "id", "places.value.lat")
    alter(table, "ALTER COLUMN id TYPE BIGINT")
    alter(table, "ALTER COLUMN places.value.lat TYPE DOUBLE")
    put(table, (2**40, "b", None, None, [("k", {"lat": 0.1, "long": 0.5})]))
    assert rows(table, "id", "places") == [
        (2**40, [("k", {"lat": 0.1, "long": 0.5})]),
        (7, [("k", {"lat": 0.5, "long": 1.5})]),
    ]
    assert ids(table, "id", "places.value.lat") == before


@update.passes(
    "testUpdateTypePreservesOtherMetadata", "A wider type keeps the comment and both defaults."
)
def type_keeps_metadata(lake: Lake) -> None:
    table = lake.table("n INT", (1,))
    table.alter().add_column("i", "INT", default=34, comment="description").set_default(
        "i", 35
    ).commit()
    alter(table, "ALTER COLUMN i TYPE BIGINT")
    put(table, (2,), columns=["n"])
    column = table.schema.get(("i",))
    assert (column.comment, column.id) == ("description", 2)
    assert rows(table) == [(1, 34), (2, 35)]


@update.passes(
    "testUpdateDocPreservesOtherMetadata", "A new comment keeps the type and both defaults."
)
def comment_keeps_metadata(lake: Lake) -> None:
    table = lake.table("n INT", (1,))
    table.alter().add_column("i", "INT", default=34, comment="short").set_default("i", 35).commit()
    alter(table, "ALTER COLUMN i COMMENT 'longer'")
    put(table, (2,), columns=["n"])
    assert table.schema.get(("i",)).comment == "longer"
    assert rows(table) == [(1, 34), (2, 35)]


@update.passes(
    "testUpdateDefaultPreservesOtherMetadata",
    "A new write default changes no row that was written before.",
)
def default_keeps_rows(lake: Lake) -> None:
    table = lake.table("n INT", (1,))
    table.alter().add_column("i", "INT", default=34, comment="text").set_default("i", 35).commit()
    put(table, (2,), columns=["n"])
    alter(table, "ALTER COLUMN i SET DEFAULT 123456")
    put(table, (3,), columns=["n"])
    assert rows(table) == [(1, 34), (2, 35), (3, 123456)]
    assert table.schema.get(("i",)).comment == "text"


@update.passes("testUpdateTypesCaseInsensitive", "A type is widened by a name in another case.")
def type_any_case(lake: Lake) -> None:
    table = lake.table(NESTED)
    alter(table, "ALTER COLUMN ID TYPE BIGINT")
    alter(table, "ALTER COLUMN Places.value.LAT TYPE DOUBLE")
    assert shown(table).startswith("id BIGINT NOT NULL")
    assert "lat: DOUBLE, long: FLOAT" in shown(table)


ATOMS = [
    "BOOLEAN",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DATE",
    "TIMESTAMP",
    "TIMESTAMP_NTZ",
    "STRING",
    "BINARY",
    "DECIMAL(9,2)",
    "DECIMAL(9,3)",
    "DECIMAL(18,2)",
]
ALLOWED = {("INT", "BIGINT"), ("FLOAT", "DOUBLE"), ("DECIMAL(9,2)", "DECIMAL(18,2)")}


@update.differs(
    "testUpdateFailure",
    "Of all pairs of types, only INT to BIGINT, FLOAT to DOUBLE and longer DECIMALs are allowed.",
    "also allowed are what Delta widens (INT to DOUBLE or to a DECIMAL that holds every INT, DATE to "
    "TIMESTAMP_NTZ); all other pairs are refused, too.",
)
def update_failure(lake: Lake) -> None:
    table = lake.table(", ".join(f"c{i} {type_}" for i, type_ in enumerate(ATOMS)))
    allowed = set()
    for i, old in enumerate(ATOMS):
        for new in ATOMS:
            try:
                table.alter().change_type(f"c{i}", new).to_sql()
            except VersionedError as error:
                assert f"can't change from {old} to {new}" in str(error)
            else:
                allowed.add((old, new))
    assert allowed - {(type_, type_) for type_ in ATOMS} == ALLOWED | {
        ("INT", "DOUBLE"),
        ("DATE", "TIMESTAMP_NTZ"),
        ("INT", "DECIMAL(18,2)"),
    }


@update.passes("testRename", "Columns and nested fields are renamed and keep their IDs and rows.")
def rename(lake: Lake) -> None:
    table = lake.table(NESTED, (1, "a", {"a": True, "b": None}, [{"x": 1, "y": 2}], None))
    before = ids(table, "data", "prefs.a", "points.element.x")
    alter(table, "RENAME COLUMN data TO json")
    alter(table, "RENAME COLUMN prefs.a TO a2")
    alter(table, "RENAME COLUMN points.element.x TO X")
    assert ids(table, "json", "prefs.a2", "points.element.X") == before
    assert rows(table, "json", "prefs", "points") == [
        ("a", {"a2": True, "b": None}, [{"X": 1, "y": 2}])
    ]


@update.passes("testRenameCaseInsensitive", "A column is renamed by its name in another case.")
def rename_any_case(lake: Lake) -> None:
    table = lake.table(NESTED, (1, "a", None, None, None))
    alter(table, "RENAME COLUMN DATA TO json")
    assert rows(table, "json") == [("a",)]


@update.passes(
    "testAddFields",
    "Columns are added to the table, to elements of an array and to a map's values.",
)
def add_fields(lake: Lake) -> None:
    table = lake.table(
        NESTED, (1, "a", None, [{"x": 1, "y": 2}], [("k", {"lat": 0.5, "long": 1.5})])
    )
    alter(table, "ADD COLUMN toplevel DECIMAL(9,2)")
    alter(table, "ADD COLUMN points.element.z BIGINT")
    alter(table, "ADD COLUMN places.value.alt FLOAT")
    assert rows(table, "toplevel", "points", "places") == [
        (None, [{"x": 1, "y": 2, "z": None}], [("k", {"lat": 0.5, "long": 1.5, "alt": None})])
    ]
    assert sorted(table.schema.ids) == list(range(1, 18))


@update.passes("testAddColumnWithDefault", "A column with a default shows it in rows of before.")
def add_with_default(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    alter(table, "ADD COLUMN data STRING DEFAULT 'unknown'")
    assert rows(table) == [(1, "unknown")]
    alter(table, "ALTER COLUMN data DROP DEFAULT")
    put(table, (2,))
    assert rows(table) == [(1, "unknown"), (2, None)]


@update.passes(
    "testAddColumnWithUpdateColumnDefault",
    "A default set after the column was added, in the same change, is a write default only.",
)
def add_then_default(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.alter().add_column("data", "STRING").set_default("data", "unknown").commit()
    put(table, (2,), columns=["id"])
    assert rows(table) == [(1, None), (2, "unknown")]


@update.passes("testAddNestedStruct", "A struct that is added gets an ID for each of its fields.")
def add_struct(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    alter(table, "ADD COLUMN location STRUCT<lat: INT, long: INT>")
    assert ids(table, "id", "location", "location.lat", "location.long") == [1, 2, 3, 4]
    assert rows(table) == [(1, None)]


@update.passes(
    "testAddNestedMapOfStructs", "A map of structs that is added gets IDs down to the last field."
)
def add_map_of_structs(lake: Lake) -> None:
    table = lake.table("id INT")
    alter(table, "ADD COLUMN m MAP<STRUCT<a: STRING, b: STRING>, STRUCT<lat: INT, long: INT>>")
    assert ids(table, "m", "m.key", "m.value") == [2, 3, 6]
    assert ids(table, "m.key.a", "m.key.b", "m.value.lat", "m.value.long") == [4, 5, 7, 8]


@update.passes(
    "testAddNestedListOfStructs",
    "An array of structs that is added gets IDs down to the last field.",
)
def add_list_of_structs(lake: Lake) -> None:
    table = lake.table("id INT")
    alter(table, "ADD COLUMN l ARRAY<STRUCT<lat: INT, long: INT>>")
    assert ids(table, "l", "l.element", "l.element.lat", "l.element.long") == [2, 3, 4, 5]


@update.passes(
    "testAddRequiredColumnWithoutDefault", "A NOT NULL column without a default is refused."
)
def add_required(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    with refused("NOT NULL without a default"):
        alter(table, "ADD COLUMN data STRING NOT NULL")
    assert table.schema.names == ["id"]


@update.passes("testAddRequiredColumnWithDefault", "A NOT NULL column with a default is added.")
def add_required_with_default(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    alter(table, "ADD COLUMN data STRING NOT NULL DEFAULT 'unknown'")
    assert rows(table) == [(1, "unknown")]
    with refused("data is NOT NULL"):
        put(table, (2, None))


@update.passes(
    "testAddRequiredColumnWithUpdateColumnDefault",
    "A NOT NULL column whose default is set only afterwards is refused: old rows would have none.",
)
def add_required_then_default(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    with refused("NOT NULL without a default"):
        table.alter().add_column("d", "STRING", nullable=False).set_default("d", "x").commit()


@update.passes(
    "testAddRequiredColumnCaseInsensitive", "A column whose name differs only in case is refused."
)
def add_same_name(lake: Lake) -> None:
    table = lake.table("id INT")
    with refused("there is a column id already"):
        alter(table, "ADD COLUMN ID STRING NOT NULL DEFAULT 'x'")


@update.passes(
    "testAddMultipleRequiredColumnCaseInsensitive",
    "Two new columns whose names differ only in case are refused.",
)
def add_two_of_a_name(lake: Lake) -> None:
    table = lake.table("foo STRING")
    with refused("there is a column bar already"):
        alter(table, "ADD COLUMNS (bar STRING, BAR STRING)")
    assert table.refresh().schema.names == ["foo"]


@update.passes("testMakeColumnOptional", "NOT NULL is dropped, and nulls are accepted.")
def make_optional(lake: Lake) -> None:
    table = lake.table("id INT NOT NULL", (1,))
    alter(table, "ALTER COLUMN id DROP NOT NULL")
    put(table, (None,))
    assert rows(table) == [(1,), (None,)]


@update.differs(
    "testRequireColumn",
    "A nullable column becomes required only if one allows incompatible changes; rows are not read.",
    "the rows are looked at: SET NOT NULL is accepted exactly if the table holds no null.",
)
def require_column(lake: Lake) -> None:
    table = lake.table("id INT, data STRING", (1, "a"), (2, None))
    alter(table, "ALTER COLUMN id SET NOT NULL")
    with refused("1 of its values are null"):
        alter(table, "ALTER COLUMN data SET NOT NULL")
    assert shown(table) == "id INT NOT NULL, data STRING"


@update.passes(
    "testAddColumnWithDefaultToRequiredColumn",
    "A column that is added with a default may be made required in the same change.",
)
def default_then_required(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.alter().add_column("d", "STRING", default="x").set_not_null("d").commit()
    assert shown(table) == "id INT, d STRING NOT NULL DEFAULT 'x'"
    assert rows(table) == [(1, "x")]


@update.passes(
    "testAddColumnWithUpdateColumnDefaultToRequiredColumn",
    "A column that is added without a default can't be made required by a later write default.",
)
def later_default_then_required(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    with refused("the existing rows would show null"):
        table.alter().add_column("d", "STRING").set_default("d", "x").set_not_null("d").commit()


@update.passes(
    "testRequireColumnCaseInsensitive", "SET NOT NULL finds the column by a name in another case."
)
def require_any_case(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    alter(table, "ALTER COLUMN ID SET NOT NULL")
    assert shown(table) == "id INT NOT NULL"


@update.passes("testMixedChanges", "Adds, renames, wider types, comments and drops are one change.")
def mixed_changes(lake: Lake) -> None:
    table = lake.table(NESTED, (1, "a", {"a": True, "b": None}, [{"x": 1, "y": 2}], None))
    version = (
        table.alter()
        .add_column("top", "DECIMAL(9,2)")
        .add_column("places.value.alt", "FLOAT")
        .rename_column("points", "p")
        .rename_column("data", "json")
        .add_column("p.element.z", "BIGINT")
        .change_type("id", "BIGINT")
        .set_comment("id", "unique")
        .drop_column("p.element.y")
        .drop_column("prefs")
        .commit()
    )
    assert version == 2
    assert rows(table, "id", "json", "p", "top") == [(1, "a", [{"x": 1, "z": None}], None)]


@update.passes(
    "testAmbiguousAdd", "A new name with a dot needs a parent, or quotes; without, it is refused."
)
def dotted_name(lake: Lake) -> None:
    table = lake.table("id INT")
    with refused("no column preferences"):
        alter(table, "ADD COLUMN preferences.booleans BOOLEAN")
    alter(table, "ADD COLUMN `preferences.booleans` BOOLEAN")
    assert table.schema.names == ["id", "preferences.booleans"]


@update.passes(
    "testAddAlreadyExists", "A column that is there already is refused, nested ones, too."
)
def add_existing(lake: Lake) -> None:
    table = lake.table(NESTED)
    for path in ("prefs.a", "prefs", "places.value.lat"):
        with refused(f"there is a column {path} already"):
            alter(table, f"ADD COLUMN {path} BOOLEAN")


@update.passes(
    "testDeleteThenAdd",
    "A column that is dropped and added again is another column; old values do not return.",
)
def drop_then_add(lake: Lake) -> None:
    table = lake.table("id INT, n INT NOT NULL", (1, 7))
    old = ids(table, "n")
    table.alter().drop_column("n").add_column("n", "INT").commit()
    assert ids(table, "n") != old
    assert rows(table) == [(1, None)]


@update.passes(
    "testDeleteThenAddNested", "A nested field that is dropped and added again is another field."
)
def drop_then_add_nested(lake: Lake) -> None:
    table = lake.table(NESTED, (1, "a", {"a": True, "b": False}, None, None))
    table.alter().drop_column("prefs.a").add_column("prefs.a", "BOOLEAN").commit()
    assert rows(table, "prefs") == [({"b": False, "a": None},)]


@update.passes("testDeleteMissingColumn", "A column that does not exist can't be dropped.")
def drop_missing(lake: Lake) -> None:
    with refused("no column col"):
        alter(lake.table("id INT"), "DROP COLUMN col")


@update.differs(
    "testAddDeleteConflict",
    "A column that was added can't be dropped in the same change.",
    "changes of one commit apply one after the other, so an added column may be dropped again.",
)
def add_then_drop(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.alter().add_column("col", "INT").add_column("b", "INT").drop_column("col").commit()
    assert rows(table) == [(1, None)]
    assert table.schema.names == ["id", "b"]


@update.passes("testRenameMissingColumn", "A column that does not exist can't be renamed.")
def rename_missing(lake: Lake) -> None:
    with refused("no column col"):
        alter(lake.table("id INT"), "RENAME COLUMN col TO c2")


@update.passes(
    "testRenameDeleteConflict", "A column that was renamed can't be dropped by its old name."
)
def rename_then_drop(lake: Lake) -> None:
    table = lake.table("id INT, n INT")
    with refused("no column n"):
        table.alter().rename_column("n", "m").drop_column("n").commit()
    assert table.refresh().schema.names == ["id", "n"]


@update.passes(
    "testDeleteRenameConflict", "A column that was dropped can't be renamed in the same change."
)
def drop_then_rename(lake: Lake) -> None:
    table = lake.table("id INT, n INT")
    with refused("no column n"):
        table.alter().drop_column("n").rename_column("n", "m").commit()
    assert table.refresh().schema.names == ["id", "n"]


@update.passes(
    "testUpdateMissingColumn", "The type of a column that does not exist can't be changed."
)
def type_of_missing(lake: Lake) -> None:
    with refused("no column col"):
        alter(lake.table("id INT"), "ALTER COLUMN col TYPE DATE")


@update.passes("testUpdateMissingColumnDoc", "A column that does not exist gets no comment.")
def comment_of_missing(lake: Lake) -> None:
    with refused("no column col"):
        alter(lake.table("id INT"), "ALTER COLUMN col COMMENT 'x'")


@update.passes(
    "testUpdateMissingColumnDefaultValue", "A column that does not exist gets no default."
)
def default_of_missing(lake: Lake) -> None:
    with refused("no column col"):
        alter(lake.table("id INT"), "ALTER COLUMN col SET DEFAULT 34")


@update.differs(
    "testUpdateDeleteConflict",
    "A column whose type was changed can't be dropped in the same change.",
    "changes of one commit apply one after the other, so it may.",
)
def type_then_drop(lake: Lake) -> None:
    table = lake.table("id INT, n INT", (1, 2))
    table.alter().change_type("n", "BIGINT").drop_column("n").commit()
    assert rows(table) == [(1,)]


@update.passes(
    "testDeleteUpdateConflict",
    "The type of a column that was dropped in the same change can't be changed.",
)
def drop_then_type(lake: Lake) -> None:
    table = lake.table("id INT, n INT")
    with refused("no column n"):
        table.alter().drop_column("n").change_type("n", "BIGINT").commit()


@update.passes("testDeleteMapKey", "The key of a map can't be dropped.")
def drop_map_key(lake: Lake) -> None:
    with refused("places.key can't be dropped"):
        alter(lake.table(NESTED), "DROP COLUMN places.key")


@update.passes("testDeleteMapValue", "The value of a map can't be dropped.")
def drop_map_value(lake: Lake) -> None:
    with refused("places.value can't be dropped"):
        alter(lake.table(NESTED), "DROP COLUMN places.value")


KEYED_BY_STRUCT = "m MAP<STRUCT<x: INT, y: INT>, INT>"


@update.passes("testAddFieldToMapKey", "A struct that is the key of a map gets no further fields.")
def add_to_map_key(lake: Lake) -> None:
    with refused("in the key of a map"):
        alter(lake.table(KEYED_BY_STRUCT), "ADD COLUMN m.key.z INT")


@update.passes("testAlterMapKey", "Fields of a struct that is the key of a map can't be widened.")
def widen_in_map_key(lake: Lake) -> None:
    with refused("in the key of a map"):
        alter(lake.table(KEYED_BY_STRUCT), "ALTER COLUMN m.key.x TYPE BIGINT")


@update.passes("testUpdateMapKey", "The key of a map can't be widened.")
def widen_map_key(lake: Lake) -> None:
    with refused("in the key of a map"):
        alter(lake.table("m MAP<INT, STRING>"), "ALTER COLUMN m.key TYPE BIGINT")


@update.passes(
    "testUpdateAddedColumnType", "A column that was added is widened in the same change."
)
def widen_added(lake: Lake) -> None:
    table = lake.table("i INT", (1,))
    table.alter().add_column("v", "INT").change_type("v", "BIGINT").commit()
    assert shown(table) == "i INT, v BIGINT"


@update.passes(
    "testUpdateAddedColumnDoc", "A column that was added gets a comment in the same change."
)
def comment_added(lake: Lake) -> None:
    table = lake.table("i INT")
    table.alter().add_column("v", "BIGINT").set_comment("v", "a value").commit()
    assert table.schema.get(("v",)).comment == "a value"


@update.passes(
    "testUpdateDeletedColumnDoc", "A column that was dropped in the same change gets no comment."
)
def comment_dropped(lake: Lake) -> None:
    table = lake.table("i INT, n INT")
    with refused("no column n"):
        table.alter().drop_column("n").set_comment("n", "text").commit()


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


@union.passes(
    "testAddTopLevelPrimitives", "Columns that the table lacks are added, each with its type."
)
def union_primitives(lake: Lake) -> None:
    table = lake.table("n INT", (1,))
    row = pa.table(
        {
            "n": pa.array([2], pa.int32()),
            "b": [True],
            "l": pa.array([2**40], pa.int64()),
            "f": pa.array([0.5], pa.float32()),
            "d": [dt.date(2026, 1, 31)],
            "ts": pa.array([dt.datetime(2026, 1, 31)], pa.timestamp("us")),
            "x": pa.array([Decimal("1.50")], pa.decimal128(9, 2)),
            "s": ["text"],
            "y": [b"\x01"],
        }
    )
    table.append(row, merge_schema=True)
    assert shown(table) == (
        "n INT, b BOOLEAN, l BIGINT, f FLOAT, d DATE, ts TIMESTAMP_NTZ, x DECIMAL(9,2), "
        "s STRING, y BINARY"
    )
    assert rows(table)[0] == (1, *[None] * 8)
    assert rows(table)[1][1:4] == (True, 2**40, 0.5)


@union.passes("testAddTopLevelListOfPrimitives", "A list that the table lacks is added.")
def union_list(lake: Lake) -> None:
    table = lake.table("n INT", (1,))
    table.append(pa.table({"l": [["a", None]]}), merge_schema=True)
    assert rows(table) == [(1, None), (None, ["a", None])]


@union.passes("testAddTopLevelMapOfPrimitives", "A map that the table lacks is added.")
def union_map(lake: Lake) -> None:
    table = lake.table("n INT", (1,))
    entry = pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))
    table.append(pa.table({"m": entry}), merge_schema=True)
    assert shown(table) == "n INT, m MAP<STRING, BIGINT>"
    assert rows(table) == [(1, None), (None, [("k", 1)])]


@union.passes(
    "testAddNestedLists", "Arrays of arrays of arrays are added with an ID on each level."
)
def union_nested_lists(lake: Lake) -> None:
    table = lake.table("n INT")
    table.append(pa.table({"l": [[[[[["deep"]]]]]]}), merge_schema=True)
    assert ids(table, "l", "l.element.element.element.element.element") == [2, 7]
    assert rows(table, "l") == [([[[[["deep"]]]]],)]


@union.passes(
    "testAddNestedStruct", "Structs within structs are added down to the innermost field."
)
def union_nested_structs(lake: Lake) -> None:
    table = lake.table("n INT")
    table.append(pa.table({"s1": [{"s2": {"s3": {"text": "x"}}}]}), merge_schema=True)
    assert shown(table) == "n INT, s1 STRUCT<s2: STRUCT<s3: STRUCT<text: STRING>>>"


@union.passes("testAddNestedMaps", "Maps of maps are added.")
def union_nested_maps(lake: Lake) -> None:
    table = lake.table("n INT")
    type_ = pa.map_(pa.string(), pa.map_(pa.string(), pa.string()))
    table.append(pa.table({"m": pa.array([[("a", [("b", "c")])]], type_)}), merge_schema=True)
    assert shown(table) == "n INT, m MAP<STRING, MAP<STRING, STRING>>"
    assert rows(table, "m") == [([("a", [("b", "c")])],)]


@union.passes(
    "testDetectInvalidTopLevelList", "An array of strings does not become one of integers."
)
def union_wrong_list(lake: Lake) -> None:
    table = lake.table("l ARRAY<STRING>")
    with refused("l.element"):
        table.append(pa.table({"l": [[1]]}), merge_schema=True)


@union.passes(
    "testDetectInvalidTopLevelMapValue", "The values of a map do not become integers from strings."
)
def union_wrong_map(lake: Lake) -> None:
    table = lake.table("m MAP<STRING, STRING>")
    entry = pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))
    with refused("m.value"):
        table.append(pa.table({"m": entry}), merge_schema=True)


@union.passes("testTypePromoteIntegerToLong", "Rows with BIGINT widen a column of INT.")
def union_long(lake: Lake) -> None:
    table = lake.table("a INT NOT NULL", (1,))
    table.append(pa.table({"a": [2**40]}), merge_schema=True)
    assert shown(table) == "a BIGINT NOT NULL"
    assert rows(table) == [(1,), (2**40,)]


@union.passes("testTypePromoteFloatToDouble", "Rows with DOUBLE widen a column of FLOAT.")
def union_double(lake: Lake) -> None:
    table = lake.table("a FLOAT", (0.5,))
    table.append(pa.table({"a": [0.1]}), merge_schema=True)
    assert rows(table) == [(0.1,), (0.5,)]
    assert shown(table) == "a DOUBLE"


@union.passes(
    "testIgnoreTypePromoteDoubleToFloat", "Rows with FLOAT leave a column of DOUBLE as it is."
)
def union_float(lake: Lake) -> None:
    table = lake.table("a DOUBLE", (0.1,))
    table.append(pa.table({"a": pa.array([0.5], pa.float32())}), merge_schema=True)
    assert rows(table) == [(0.1,), (0.5,)]
    assert shown(table) == "a DOUBLE"


@union.passes("testIgnoreTypePromoteLongToInt", "Rows with INT leave a column of BIGINT as it is.")
def union_int(lake: Lake) -> None:
    table = lake.table("a BIGINT", (2**40,))
    table.append(pa.table({"a": pa.array([1], pa.int32())}), merge_schema=True)
    assert rows(table) == [(1,), (2**40,)]
    assert shown(table) == "a BIGINT"


@union.passes(
    "testIgnoreTypePromoteDecimalToNarrowerPrecision",
    "Rows with a DECIMAL of fewer digits change no type.",
)
def union_narrow_decimal(lake: Lake) -> None:
    table = lake.table("a DECIMAL(20,1)", (Decimal("1.5"),))
    table.append(
        pa.table({"a": pa.array([Decimal("2.5")], pa.decimal128(10, 1))}), merge_schema=True
    )
    assert shown(table) == "a DECIMAL(20,1)"
    assert rows(table) == [(Decimal("1.5"),), (Decimal("2.5"),)]


@union.passes(
    "testTypePromoteDecimalToFixedScaleWithWiderPrecision",
    "Rows with a DECIMAL of more digits widen the column.",
)
def union_wide_decimal(lake: Lake) -> None:
    table = lake.table("a DECIMAL(20,1)", (Decimal("1.5"),))
    wide = pa.array([Decimal("999999999999999999999.5")], pa.decimal128(22, 1))
    table.append(pa.table({"a": wide}), merge_schema=True)
    assert shown(table) == "a DECIMAL(22,1)"
    assert rows(table) == [(Decimal("1.5"),), (Decimal("999999999999999999999.5"),)]


@union.passes(
    "testAddPrimitiveToNestedStruct",
    "A field is added to structs that are in an array in a struct.",
)
def union_field_in_list(lake: Lake) -> None:
    table = lake.table(
        "s STRUCT<t: STRUCT<l: ARRAY<STRUCT<v: STRING>>>>", ({"t": {"l": [{"v": "a"}]}},)
    )
    table.append(pa.table({"s": [{"t": {"l": [{"v": "b", "w": 1}]}}]}), merge_schema=True)
    assert rows(table) == [
        ({"t": {"l": [{"v": "a", "w": None}]}},),
        ({"t": {"l": [{"v": "b", "w": 1}]}},),
    ]


@union.passes("testReplaceListWithPrimitive", "An array does not become a string.")
def union_list_to_string(lake: Lake) -> None:
    table = lake.table("c ARRAY<STRING>")
    with refused("c is ARRAY<STRING>, and STRING does not widen to it"):
        table.append(pa.table({"c": ["x"]}), merge_schema=True)


@union.passes(
    "testMirroredSchemas",
    "Rows with the same columns in another order change nothing of the schema.",
)
def union_mirrored(lake: Lake) -> None:
    table = lake.table("s STRUCT<a: STRING, b: INT>, l ARRAY<STRING>, t STRING")
    before = table.schema
    row = {
        "t": ["x"],
        "l": [["y"]],
        "s": pa.array([{"b": 1, "a": "z"}], pa.struct([("b", pa.int32()), ("a", pa.string())])),
    }
    table.append(pa.table(row), merge_schema=True)
    assert table.refresh().schema == before
    assert rows(table) == [({"a": "z", "b": 1}, ["y"], "x")]


@union.passes(
    "addNewTopLevelStruct",
    "A struct beside a map of arrays of structs is added; the map keeps its IDs.",
)
def union_struct_beside_map(lake: Lake) -> None:
    table = lake.table("m MAP<STRING, ARRAY<STRUCT<s: STRING>>>")
    before = ids(table, "m.value.element.s")
    table.append(pa.table({"s1": [{"d1": {"d2": "x"}}]}), merge_schema=True)
    assert ids(table, "m.value.element.s") == before
    assert rows(table) == [(None, {"d1": {"d2": "x"}})]


@union.passes(
    "testAppendNestedLists",
    "A list of another name beside a nested list is added; neither gets the other's rows.",
)
def union_second_list(lake: Lake) -> None:
    table = lake.table("s STRUCT<t: STRUCT<l1: ARRAY<STRING>>>", ({"t": {"l1": ["a"]}},))
    table.append(pa.table({"s": [{"t": {"l2": ["b"]}}]}), merge_schema=True)
    assert rows(table) == [
        ({"t": {"l1": None, "l2": ["b"]}},),
        ({"t": {"l1": ["a"], "l2": None}},),
    ]
