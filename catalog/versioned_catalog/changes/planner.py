"""Planning a change feed: from the commits of a range to tasks.

DuckLake and Iceberg derive changes from added and removed files, too. Here the schema of the last
version applies to the whole range, so a fixed range has one answer, whatever is altered later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from versioned_catalog.changes.columns import check_names, nullable
from versioned_catalog.changes.history import keeps_rows, read_steps, schema_versions
from versioned_catalog.changes.keyed_planner import KeyedPlanner
from versioned_catalog.changes.plain_planner import PlainPlanner
from versioned_catalog.changes.target import readable
from versioned_catalog.changes.tasks import Output, Plan, Stamp
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.expressions.filters import columns_of
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import TableState
from versioned_catalog.log.table_log import TableLog
from versioned_catalog.projection.narrowing import narrowing
from versioned_catalog.scan.columns import bind_filters, shown_columns
from versioned_catalog.schema.seen import Overflow


@dataclass(frozen=True)
class Request:
    """Which changes of a range are wanted, and how.

    Args:
        net: only the difference between the states before and after the range; all of its changes have
            the last version and its time.
        carryovers: also rows that a commit rewrote without a change.
        updates: tables with a primary key report updates as such, or else as a delete and an insert.
        columns: names of top-level columns; None for all.
        filters: as of ``Table.scan``; None for all rows.
    """

    net: bool = False
    carryovers: bool = False
    updates: bool = True
    columns: Sequence[str] | None = None
    filters: object = None


def plan_inserts(
    log: TableLog, end: TableState, segments: SegmentSet, request: Request, table: str
) -> Plan:
    """Plan the rows of some segments of a state as changes that inserted them, at its version.

    Args:
        end: the state; its lens, if any, is the schema of the changes.
    """
    state = readable(replace(end, properties={}), schema_versions(segments), table)
    output = _output(state, request, table)
    planner = _planner(log, state, output, request)
    tasks = planner.inserts(segments, Stamp(end.version, end.time))
    return Plan(end.version, end.version, output.shown, tuple(tasks))


def plan_changes(log: TableLog, end: TableState, start: int, request: Request, table: str) -> Plan:
    """Plan the changes that the commits from ``start`` to the version of ``end`` made.

    Args:
        end: the state at the last version. Its lens, if any, is the schema of the changes; by default it
            is the schema of that version. A stream fixes the schema of its start by a lens.
        start: the first version, at most one above the last; checked by ``check_range``.

    Raises:
        InvalidRequestError: the arguments contradict each other, or a column can't be shown.
        NotFoundError: there is no such column, or entries were expired meanwhile.
    """
    if request.net and request.carryovers:
        raise InvalidRequestError(
            f"{table}: net changes have no carry-overs; leave out net or carryovers"
        )
    steps = read_steps(log, end, start, table) if start <= end.version else []
    versions = {v for step in steps for part in step.parts for v in schema_versions(part)}
    state = readable(replace(end, properties={}), versions, table)
    output = _output(state, request, table)
    kept = [step for step in steps if not keeps_rows(step, state)]
    stamp = Stamp(end.version, end.time)
    planner = _planner(log, state, output, request)
    tasks = planner.net(kept, stamp) if request.net else planner.each(kept)
    return Plan(start, end.version, output.shown, tuple(tasks))


def _planner(
    log: TableLog, state: TableState, output: Output, request: Request
) -> KeyedPlanner | PlainPlanner:
    kind = KeyedPlanner if state.schema.is_keyed else PlainPlanner
    return kind(log.store, state, output, request.carryovers)


def _output(state: TableState, request: Request, table: str) -> Output:
    """The rows and columns that all tasks return."""
    schema = state.seen.schema
    named = schema.columns if request.columns is None else shown_columns(schema, request.columns)
    unknown = [column.name for column in named if column.id < 0]
    if unknown:
        raise InvalidRequestError(
            f"{table}: changes have no column {', '.join(unknown)}; ask for columns of the table"
        )
    check_names(schema, named, table)
    every = tuple(map(nullable, schema.columns))
    by_id = {column.id: at for at, column in enumerate(every)}
    read = tuple(map(state.seen.widened, every))
    overflow = Overflow.ERROR if state.lens is None else state.lens.overflow
    places = tuple(by_id[column.id] for column in named)
    bound = bind_filters(request.filters, state.known)
    if bound is not None and not columns_of(bound) <= frozenset(schema.ids):
        raise InvalidRequestError(f"{table}: filters of changes must be on columns of the table")
    return Output(
        read=read,
        every=every,
        places=places,
        filter=bound,
        narrowing=narrowing(read, every, overflow),
        updates=request.updates,
    )
