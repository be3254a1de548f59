"""Overwrites by rows that were computed from the table itself lose no concurrent changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, CommitConflictError, Table
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import UNASSIGNED
from versioned_catalog.names.creation import creation

LEVELS = ["snapshot", "serializable"]
OVERWRITES = ["all", "partitions", "where", "replace"]


def integers(**columns: list[int | None]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()})


def create(folder: Path, level: str, *key: str) -> Table:
    table = Catalog.create_path(
        folder,
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


def overwrite_partition(table: Table, overwrite: str, *, own: bool = True) -> int:
    """Overwrite partition 1 of the table, as this handle has loaded it, by the row (1, 7)."""
    new, where = integers(a=[1], b=[7]), [("a", "=", 1)]
    if overwrite == "replace":
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
    match overwrite:
        case "all":
            return table.transaction().commit_overwrite(plan, records, own_rows=own)
        case "partitions":
            return table.transaction().commit_overwrite_partitions(plan, records, own_rows=own)
        case _:
            return table.transaction().commit_overwrite_where(plan, records, where, own_rows=own)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("overwrite", OVERWRITES)
@pytest.mark.parametrize("key", ["a", ""])
def test_a_concurrent_update_of_a_row_that_was_read_is_a_conflict(
    tmp_path: Path, overwrite: str, level: str, key: str
) -> None:
    table = create(tmp_path, level, *filter(None, [key]))
    Catalog.load_path(tmp_path).update({"b": 50}, [("a", "=", 1)])
    with pytest.raises(CommitConflictError, match="run it again"):
        overwrite_partition(table, overwrite)
    assert rows(table) == [(1, 50), (2, 1)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("overwrite", OVERWRITES)
@pytest.mark.parametrize("key", ["a", ""])
def test_a_concurrent_append_is_kept_or_a_conflict(
    tmp_path: Path, overwrite: str, level: str, key: str
) -> None:
    """Snapshot isolation keeps the concurrent row; a replacement of the table would lose it."""
    table = create(tmp_path, level, *filter(None, [key]))
    Catalog.load_path(tmp_path).append(integers(a=[3], b=[50]))
    if level == "serializable" or overwrite == "replace":
        with pytest.raises(CommitConflictError, match="run it again"):
            overwrite_partition(table, overwrite)
        assert rows(table) == [(1, 1), (2, 1), (3, 50)]
        return
    overwrite_partition(table, overwrite)
    left = [] if overwrite == "all" else [(2, 1)]
    assert rows(table) == [(1, 7), *left, (3, 50)]


@pytest.mark.parametrize("overwrite", OVERWRITES)
def test_concurrent_commits_that_change_no_row_are_no_conflict(
    tmp_path: Path, overwrite: str
) -> None:
    table = create(tmp_path, "serializable", "a")
    other = Catalog.load_path(tmp_path)
    other.alter().set_property("owner", "ops").commit()
    overwrite_partition(table, overwrite)
    assert (1, 7) in rows(table)


@pytest.mark.parametrize("overwrite", ["all", "partitions", "replace"])
def test_rows_from_elsewhere_replace_concurrent_rows(tmp_path: Path, overwrite: str) -> None:
    """Rows from elsewhere depend on nothing that was read from the table."""
    table = create(tmp_path, "serializable", "a")
    Catalog.load_path(tmp_path).append(integers(a=[1], b=[50]))
    overwrite_partition(table, overwrite, own=False)
    assert (1, 7) in rows(table)


def test_replacing_a_concurrently_replaced_table_is_a_conflict(tmp_path: Path) -> None:
    table = create(tmp_path, "snapshot")
    overwrite_partition(Catalog.load_path(tmp_path), "replace", own=False)
    with pytest.raises(CommitConflictError, match="run it again"):
        overwrite_partition(table, "replace")
