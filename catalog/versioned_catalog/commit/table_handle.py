"""A table's log and the newest state read from it, which all operations on a table share."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import datetime
from typing import Self

from versioned_catalog.commit.branch_rules import branch_of
from versioned_catalog.commit.matrix import propose
from versioned_catalog.commit.observed import commit_operation
from versioned_catalog.commit.operations import Base, Operation
from versioned_catalog.commit.version_rules import check_not_dropped, check_retained, tagged_version
from versioned_catalog.errors import (
    CommitConflictError,
    CommitOutcomeUnknown,
    InvalidRequestError,
    NotFoundError,
    StorageError,
)
from versioned_catalog.log.branch_store import branch_log
from versioned_catalog.log.branches import BRANCH_PREFIX
from versioned_catalog.log.commit_log import TableLog
from versioned_catalog.log.features import PINS
from versioned_catalog.log.pinned_state import (
    Lensed,
    RetiredPin,
    RowsOf,
    check_schema_version,
    retired_pins,
    see_as,
)
from versioned_catalog.log.reader import LoadedState
from versioned_catalog.log.state import TableState
from versioned_catalog.log.times import is_ahead, latest_times, moment
from versioned_catalog.model.pins import Overflow
from versioned_catalog.model.table_text import is_folder, own_name
from versioned_catalog.model.type_text import render_path
from versioned_catalog.storage.store import Store

Progress = Callable[[str, int, int], None]
"""Called with the name of a step, how much of it is done, and its total."""


def silent(step: str, done: int, total: int) -> None:
    """Report nothing."""


class TableHandle:
    """The log of one table, and a state that was read from it, usually the newest.

    Args:
        through: the earlier schema that it is seen or written in, if any.
        after_commit: called after each commit whose outcome is known; it must not raise.
        of: of a branch, the handle of its table.
    """

    def __init__(
        self,
        log: TableLog,
        loaded: LoadedState[TableState],
        name: str,
        through: Lensed | None = None,
        after_commit: Callable[[TableHandle], None] = lambda handle: None,
        of: TableHandle | None = None,
    ) -> None:
        self.log = log
        self.loaded = loaded
        self.name = name
        self.through = through
        self.after_commit = after_commit
        self.of = of
        self.own_name = own_name(name)
        """Namespace and name of the table in its warehouse, by default from its name, or None."""
        self._seen: tuple[TableState, TableState] | None = None

    @property
    def store(self) -> Store:
        """The store of the table's folder."""
        return self.log.store

    @property
    def location(self) -> str:
        """URL of the table's folder."""
        return self.store.url

    @property
    def error_names(self) -> tuple[str, str]:
        """Names of the table for errors, the preferred name first."""
        return self.name, self.location

    @property
    def state(self) -> TableState:
        """The newest state read so far. Raises NotFoundError if the table was dropped."""
        state = self.loaded.state
        if state is None or state.dropped:
            raise NotFoundError(
                f"there is no table at {self.location}", condition="TABLE_NOT_FOUND"
            )
        if self.through is None:
            return state
        if self._seen is None or self._seen[0] is not state:
            self._seen = state, self.through.over(state, self.name)
        return self._seen[1]

    def refresh(self) -> Self:
        """Read what was committed since, and return the handle."""
        self.loaded = self.log.advance(self.loaded)
        return self

    def branch(self, name: str) -> TableHandle:
        """Return a handle of a branch, at its newest version.

        Raises:
            NotFoundError: the table has no such branch.
        """
        branch = branch_of(self.state, name, self.name)
        log = branch_log(self.store, branch)
        after = render_path((f"{BRANCH_PREFIX}{name}",))
        shown = f"{self.name} (branch {name})" if is_folder(self.name) else f"{self.name}.{after}"
        table, loaded = TableHandle(self.log, self.loaded, self.name), log.load()
        if loaded.state is not None and loaded.state.dropped:
            raise NotFoundError(
                f"{self.name}: the branch {name!r} was ended by an expiry that did not finish; run it "
                "again, or drop the branch",
                condition="VERSION_NOT_FOUND",
            )
        handle = TableHandle(log, loaded, shown, self.through, of=table)
        handle.state  # noqa: B018  refuse an earlier schema with a column that the branch has dropped
        return handle

    def _with(self, loaded: LoadedState[TableState], through: Lensed | None) -> TableHandle:
        """The same table or branch, at another state or in another schema."""
        handle = TableHandle(self.log, loaded, self.name, through, self.after_commit, self.of)
        handle.own_name = self.own_name
        return handle

    def at(
        self, version: int | str | None = None, timestamp: datetime | str | None = None
    ) -> TableState:
        """Return the state at a version, tag or time, or of a branch. See ``Table.at``."""
        if isinstance(version, str) and timestamp is None and version in self.state.branches:
            return self.branch(version).state
        number, newest = self.number_of(version, timestamp), self.state
        if number == newest.version:
            return newest
        check_retained(number, newest, self.name)
        state = check_not_dropped(self.log.load(number).state, number, self.name)
        return state if self.through is None else self.through.over(state, self.name)

    def number_of(
        self, version: int | str | None = None, timestamp: datetime | str | None = None
    ) -> int:
        """The version that a number, tag or time names, by default the newest; it need not exist."""
        if version is not None and timestamp is not None:
            raise InvalidRequestError("give a version or a timestamp, not both")
        if timestamp is not None:
            return self.version_at(timestamp)
        return self.state.version if version is None else self.version_of(version)

    def version_of(self, version: int | str) -> int:
        """The version of a number or tag; the version need not exist."""
        if isinstance(version, bool) or not isinstance(version, int | str):
            raise InvalidRequestError(
                f"version must be an integer or the name of a tag, got {version!r}"
            )
        if isinstance(version, str):
            return tagged_version(self.state, version, self.name)
        return version

    def version_at(self, timestamp: datetime | str) -> int:
        """The last version committed at a time or before.

        Where a clock was ahead, the modification times of the entries count instead of their own.
        """
        newest, time = self.state, moment(timestamp, "timestamp")
        ahead = is_ahead(self.store, newest.version, newest.time)
        latest = latest_times(self.store, newest.version) if ahead else None
        version = self.log.version_at(time, newest.version, latest)
        if version < 0:
            raise NotFoundError(
                f"{self.name} did not exist yet at {time.isoformat()}",
                condition="VERSION_NOT_FOUND",
            )
        return version

    def pinned(self, version: int | str) -> TableHandle:
        """Return a handle whose newest state is the one at a version or tag, or of a branch."""
        if isinstance(version, str) and version in self.state.branches:
            return self.branch(version)
        return self._with(LoadedState(self.at(version)), self.through)

    def seen_as(self, schema: str | int, overflow: str = Overflow.ERROR.value) -> TableHandle:
        """Return a handle that sees the table in an earlier schema. See ``Table.seen_as``."""
        try:
            through = see_as(self.state, schema, overflow, self.name)
        except NotFoundError:
            self._check_not_retired(schema)
            raise
        through.over(self.state, self.name)  # refuse a schema with a dropped column now
        return self._with(self.loaded, through)

    def retired_pin(self, label: str | int) -> RetiredPin | None:
        """The pin of a label, if it was retired and not declared again, as far as commits say so."""
        state = self.state
        if PINS not in state.features.write or label in state.pins:
            return None
        retired = retired_pins(self.log.entries(state.created_version, state.version))
        return retired.get(str(label))

    def _check_not_retired(self, label: str | int) -> None:
        """Raise NotFoundError if there was a pin of this label, and it was retired."""
        retired = self.retired_pin(label)
        if retired is not None:
            version = retired.pin.schema_version
            raise NotFoundError(
                f"{self.name}: the schema pin {label!r} was retired at version {retired.version}, so "
                "its job should use the current schema: leave the schema out; or, if the job still "
                f"needs schema {version}, declare the pin again with pin_schema({label!r}, {version})"
            )

    def for_rows(self, schema_version: int) -> TableHandle:
        """Return a handle for writes of rows with the columns of a schema version; see ``RowsOf``.

        A handle that is seen in an earlier schema is returned as it is: rows have its columns.

        Raises:
            NotFoundError: there is no such schema version.
        """
        if self.through is not None:
            return self
        check_schema_version(self.state, schema_version, self.name)
        through = RowsOf(self.state.table_uuid, self.state.schemas[schema_version])
        return self._with(self.loaded, through)

    def planned_on(self, base: Base) -> TableState:
        """Return the state that a write was planned on.

        Raises:
            CommitConflictError: its version is expired.
        """
        try:
            return self.at(base.version)
        except NotFoundError as error:
            raise CommitConflictError(
                f"{self.name}: version {base.version}, on which this write was planned, was "
                "expired meanwhile; refresh() the table and run it again, or expire with a longer time"
            ) from error

    def commit(self, operation: Operation, commit_id: str | None = None) -> int:
        """Commit an operation on the newest state; retry while others commit first.

        Args:
            operation: the operation.
            commit_id: idempotency key of the commit; generated if omitted.

        Returns:
            The version of the commit; the newest version if the operation changes nothing.

        Raises:
            CommitConflictError: a commit since the operation's base conflicts with it.
            CommitOutcomeUnknown: the store did not say whether the commit landed.
        """
        identity = commit_id or str(uuid.uuid4())

        def verify(after: LoadedState[TableState]) -> None:
            self.loaded = after
            self._check_registered(identity)

        committed = commit_operation(
            self.log, self.loaded, operation, identity, self.name, verify=verify
        )
        self.after_commit(self)
        return committed.version

    def check(self, operation: Operation) -> None:
        """Check whether an operation could be committed after this state, whatever the rows are.

        Nothing is written, and no rows are read.

        Raises:
            VersionedError: ``commit`` would raise it.
        """
        propose(operation, self.loaded.state, "", self.name, self.log, looks_at_rows=False)

    def _check_registered(self, commit_id: str) -> None:
        """Look whether the branch of a commit was there after it: nobody reads one that was dropped.

        Raises:
            CommitOutcomeUnknown: it was not, or the table can't be asked.
        """
        if self.of is None or self.loaded.state is None or self.loaded.state.dropped:
            return
        own = self.loaded.state.branch
        try:
            table = self.of.refresh().loaded.state
        except StorageError as error:
            raise CommitOutcomeUnknown(
                f"{self.name}: it is unknown whether the branch was dropped before this commit: {error}",
                commit_id,
            ) from error
        live = {} if table is None or table.dropped else table.branches
        if own is not None and own.id not in {branch.id for branch in live.values()}:
            raise CommitOutcomeUnknown(
                f"{self.name} was dropped or replaced before this was committed to it; unless it was "
                "merged first, or its table is undropped, nothing was written: look at the table before "
                "you write again",
                commit_id,
            )

    def find_commit(self, commit_id: str, since: int = -1) -> int | None:
        """Return the version of a commit, None if it is not there. See ``Table.find_commit``."""
        return self.log.find_commit(commit_id, since, self.refresh().loaded.version)
