"""A converted table that is changed here, too, follows its source where both changes can be had."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import Field, write_deltalake
from deltalake.schema import PrimitiveType
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField, StringType, StructType

from convert.sources import (
    Lake,
    data_files,
    delete_positions,
    delta_rows,
    drop_log,
    rows_of,
    sorted_rows,
)
from marking import mark, marks_of
from versioned_catalog import InvalidRequestError, Table
from versioned_interop.convert.convert import Request, open_source
from versioned_interop.convert.sync import follow

SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "n", IntegerType()),
    NestedField(3, "s", StringType()),
    NestedField(4, "p", StructType(NestedField(5, "z", StringType()))),
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.fixture
def source(lake: Lake) -> Any:
    found = lake.iceberg_table(SCHEMA)
    found.append(rows(found, 1))
    found.append(rows(found, 2))
    return found


def rows(source: Any, one: int) -> pa.Table:
    arrow = source.schema().as_arrow()
    known = {"id": one, "n": one, "s": f"s{one}"}
    return pa.table({f.name: [known.get(f.name)] for f in arrow}, schema=arrow)


def ids(table: Table) -> list[int]:
    return sorted(table.scan(["id"]).to_arrow()["id"].to_pylist())


def test_rows_of_both_sides_stay(lake: Lake, source: Any) -> None:
    table = lake.catalog.convert("t", source)
    table.append(pa.table({"id": [100]}))
    table.delete([("id", "=", 1)])
    source.append(rows(source, 3))
    assert table.sync(source).adopted == 1
    assert ids(table) == [2, 3, 100]
    table.update({"s": "here"}, [("id", "=", 3)])
    source.append(rows(source, 4))
    table.sync(source)
    assert ids(table) == [2, 3, 4, 100]
    source.delete("id = 2")
    assert table.sync(source).removed == 1
    assert ids(table) == [3, 4, 100]


def test_history_leaves_out_what_a_table_notes_of_its_source(lake: Lake, source: Any) -> None:
    table = lake.catalog.convert("t", source)
    with source.update_schema() as update:
        update.add_column("x", LongType())
    source.append(rows(source, 3))
    table.sync(source)
    changes = [text for row in table.inspect.history().to_pylist() for text in row["changes"] or ()]
    assert "ADD COLUMN x BIGINT" in changes
    assert [text for text in changes if "source." in text] == []


def test_a_file_that_both_sides_changed_is_refused(lake: Lake, source: Any) -> None:
    table = lake.catalog.convert("t", source)
    before = table.version
    table.update({"s": "here"}, [("id", "=", 1)])
    source.delete("id = 1")
    with pytest.raises(InvalidRequestError, match=r"removed or rewritten n/t/data/.*\.parquet"):
        table.sync(source)
    assert ids(table) == [1, 2]
    table.rollback(before)
    assert table.sync(source).removed == 1
    assert ids(table) == [2]


def test_a_file_whose_rows_are_marked_here_is_refused_if_it_changes(lake: Lake) -> None:
    source = lake.iceberg_table(SCHEMA)
    source.append(pa.concat_tables([rows(source, 1), rows(source, 2)]))
    source.append(pa.concat_tables([rows(source, 3), rows(source, 4)]))
    table = lake.catalog.convert("t", source)
    before = table.version
    state, column = table.state, table.schema.get(("id",))
    lowest = state.segments.statistic("min", column, state.schemas).to_pylist()
    marked = state.segments.paths[lowest.index(1)]
    mark(table, {marked: [0]})
    source.append(rows(source, 5))
    assert table.sync(source).adopted == 1
    assert marks_of(table) == {marked: [0]}
    source.delete("id = 2")
    with pytest.raises(InvalidRequestError, match=r"removed or rewritten root:.*\.parquet"):
        table.sync(source)
    source.delete("id = 3")
    assert marks_of(table) == {marked: [0]}
    table.rollback(before)
    table.sync(source)
    assert ids(table) == [1, 4, 5]


def test_a_table_that_was_rolled_back_follows_again(lake: Lake, source: Any) -> None:
    table = lake.catalog.convert("t", source)
    before = table.version
    source.append(rows(source, 3))
    table.sync(source)
    table.rollback(before)
    assert ids(table) == [1, 2]
    assert table.sync(source).adopted == 1
    assert ids(table) == [1, 2, 3]


def test_changes_of_the_schema_on_both_sides_are_merged(lake: Lake, source: Any) -> None:
    table = lake.catalog.convert("t", source)
    table.alter().rename_column("s", "text").add_column("own", "INT", default=5).move_column(
        "n", first=True
    ).commit()
    with source.update_schema() as update:
        update.update_column("n", LongType())
        update.add_column("theirs", StringType())
        update.rename_column("id", "key")
    source.append(rows(source, 3))
    table.sync(source)
    assert table.schema.names == ["n", "key", "text", "p", "own", "theirs"]
    found = table.scan().to_arrow().sort_by("n").to_pylist()
    assert found[0] == {"n": 1, "key": 1, "text": "s1", "p": None, "own": 5, "theirs": None}
    assert found[2] == {"n": 3, "key": None, "text": "s3", "p": None, "own": 5, "theirs": None}


@pytest.mark.parametrize(
    ("here", "there", "message"),
    [
        (
            lambda a: a.rename_column("s", "mine"),
            lambda u: u.rename_column("s", "yours"),
            "the column mine .* is renamed from s to yours in the source, and to mine here",
        ),
        (
            lambda a: a.change_type("n", "DOUBLE"),
            lambda u: u.update_column("n", LongType()),
            "the column n .* is BIGINT in the source now, and DOUBLE here",
        ),
        (
            lambda a: a.add_column("new", "INT"),
            lambda u: u.add_column("new", StringType()),
            "the source now has a column new, and this table has a column of its own of that name",
        ),
        (
            lambda a: a.rename_column("s", "mine"),
            lambda u: u.delete_column("s"),
            r"the column mine \(ID 3\) is dropped in the source, and changed here; drop it here first: "
            r"alter\(\)\.drop_column\('mine'\)",
        ),
        (
            lambda a: a.change_type("n", "DOUBLE"),
            lambda u: u.delete_column("n"),
            "the column n .* is dropped in the source, and changed here",
        ),
        (
            lambda a: a.set_default("n", 5),
            lambda u: u.delete_column("n"),
            "the column n .* is dropped in the source, and changed here",
        ),
        (
            lambda a: a.set_comment("n", "ours"),
            lambda u: u.delete_column("n"),
            "the column n .* is dropped in the source, and changed here",
        ),
        (
            lambda a: a.set_partitioning(["s"]),
            lambda u: u.delete_column("s"),
            "the column s .* is dropped in the source, and arranges the rows here",
        ),
        (
            lambda a: a.add_column("p.own", "INT"),
            lambda u: u.delete_column("p"),
            "the column p .* is dropped in the source, and changed here",
        ),
    ],
)
def test_a_column_that_both_sides_changed_is_refused(
    lake: Lake,
    source: Any,
    here: Callable[[Any], Any],
    there: Callable[[Any], None],
    message: str,
) -> None:
    table = lake.catalog.convert("t", source)
    here(table.alter()).commit()
    version = table.version
    with source.update_schema() as update:
        there(update)
    with pytest.raises(InvalidRequestError, match=message):
        table.sync(source)
    assert table.version == version


@pytest.mark.parametrize(
    ("write", "is_lost"),
    [
        (lambda table: table.append(pa.table({"id": [7], "s": ["here"]})), True),
        (lambda table: table.update({"s": "here"}, [("id", "=", 1)]), True),
        (lambda table: table.overwrite(pa.table({"s": ["here"]})), True),
        (lambda table: table.append(pa.table({"id": [7]})), False),
        (lambda table: table.delete([("id", "=", 1)]), False),
        (lambda table: table.maintenance.compact(), False),
        (lambda table: None, False),
    ],
    ids=["append", "update", "overwrite", "other columns", "delete", "compact", "nothing"],
)
def test_values_that_were_written_here_are_not_dropped_with_a_column_of_the_source(
    lake: Lake, source: Any, write: Callable[[Table], object], is_lost: bool
) -> None:
    table = lake.catalog.convert("t", source)
    write(table)
    with source.update_schema() as update:
        update.delete_column("s")
    if is_lost:
        version = table.version
        with pytest.raises(
            InvalidRequestError, match=r"the column s .* dropped in the source, and has values that"
        ):
            table.sync(source)
        assert table.version == version
        table.alter().drop_column("s").commit()
    table.sync(source)
    assert table.schema.names == ["id", "n", "p"]


def test_values_that_were_written_in_versions_that_expired_are_not_dropped(
    lake: Lake, source: Any
) -> None:
    table = lake.catalog.convert("t", source)
    table.append(pa.table({"id": [7], "s": ["here"]}))
    table.append(pa.table({"id": [8]}))
    table.maintenance.expire(timedelta(0), dry_run=False, force=True)
    with source.update_schema() as update:
        update.delete_column("s")
    with pytest.raises(InvalidRequestError, match=r"the column s .* has values that were written"):
        table.sync(source)


def test_rows_older_than_a_column_have_no_values_in_it(lake: Lake, source: Any) -> None:
    table = lake.catalog.convert("t", source)
    table.append(pa.table({"id": [7]}))
    with source.update_schema() as update:
        update.add_column("new", StringType())
    table.sync(source)
    table.append(pa.table({"id": [8]}))
    table.maintenance.expire(timedelta(0), dry_run=False, force=True)
    with source.update_schema() as update:
        update.delete_column("new")
    table.sync(source)
    assert table.schema.names == ["id", "n", "s", "p"]


def test_values_that_were_taken_back_are_not_in_the_way(lake: Lake, source: Any) -> None:
    table = lake.catalog.convert("t", source)
    version = table.version
    table.append(pa.table({"s": ["here"]}))
    table.rollback(version)
    with source.update_schema() as update:
        update.delete_column("s")
    table.sync(source)
    assert table.schema.names == ["id", "n", "p"]


def test_partitionings_of_both_sides_are_not_mixed(lake: Lake, source: Any) -> None:
    table = lake.catalog.convert("t", source)
    table.alter().set_partitioning(["n"]).commit()
    source.append(rows(source, 3))
    table.sync(source)
    assert table.partitioning == ["n"]
    with source.update_spec() as update:
        update.add_identity("id")
    with pytest.raises(InvalidRequestError, match="the partitioning was changed in the source"):
        table.sync(source)
    table.alter().set_partitioning(["id"]).commit()
    table.sync(source)
    assert table.partitioning == ["id"]


def test_a_type_that_holds_the_new_one_of_the_source_stays(lake: Lake, source: Any) -> None:
    table = lake.catalog.convert("t", source)
    table.alter().change_type("n", "DECIMAL(24,4)").commit()
    with source.update_schema() as update:
        update.update_column("n", LongType())
    table.sync(source)
    assert str(table.schema.get(("n",)).type) == "Decimal(precision=24, scale=4)"


def test_a_file_without_live_rows_is_no_conflict(lake: Lake, source: Any) -> None:
    first = next(
        task.file.file_path
        for task in source.scan().plan_files()
        if task.file.lower_bounds[1][0] == 1
    )
    delete_positions(source, [(first, 0)])
    table = lake.catalog.convert("t", source)
    table.delete([("id", "=", 2)])
    source.delete("id = 1")
    assert first not in data_files(source)
    table.sync(source)
    assert ids(table) == []


def test_a_column_that_was_dropped_here_stays_dropped(lake: Lake, source: Any) -> None:
    table = lake.catalog.convert("t", source)
    table.alter().drop_column("s").commit()
    with source.update_schema() as update:
        update.rename_column("s", "t")
    source.append(rows(source, 3))
    table.sync(source)
    assert table.schema.names == ["id", "n", "p"]
    assert ids(table) == [1, 2, 3]


def test_a_column_dropped_and_added_again_shows_no_old_values(lake: Lake, source: Any) -> None:
    table = lake.catalog.convert("t", source)
    with source.update_schema() as update:
        update.delete_column("s")
    with source.update_schema() as update:
        update.add_column("s", StringType())
    table.sync(source)
    assert table.scan(["s"]).to_arrow()["s"].to_pylist() == [None, None]


def test_a_version_that_expired_in_the_source_is_refused_only_if_it_is_needed(lake: Lake) -> None:
    lake.write_delta(pa.table({"id": [1, 2]}))
    table = lake.catalog.convert("t", lake.delta_path)
    lake.write_delta(pa.table({"id": [3]}), mode="append")
    drop_log(lake)
    table.sync()
    assert ids(table) == [1, 2, 3]
    table.delete([("id", "=", 1)])
    lake.write_delta(pa.table({"id": [4]}), mode="append")
    drop_log(lake)
    with pytest.raises(InvalidRequestError, match="has expired there"):
        table.sync()
    assert ids(table) == [2, 3]


def test_files_with_deleted_rows_are_copied_without_them(lake: Lake) -> None:
    """The deletes are given as a reader reports them; Spark writes real ones in the thorough tests."""
    lake.write_delta(pa.table({"id": list(range(10))}))
    lake.write_delta(pa.table({"id": [10, 11]}), mode="append")
    catalog = lake.catalog
    opened, _ = open_source(Request(lake.delta_path), catalog._store)
    files = {one.rows: one for one in opened.files()}

    def with_deletes(version: int, **deletes: list[int]) -> Any:
        def changed() -> list[Any]:
            marked = []
            for rows_, one in files.items():
                positions = pa.array(deletes.get(f"of_{rows_}", []), pa.int64())
                done = one
                if len(positions):
                    done = replace(one, deletes=repr(positions), deleted=lambda p=positions: p)
                marked.append(done)
            return marked

        return replace(opened, files=changed, version=str(version), batch=version)

    table = catalog.convert("t", lake.delta_path, version=0)
    assert follow(table.handle, with_deletes(5, of_10=[0, 3, 9])).copied == 1
    assert ids(table) == [1, 2, 4, 5, 6, 7, 8, 10, 11]
    table.append(pa.table({"id": [100]}))
    done = follow(table.handle, with_deletes(6, of_10=[0, 1, 3, 9], of_2=[0, 1]))
    assert (done.copied, done.removed) == (1, 2)
    assert ids(table) == [2, 4, 5, 6, 7, 8, 100]
    follow(table.handle, with_deletes(7, of_10=[0, 1, 2, 3, 9]))
    assert ids(table) == [4, 5, 6, 7, 8, 10, 11, 100]
    table.delete([("id", "=", 4)])
    with pytest.raises(
        InvalidRequestError, match=r"source has removed or rewritten|has expired there"
    ):
        follow(table.handle, with_deletes(8))


def test_files_with_deleted_rows_can_be_refused(lake: Lake) -> None:
    lake.write_delta(pa.table({"id": [1, 2]}))
    opened, _ = open_source(Request(lake.delta_path), lake.catalog._store)
    (file,) = opened.files()
    marked = replace(file, deletes="x", deleted=lambda: pa.array([0], pa.int64()))
    table = lake.catalog.convert("t", lake.delta_path, deletes="refuse")
    later = replace(opened, files=lambda: [marked], version="9", batch=9)
    with pytest.raises(InvalidRequestError, match=r"1 files .* have deleted rows.*REORG TABLE"):
        follow(table.handle, later)
    assert ids(table) == [1, 2]


def test_a_table_that_follows_a_source_is_not_published(lake: Lake) -> None:
    """As docs/convert.md says: it is refused, with the way out, and what that costs is true."""
    lake.write_delta(pa.table({"id": [1, 2]}))
    table = lake.catalog.convert("t", lake.delta_path)
    with pytest.raises(InvalidRequestError, match=r"compact .* use sync or publish .*, not both"):
        table.maintenance.publish()
    table.maintenance.compact(strategy="full")
    table.maintenance.publish()
    lake.write_delta(pa.table({"id": [3]}), mode="append")
    assert table.sync().adopted == 1
    with pytest.raises(InvalidRequestError, match="in external roots"):
        table.maintenance.publish()
    lake.delta().delete("id = 1")
    with pytest.raises(InvalidRequestError, match="has changed rows of the same file"):
        table.sync()


def test_the_owner_never_notices(lake: Lake) -> None:
    lake.write_delta(pa.table({"id": list(range(10)), "v": ["x"] * 10}))
    lake.write_delta(pa.table({"id": list(range(10, 20)), "v": ["y"] * 10}), mode="append")
    before, rows_before = lake.listing(), delta_rows(lake.delta())
    table = lake.catalog.convert("t", lake.delta_path)
    table.alter().add_column("w", "INT", default=1).rename_column("v", "u").commit()
    table.update({"w": 2}, [("id", "<", 3)])
    table.delete([("id", ">", 15)])
    table.maintenance.compact()
    table.truncate()
    table.maintenance.expire(timedelta(0), dry_run=False, force=True)
    table.maintenance.vacuum(timedelta(0), dry_run=False, force=True)
    lake.catalog.drop_table("t")
    lake.catalog.vacuum_path(lake.folder / "warehouse/t", timedelta(0), dry_run=False, force=True)
    assert lake.listing() == before
    assert delta_rows(lake.delta()) == rows_before
    shutil.rmtree(lake.folder / "warehouse")
    assert rows_of(lake.catalog.convert("t", lake.delta_path)) == rows_before


def test_the_properties_of_the_source_are_no_properties_of_users(lake: Lake) -> None:
    lake.write_delta(pa.table({"id": [1]}))
    table = lake.catalog.convert("t", lake.delta_path, properties={"mine": "1"})
    assert table.properties == {"mine": "1"}
    assert "source." not in table.ddl()
    plain = lake.catalog.create_table("plain", "id BIGINT")
    assert plain.source is None
    with pytest.raises(InvalidRequestError, match="was not converted from another table"):
        plain.sync()


def test_new_columns_and_rows_come_together(lake: Lake) -> None:
    lake.write_delta(pa.table({"id": [1]}))
    table = lake.catalog.convert("t", lake.delta_path)
    lake.delta().alter.add_columns(Field("x", PrimitiveType("long")))
    write_deltalake(lake.delta_path, pa.table({"id": [2], "x": [5]}), mode="append")
    table.sync()
    assert sorted_rows(table.scan().to_arrow()) == sorted_rows(
        pa.table({"id": [1, 2], "x": [None, 5]})
    )
