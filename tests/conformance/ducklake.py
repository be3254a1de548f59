"""Situations of DuckLake."""

from __future__ import annotations

import datetime as dt
import math

import pyarrow as pa

from conformance.lake import (
    Lake,
    alter,
    changed,
    put,
    read_segments,
    refused,
    rows,
    segments,
)
from conformance.registry import Situation, Source
from versioned_catalog import CommitConflictError

SITUATIONS: list[Situation] = []
duck = Source("ducklake", "test/sql", SITUATIONS)


@duck.passes(
    "alter/add_column.test", "A column is added twice, and not the second time; old rows have null."
)
def add_column(lake: Lake) -> None:
    table = lake.table("col1 INT", (1,))
    alter(table, "ADD COLUMN c2 STRING")
    with refused("there is a column c2 already"):
        alter(table, "ADD COLUMN c2 STRING")
    put(table, (2, "hello"))
    assert rows(table) == [(1, None), (2, "hello")]
    assert rows(table, filters=[("c2", "=", "hello")]) == [(2, "hello")]


@duck.passes(
    "alter/add_column_nested.test", "Structs and arrays are added, and are null in old rows."
)
def add_nested(lake: Lake) -> None:
    table = lake.table("c1 STRUCT<i: INT, j: INT>", ({"i": 1, "j": 2},))
    alter(table, "ADD COLUMN c2 ARRAY<INT>")
    put(table, ({"i": 100, "j": 200}, []))
    alter(table, "ADD COLUMN c3 STRUCT<k: INT, v: INT>")
    put(table, ({"i": 42, "j": None}, [1], {"k": 1, "v": 2}))
    assert rows(table) == [
        ({"i": 1, "j": 2}, None, None),
        ({"i": 100, "j": 200}, [], None),
        ({"i": 42, "j": None}, [1], {"k": 1, "v": 2}),
    ]


@duck.passes("alter/drop_column.test", "A column is dropped; the last one is not.")
def drop_column(lake: Lake) -> None:
    table = lake.table("c1 INT, c2 INT", (1, 2))
    alter(table, "DROP COLUMN c1")
    assert rows(table) == [(2,)]
    with refused("the last column"):
        alter(table, "DROP COLUMN c2")


@duck.passes(
    "alter/promote_type.test", "TINYINT becomes INT and takes greater values; it never narrows."
)
def promote(lake: Lake) -> None:
    table = lake.table("c TINYINT", (25,))
    with refused("c is TINYINT"):
        table.append(pa.table({"c": pa.array([1000], pa.int32())}))
    alter(table, "ALTER COLUMN c TYPE INT")
    put(table, (1000,))
    with refused("the column c can't (change|be narrowed) from INT to TINYINT"):
        alter(table, "ALTER COLUMN c TYPE TINYINT")
    assert rows(table) == [(1000,), (25,)]


@duck.passes(
    "alter/struct_evolution.test",
    "Fields of a struct are added, widened and dropped; filters on them see all rows.",
)
def struct_evolution(lake: Lake) -> None:
    table = lake.table("s STRUCT<i: INT, j: INT>", ({"i": 1, "j": 2},))
    alter(table, "ADD COLUMN s.k TINYINT")
    put(table, ({"i": 10, "j": 20, "k": 3},))
    alter(table, "ALTER COLUMN s.k TYPE INT")
    put(table, ({"i": 100, "j": 200, "k": 1000},))
    alter(table, "DROP COLUMN s.i")
    alter(table, "DROP COLUMN s.j")
    assert rows(table) == [({"k": 1000},), ({"k": 3},), ({"k": None},)]
    assert rows(table, filters=[("s.k", ">", 3)]) == [({"k": 1000},)]


@duck.passes(
    "alter/struct_in_list_evolution.test", "Fields of structs in an array are added and dropped."
)
def list_evolution(lake: Lake) -> None:
    table = lake.table("l ARRAY<STRUCT<i: INT, j: INT>>", ([{"i": 1, "j": 2}],))
    alter(table, "ADD COLUMN l.element.k INT")
    put(table, ([{"i": 1, "j": 2, "k": 3}],))
    alter(table, "DROP COLUMN l.element.i")
    assert rows(table) == [([{"j": 2, "k": 3}],), ([{"j": 2, "k": None}],)]


