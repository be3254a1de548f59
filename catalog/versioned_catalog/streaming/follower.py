"""The commits of a table, read once and forward as they arrive."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from versioned_catalog.errors import NotFoundError
from versioned_catalog.handle import TableHandle
from versioned_catalog.log.codec import LoadedState
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.head import Stub
from versioned_catalog.log.state import TableState
from versioned_catalog.log.table_log import TableLog

MOST_COMMITS, MOST_RECORDS = 1024, 65536
"""Number of commits, and of segment records in them, that a follower keeps, at most."""

AT_ONCE = 16
"""Number of entries that are read at once behind the newest version."""


class Follower:
    """A table's log from where a stream is to its newest version.

    An entry is read when it is new, and kept until the stream has passed it. A stream that is further
    behind than what is kept reads entries a second time, when it gets there.

    Args:
        handle: a handle of its own: it moves on with the log.
    """

    def __init__(self, handle: TableHandle) -> None:
        self._handle = handle
        self._own = self.state
        self._kept: dict[int, Commit] = {}
        self._records = 0

    @property
    def name(self) -> str:
        """The table's name in errors."""
        return self._handle.name

    @property
    def state(self) -> TableState:
        """The newest state that was read; that of a dropped table, too.

        Raises:
            NotFoundError: there is no table.
        """
        state = self._handle.loaded.state
        if state is None:
            raise NotFoundError(f"there is no table {self.name}", condition="TABLE_NOT_FOUND")
        return state

    @property
    def own(self) -> TableState:
        """The newest state that was read of the incarnation with which the follower began."""
        return self._own

    def refresh(self) -> TableState:
        """Read the entries that were committed since, and return the newest state."""
        for entry, loaded in self._handle.log.newer(self._handle.loaded):
            if isinstance(entry, Stub):
                self._handle.refresh()
                self._note_own()
                break
            self._handle.loaded = loaded
            self._note_own()
            self._keep(entry)
        return self.state

    def _note_own(self) -> None:
        if self.state.table_uuid == self._own.table_uuid:
            self._own = self.state

    def at(self, version: int | str) -> TableState:
        """The state at a version or tag. Raises NotFoundError if it is expired."""
        return self._plain().at(version)

    def state_at(self, version: int) -> TableState:
        """The state at a version of the incarnation with which the follower began."""
        if version == self._own.version:
            return self._own
        found = self._handle.log.load(version).state
        assert found is not None, "the log was read up to a later version"
        return found

    @property
    def log(self) -> TableLog:
        """The table's log."""
        return self._handle.log

    def version_since(self, time: datetime) -> int:
        """The first version that was committed at a time or later; the next one if there is none."""
        try:
            found = self._plain().version_at(time)
        except NotFoundError:
            return self.state.created_version
        head = self._handle.log.head(found)
        return found if head is not None and head.time == time else found + 1

    def _plain(self) -> TableHandle:
        """The handle without the schema through which its table is seen."""
        handle = self._handle
        return TableHandle(handle.log, LoadedState(self.state), handle.name)

    def commits(self, start: int, until: int) -> Iterator[Commit]:
        """The commits from one version to another, both included.

        Raises:
            NotFoundError: one of them is expired.
        """
        version = start
        while version <= until:
            if version not in self._kept:
                self._read(version, min(version + AT_ONCE - 1, until))
            yield self._kept.get(version) or self._one(version)
            version += 1

    def forget(self, version: int) -> None:
        """Forget the commits before a version."""
        for old in [one for one in self._kept if one < version]:
            self._records -= len(self._kept.pop(old).added)

    def _read(self, start: int, end: int) -> None:
        for entry in self._handle.log.entries(start, end):
            self._keep(self._retained(entry))

    def _one(self, version: int) -> Commit:
        (entry,) = self._handle.log.entries(version, version)
        return self._retained(entry)

    def _retained(self, entry: Commit | Stub) -> Commit:
        if isinstance(entry, Stub):
            raise NotFoundError(
                f"{self.name}: version {entry.version} is expired, so a stream can't read what it "
                f"added; start the query with a new checkpoint, which reads the table anew, or with "
                f"startingVersion {max(entry.floor, self.state.floor)} or later, and give it the "
                "option consumer, for which expiry keeps what the stream has not read",
                condition="VERSION_NOT_FOUND",
            )
        return entry

    def _keep(self, commit: Commit) -> None:
        if len(self._kept) < MOST_COMMITS and self._records + len(commit.added) <= MOST_RECORDS:
            if commit.head.version not in self._kept:
                self._records += len(commit.added)
            self._kept[commit.head.version] = commit
