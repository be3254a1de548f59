"""Situations of PyIceberg and pgroll."""

from __future__ import annotations

import datetime as dt
import math

import pyarrow as pa
import pyarrow.compute as pc

from conformance.lake import (
    Lake,
    alter,
    arrow,
    ids,
    put,
    read_segments,
    refused,
    rows,
    segments,
    shown,
)
from conformance.registry import Situation, Source
from versioned_catalog import InvalidRequestError, NotFoundError, Table

SITUATIONS: list[Situation] = []
schemas = Source("pyiceberg", "tests/integration/test_rest_schema.py", SITUATIONS)
reading = Source("pyiceberg", "tests/io/test_pyarrow.py", SITUATIONS)
adding = Source("pyiceberg", "tests/integration/test_add_files.py", SITUATIONS)
deleting = Source("pyiceberg", "tests/integration/test_deletes.py", SITUATIONS)
evaluators = Source("pyiceberg", "tests/expressions/test_evaluator.py", SITUATIONS)
MIGRATIONS = "pkg/migrations/op_{}_test.go"
add = Source("pgroll", MIGRATIONS.format("add_column"), SITUATIONS)
drop = Source("pgroll", MIGRATIONS.format("drop_column"), SITUATIONS)
rename = Source("pgroll", MIGRATIONS.format("rename_column"), SITUATIONS)
types = Source("pgroll", MIGRATIONS.format("change_type"), SITUATIONS)
required = Source("pgroll", MIGRATIONS.format("set_notnull"), SITUATIONS)
nullable = Source("pgroll", MIGRATIONS.format("drop_not_null"), SITUATIONS)
defaults = Source("pgroll", MIGRATIONS.format("set_default"), SITUATIONS)
checks = Source("pgroll", MIGRATIONS.format("set_check"), SITUATIONS)
constraints = Source("pgroll", MIGRATIONS.format("drop_constraint"), SITUATIONS)
several = Source("pgroll", MIGRATIONS.format("alter_column"), SITUATIONS)
tutorial = Source("pgroll", "docs/tutorial.md", SITUATIONS)


@schemas.passes(
    "test_schema_evolution_via_transaction",
    "Changes of one update are made together, and the next one follows.",
)
def via_transaction(lake: Lake) -> None:
    table = lake.table("c1 STRING, c2 INT", ("a", 1))
    table.alter().add_column("c3", "STRING").rename_column("c1", "c4").commit()
    table.alter().drop_column("c3").commit()
    assert rows(table) == [("a", 1)]
    assert shown(table) == "c4 STRING, c2 INT"


@schemas.passes(
    "test_add_to_non_struct_type", "A field is not added to a column that is no struct."
)
def add_to_primitive(lake: Lake) -> None:
    with refused("foo is STRING, which has no fields"):
        alter(lake.table("foo STRING"), "ADD COLUMN foo.bar STRING")


@schemas.passes("test_no_changes_empty_commit", "An update without changes makes no version.")
def empty_commit(lake: Lake) -> None:
    table = lake.table("foo STRING", ("a",))
    with refused("nothing to commit", InvalidRequestError):
        table.alter().commit()
    assert table.refresh().version == 1


@schemas.passes(
    "test_revert_changes",
    "A column that was added and dropped leaves the schema as it was, with higher IDs to come.",
)
def revert(lake: Lake) -> None:
    table = lake.table("foo INT")
    alter(table, "ADD COLUMN data INT")
    alter(table, "DROP COLUMN data")
    assert shown(table) == "foo INT"
    alter(table, "ADD COLUMN data INT")
    assert ids(table, "foo", "data") == [1, 3]


@schemas.differs(
    "test_disallowed_updates",
    "All promotions that the specification does not name are refused.",
    "more are legal, since Delta has them: INT to DOUBLE and to DECIMALs that hold every INT.",
)
def promotions(lake: Lake) -> None:
    table = lake.table("i INT, s STRING, d DOUBLE", (1, "x", 0.1))
    for name, type_ in (("s", "INT"), ("d", "INT"), ("i", "DATE"), ("d", "FLOAT")):
        with refused(f"{name} can't change"):
            alter(table, f"ALTER COLUMN {name} TYPE {type_}")
    alter(table, "ALTER COLUMN i TYPE DECIMAL(12,2)")
    assert shown(table) == "i DECIMAL(12,2), s STRING, d DOUBLE"


