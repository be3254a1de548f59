"""Measures of all tables of a warehouse, for its page. A table that can't be read is one of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

import pyarrow.compute as pc

from versioned_catalog.catalog import Catalog
from versioned_catalog.commit.table_handle import Progress
from versioned_catalog.errors import VersionedError
from versioned_catalog.log.clones import Protection, protections
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain.advice import Job, MaintenanceBounds
from versioned_catalog.maintain.expiry import tagged_below
from versioned_catalog.model.type_text import render_path
from versioned_catalog.model.types import walk
from versioned_catalog.names.dropped import DroppedTable
from versioned_catalog.names.names_log import Name
from versioned_catalog.storage.secrets import without_credentials
from versioned_catalog.table import Table
from versioned_catalog.write.compaction_choice import small_segments

MOST_HOLDS = 20
"""For how many holds of a table the bytes are measured, since each takes a load of a version."""


@dataclass(frozen=True)
class Hold:
    """Something that keeps versions, files or columns of a table.

    Args:
        table: name of the table.
        what: such as ``tag release``.
        at: the version or schema version that it is at.
        keeps: what it keeps.
        bytes: size of the files of its version that the newest version does not have; None if that is
            not known.
    """

    table: str
    what: str
    at: str
    keeps: str
    bytes: int | None


@dataclass(frozen=True)
class Measured:
    """A table.

    Args:
        rows: in its segments; ``is_keyed``: of which some may be replaced ones.
        small, small_bytes: number and size of the segments that compaction would merge.
        versions: number of versions that can be read.
        holds: what keeps old versions and files.
        jobs: the maintenance that is due; None if ``problem`` is that this could not be found out.
        problem: an error, if there was one.
        link: name of the file of its page, if there is one.
    """

    name: str
    version: int
    time: datetime
    rows: int
    is_keyed: bool
    bytes: int
    segments: int
    small: int
    small_bytes: int
    versions: int
    holds: tuple[Hold, ...]
    jobs: tuple[Job, ...] | None = None
    problem: str | None = None
    link: str | None = None


@dataclass(frozen=True)
class Unreadable:
    """A table that could not be read."""

    name: str
    problem: str


@dataclass(frozen=True)
class Warehouse:
    """All tables of a warehouse.

    Args:
        url: its folder.
        tables: by name.
        dropped: the tables that can be undropped.
        problems: errors that are of no single table.
        broken_views: pairs of a view and what is wrong with it.
    """

    url: str
    tables: tuple[Measured | Unreadable, ...]
    dropped: tuple[DroppedTable, ...]
    problems: tuple[str, ...]
    broken_views: tuple[tuple[str, str], ...]

    @property
    def failed(self) -> int:
        """How many tables had a problem."""
        return sum(table.problem is not None for table in self.tables)


def measure_table(catalog: Catalog, name: Name, bounds: MaintenanceBounds) -> Measured | Unreadable:
    """Look at a table. An error is a part of the result: the other tables are shown all the same."""
    try:
        table = catalog.load_table(name)
        measured = _measured(catalog, table)
    except Exception as error:
        return Unreadable(render_path(name), problem_text(error))
    try:
        return replace(measured, jobs=table.maintenance.advise(bounds).due)
    except Exception as error:
        return replace(measured, problem=problem_text(error))


def problem_text(error: Exception) -> str:
    """An error in one line."""
    text = str(error) if isinstance(error, VersionedError) else f"{type(error).__name__}: {error}"
    return " ".join(without_credentials(text).split())


def _measured(catalog: Catalog, table: Table) -> Measured:
    state = table.state
    segments = state.segments
    mask = small_segments(state)
    return Measured(
        without_credentials(table.name),
        state.version,
        state.time,
        segments.shown_rows,
        state.schema.is_keyed,
        segments.bytes,
        segments.count,
        pc.sum(mask).as_py() or 0,
        pc.sum(segments.column("bytes").filter(mask)).as_py() or 0,
        state.version - state.floor + 1 + len(tagged_below(state, state.floor)),
        tuple(_holds(catalog, table, state)),
    )


def _holds(catalog: Catalog, table: Table, state: TableState) -> list[Hold]:
    """Branches, tags, clones and consumers with the files that they need, and pins with columns."""
    clones, name = protections(state.tags), without_credentials(table.name)
    versions = [
        *(
            (f"branch {branch}", state.branches[branch].base, "the files that it began with")
            for branch in sorted(state.branches)
        ),
        *(
            (f"tag {tag}", version, "its version")
            for tag, version in sorted(state.tags.items())
            if tag not in clones
        ),
        *(
            (f"clone {_name(catalog, clone)}", state.tags[tag], "the files that the clone reads")
            for tag, clone in sorted(clones.items())
        ),
        *(
            (f"consumer {consumer}", state.consumers[consumer].version, "the versions after it")
            for consumer in sorted(state.consumers)
            if state.consumers[consumer].version < state.version - 1
        ),
    ]
    holds = [
        Hold(
            name,
            what,
            f"version {version:,} of {state.version:,}",
            keeps,
            _held_bytes(table, state, version) if at < MOST_HOLDS else None,
        )
        for at, (what, version, keeps) in enumerate(versions)
    ]
    return holds + _pins(name, state)


def _name(catalog: Catalog, clone: Protection) -> str:
    """The name of a clone; its folder if it has none any more."""
    name = catalog.name_of(clone.clone)
    return clone.folder if name is None else render_path(name)


def _pins(table: str, state: TableState) -> list[Hold]:
    hidden = {column.id for column, _ in walk(state.schema.columns) if column.hidden}
    holds = []
    for label, pin in sorted(state.pins.items()):
        schema = state.schemas[pin.schema_version].visible
        names = sorted(schema.path_text(i) for i in hidden if i in schema.ids)
        keeps = f"dropped columns: {', '.join(names)}" if names else "its schema"
        owner = f", owner {pin.owner}" if pin.owner else ""
        at = f"schema {pin.schema_version} of {state.schema_version}{owner}"
        holds.append(Hold(table, f"pin {label}", at, keeps, None))
    return holds


def _held_bytes(table: Table, state: TableState, version: int) -> int | None:
    """Size of the files of a version that the newest one does not have; None if it can't be read."""
    with suppress(VersionedError):
        segments, live = table.snapshot(version).state.segments, set(state.segments.paths)
        sizes: list[int] = segments.column("bytes").to_pylist()
        return sum(
            size for path, size in zip(segments.paths, sizes, strict=True) if path not in live
        )
    return None