@duck.passes(
    "alter/struct_in_map_evolution.test",
    "Fields of structs in a map's values are added and dropped.",
)
def map_evolution(lake: Lake) -> None:
    table = lake.table("m MAP<INT, STRUCT<i: INT>>", ([(1, {"i": 1})],))
    alter(table, "ADD COLUMN m.value.k INT")
    put(table, ([(1, {"i": 2, "k": 3})],))
    alter(table, "DROP COLUMN m.value.i")
    assert rows(table) == [([(1, {"k": 3})],), ([(1, {"k": None})],)]


@duck.passes(
    "alter/struct_evolution_reuse.test", "A dropped field that is added again is another one."
)
def struct_reuse(lake: Lake) -> None:
    table = lake.table("s STRUCT<i: INT, j: INT>", ({"i": 1, "j": 2},))
    alter(table, "DROP COLUMN s.j")
    alter(table, "ADD COLUMN s.j STRING")
    put(table, ({"i": 3, "j": "new"},))
    assert rows(table) == [({"i": 1, "j": None},), ({"i": 3, "j": "new"},)]


@duck.passes(
    "alter/mixed_alter.test", "A column is dropped and added with another type between inserts."
)
def mixed(lake: Lake) -> None:
    table = lake.table("c1 INT, c2 INT, c3 INT", (1, 2, 3))
    alter(table, "DROP COLUMN c2")
    put(table, (10, 20), columns=["c1", "c3"])
    alter(table, "ADD COLUMN c2 STRING")
    put(table, (100, 300, "hello"), columns=["c1", "c3", "c2"])
    assert rows(table, "c1", "c2", "c3") == [(1, None, 3), (10, None, 20), (100, "hello", 300)]


@duck.passes(
    "alter/rename_column.test", "Columns are renamed one after the other; an unknown one is not."
)
def rename_columns(lake: Lake) -> None:
    table = lake.table("c1 INT, c2 INT", (1, 2))
    alter(table, "RENAME COLUMN c1 TO n1")
    alter(table, "RENAME COLUMN c2 TO n2")
    with refused("no column blablabla"):
        alter(table, "RENAME COLUMN blablabla TO k")
    assert rows(table, "n1", "n2") == [(1, 2)]


@duck.passes(
    "alter/rename_column_with_case_insensitive_name.test",
    "A column is renamed by its name in another case, also to its own name in another.",
)
def rename_case(lake: Lake) -> None:
    table = lake.table("MyCol INT", (1,))
    alter(table, "RENAME COLUMN mycol TO NEWNAME")
    alter(table, "RENAME COLUMN newname TO NewName")
    assert table.schema.names == ["NewName"]
    assert rows(table) == [(1,)]


@duck.differs(
    "alter/alter_timestamptz_promotion.test",
    "A timestamp without time zone becomes one with, in the time zone of the session.",
    "it is refused, as in Iceberg: which moment a value means would depend on the session.",
)
def zoned(lake: Lake) -> None:
    table = lake.table("ts TIMESTAMP_NTZ", (dt.datetime(2025, 1, 15, 12, 30, 45),))
    with refused("from TIMESTAMP_NTZ to TIMESTAMP"):
        alter(table, "ALTER COLUMN ts TYPE TIMESTAMP")


@duck.passes(
    "alter/rename_table.test", "A table is renamed and keeps its rows; the old name is free."
)
def rename_table(lake: Lake) -> None:
    lake.table("i INT", (1,))
    lake.catalog.rename_table("t", "t2")
    assert rows(lake.catalog.load_table("t2")) == [(1,)]
    assert rows(lake.table("j INT")) == []


@duck.passes(
    "default/add_column_with_default.test",
    "Old rows show the default of a new column, also after it is dropped as a default.",
)
def default_dropped(lake: Lake) -> None:
    table = lake.table("i INT", (1,))
    alter(table, "ADD COLUMN j INT DEFAULT 42")
    put(table, (100, 100))
    put(table, (2,), columns=["i"])
    alter(table, "ALTER COLUMN j DROP DEFAULT")
    put(table, (3,), columns=["i"])
    assert rows(table) == [(1, 42), (100, 100), (2, 42), (3, None)]


@duck.passes(
    "default/struct_field_default.test",
    "A field that is added to a struct with a default shows it in old structs.",
)
def field_default(lake: Lake) -> None:
    table = lake.table("s STRUCT<i: INT>", ({"i": 1},))
    table.alter().add_column("s.k", "INT", default=42).commit()
    put(table, ({"i": 100, "k": 300},))
    assert rows(table) == [({"i": 1, "k": 42},), ({"i": 100, "k": 300},)]


