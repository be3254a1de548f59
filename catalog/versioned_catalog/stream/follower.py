"""The commits that a stream follows, read once and forward from its start."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.log.entry import ABORT, GUARD, NEW_INCARNATION, Commit, Stub
from versioned_catalog.log.reader import LoadedState
from versioned_catalog.log.record import LiveSegment
from versioned_catalog.log.state import TableState, apply
from versioned_catalog.log.times import moment
from versioned_catalog.stream.offsets import LATEST, OnRewrite, Settings

NO_ROWS = frozenset(
    {"compact", "alter", "tag", "branch", "fence", "expire", "drop", "undrop", ABORT, GUARD}
)
"""Operations that add no rows; a compaction writes the same rows again."""


def added_segments(
    commit: Commit, incarnation: TableState, on_rewrite: OnRewrite, table: str
) -> tuple[LiveSegment, ...]:
    """The segments whose rows a commit adds to a stream of one incarnation, in the order of the log.

    Args:
        incarnation: its newest state.

    Raises:
        NotFoundError: as ``check_passes``.
        InvalidRequestError: it removed or rewrote rows, and the stream does not skip such commits.
    """
    head = commit.head
    check_passes(commit, incarnation, table)
    if head.operation in NO_ROWS:
        return ()
    if not commit.removed and not commit.marked and head.operation != "rollback":
        return tuple(
            LiveSegment(record, head.version, ordinal, head.time)
            for ordinal, record in enumerate(commit.added)
        )
    if on_rewrite is OnRewrite.SKIP:
        return ()
    raise InvalidRequestError(
        f"{table}: version {head.version} ({head.operation}) removed rows or wrote rows again, and a "
        "stream reads added rows only; leave out such commits with the option onRewrite = 'skip', or "
        "read the table's changes, with a new checkpoint: by readStream.changes, or with the option "
        "readChanges",
        condition="NOT_SUPPORTED",
    )


def check_passes(commit: Commit, incarnation: TableState, table: str) -> None:
    """Refuse a commit that drops or replaces the table of a stream; one that was undropped goes on.

    Args:
        incarnation: the newest state of the incarnation that the stream reads.

    Raises:
        NotFoundError: the table was dropped or replaced.
    """
    head = commit.head
    if head.operation == ABORT:
        return  # of a replacement, maybe
    is_gone = head.operation == "drop" and incarnation.dropped
    if head.table_uuid != incarnation.table_uuid or is_gone:
        raise gone(table, head.version, replaced=head.operation in NEW_INCARNATION)


def gone(table: str, version: int, *, replaced: bool) -> NotFoundError:
    """The error of a stream whose table was dropped or replaced."""
    event = "replaced" if replaced else "dropped"
    return NotFoundError(
        f"{table} was {event} at version {version}, and the columns of another table are other columns; "
        "start the query with a new checkpoint to read the table that is there now",
        condition="TABLE_NOT_FOUND",
    )


MOST_COMMITS, MOST_RECORDS = 1024, 65536
"""Number of commits, and of segment records and marks in them, that a follower keeps, at most."""

STATES, NEAR = 2, 1024
"""Number of states that a follower keeps, those before and after a batch, and the most commits that it
applies to one of them to get a later one."""

AT_ONCE = 16
"""Number of entries that are read at once behind the newest version."""


class Follower:
    """A table's log from where a stream is to its newest version.

    An entry is read when it is new, and kept until the stream has passed it. A stream that is
    further behind reads the entries that are not kept a second time.

    Args:
        handle: used by nobody else, since it advances with the log.
    """

    def __init__(self, handle: TableHandle) -> None:
        self._handle = handle
        self._incarnation = self.state
        self._kept: dict[int, Commit] = {}
        self._passed: dict[int, TableState] = {}
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
    def incarnation(self) -> TableState:
        """The newest state that was read of the incarnation with which the follower began."""
        return self._incarnation

    def refresh(self) -> TableState:
        """Read the entries that were committed since, and return the newest state."""
        for entry, loaded in self._handle.log.newer(self._handle.loaded):
            if isinstance(entry, Stub):
                self._handle.refresh()
                self._note_state()
                break
            self._handle.loaded = loaded
            self._note_state()
            self._keep(entry)
        return self.state

    def _note_state(self) -> None:
        if self.state.table_uuid == self._incarnation.table_uuid:
            self._incarnation = self.state

    def at(self, version: int | str) -> TableState:
        """The state at a version or tag. Raises NotFoundError if it is expired."""
        return self._plain().at(version)

    def state_at(self, version: int) -> TableState:
        """The state at a version of the incarnation with which the follower began."""
        if version == self._incarnation.version:
            return self._incarnation
        if version in self._passed:
            return self._passed[version]
        state = self._passed[version] = self._advanced(version)
        for older in sorted(self._passed)[:-STATES]:
            del self._passed[older]
        return state

    def _advanced(self, version: int) -> TableState:
        """The state at a version: an earlier one with the commits since, if one is near."""
        near = [passed for passed in self._passed if 0 < version - passed <= NEAR]
        if near:
            state = self._passed[max(near)]
            for commit in self.commits(state.version + 1, version):
                state = apply(state, commit)
            return state
        loaded = self._handle.log.load(version).state
        assert loaded is not None, "the log was read up to a later version"
        return loaded

    def version_since(self, time: datetime) -> int:
        """The first version committed at a time or later; if none is, that of the next commit."""
        try:
            version = self._plain().version_at(time)
        except NotFoundError:
            return self.state.created_version
        head = self._handle.log.head(version)
        return version if head is not None and head.time == time else version + 1

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
            yield self._kept.get(version) or self._reread(version)
            version += 1

    def forget(self, version: int) -> None:
        """Forget the commits before a version."""
        for passed in [kept for kept in self._kept if kept < version]:
            self._records -= _records(self._kept.pop(passed))

    def _read(self, start: int, end: int) -> None:
        for entry in self._handle.log.entries(start, end):
            self._keep(self._retained(entry))

    def _reread(self, version: int) -> Commit:
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
        if len(self._kept) < MOST_COMMITS and self._records + _records(commit) <= MOST_RECORDS:
            if commit.head.version not in self._kept:
                self._records += _records(commit)
            self._kept[commit.head.version] = commit


def _records(commit: Commit) -> int:
    return len(commit.added) + len(commit.marked)


def starting_version(follower: Follower, settings: Settings) -> int | None:
    """The first version whose commit a stream reads; None if it starts with a snapshot.

    Raises:
        NotFoundError: the version does not exist, is expired or of another incarnation.
        InvalidRequestError: two places to start with are given, or one is malformed.
    """
    wanted, time = settings.starting_version, settings.starting_time
    if wanted is not None and time is not None:
        raise InvalidRequestError(
            f"{follower.name}: give startingVersion or startingTimestamp, not both",
            condition="INVALID_OPTION",
        )
    if wanted is not None:
        return _numbered(follower, wanted)
    return None if time is None else since(follower, time)


def _numbered(follower: Follower, wanted: int | str) -> int:
    state = follower.state
    if wanted == LATEST:
        return state.version + 1
    version = follower.at(wanted).version if isinstance(wanted, str) else wanted
    if not 0 <= version <= state.version + 1:
        raise NotFoundError(
            f"{follower.name} has no version {version}; startingVersion can be {state.version + 1} at "
            "most, the next version",
            condition="VERSION_NOT_FOUND",
        )
    _check_readable(version, state, follower.name)
    return version


def since(follower: Follower, time: datetime | str) -> int:
    """The first version committed at a time or later; if none is yet, that of the next commit.

    Raises:
        NotFoundError: it is expired.
        InvalidRequestError: the time is malformed.
    """
    state = follower.state
    version = max(
        follower.version_since(moment(time, f"{follower.name}: startingTimestamp")),
        state.created_version,
    )
    if version <= state.version:
        _check_readable(version, state, follower.name)
    return version


def _check_readable(version: int, state: TableState, table: str) -> None:
    """Refuse a version whose commit can't be read."""
    if version < state.created_version:
        raise gone(table, state.created_version, replaced=True)
    if version < state.floor:
        raise NotFoundError(
            f"{table}: what version {version} added is expired; a stream can start at version "
            f"{state.floor} or later, or with a snapshot: leave out startingVersion",
            condition="VERSION_NOT_FOUND",
        )
