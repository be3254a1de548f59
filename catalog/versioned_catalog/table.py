"""A table: read it, write to it, alter it, look into its past."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Self

from versioned_catalog import versions
from versioned_catalog.error_context import names_table_in_errors
from versioned_catalog.handle import TableHandle
from versioned_catalog.inspection.inspection import Inspection
from versioned_catalog.interop import interop
from versioned_catalog.log.codec import LoadedState
from versioned_catalog.log.state import TableState
from versioned_catalog.log.table_log import TableLog
from versioned_catalog.maintenance.maintenance import Maintenance
from versioned_catalog.schema.maintained import SOURCE
from versioned_catalog.schema.schema import Schema
from versioned_catalog.storage.store import Store
from versioned_catalog.table_reading import TableReading
from versioned_catalog.table_schema import TableSchema
from versioned_catalog.table_writing import TableWriting

if TYPE_CHECKING:
    from versioned_catalog.conversion.origin import Origin

_SHOWN = 20
"""How many columns a table's ``repr`` names."""


def _publish(handle: TableHandle) -> None:
    interop("publish_if_asked")(handle)


@names_table_in_errors(lambda table: table._handle.error_names)
class Table(TableReading, TableWriting, TableSchema):
    """One table, at the newest version it has seen.

    From a ``Catalog``. It sees its own commits at once, and those of others after ``refresh()``.

    Methods that write return the version of their commit; the current version if they change nothing.
    ``commit_id`` is the idempotency key of the commit, generated if omitted. They raise:

    - ``InvalidRequestError``: what was asked for does not fit the table; nothing is written.
    - ``CommitConflictError``: another commit made it impossible; nothing is changed.
    - ``CommitOutcomeUnknown``: the store did not say whether the commit landed; see ``find_commit``.

    >>> table = catalog.create_table("cities", "name STRING, people BIGINT")
    >>> table.append(pa.table({"name": ["Rome", "Oslo"], "people": [2_800_000, 700_000]}))
    1
    >>> table.alter().add_column("country", "STRING", default="unknown").commit()
    2
    >>> table.update({"country": "Norway"}, [("name", "=", "Oslo")])
    3
    >>> table.scan(["name", "country"]).to_arrow().to_pylist()
    [{'name': 'Rome', 'country': 'unknown'}, {'name': 'Oslo', 'country': 'Norway'}]
    >>> table.scan(version=1).schema.names
    ['name', 'people']
    """

    def __init__(self, log: TableLog, loaded: LoadedState[TableState], name: str) -> None:
        self._handle = TableHandle(log, loaded, name, after_commit=_publish)

    @classmethod
    def _of(cls, handle: TableHandle) -> Self:
        table = cls(handle.log, handle.loaded, handle.name)
        table._handle = handle
        return table

    def __repr__(self) -> str:
        state = self.loaded.state
        if state is None or state.dropped:
            return f"Table({self.name!r}, dropped)"
        shown = self.schema.names
        names, more = ", ".join(shown[:_SHOWN]), len(shown) - _SHOWN
        columns = names + (f", and {more} more" if more > 0 else "")
        return f"Table({self.name!r}, version={self.version}, columns: {columns})"

    # Metadata

    @property
    def name(self) -> str:
        """The table's name, as errors show it."""
        return self._handle.name

    @name.setter
    def name(self, name: str) -> None:
        self._handle.name = name

    @property
    def location(self) -> str:
        """URL of the table's folder."""
        return self._handle.location

    @property
    def store(self) -> Store:
        """The store of the table's folder."""
        return self._handle.store

    @property
    def log(self) -> TableLog:
        """The table's log."""
        return self._handle.log

    @property
    def loaded(self) -> LoadedState[TableState]:
        """The state that was read last, and its distance from a checkpoint."""
        return self._handle.loaded

    @property
    def state(self) -> TableState:
        """The metadata of the version that this table shows."""
        return self._handle.state

    @property
    def version(self) -> int:
        """The newest commit version that this table has seen."""
        return self.state.version

    @property
    def schema(self) -> Schema:
        """The current schema; the one that the table is seen in (see ``seen_as``)."""
        return self.state.seen.schema

    @property
    def properties(self) -> dict[str, str]:
        """The table properties; the sort order and the key are among them."""
        return self.snapshot().properties

    @property
    def primary_key(self) -> list[str]:
        """Paths of the primary key columns, in key order; empty without a primary key."""
        return self.snapshot().primary_key

    @property
    def time_index(self) -> str | None:
        """Path of the time index column; None without one."""
        return self.snapshot().time_index

    @property
    def source(self) -> Origin | None:
        """Where a converted table comes from, and the version followed last; None for others."""
        known = self.state.properties
        return interop("origin_of")(known, self.name) if SOURCE in known else None

    @property
    def comment(self) -> str | None:
        """The table comment; None without one."""
        return self.state.comment

    @property
    def tags(self) -> dict[str, int]:
        """Versions by the names that ``set_tag`` gave them."""
        return self.snapshot().tags

    @property
    def partitioning(self) -> list[str]:
        """Partition transforms of new segments, such as ``["days(ts)"]``."""
        return self.snapshot().partitioning

    @property
    def inspect(self) -> Inspection:
        """History, snapshots, segments, partitions and schemas as Arrow tables."""
        return Inspection(self._handle)

    @property
    def maintenance(self) -> Maintenance:
        """Compaction, expiry, vacuum and verification."""
        return Maintenance(self._handle)

    # Versions

    def refresh(self) -> Self:
        """See what others have committed, and return the table itself."""
        self._handle.refresh()
        return self

    def as_of(self, version: int | str) -> Self:
        """Return the table as it was at a version or tag: to inspect it, or to plan a commit on it."""
        return self._of(self._handle.pinned(version))

    def find_commit(self, commit_id: str, since: int = -1) -> int | None:
        """Return the version of a commit, None if it has not landed; for ``CommitOutcomeUnknown``.

        Args:
            commit_id: idempotency key of the commit.
            since: a version before it; the log is read from there.
        """
        return self._handle.find_commit(commit_id, since)

    def rollback(
        self,
        version: int | None = None,
        *,
        timestamp: datetime | str | None = None,
        tag: str | None = None,
        commit_id: str | None = None,
    ) -> int:
        """Restore the rows, columns (with their IDs), properties and comment of a version.

        The property ``publish`` stays as it is, so that other engines see the restored rows.
        A rollback is a commit of its own, which can be rolled back too. Column IDs are never used
        again; tags stay.

        Args:
            version, timestamp, tag: the version to restore; exactly one of them.

        Raises:
            NotFoundError: there is no such version or tag.
            InvalidRequestError: not exactly one of the three is given, or the table was replaced since.
            CommitConflictError: another commit landed that this table has not seen.
        """
        return versions.roll_back(self._handle, version, timestamp, tag, commit_id)

    def set_tag(
        self, name: str, version: int | None = None, *, commit_id: str | None = None
    ) -> int:
        """Name a version, for time travel by name; a tag can be moved to another version.

        Args:
            name: not empty, without control characters, and of a form that reads neither as a version
                nor as a time; not ``latest``, ``earliest`` or ``main``.
            version: the version to name; None for the one that this table shows.

        Raises:
            NotFoundError: there is no such version.
        """
        return versions.set_tag(self._handle, name, version, commit_id)

    def drop_tag(self, name: str, *, commit_id: str | None = None) -> int:
        """Remove a tag.

        Raises:
            NotFoundError: there is no such tag.
        """
        return versions.drop_tag(self._handle, name, commit_id)

    # Schemas side by side

    def seen_as(self, schema: str | int, *, overflow: str = "error") -> Self:
        """Return the table as a user of an earlier schema sees it: its rows of now, by column ID.

        Reads show the columns of then, with their names, places and types. Writes take these names;
        columns that were added since take their write default in new rows, and keep their values in
        others. The schema can't be changed through it.

        Args:
            schema: label of a pin (see ``pin_schema``), or a schema version.
            overflow: ``error`` or ``null``: what is shown of a value that does not fit its earlier type.

        Raises:
            NotFoundError: there is no such pin or schema version.
            InvalidRequestError: a column of that schema was dropped for good.
        """
        return self._of(self._handle.seen_as(schema, overflow))
