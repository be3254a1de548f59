"""The folders of a warehouse as a transaction over several tables sees them (FORMAT.md, section 19).

Logs end at the version that was the newest when the transaction first looked. Its own entries follow in
memory, so it sees them; segments, marks and manifests are written to storage at once.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Generic

from versioned_catalog.errors import CommitConflictError, InvalidRequestError
from versioned_catalog.limits import ENTRY_BYTES
from versioned_catalog.log.branches import BRANCHES_FOLDER
from versioned_catalog.log.entry import E, S
from versioned_catalog.log.features import CHECKPOINTS, DELTAS, HINT, KEPT, LOG
from versioned_catalog.log.reader import LoadedState
from versioned_catalog.storage.clock import Clock
from versioned_catalog.storage.opening import folder_above
from versioned_catalog.storage.store import Put, Sink, Store, StoredFile

_ENTRY = re.compile(rf"{LOG}/([0-9]{{20}})\.json")
_OF_VERSIONS = (CHECKPOINTS, DELTAS, KEPT)
_OF_LOGS = (LOG, *_OF_VERSIONS, BRANCHES_FOLDER)

ALLOWED = frozenset(
    {
        *("append", "overwrite", "delete", "update", "merge", "alter", "create", "replace", "drop"),
        *("create_namespace", "alter_namespace", "drop_namespace", "create_table", "rename_table"),
        *("drop_table", "create_view", "alter_view", "rename_view", "drop_view"),
    }
)
"""The operations that a transaction over several tables may have."""


@dataclass(frozen=True, eq=False)
class Staged(Generic[E, S]):
    """A commit that waits for the end of its transaction.

    Args:
        log: the log as the transaction sees it.
        propose: builds the entry that follows a state; see ``CommitLog.commit``.
        operation: what it checks, if it is an operation on a table.
        entry: the entry that follows the commits before it.
    """

    log: Any
    commit_id: str
    propose: Callable[[S | None], E | None]
    operation: object
    entry: E


@dataclass(eq=False)
class LogStage:
    """One log as a transaction sees it.

    Args:
        folder: the folder of the log below the warehouse; empty for that of the warehouse.
        store: that folder, without the transaction.
        pinned: the state that the transaction sees, without its own commits.
        hint: the hint from before that was loaded.
        end: the last version that is shown of storage.
        staged: its own commits.
        contents: their entries by version.
    """

    folder: str
    store: Store
    pinned: LoadedState[Any]
    hint: bytes | None
    end: int
    staged: list[Staged[Any, Any]] = field(default_factory=list)
    contents: dict[int, bytes] = field(default_factory=dict)

    def show(self, end: int) -> None:
        """Show the log up to another version, and no commits of the transaction."""
        self.end = end
        self.contents.clear()


@dataclass(eq=False)
class Stage:
    """The logs that a transaction has looked at.

    Args:
        load: loads the newest state of a log, by its folder and store.
        has_moved: whether a log has gone on since it was pinned; None if that does not matter.
    """

    load: Callable[[str, Store], LoadedState[Any]]
    has_moved: Callable[[LogStage], bool] | None
    logs: dict[str, LogStage] = field(default_factory=dict)
    is_over: bool = False
    _is_loading: bool = False

    def log(self, folder: str, store: Store) -> LogStage:
        """The log in a folder, pinned at its newest version when it is first asked for.

        Raises:
            CommitConflictError: a log that was pinned before has gone on: no moment shows both.
        """
        known = self.logs.get(folder)
        if known is not None:
            return known
        hint = store.read(HINT)
        pinned = self.load(folder, store)
        if not self._is_loading:
            self._check_none_moved()
        self.logs[folder] = LogStage(folder, store, pinned, hint, pinned.version)
        return self.logs[folder]

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """Look at several logs, and then look once whether one of them has gone on meanwhile.

        Raises:
            CommitConflictError: one has.
        """
        self._is_loading = True
        try:
            yield
            self._check_none_moved()
        finally:
            self._is_loading = False

    def _check_none_moved(self) -> None:
        has_moved = self.has_moved
        if has_moved is None:
            return
        for log in self.logs.values():
            if has_moved(log):
                raise CommitConflictError(
                    f"another commit has changed {log.store.url} since this transaction looked at it, "
                    "so it can't see all its tables as of one moment; run it again, and name its tables "
                    "when it begins, as in catalog.transaction('db.a', 'db.b')"
                )


class StagingStore(Store):
    """A folder of a warehouse as a transaction over several tables sees it.

    Args:
        inner: the folder.
        stage: the logs of the transaction.
        folder: its path below the warehouse.
    """

    is_staging = True

    def __init__(self, inner: Store, stage: Stage, folder: str = "") -> None:
        self.inner = inner
        self._stage = stage
        self._folder = folder
        self._written: set[str] = set()
        self.location = inner.location
        self.is_remote = inner.is_remote
        self.has_disk = inner.has_disk
        self.name_tag = inner.name_tag

    def stage(self, staged: Staged[Any, Any], data: bytes) -> None:
        """Keep an entry.

        Raises:
            InvalidRequestError: the transaction is over, or can't have such an operation.
        """
        operation = staged.entry.head.operation
        if self._stage.is_over:
            raise InvalidRequestError(
                f"{self.url}: the transaction is over; load the table from the catalog",
                condition="NOT_SUPPORTED",
            )
        if operation not in ALLOWED:
            raise InvalidRequestError(
                f"{self.url}: {operation} can't be in a transaction over several tables; run it outside",
                condition="NOT_SUPPORTED",
            )
        log = self._log
        log.staged.append(staged)
        log.contents[staged.entry.head.version] = data

    @property
    def _log(self) -> LogStage:
        return self._stage.log(self._folder, self.inner)

    @cached_property
    def opened_roots(self) -> dict[str, Store]:
        return self.inner.opened_roots

    @cached_property
    def clock(self) -> Clock:
        return self.inner.clock

    @property
    def address(self) -> str:
        return self.inner.address

    def resolved(self, path: str) -> str:
        return self.inner.resolved(path)

    def exists(self) -> bool:
        return self.inner.exists()

    def read(self, path: str, limit: int = ENTRY_BYTES) -> bytes | None:
        if path == HINT:
            return self._log.hint
        match = _ENTRY.fullmatch(path)
        if match is None:
            return self.inner.read(path, limit)
        log, version = self._log, int(match[1])
        if version in log.contents:
            return log.contents[version]
        return None if version > log.end else self.inner.read(path, limit)

    def read_in_order(
        self, paths: Sequence[str], limit: int = ENTRY_BYTES
    ) -> Iterator[bytes | None]:
        if any(path == HINT or _ENTRY.fullmatch(path) for path in paths):
            return super().read_in_order(paths, limit)
        return self.inner.read_in_order(paths, limit)

    def put_if_absent(self, path: str, data: bytes, dated: datetime | None = None) -> Put:
        self._check_not_of_log(path)
        if dated is None:
            return self.inner.put_if_absent(path, data)
        return self.inner.put_if_absent(path, data, dated)

    def overwrite(self, path: str, data: bytes) -> None:
        self._check_not_of_log(path)
        self._written.add(path)
        self.inner.overwrite(path, data)

    def list(self, folder: str, start: str = "") -> builtins.list[str]:
        names = self.inner.list(folder, start)
        if folder not in _OF_VERSIONS:
            return names
        return [name for name in names if self._is_shown(name)]

    def files(self, folder: str) -> Sequence[StoredFile]:
        files = self.inner.files(folder)
        return [f for f in files if folder not in _OF_VERSIONS or self._is_shown(f.name)]

    def _is_shown(self, name: str) -> bool:
        number = name.partition(".")[0]
        return number.isdecimal() and int(number) <= self._log.pinned.version

    def walk(self, folder: str) -> Iterator[StoredFile]:
        return self.inner.walk(folder)

    def now(self) -> datetime:
        return self.inner.now()

    def modified(self, path: str) -> datetime | None:
        return self.inner.modified(path)

    def delete(self, path: str) -> None:
        if path not in self._written:
            raise InvalidRequestError(
                f"{self.url}: a transaction over several tables deletes no files; run maintenance "
                "outside of it",
                condition="NOT_SUPPORTED",
            )
        self.inner.delete(path)

    def create(self, path: str) -> AbstractContextManager[Sink]:
        self._written.add(path)
        return self.inner.create(path)

    def open(self, path: str) -> Any:
        return self.inner.open(path)

    def child(self, path: str) -> Store:
        folder = f"{self._folder}/{path}" if self._folder else path
        child = StagingStore(self.inner.child(path), self._stage, folder)
        return child.allow_roots(self.location.roots)

    def above(self, levels: int) -> Store | None:
        return folder_above(self.inner, levels)

    def _check_not_of_log(self, path: str) -> None:
        if path == HINT or path.startswith(tuple(f"{folder}/" for folder in _OF_LOGS)):
            raise InvalidRequestError(
                f"{self.url}: branches, checkpoints and expiry can't be written in a transaction over "
                "several tables; run this outside of it",
                condition="NOT_SUPPORTED",
            )
