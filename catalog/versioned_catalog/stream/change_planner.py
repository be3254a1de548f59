"""Planning a change feed: from the commits of a range to tasks.

A commit that adds segments inserts their rows, and one that removes segments, or marks rows, deletes
those. If it does both, as a copy on write does, rows that are in both are not changes.

DuckLake and Iceberg derive changes from added and removed files, too. Here the schema of the last
version applies to the whole range, so a fixed range has one answer, whatever is altered later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.features import NARROWED
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import Lens, TableState
from versioned_catalog.model.ddl import render_type
from versioned_catalog.model.keys import ROW_IDS
from versioned_catalog.model.pins import Overflow, Seen
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import Column, is_nested
from versioned_catalog.model.widening import widens
from versioned_catalog.read.apply_plan import narrowing
from versioned_catalog.read.filters import columns_of
from versioned_catalog.read.metadata_columns import check_names, nullable
from versioned_catalog.read.scan_columns import bind_filters, shown_columns
from versioned_catalog.storage.store import Store
from versioned_catalog.stream.change_history import (
    History,
    keeps_rows,
    read_steps,
    schema_versions,
)
from versioned_catalog.stream.change_tasks import Output, Plan, Stamp
from versioned_catalog.stream.keyed_changes import KeyedPlanner
from versioned_catalog.stream.plain_changes import PlainPlanner
from versioned_catalog.stream.wanted_changes import Wanted


def readable(state: TableState, versions: Iterable[int], table: str) -> TableState:
    """A state that can read segments of all these schema versions, and shows the same schema.

    A rollback takes back the widening of a column, but segments of before hold the wider type. They are
    read in that type and then narrowed, as through a schema pin.

    Raises:
        InvalidRequestError: a column had two types of which neither widens to the other.
    """
    stored = state.schema
    wide = stored
    for version in sorted(set(versions)):
        wide = _widened(wide, state.schemas[version], table)
    if wide is stored:
        return state
    named = replace(wide, version=state.schemas.newest.version + 1)
    lens = state.lens or Lens(str(stored.version), state.seen, Overflow.ERROR)
    return replace(
        state,
        schemas=state.schemas.grown(named),
        schema_version=named.version,
        lens=replace(lens, seen=Seen(lens.seen.schema, named)),
    )


def _widened(schema: Schema, other: Schema, table: str) -> Schema:
    """A schema whose columns also hold the values of another schema."""
    wide = replace(schema, columns=tuple(map(Seen(schema, other).widened, schema.columns)))
    for column in map(wide.column, sorted(wide.ids & other.ids)):
        before = other.column(column.id).type
        if not is_nested(column.type) and not widens(before, column.type):
            raise InvalidRequestError(
                f"{table}: the column {schema.path_text(column.id)} was {render_type(before)} and is "
                f"{render_type(column.type)} after a rollback, and no type holds both; ask for the "
                "changes after the rollback, and apart from them for those before"
            )
    return schema if wide.columns == schema.columns else wide


@dataclass(frozen=True)
class Request:
    """The requested changes of a range, and their form.

    Args:
        net: only the difference between the states before and after the range; all of its changes have
            the last version and its time.
        carryovers: also rows that a commit rewrote without a change.
        updates: tables with a primary key or row IDs report updates as such, or else as a delete and
            an insert.
        columns: names of top-level columns; None for all.
        filters: as of ``Table.scan``; None for all rows.
        wanted: which changes may be left out, by the columns of the feed. Net changes are those of the
            last version.
    """

    net: bool = False
    carryovers: bool = False
    updates: bool = True
    columns: Sequence[str] | None = None
    filters: object = None
    wanted: Wanted = field(default_factory=Wanted)


def plan_inserts(
    store: Store, end: TableState, segments: SegmentSet, request: Request, table: str
) -> Plan:
    """Plan the rows of some segments of a state as changes that inserted them, at its version.

    Args:
        end: the state; its lens, if any, is the schema of the changes.
    """
    state = readable(replace(end, properties={}), schema_versions(segments), table)
    output = _output(state, request, table)
    planner = _planner(store, state, output, request)
    whole, compared = planner.inserts(segments, Stamp(end.version, end.time))
    return Plan(end.version, end.version, output.shown, whole, compared)


def plan_changes(
    store: Store, history: History, end: TableState, start: int, request: Request, table: str
) -> Plan:
    """Plan the changes that the commits from ``start`` to the version of ``end`` made.

    Args:
        history: of the table.
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
    first, last = (
        (start, end.version) if request.net else request.wanted.versions(start, end.version)
    )
    steps = read_steps(history, end, first, last)
    versions = {version for step in steps for version in step.schema_versions}
    if NARROWED in end.features.read and end.schema.is_keyed:
        # Rows are compared with those of their keys in segments that no step adds or removes.
        versions |= {*schema_versions(end.segments)}
    state = readable(replace(end, properties=_kept(end)), versions, table)
    output = _output(state, request, table)
    kept = [step for step in steps if not keeps_rows(step, state)]
    planner, stamp = _planner(store, state, output, request), Stamp(end.version, end.time)
    if request.net:
        whole, compared = planner.net(kept if any(request.wanted.types([stamp])) else [], stamp)
    else:
        whole, compared = planner.each(kept, request.wanted.types([step.stamp for step in kept]))
    return Plan(start, end.version, output.shown, whole, compared)


def _kept(end: TableState) -> dict[str, str]:
    """The properties that changes depend on: not the age of rows."""
    return {ROW_IDS: end.properties[ROW_IDS]} if end.has_row_ids else {}


def change_columns(end: TableState, request: Request, table: str) -> tuple[Column, ...]:
    """The shown columns of the changes up to a state, as ``plan_changes`` checks them."""
    return _output(replace(end, properties={}), request, table).shown


def _planner(
    store: Store, state: TableState, output: Output, request: Request
) -> KeyedPlanner | PlainPlanner:
    kind = KeyedPlanner if state.schema.is_keyed else PlainPlanner
    return kind(store, state, output, request.carryovers)


def _output(state: TableState, request: Request, table: str) -> Output:
    """The rows and columns that all tasks return."""
    schema = state.seen.schema
    named: Sequence[Column] = schema.columns
    if request.columns is not None:
        named = shown_columns(schema, request.columns, state)
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
    bound = bind_filters(request.filters, state.known, state)
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
