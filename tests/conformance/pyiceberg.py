"""Situations of PyIceberg."""

from __future__ import annotations

import datetime as dt
import math

import pyarrow as pa

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
from versioned_catalog import InvalidRequestError, NotFoundError

SITUATIONS: list[Situation] = []
schemas = Source("pyiceberg", "tests/integration/test_rest_schema.py", SITUATIONS)
reading = Source("pyiceberg", "tests/io/test_pyarrow.py", SITUATIONS)
adding = Source("pyiceberg", "tests/integration/test_add_files.py", SITUATIONS)
deleting = Source("pyiceberg", "tests/integration/test_deletes.py", SITUATIONS)
evaluators = Source("pyiceberg", "tests/expressions/test_evaluator.py", SITUATIONS)


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
        with refused(f"{name} can't (change|be narrowed)"):
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


@reading.differs(
    "test_projection_filter_add_column_demote",
    "A column of BIGINT in files is never read as INT.",
    "a job that pinned the schema of before reads the values that fit, and an error names others.",
)
def read_demoted(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.pin_schema("old")
    alter(table, "ALTER COLUMN id TYPE BIGINT")
    put(table, (2,))
    old = lake.catalog.load_table("t", schema="old")
    assert rows(old) == [(1,), (2,)]
    put(table, (2**40,))
    with refused("the column id is BIGINT now, and 1 values in .* do not fit INT"):
        rows(old)


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
    "test_add_files_with_large_and_regular_schema",
    "Files of strings, large ones too, are one type.",
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