@duck.differs(
    "default/default_expressions.test",
    "A default may be any expression, such as round(pi()); one of a new column may be a literal only.",
    "a default is a constant or the current time or date; others are refused.",
)
def default_expression(lake: Lake) -> None:
    table = lake.table("i INT, ts TIMESTAMP DEFAULT current_timestamp()")
    put(table, (1,))
    assert rows(table)[0][1] is not None
    with refused("defaults are constants"):
        alter(table, "ALTER COLUMN i SET DEFAULT round(pi())")


@duck.passes(
    "default/all_types_column_default_stats.test",
    "A filter on a new column with a default keeps files without it only if the default matches.",
)
def default_statistics(lake: Lake) -> None:
    table = lake.table("i INT", (1,))
    alter(table, "ADD COLUMN d DATE DEFAULT DATE '2026-01-31'")
    put(table, (2, dt.date(2025, 1, 1)))
    assert read_segments(table, "d", "=", dt.date(2026, 1, 31)) == 1
    assert rows(table, filters=[("d", "=", dt.date(2026, 1, 31))]) == [(1, dt.date(2026, 1, 31))]


@duck.passes(
    "constraints/not_null_drop_column.test",
    "NOT NULL holds for a column after those beside it are dropped.",
)
def not_null_dropped(lake: Lake) -> None:
    table = lake.table("i INT NOT NULL, j INT, k INT NOT NULL", (42, None, 3))
    alter(table, "DROP COLUMN j")
    with refused("k is NOT NULL"):
        put(table, (42, None))
    alter(table, "DROP COLUMN k")
    with refused("i is NOT NULL"):
        put(table, (None,))
    assert rows(table) == [(42,)]


@duck.differs(
    "add_files/add_files_missing_columns.test",
    "A file that lacks a column of the table is refused, unless one allows it.",
    "it is accepted if the column may be null or has a default: its rows show that.",
)
def add_missing(lake: Lake) -> None:
    lake.table("i INT, j INT, k INT NOT NULL")
    lake.parquet("a/f.parquet", {"j": pa.array([42], pa.int32())})
    with refused("nulls in the column k, which is NOT NULL"):
        lake.imported("a")
    table = lake.table("i INT, j INT", name="u")
    lake.catalog.import_files("u", lake.files / "a")
    assert rows(table) == [(None, 42)]


@duck.passes(
    "add_files/add_files_extra_columns.test",
    "A file with a further column is refused; it is left out, or added, on request.",
)
def add_extra(lake: Lake) -> None:
    table = lake.table("i INT, j INT")
    row = {name: pa.array([n], pa.int32()) for name, n in (("j", 42), ("i", 84), ("x", 100))}
    lake.parquet("a/f.parquet", row)
    with refused("x is not a column of the table"):
        lake.imported("a")
    lake.imported("a", exclude=["x"])
    assert rows(table) == [(84, 42)]


@duck.passes(
    "add_files/add_files_type_check_integer.test",
    "A file whose integers are wider than the column is refused; narrower ones are read.",
)
def add_integers(lake: Lake) -> None:
    table = lake.table("c SMALLINT")
    for name, type_ in (("b", pa.int8()), ("s", pa.int16()), ("u", pa.uint8())):
        lake.parquet(f"{name}.parquet", {"c": pa.array([42], type_)})
        lake.imported(f"{name}.parquet")
    for name, type_ in (("i", pa.int32()), ("l", pa.int64()), ("t", pa.bool_())):
        lake.parquet(f"wide/{name}.parquet", {"c": pa.array([1], pa.int64()).cast(type_)})
        with refused("c is .* in 1 file .* and SMALLINT in the table"):
            lake.imported(f"wide/{name}.parquet")
    assert rows(table) == [(42,), (42,), (42,)]


@duck.passes(
    "add_files/add_files_rename.test", "A file that was added is read after its column was renamed."
)
def add_and_rename(lake: Lake) -> None:
    lake.parquet("a.parquet", {"c1": pa.array([100], pa.int32()), "c2": ["world"]})
    table = lake.imported("a.parquet")
    alter(table, "RENAME COLUMN c1 TO n1")
    assert rows(table, "n1", "c2") == [(100, "world")]


@duck.passes(
    "add_files/add_files_hive_mismatch.test", "Values in paths must fit the columns of the table."
)
def add_hive(lake: Lake) -> None:
    for key in ("p1", "p2"):
        lake.parquet(f"h/k={key}/f.parquet", {"v": [key]})
    lake.table("k INT, v STRING")
    with refused("the part k=p1 of a path is no INT"):
        lake.imported("h")
    lake.catalog.create_table("u", "k STRING, v STRING")
    lake.catalog.import_files("u", lake.files / "h")
    assert rows(lake.catalog.load_table("u")) == [("p1", "p1"), ("p2", "p2")]


