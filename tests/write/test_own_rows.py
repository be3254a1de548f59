"""Rows in the place of others, made of the table's own: what others wrote meanwhile is not lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, CommitConflictError, Table
from versioned_catalog.catalog.declaration import creation
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.types import UNASSIGNED

LEVELS = ["snapshot", "serializable"]
WAYS = ["all", "partitions", "where", "replace"]


def integers(**columns: list[int | None]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()})


def made(place: Path, level: str, *key: str) -> Table:
    table = Catalog.create_path(
        place,
        "a INT, b INT",
        primary_key=key,
        properties={"isolation": level},
        partitioned_by=["a"],
    )
    table.append(integers(a=[1, 2], b=[1, 1]))
    return table


def rows(table: Table) -> list[tuple[int, int]]:
    found = table.refresh().scan().to_arrow()
    return sorted(zip(*(found[name].to_pylist() for name in "ab"), strict=True))


def put(table: Table, way: str, *, own: bool = True) -> int:
    """Put (1, 7) in the place of what the table, as it is seen, shows of the partition 1."""
    new, where = integers(a=[1], b=[7]), [("a", "=", 1)]
    if way == "replace":
        schema = Schema(tuple(replace(column, id=UNASSIGNED) for column in table.schema.columns))
        plan, operation = Catalog.plan_replacing(table, creation(schema, (), {}, None), new.schema)
        read = replace(operation, read_version=table.version if own else None)
        created = replace(
            read.creation, records=tuple(plan.write(new.schema, new.to_batches(), table.store))
        )
        done = Catalog.commit_replacing(
            plan.location, replace(read, creation=created), plan.table, "c"
        )
        return done.version
    plan = table.transaction().plan_write(new.schema)
    records = plan.write(new.schema, new.to_batches(), table.store)
    match way:
        case "all":
            return table.transaction().commit_overwrite(plan, records, own_rows=own)
        case "partitions":
            return table.transaction().commit_overwrite_partitions(plan, records, own_rows=own)
        case _:
            return table.transaction().commit_overwrite_where(plan, records, where, own_rows=own)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("key", ["a", ""])
def test_a_row_that_was_read_is_updated(tmp_path: Path, way: str, level: str, key: str) -> None:
    table = made(tmp_path, level, *filter(None, [key]))
    Catalog.load_path(tmp_path).update({"b": 50}, [("a", "=", 1)])
    with pytest.raises(CommitConflictError, match="run it again"):
        put(table, way)
    assert rows(table) == [(1, 50), (2, 1)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("key", ["a", ""])
def test_a_row_comes(tmp_path: Path, way: str, level: str, key: str) -> None:
    """Snapshot isolation keeps it; but a new table would be without it."""
    table = made(tmp_path, level, *filter(None, [key]))
    Catalog.load_path(tmp_path).append(integers(a=[3], b=[50]))
    if level == "serializable" or way == "replace":
        with pytest.raises(CommitConflictError, match="run it again"):
            put(table, way)
        assert rows(table) == [(1, 1), (2, 1), (3, 50)]
        return
    put(table, way)
    left = [] if way == "all" else [(2, 1)]
    assert rows(table) == [(1, 7), *left, (3, 50)]


@pytest.mark.parametrize("way", WAYS)
def test_what_changes_no_row_is_no_reason(tmp_path: Path, way: str) -> None:
    table = made(tmp_path, "serializable", "a")
    other = Catalog.load_path(tmp_path)
    other.alter().set_property("owner", "ops").commit()
    put(table, way)
    assert (1, 7) in rows(table)


@pytest.mark.parametrize("way", ["all", "partitions", "replace"])
def test_rows_of_others_replace_what_is_there(tmp_path: Path, way: str) -> None:
    """They depend on nothing that was read."""
    table = made(tmp_path, "serializable", "a")
    Catalog.load_path(tmp_path).append(integers(a=[1], b=[50]))
    put(table, way, own=False)
    assert (1, 7) in rows(table)


def test_a_replacement_of_a_replaced_table(tmp_path: Path) -> None:
    table = made(tmp_path, "snapshot")
    put(Catalog.load_path(tmp_path), "replace", own=False)
    with pytest.raises(CommitConflictError, match="run it again"):
        put(table, "replace")
