"""Situations of Apache Iceberg: updates of a schema."""

from __future__ import annotations

from conformance.lake import Lake, alter, ids, put, refused, rows, shown
from conformance.registry import Situation, Source
from versioned_catalog import VersionedError

SITUATIONS: list[Situation] = []
update = Source(
    "iceberg", "core/src/test/java/org/apache/iceberg/TestSchemaUpdate.java", SITUATIONS
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


@update.differs(
    "testAlterMapKey",
    "Fields of a struct that is the key of a map can't be widened.",
    "they can, where keys that differ stay different; no field is added, dropped or narrowed there.",
)
def widen_in_map_key(lake: Lake) -> None:
    table = lake.table(KEYED_BY_STRUCT, ([({"x": 1, "y": 2}, 3)],))
    alter(table, "ALTER COLUMN m.key.x TYPE BIGINT")
    put(table, ([({"x": 2**40, "y": 2}, 4)],))
    assert rows(table) == [([({"x": 1, "y": 2}, 3)],), ([({"x": 2**40, "y": 2}, 4)],)]


@update.differs(
    "testUpdateMapKey",
    "The key of a map can't be widened.",
    "it can, as in Delta, where keys that differ stay different.",
)
def widen_map_key(lake: Lake) -> None:
    table = lake.table("m MAP<INT, STRING>", ([(1, "a")],))
    alter(table, "ALTER COLUMN m.key TYPE BIGINT")
    put(table, ([(2**40, "b")],))
    assert rows(table) == [([(1, "a")],), ([(2**40, "b")],)]


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