@schemas.passes(
    "test_rename_simple_nested_with_dots",
    "A field whose name has a dot is renamed, by a quoted path.",
)
def rename_dots(lake: Lake) -> None:
    table = lake.table("`a.b` STRUCT<`c.d`: INT>", ({"c.d": 1},))
    alter(table, "RENAME COLUMN `a.b`.`c.d` TO e")
    assert rows(table) == [({"e": 1},)]


@schemas.passes(
    "test_add_required_column_initial_default_invalid_value",
    "A default of another type than the column is refused.",
)
def wrong_default(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    with refused("column data: DEFAULT 'string' does not fit INT"):
        table.alter().add_column("data", "INT", default="string", nullable=False).commit()
    assert shown(table) == "id INT"


@schemas.passes(
    "test_initial_default_all_columns", "Old rows show the defaults of columns of each type."
)
def all_defaults(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    change = table.alter()
    values = [True, 7, 0.5, "x", b"\x01", dt.date(2026, 1, 31)]
    for number, type_ in enumerate(("BOOLEAN", "BIGINT", "DOUBLE", "STRING", "BINARY", "DATE")):
        change.add_column(f"c{number}", type_, default=values[number])
    change.commit()
    assert rows(table) == [(1, *values)]


@schemas.passes(
    "test_two_add_schemas_in_a_single_transaction",
    "Two columns that are added together get IDs of their own.",
)
def two_added(lake: Lake) -> None:
    table = lake.table("id INT")
    table.alter().add_column("a", "STRING").add_column("b", "STRUCT<c: INT>").commit()
    assert ids(table, "a", "b", "b.c") == [2, 3, 4]


@reading.passes("test_projection_add_column", "Columns of each kind that a file lacks are null.")
def read_added(lake: Lake) -> None:
    table = lake.table("id INT", (1,), (2,))
    alter(table, "ADD COLUMNS (id2 INT, l ARRAY<INT>, m MAP<INT, STRING>, s STRUCT<x: INT>)")
    assert rows(table) == [(1, None, None, None, None), (2, None, None, None, None)]


@reading.passes("test_projection_concat_files", "Files of several schemas are one result.")
def concatenated(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    alter(table, "ADD COLUMN n STRING DEFAULT 'x'")
    put(table, (2, "y"))
    assert table.scan().to_arrow().sort_by("id").to_pydict() == {"id": [1, 2], "n": ["x", "y"]}


@reading.passes("test_projection_filter_renamed_column", "A filter names a column by its new name.")
def filter_renamed(lake: Lake) -> None:
    table = lake.table("id INT", (0,), (1,), (2,))
    alter(table, "RENAME COLUMN id TO other_id")
    assert rows(table, filters=[("other_id", ">", 1)]) == [(2,)]


@reading.passes(
    "test_projection_filter_add_column",
    "A filter on a column that a file lacks finds none of its rows.",
)
def filter_added(lake: Lake) -> None:
    table = lake.table("id INT", (0,), (1,))
    alter(table, "ADD COLUMN other_id INT")
    assert rows(table, filters=[("other_id", "=", 1)]) == []


@reading.passes(
    "test_projection_filter_add_column_promote", "A column of INT in files is read as BIGINT."
)
def read_promoted(lake: Lake) -> None:
    table = lake.table("id INT", (0,), (1,))
    alter(table, "ALTER COLUMN id TYPE BIGINT")
    found = table.scan().to_arrow()
    assert (found.schema.field("id").type, found["id"].to_pylist()) == (pa.int64(), [0, 1])


@reading.passes(
    "test_projection_filter_add_column_demote",
    "A column of BIGINT in files is not read as INT if a value does not fit.",
)
def read_demoted(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.pin_schema("old")
    alter(table, "ALTER COLUMN id TYPE BIGINT")
    put(table, (2**40,))
    with refused("the column id is BIGINT now, and 1 values in .* do not fit INT"):
        lake.catalog.load_table("t", schema="old").scan().to_arrow()


@reading.passes(
    "test_projection_nested_new_field",
    "A struct of new fields alone keeps its rows, with null in the fields.",
)
def new_fields_only(lake: Lake) -> None:
    table = lake.table("loc STRUCT<lat: DOUBLE>", ({"lat": 0.5},), (None,))
    table.alter().add_column("loc.ignored", "DOUBLE").drop_column("loc.lat").commit()
    assert rows(table) == [(None,), ({"ignored": None},)]


@reading.passes(
    "test_projection_nested_struct_different_parent_id",
    "A struct of another ID has none of the fields of the one before.",
)
def other_parent(lake: Lake) -> None:
    table = lake.table("n INT, loc STRUCT<lat: DOUBLE>", (1, {"lat": 0.5}))
    table.alter().drop_column("loc").add_column("loc", "STRUCT<lat: DOUBLE>").commit()
    assert rows(table) == [(1, None)]


@reading.passes(
    "test_projection_filter_on_unprojected_field",
    "A filter reads a column that the result does not show.",
)
def filter_unprojected(lake: Lake) -> None:
    table = lake.table("id INT, data STRING", (1, "a"), (2, "b"))
    assert rows(table, "id", filters=[("data", "=", "b")]) == [(2,)]


@reading.passes(
    "test_projection_filter_on_unknown_field", "A filter on a column that is not there is refused."
)
def filter_unknown(lake: Lake) -> None:
    with refused("no column unknown_field", NotFoundError):
        lake.table("id INT").scan(filters=[("unknown_field", "=", "1")])


@reading.passes(
    "test_identity_transform_column_projection",
    "A column that stands in the path of a file alone is read and filtered by it.",
)
def path_column(lake: Lake) -> None:
    lake.parquet("p/partition_id=1/f.parquet", {"other": ["foo", "bar"]})
    table = lake.imported("p")
    assert rows(table) == [("bar", 1), ("foo", 1)]
    assert rows(table, filters=[("partition_id", "=", -1)]) == []


@adding.passes(
    "test_add_files_to_unpartitioned_table_with_schema_updates",
    "Files are added before and after a column comes.",
)
def add_after_alter(lake: Lake) -> None:
    lake.parquet("a/f.parquet", {"foo": [True]})
    table = lake.imported("a")
    alter(table, "ADD COLUMN quux STRING")
    lake.parquet("b/g.parquet", {"foo": [False], "quux": ["x"]})
    lake.imported("b")
    assert rows(table) == [(False, "x"), (True, None)]


@adding.passes(
    "test_add_files_fails_on_schema_mismatch",
    "A file with a column of another type is refused, with the column.",
)
def add_mismatch(lake: Lake) -> None:
    lake.table("foo BOOLEAN, baz INT")
    lake.parquet("f.parquet", {"foo": [True], "baz": ["text"]})
    with refused("baz is STRING in 1 file"):
        lake.imported("f.parquet")


@adding.passes(
    "test_add_files_with_large_and_regular_schema", "Large and plain strings are one type."
)
def add_large(lake: Lake) -> None:
    lake.parquet("a.parquet", {"foo": pa.array(["a"], pa.large_string())})
    lake.parquet("b.parquet", {"foo": pa.array(["b"], pa.string())})
    assert rows(lake.imported("*.parquet")) == [("a",), ("b",)]


@adding.passes(
    "test_add_files_with_timestamp_tz_ns_fails", "Nanoseconds that would be lost are refused."
)
def add_nanoseconds(lake: Lake) -> None:
    stamps = pa.array([1_615_967_687_249_846_175], pa.timestamp("ns", "UTC"))
    lake.parquet("f.parquet", {"ts": stamps})
    with refused("nanoseconds with digits below a microsecond"):
        lake.imported("f.parquet")


@adding.passes(
    "test_add_files_with_valid_upcast",
    "Files with narrower types are added; their values are read in the wider ones.",
)
def add_upcast(lake: Lake) -> None:
    table = lake.table("l BIGINT, d DOUBLE")
    lake.parquet("f.parquet", {"l": pa.array([1], pa.int32()), "d": pa.array([0.5], pa.float32())})
    lake.imported("f.parquet")
    assert rows(table) == [(1, 0.5)]


@adding.passes(
    "test_add_files_subset_of_schema",
    "A file with some of the columns is added; the others are null.",
)
def add_subset(lake: Lake) -> None:
    table = lake.table("a INT, b STRING")
    lake.parquet("f.parquet", {"a": pa.array([1], pa.int32())})
    lake.imported("f.parquet")
    assert rows(table) == [(1, None)]


@adding.differs(
    "test_add_files_that_referenced_by_current_snapshot_with_check_duplicate_files_true",
    "A file that the table has already is refused.",
    "it is left out, and counted as known: an import can be run again.",
)
def add_again(lake: Lake) -> None:
    lake.parquet("a/f.parquet", {"n": [1]})
    table = lake.imported("a")
    again = lake.catalog.import_files("t", lake.files / "a")
    assert (again.files, again.known, rows(table)) == (0, 1, [(1,)])


@adding.passes(
    "test_add_files_to_unpartitioned_table_raises_file_not_found",
    "A file that is not there is an error.",
)
def add_missing(lake: Lake) -> None:
    with refused("there is no file or folder .*nothing.parquet"):
        lake.imported("nothing.parquet")


@deleting.passes(
    "test_partitioned_table_delete_full_file", "A delete of a whole partition drops its file."
)
def delete_file(lake: Lake) -> None:
    table = lake.table("n INT, p INT", (1, 10), (2, 20), partitioned_by=["p"])
    table.delete([("p", "=", 10)])
    assert (rows(table), segments(table)) == ([(2, 20)], 1)


@deleting.passes("test_delete_no_match", "A delete that matches nothing makes no version.")
def delete_nothing(lake: Lake) -> None:
    table = lake.table("n INT", (1,), (3,))
    assert table.delete([("n", "=", 2)]) == 1


@deleting.passes(
    "test_delete_overwrite_table_with_null", "An overwrite by a filter leaves rows with null."
)
def overwrite_null(lake: Lake) -> None:
    table = lake.table("n INT", (1,), (2,), (None,))
    table.overwrite_where(arrow(table, [(5,)]), [("n", "=", 2)])
    assert rows(table) == [(1,), (5,), (None,)]


@deleting.passes(
    "test_delete_overwrite_table_with_nan", "An overwrite by a filter leaves rows with NaN."
)
def overwrite_nan(lake: Lake) -> None:
    table = lake.table("f DOUBLE", (1.0,), (2.0,), (math.nan,))
    table.overwrite_where(arrow(table, [(5.0,)]), [("f", "=", 2.0)])
    assert sorted(repr(value) for (value,) in rows(table)) == ["1.0", "5.0", "nan"]


@deleting.passes(
    "test_delete_after_partition_evolution_from_unpartitioned",
    "A delete removes rows of files from before and after a partitioning.",
)
def delete_evolved(lake: Lake) -> None:
    table = lake.table("n INT, d DATE", (1, dt.date(2026, 1, 1)))
    table.alter().set_partitioning(["months(d)"]).commit()
    put(table, (1, dt.date(2026, 2, 1)), (2, dt.date(2026, 2, 1)))
    table.delete([("n", "=", 1)])
    assert rows(table, "n") == [(2,)]


@deleting.differs(
    "test_delete_with_filter_case_sensitive_by_default",
    "A filter with a name in another case fails, unless one asks for the other.",
    "names are compared regardless of case, as in Spark.",
)
def delete_any_case(lake: Lake) -> None:
    table = lake.table("n INT", (1,), (2,))
    table.delete([("N", "=", 1)])
    assert rows(table) == [(2,)]


@deleting.passes(
    "test_delete_on_empty_table", "A delete from a table without rows changes nothing."
)
def delete_empty(lake: Lake) -> None:
    table = lake.table("n INT")
    assert table.delete([("n", "=", 1)]) == 0


@evaluators.passes(
    "test_inclusive_metrics_eval_bounds_after_promotion",
    "Bounds of before a promotion skip files, and none that matches.",
)
def promoted_bounds(lake: Lake) -> None:
    table = lake.table("i INT, f FLOAT", (1, 0.5))
    put(table, (5, 2.5))
    table.alter().change_type("i", "BIGINT").change_type("f", "DOUBLE").commit()
    assert read_segments(table, "i", "=", 5) == read_segments(table, "f", ">", 2.0) == 1
    assert rows(table, filters=[("i", "=", 5)]) == [(5, 2.5)]


@evaluators.passes("test_string_starts_with", "Files are skipped by the beginning of texts.")
def prefix(lake: Lake) -> None:
    table = lake.table("s STRING", ("apple",), ("avocado",))
    put(table, ("banana",))
    assert rows(table, filters=[("s", ">=", "av"), ("s", "<", "aw")]) == [("avocado",)]
    assert read_segments(table, "s", ">=", "b") == 1


@evaluators.passes(
    "test_inclusive_metrics_evaluator_uses_empty_byte_lower_bound",
    "An empty text is a bound as any other.",
)
def empty_bound(lake: Lake) -> None:
    table = lake.table("s STRING", ("",), ("b",))
    assert rows(table, filters=[("s", "=", "")]) == [("",)]
    assert read_segments(table, "s", ">", "c") == 0


# pgroll: the old schema is a pin, and the new one the current schema


def users(lake: Lake, *values: tuple[object, ...]) -> tuple[Table, Table]:
    """A table of users, and the same as the application that is deployed sees it."""
    table = lake.table("id INT, name STRING", *(values or ((1, "Alice"),)), primary_key=["id"])
    table.pin_schema("old")
    return table, lake.catalog.load_table("t", schema="old")


def write(table: Table, *values: tuple[object, ...]) -> None:
    """Upsert rows as the application that has the table sees it."""
    table.refresh()
    table.upsert(arrow(table, values))


@add.passes("add column", "The new schema has the column; the old one reads and writes without it.")
def pgroll_add(lake: Lake) -> None:
    table, old = users(lake)
    alter(table, "ADD COLUMN age INT NOT NULL DEFAULT 0")
    write(old, (2, "Bob"))
    write(table, (3, "Cy", 21))
    assert rows(old) == [(1, "Alice"), (2, "Bob"), (3, "Cy")]
    assert rows(table) == [(1, "Alice", 0), (2, "Bob", 0), (3, "Cy", 21)]


@add.differs(
    "add column with up sql and a text pk",
    "The new column is computed from others by SQL, for old rows and by a trigger for new ones.",
    "an UPDATE fills it for rows of before; rows through the old schema have its default.",
)
def pgroll_up(lake: Lake) -> None:
    table, old = users(lake)
    alter(table, "ADD COLUMN upper STRING DEFAULT ''")
    table.update({"upper": pc.utf8_upper(pc.field("name"))})
    write(old, (2, "Bob"))
    assert rows(table) == [(1, "Alice", "ALICE"), (2, "Bob", "")]


@add.passes(
    "add not null column with non-volatile default", "Old rows and old writers get the default."
)
def pgroll_add_default(lake: Lake) -> None:
    table, old = users(lake)
    alter(table, "ADD COLUMN d STRING NOT NULL DEFAULT 'foo'")
    write(old, (2, "Bob"))
    assert rows(table, "d") == [("foo",), ("foo",)]


@add.differs(
    "add not null column with volatile default",
    "Each old row gets a value of its own, such as a random one.",
    "all rows of before show one value; the time of a write may be a default for rows to come.",
)
def pgroll_volatile(lake: Lake) -> None:
    table, _ = users(lake, (1, "a"), (2, "b"))
    with refused("defaults are constants"):
        alter(table, "ADD COLUMN r DOUBLE DEFAULT rand()")


@add.passes("column must not exist", "A column that is there already is refused.")
def pgroll_exists(lake: Lake) -> None:
    table, _ = users(lake)
    with refused("there is a column name already"):
        alter(table, "ADD COLUMN name STRING")


@add.passes(
    "add nullable column with non-volatile default",
    "A nullable column with a default: old rows show it.",
)
def pgroll_nullable(lake: Lake) -> None:
    table, _ = users(lake)
    alter(table, "ADD COLUMN d STRING DEFAULT 'foo'")
    assert rows(table, "d") == [("foo",)]


@drop.differs(
    "drop column",
    "The old schema shows the column until the migration ends; new rows have what `down` computes.",
    "it shows the column until its pin is retired; new rows have its write default.",
)
def pgroll_drop(lake: Lake) -> None:
    table, old = users(lake)
    alter(table, "ALTER COLUMN name SET DEFAULT 'none'")
    alter(table, "DROP COLUMN name")
    write(table, (2,))
    assert rows(table) == [(1,), (2,)]
    assert rows(old) == [(1, "Alice"), (2, "none")]
    assert table.retire_schema("old").dropped == ("name",)


@drop.passes(
    "can drop a column with a reserved word as its name", "A column named `array` is dropped."
)
def pgroll_reserved(lake: Lake) -> None:
    table = lake.table("`array` INT, n INT", (1, 2))
    alter(table, "DROP COLUMN `array`")
    assert rows(table) == [(2,)]


@drop.passes("add column, drop column", "A column is added and dropped in one migration.")
def pgroll_add_drop(lake: Lake) -> None:
    table, _ = users(lake)
    table.alter().add_column("a", "INT").add_column("b", "INT").drop_column("a").commit()
    assert table.schema.names == ["id", "name", "b"]


@rename.passes("rename column", "Each schema reads and writes the column by its own name.")
def pgroll_rename(lake: Lake) -> None:
    table, old = users(lake)
    alter(table, "RENAME COLUMN name TO username")
    write(old, (2, "Bob"))
    write(table, (3, "Cy"))
    assert old.refresh().scan().to_arrow().column_names == ["id", "name"]
    assert rows(old) == rows(table) == [(1, "Alice"), (2, "Bob"), (3, "Cy")]


@rename.passes("target column must not exist", "A column is not renamed to the name of another.")
def pgroll_target(lake: Lake) -> None:
    table, _ = users(lake)
    with refused("there is a column id already"):
        alter(table, "RENAME COLUMN name TO id")


@rename.passes(
    "rename table, rename column",
    "A table and a column of it are renamed, and the old schema goes on.",
)
def pgroll_rename_both(lake: Lake) -> None:
    table, _ = users(lake)
    alter(table, "RENAME COLUMN name TO username")
    lake.catalog.rename_table("t", "people")
    assert rows(lake.catalog.load_table("people", schema="old"), "name") == [("Alice",)]


@types.differs(
    "change column type",
    "A text becomes an integer in the new schema, converted both ways by SQL.",
    "only widenings need no second column: the old schema reads values that fit, and refuses others.",
)
def pgroll_type(lake: Lake) -> None:
    table = lake.table("id INT, rating INT", (1, 5), primary_key=["id"])
    table.pin_schema("old")
    old = lake.catalog.load_table("t", schema="old")
    alter(table, "ALTER COLUMN rating TYPE BIGINT")
    write(old, (2, 6))
    assert rows(old) == rows(table) == [(1, 5), (2, 6)]
    write(table, (3, 2**40))
    with refused("the column rating is BIGINT now, and 1 values in .* do not fit INT"):
        rows(old)


@types.passes(
    "changing column type preserves column not null",
    "A NOT NULL column stays so when it is widened.",
)
def pgroll_type_not_null(lake: Lake) -> None:
    table = lake.table("n INT NOT NULL", (1,))
    alter(table, "ALTER COLUMN n TYPE BIGINT")
    assert shown(table) == "n BIGINT NOT NULL"


@types.passes(
    "changing column type preserves any compatible defaults on the column",
    "A default stays when the column is widened.",
)
def pgroll_type_default(lake: Lake) -> None:
    table = lake.table("n INT, v INT DEFAULT 7")
    alter(table, "ALTER COLUMN v TYPE BIGINT")
    put(table, (1,))
    assert rows(table) == [(1, 7)]


@types.passes(
    "changing column type preserves any compatible check constraints on the column",
    "A CHECK constraint holds after the column was widened.",
)
def pgroll_type_check(lake: Lake) -> None:
    table = lake.table("n INT", checks={"small": "n < 100"})
    alter(table, "ALTER COLUMN n TYPE BIGINT")
    with refused("violates the constraint small"):
        put(table, (2**40,))


@required.differs(
    "set not null with default down sql",
    "Nulls that the old schema writes are replaced by what `up` computes.",
    "they are refused; a pin with `pins` = `refuse` stops the change instead.",
)
def pgroll_not_null(lake: Lake) -> None:
    table, old = users(lake)
    alter(table, "ALTER COLUMN name SET NOT NULL")
    with refused("name is NOT NULL"):
        write(old, (2, None))
    table.refresh().alter().drop_not_null("name").set_property("pins", "refuse").commit()
    with refused("a job that uses the schema pin 'old'"):
        alter(table, "ALTER COLUMN name SET NOT NULL")


@required.passes(
    "setting a column to not null retains any default defined on the column",
    "A default stays when the column becomes NOT NULL.",
)
def pgroll_not_null_default(lake: Lake) -> None:
    table = lake.table("id INT, v STRING DEFAULT 'x'", (1, "a"))
    alter(table, "ALTER COLUMN v SET NOT NULL")
    put(table, (2,), columns=["id"])
    assert rows(table) == [(1, "a"), (2, "x")]


@nullable.passes(
    "remove not null with default up sql",
    "The new schema writes null; the old one reads it as null.",
)
def pgroll_drop_not_null(lake: Lake) -> None:
    table = lake.table("id INT, v STRING NOT NULL", (1, "a"), primary_key=["id"])
    table.pin_schema("old")
    alter(table, "ALTER COLUMN v DROP NOT NULL")
    write(table, (2, None))
    old = lake.catalog.load_table("t", schema="old")
    assert rows(old) == [(1, "a"), (2, None)]


@defaults.passes(
    "set column default with default up and down SQL",
    "Rows to come have the default, through either schema.",
)
def pgroll_default(lake: Lake) -> None:
    table, old = users(lake)
    alter(table, "ALTER COLUMN name SET DEFAULT 'unknown'")
    for number, handle in enumerate((table, old), 2):
        handle.refresh().upsert(arrow(handle, [(number,)], ["id"]))
    assert rows(table) == [(1, "Alice"), (2, "unknown"), (3, "unknown")]


@defaults.passes(
    "set column default: remove the default", "Without the default, rows to come are null."
)
def pgroll_no_default(lake: Lake) -> None:
    table = lake.table("id INT, v STRING DEFAULT 'x'")
    alter(table, "ALTER COLUMN v DROP DEFAULT")
    put(table, (1,))
    assert rows(table) == [(1, None)]


@checks.differs(
    "add check constraint",
    "The old schema goes on to write values that violate it, which `up` rewrites.",
    "the constraint holds for all writers; rows that violate it must be changed before.",
)
def pgroll_check(lake: Lake) -> None:
    table, old = users(lake)
    alter(table, "ADD CONSTRAINT short CHECK (name < 'Z')")
    with refused("violates the constraint short"):
        write(old, (2, "Zed"))
    assert rows(old) == [(1, "Alice")]


@checks.passes(
    "validate that check constraint name is unique", "A second constraint of one name is refused."
)
def pgroll_check_name(lake: Lake) -> None:
    table, _ = users(lake)
    alter(table, "ADD CONSTRAINT short CHECK (name < 'Z')")
    with refused("there is a constraint short already"):
        alter(table, "ADD CONSTRAINT short CHECK (name < 'Y')")


@checks.passes(
    "existing check constraints are preserved when adding a check constraint",
    "A second constraint leaves the first one.",
)
def pgroll_two_checks(lake: Lake) -> None:
    table, _ = users(lake)
    alter(table, "ADD CONSTRAINT c1 CHECK (name < 'Z')")
    alter(table, "ADD CONSTRAINT c2 CHECK (name > 'A')")
    for name in ("Zed", "0"):
        with refused("violates the constraint c[12]"):
            write(table, (2, name))


@constraints.passes(
    "drop check constraint with default up sql", "Without the constraint, its rows are accepted."
)
def pgroll_drop_check(lake: Lake) -> None:
    table, _ = users(lake)
    alter(table, "ADD CONSTRAINT short CHECK (name < 'Z')")
    alter(table, "DROP CONSTRAINT short")
    write(table, (2, "Zed"))
    assert rows(table) == [(1, "Alice"), (2, "Zed")]


@several.passes(
    "can alter a column: set not null, change type, change comment, and add check constraint",
    "Several changes of one column are made together.",
)
def pgroll_several(lake: Lake) -> None:
    table = lake.table("id INT, n INT", (1, 5))
    before = table.version
    table.alter().set_not_null("n").change_type("n", "BIGINT").set_comment("n", "text").add_check(
        "pos", "n > 0"
    ).commit()
    assert (table.version, table.checks) == (before + 1, {"pos": "n > 0"})
    assert shown(table) == "id INT, n BIGINT NOT NULL COMMENT 'text'"


@several.passes("cant make no changes", "An alteration without changes is refused.")
def pgroll_nothing(lake: Lake) -> None:
    table, _ = users(lake)
    with refused("nothing to commit"):
        table.alter().commit()


@tutorial.passes(
    "Rollback", "A migration that was begun is taken back, and the old schema goes on."
)
def pgroll_rollback(lake: Lake) -> None:
    table, old = users(lake)
    before = table.version
    alter(table, "ADD COLUMN is_active BOOLEAN DEFAULT true")
    alter(table, "RENAME COLUMN name TO username")
    table.rollback(before)
    assert shown(table).startswith("id INT NOT NULL, name STRING")
    write(old, (2, "Bob"))
    assert rows(table) == [(1, "Alice"), (2, "Bob")]


add.not_applicable(
    "add nullable foreign key column",
    "A column refers to the key of another table.",
    "a commit changes one table, and checks none of the others.",
)
types.not_applicable(
    "changing column type preserves any unique constraints on the column",
    "A column holds each value once.",
    "only the row key is unique; a lake of files has no index for other columns.",
)
