"""ANALYZE TABLE: how many distinct values the columns have, for the planners of joins and filters."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from versioned_catalog.commit.operations import Alter, Base
from versioned_catalog.commit.table_handle import Progress, TableHandle, silent
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.state import TableState
from versioned_catalog.model.analysis import AnalyzedColumn
from versioned_catalog.model.bound_changes import plan_changes
from versioned_catalog.model.table_changes import RecordAnalysis
from versioned_catalog.model.type_text import parse_path
from versioned_catalog.model.types import Column, is_compared
from versioned_catalog.observe.tracing import carried
from versioned_catalog.read.scan import Scan
from versioned_catalog.read.sketches import EMPTY, Sketch
from versioned_catalog.read.tasks import Task, read_task
from versioned_catalog.storage.store import Store
from versioned_catalog.write.plan import check_newest


@dataclass(frozen=True)
class Analyzed:
    """Result of an analysis.

    Args:
        version: the version of the commit that recorded it.
        rows: the number of rows that were read.
        distinct: for each column, the estimated number of distinct values, nulls left out.
    """

    version: int
    rows: int
    distinct: dict[str, int]


Sketches = tuple[int, tuple[Sketch, ...]]
"""A number of rows, and a sketch for each column."""


def analyze(
    handle: TableHandle,
    columns: Iterable[str] | None = None,
    *,
    progress: Progress = silent,
    commit_id: str | None = None,
) -> Analyzed:
    """Read columns, count their distinct values, and record the numbers. See ``Maintenance.analyze``."""
    state = handle.state
    check_newest(state, handle.name)
    wanted = analyzable(state, handle.name, columns)
    tasks = [task for task, _ in Scan(handle.store, state, wanted).tasks()]
    found: list[Sketches] = []
    with ThreadPoolExecutor(min(len(tasks), os.cpu_count() or 1) or 1) as pool:
        sketch = carried(lambda task: sketches_of(handle.store, [task], len(wanted)))
        for each in pool.map(sketch, tasks):
            found.append(each)
            progress("analyze", len(found), len(tasks))
    return record(handle, wanted, found, commit_id=commit_id)


def analyzable(state: TableState, table: str, columns: Iterable[str] | None) -> tuple[Column, ...]:
    """The columns to analyse; None for all that can be.

    Raises:
        NotFoundError: there is no such column.
        InvalidRequestError: a column is nested, or its values can't be compared.
    """
    schema = state.schema.visible
    if columns is None:
        return tuple(column for column in schema.columns if _is_analyzable(column))
    found = tuple(schema.get(parse_path(name)) for name in columns)
    for column in found:
        if not _is_analyzable(column) or column not in schema.columns:
            raise InvalidRequestError(
                f"{table}: the column {column.name} can't be analysed: only columns at the top level "
                "that are neither nested nor without an order; leave it out",
                condition="NOT_SUPPORTED",
            )
    return found


def _is_analyzable(column: Column) -> bool:
    return is_compared(column.type)


def sketches_of(store: Store, tasks: Iterable[Task], columns: int) -> Sketches:
    """The rows of some tasks, and the distinct values of each column among them."""
    rows, sketches = 0, [EMPTY] * columns
    for task in tasks:
        for batch in read_task(store, task):
            rows += batch.num_rows
            sketches = [
                sketch.with_values(values)
                for sketch, values in zip(sketches, batch.columns, strict=True)
            ]
    return rows, tuple(sketches)


def record(
    handle: TableHandle,
    columns: Sequence[Column],
    found: Iterable[Sketches],
    *,
    commit_id: str | None = None,
) -> Analyzed:
    """Record an analysis, of whose parts each has the sketches of some tasks."""
    rows, sketches = 0, [EMPTY] * len(columns)
    for more, parts in found:
        rows += more
        sketches = [sketch.merged(part) for sketch, part in zip(sketches, parts, strict=True)]
    analyzed = [AnalyzedColumn(rows, sketch.count) for sketch in sketches]
    change = RecordAnalysis(tuple(zip((column.id for column in columns), analyzed, strict=True)))
    state = handle.state
    check_newest(state, handle.name)
    bound, _ = plan_changes((change,), state.evolution, state.schemas.newest.version + 1)
    version = handle.commit(Alter(Base.of(state), bound, _nulls, None), commit_id)
    return Analyzed(
        version, rows, {c.name: each.distinct for c, each in zip(columns, analyzed, strict=True)}
    )


def _nulls(state: TableState, column: Column) -> int:
    raise AssertionError("an analysis changes no column")