@duck.differs(
    "add_files/add_files_field_id_drop_readd.test",
    "A file whose field ID is that of a dropped column of the same name is refused.",
    "files of others are matched by name when they are imported; field IDs in them mean nothing here.",
)
def add_with_ids(lake: Lake) -> None:
    table = lake.table("i INT, j INT", (1, 10))
    alter(table, "DROP COLUMN j")
    alter(table, "ADD COLUMN j INT")
    field = pa.field("j", pa.int32(), metadata={"PARQUET:field_id": "2"})
    lake.parquet("f.parquet", pa.table([pa.array([20], pa.int32())], pa.schema([field])))
    lake.imported("f.parquet")
    assert rows(table) == [(1, None), (None, 20)]


@duck.passes(
    "add_files/add_files_equivalent_path_duplicate.test",
    "A file is added once, by whatever path it is named.",
)
def add_once(lake: Lake) -> None:
    lake.parquet("a/f.parquet", {"i": [1]})
    table = lake.imported("a")
    lake.catalog.import_files("t", lake.files / "a" / ".." / "a" / "f.parquet")
    (lake.files / "link").symlink_to(lake.files / "a")
    lake.catalog.import_files("t", lake.files / "link")
    assert rows(table) == [(1,)]


@duck.passes(
    "add_files/add_old_list.test",
    "A file with lists of two levels, as older writers made them, is read.",
)
def add_old_list(lake: Lake) -> None:
    lake.parquet("f.parquet", {"l": [[1, 2], []]}, use_compliant_nested_type=False)
    assert rows(lake.imported("f.parquet")) == [([1, 2],), ([],)]


@duck.passes(
    "compaction/compaction_alter_table.test",
    "Files of several schemas are merged into one, and rows show what they showed.",
)
def compact_altered(lake: Lake) -> None:
    table = lake.table("id INT, i INT", (1, 10))
    alter(table, "ADD COLUMN j INT DEFAULT 7")
    put(table, (3, 30, 300))
    alter(table, "DROP COLUMN i")
    put(table, (5, 500))
    alter(table, "ADD COLUMN i STRING")
    put(table, (7, 700, "hello"))
    before = rows(table)
    table.maintenance.compact(strategy="full")
    expected = [(1, 7, None), (3, 300, None), (5, 500, None), (7, 700, "hello")]
    assert before == rows(table) == expected
    assert segments(table) == 1


