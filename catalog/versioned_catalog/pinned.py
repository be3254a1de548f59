"""One table at one version: what its log adds up to there, and the commits that follow."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Self

from versioned_catalog.conflicts.expiry import check_retained
from versioned_catalog.conflicts.matrix import propose
from versioned_catalog.conflicts.operations import Operation
from versioned_catalog.conflicts.tags import tagged_version
from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.log.codec import LoadedState
from versioned_catalog.log.commit_times import is_ahead, latest_times
from versioned_catalog.log.state import TableState
from versioned_catalog.log.table_log import TableLog
from versioned_catalog.schema.keying import key_properties
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.sorting import render_sort_by
from versioned_catalog.schema.transforms import parse_transform, render_field
from versioned_catalog.schema.ttl import user_properties
from versioned_catalog.storage.store import Store

_SHOWN = 20
"""How many columns a table's ``repr`` names."""


class PinnedTable:
    """What ``Table`` is, before it reads or writes a row."""

    def __init__(self, timeline: TableLog, loaded: LoadedState[TableState], name: str) -> None:
        self._timeline = timeline
        self._loaded = loaded
        self.name = name

    def __repr__(self) -> str:
        state = self._loaded.state
        if state is None or state.dropped:
            return f"Table({self.name!r}, dropped)"
        names = ", ".join(state.schema.names[:_SHOWN])
        more = len(state.schema.names) - _SHOWN
        columns = names + (f", and {more} more" if more > 0 else "")
        return f"Table({self.name!r}, version={self.version}, columns: {columns})"

    @property
    def loaded(self) -> LoadedState[TableState]:
        """What the log added up to when this table last looked."""
        return self._loaded

    @property
    def store(self) -> Store:
        """The table's folder."""
        return self._timeline.store

    @property
    def location(self) -> str:
        """Where the table's folder is."""
        return self.store.url

    @property
    def state(self) -> TableState:
        """The snapshot that this table shows."""
        state = self._loaded.state
        if state is None or state.dropped:
            raise NotFoundError(
                f"there is no table at {self.location}", condition="TABLE_NOT_FOUND"
            )
        return state

    @property
    def schema(self) -> Schema:
        """The current schema."""
        return self.state.schema

    @property
    def version(self) -> int:
        """The version of the newest commit that this table has seen."""
        return self.state.version

    @property
    def properties(self) -> dict[str, str]:
        """The table's properties."""
        sort_by = render_sort_by(self.schema)
        own = user_properties(self.state.properties)
        return {**own, **({"sort_by": sort_by} if sort_by else {}), **key_properties(self.schema)}

    @property
    def primary_key(self) -> list[str]:
        """The columns of the primary key, in order; empty where there is none."""
        return list(map(self.schema.path_text, self.schema.primary_key))

    @property
    def time_index(self) -> str | None:
        """The time index, or None."""
        index = self.schema.time_index
        return None if index is None else self.schema.path_text(index)

    @property
    def comment(self) -> str | None:
        """The table's comment."""
        return self.state.comment

    @property
    def tags(self) -> dict[str, int]:
        """Names of versions: what ``set_tag`` gave them."""
        return dict(self.state.tags)

    @property
    def partitioning(self) -> list[str]:
        """What new segments are split by: ``["days(ts)"]``."""
        return [
            render_field(self.schema.path(f.source), parse_transform(f.transform))
            for f in self.schema.partitioning
        ]

    def refresh(self) -> Self:
        """See what others have committed.

        Returns:
            The table itself.
        """
        self._loaded = self._timeline.advance(self._loaded)
        return self

    def at(
        self, version: int | str | None = None, timestamp: datetime | str | None = None
    ) -> TableState:
        """The snapshot at a version or a time; the one this table shows where neither is given.

        Args:
            version: a version, or a tag's name.
            timestamp: a time (without offset: UTC).

        Raises:
            NotFoundError: there was no table then, the version is expired, or there is no such tag.
            InvalidRequestError: both are given, or the time is none.
        """
        if isinstance(version, bool) or not isinstance(version, int | str | None):
            raise InvalidRequestError(
                f"{version!r} is no version, which is a whole number or the name of a tag"
            )
        if version is not None and timestamp is not None:
            raise InvalidRequestError("give a version or a timestamp, not both")
        if isinstance(version, str):
            version = tagged_version(self.state, version, self.name)
        if timestamp is not None:
            version = self._version_at(_time(timestamp))
        if version is None or version == self.version:
            return self.state
        if version < 0 or version > self.version:
            raise NotFoundError(
                f"{self.name} has no version {version}; the newest is {self.version}",
                condition="VERSION_NOT_FOUND",
            )
        check_retained(version, self.state, self.name)
        state = self._timeline.load(version).state
        if state is None or state.dropped:
            raise NotFoundError(
                f"{self.name} was dropped at version {version}", condition="VERSION_NOT_FOUND"
            )
        return state

    def as_of(self, version: int | str) -> Self:
        """The same table as it was at a version: to look into, or to plan a commit on.

        Args:
            version: a version, or a tag's name.
        """
        return type(self)(self._timeline, LoadedState(self.at(version)), self.name)

    def _version_at(self, time: datetime) -> int:
        """The last version not later than a time; those of a clock that was ahead by their files."""
        newest = self.state
        ahead = is_ahead(self.store, newest.version, newest.time)
        latest = latest_times(self.store, newest.version) if ahead else None
        found = self._timeline.version_at(time, newest.version, latest)
        if found < 0:
            raise NotFoundError(
                f"{self.name} did not exist yet at {time.isoformat()}",
                condition="VERSION_NOT_FOUND",
            )
        return found

    def _commit(self, operation: Operation, commit_id: str | None = None) -> int:
        identity = commit_id or str(uuid.uuid4())
        self._loaded = self._timeline.commit(
            self._loaded,
            identity,
            lambda state: propose(operation, state, identity, self.name, self._timeline),
        )
        return self._loaded.version

    def find_commit(self, commit_id: str, since: int = -1) -> int | None:
        """Whether a commit landed, after ``CommitOutcomeUnknown``.

        Args:
            commit_id: who it is.
            since: a version before it; the log is read from there.

        Returns:
            Its version, or None if it has not landed up to now.
        """
        self.refresh()
        return self._timeline.find_commit(commit_id, since, self._loaded.version)


def _time(value: datetime | str) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            raise InvalidRequestError(
                f"{value!r} is no timestamp; write it as 2026-01-31T12:00:00Z"
            ) from None
    if not isinstance(value, datetime):
        raise InvalidRequestError(f"{value!r} is no timestamp")
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value