def measure_warehouse(catalog: Catalog, tables: Sequence[Measured | Unreadable]) -> Warehouse:
    """Put the tables of a warehouse together with its dropped tables and broken views."""
    dropped: tuple[DroppedTable, ...] = ()
    broken: list[tuple[str, str]] = []
    problems: list[str] = []
    try:
        dropped = catalog.dropped_tables()
    except Exception as error:
        problems.append(f"dropped tables can't be listed: {problem_text(error)}")
    try:
        rows = catalog.views().select(["view", "problem"]).to_pylist()
        broken = [(row["view"], row["problem"]) for row in rows if row["problem"] is not None]
    except Exception as error:
        problems.append(f"views can't be listed: {problem_text(error)}")
    url = without_credentials(catalog.store.url)
    return Warehouse(url, tuple(tables), dropped, tuple(problems), tuple(dict.fromkeys(broken)))


def measure_all(
    catalog: Catalog, names: Sequence[Name], bounds: MaintenanceBounds, progress: Progress
) -> Warehouse:
    """Look at all tables of a warehouse, one after the other."""
    tables = []
    for at, name in enumerate(names):
        progress("tables", at, len(names))
        tables.append(measure_table(catalog, name, bounds))
    progress("tables", len(names), len(names))
    return measure_warehouse(catalog, tables)