@duck.differs(
    "compaction/compaction_delete_conflict.test",
    "Of a compaction and a DELETE at once, the second one is refused.",
    "neither is: a DELETE finds its rows in the merged file, and a compaction leaves out what changed.",
)
def compact_and_delete(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    put(table, (2,))
    other = lake.catalog.load_table("t")
    other.maintenance.compact(strategy="full")
    table.delete([("id", "=", 1)])
    assert rows(table) == [(2,)]


@duck.passes(
    "compaction/expire_snapshots.test", "Old snapshots go, and the rows of the newest are read."
)
def expire(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    put(table, (2,))
    table.maintenance.expire(dt.timedelta(0), dry_run=False, force=True)
    assert rows(table) == [(1,), (2,)]


@duck.passes(
    "concurrent/concurrent_insert_delete_conflict.test",
    "INSERTs and DELETEs at once never make a row twice.",
)
def insert_and_delete(lake: Lake) -> None:
    table = lake.table("key INT", *[(n,) for n in range(10)])
    others = [lake.catalog.load_table("t") for _ in range(2)]
    for number, other in enumerate(others):
        other.delete([("key", "=", number)]) if number == 0 else put(other, (100 + number,))
    put(table, (100,))
    found = [n for (n,) in rows(table)]
    assert len(found) == len(set(found)) == 11


@duck.passes(
    "transaction/transaction_conflicts_delete.test",
    "Two DELETEs of one row at once: one of them is refused.",
)
def delete_conflict(lake: Lake) -> None:
    table = lake.table("key INT, v INT", (1, 1), (2, 2))
    other = lake.catalog.load_table("t")
    other.delete([("key", "=", 1)])
    with refused("removed by another commit", CommitConflictError):
        table.delete([("key", "=", 1)])


@duck.differs(
    "table_changes/ducklake_table_changes.test",
    "Each update has an image before and one after it, by row ID.",
    "it is so with the property `row_ids` or a primary key; else an update is a delete and an insert.",
)
def table_changes(lake: Lake) -> None:
    table = lake.table("i INT", (0,), (1,))
    table.update({"i": 100}, [("i", "=", 0)])
    table.delete(None)
    assert changed(table, 1, 1) == [("insert", 0), ("insert", 1)]
    assert changed(table, 2, 2) == [("delete", 0), ("insert", 100)]
    assert changed(table, 3, 3) == [("delete", 1), ("delete", 100)]


@duck.passes("time_travel/basic_time_travel.test", "Earlier versions and times are read.")
def time_travel(lake: Lake) -> None:
    table = lake.table("i INT", (1,))
    when = table.inspect.history().sort_by("version")["time"].to_pylist()[1]
    table.delete(None)
    assert rows(table, version=1) == rows(table, timestamp=when) == [(1,)]


@duck.passes(
    "types/unsupported.test", "A type that can't be stored is refused when the table is created."
)
def unsupported(lake: Lake) -> None:
    with refused("unknown type BIT"):
        lake.table("b BIT")


@duck.passes("types/floats.test", "NaN equals itself and is greater than all others, infinity too.")
def floats(lake: Lake) -> None:
    table = lake.table("f DOUBLE", (1.0,), (10.0,), (math.nan,), (1.0,), (math.inf,))
    for operator, count in (("=", 1), (">", 0), (">=", 1), ("<", 4), ("<=", 5)):
        assert len(rows(table, filters=[("f", operator, math.nan)])) == count
    assert len(rows(table, filters=[("f", ">", math.inf)])) == 1


@duck.passes(
    "stats/filter_pushdown_float_nan.test", "Files with NaN are not skipped where NaN matches."
)
def nan_filter(lake: Lake) -> None:
    table = lake.table("f DOUBLE", (1.0,), (math.nan,))
    put(table, (2.0,))
    assert len(rows(table, filters=[("f", "!=", 1.0)])) == 2
    assert len(rows(table, filters=[("f", ">", 1.5)])) == 2
    assert rows(table, filters=[("f", "<", 1.5)]) == [(1.0,)]


@duck.passes(
    "partitioning/partitioning_alter.test",
    "The partitioning changes; files of before keep theirs, and all rows are found.",
)
def partitioning_alter(lake: Lake) -> None:
    table = lake.table("p INT, v INT", (1, 1), partitioned_by=["p"])
    table.alter().set_partitioning(["v"]).commit()
    put(table, (1, 2))
    assert rows(table, filters=[("p", "=", 1)]) == [(1, 1), (1, 2)]
    assert rows(table, filters=[("v", "=", 2)]) == [(1, 2)]


@duck.passes(
    "partitioning/drop_partition_column.test",
    "A column that the table is partitioned by is dropped only after the partitioning.",
)
def drop_partition(lake: Lake) -> None:
    table = lake.table("p INT, v INT", (1, 1), partitioned_by=["p"])
    with refused("the table is partitioned by p"):
        alter(table, "DROP COLUMN p")
    table.refresh().alter().set_partitioning([]).commit()
    alter(table, "DROP COLUMN p")
    put(table, (2,))
    assert rows(table) == [(1,), (2,)]


@duck.passes(
    "update/update_not_null.test", "An UPDATE that sets a NOT NULL column to null is refused."
)
def update_not_null(lake: Lake) -> None:
    table = lake.table("i INT NOT NULL, j INT", (1, 2))
    with refused("the column i is NOT NULL"):
        table.update({"i": None})
    assert rows(table) == [(1, 2)]


@duck.passes("comments/comment_on_column.test", "A column has a comment, and loses it.")
def comment(lake: Lake) -> None:
    table = lake.table("i INT", (1,))
    alter(table, "ALTER COLUMN i COMMENT 'text'")
    assert table.schema.get(("i",)).comment == "text"
    alter(table, "ALTER COLUMN i COMMENT ''")
    assert table.schema.get(("i",)).comment is None


duck.not_applicable(
    "data_inlining/basic_data_inlining.test",
    "Few rows are stored in the catalog's database, and not in a file.",
    "there is no database: each commit writes a Parquet file; `maintain` merges small ones.",
)


duck.not_applicable(
    "encryption/encryption.test",
    "Files are encrypted with keys that the catalog holds.",
    "keys would stand in metadata that readers share; encryption is left to the storage.",
)


duck.not_applicable(
    "macros/test_simple_macro.test",
    "The catalog holds macros.",
    "the catalog holds tables and views; functions belong to the engine.",
)
