"""A log on storage: loading what it adds up to, and committing to it (FORMAT.md, sections 8 to 10).

Tables and the warehouse keep logs of the same kind; what differs between them is a ``Codec``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from versioned_catalog.errors import (
    CommitOutcomeUnknown,
    CorruptTableError,
    NotFoundError,
    StorageError,
)
from versioned_catalog.limits import CHECKPOINT_BYTES, HINT_BYTES, VERSIONS
from versioned_catalog.log.checkpoint import hint_from_bytes, hint_to_bytes
from versioned_catalog.log.entry import Head, Stub
from versioned_catalog.storage.retrying import again_while
from versioned_catalog.storage.store import Put, Store

FOLDER = "_versioned"
HINT = f"{FOLDER}/last_checkpoint.json"
KEPT_CHECKPOINTS = 2


class Entry(Protocol):
    """What the entries of every log have."""

    @property
    def head(self) -> Head:
        """What every entry says of itself."""
        ...


class State(Protocol):
    """What the states of every log have."""

    @property
    def version(self) -> int:
        """The last commit."""
        ...

    @property
    def time(self) -> datetime:
        """When that was."""
        ...


E = TypeVar("E", bound=Entry)
S = TypeVar("S", bound=State)


class Codec(Protocol[E, S]):
    """How the entries of one kind of log are read, written and folded."""

    @property
    def suffix(self) -> str:
        """How names of checkpoints end."""
        ...

    def decode(self, data: bytes, what: str) -> E | Stub:
        """An entry from a file's content."""
        ...

    def encode(self, entry: E) -> bytes:
        """The content of an entry's file."""
        ...

    def apply(self, state: S | None, entry: E) -> S:
        """The state after one more entry."""
        ...

    def checkpoint(self, state: S) -> bytes:
        """The content of a checkpoint."""
        ...

    def restore(self, data: bytes, what: str) -> S:
        """The state of a checkpoint."""
        ...


@dataclass(frozen=True)
class Loaded(Generic[S]):
    """A state, and how far it is from the checkpoint it was loaded from.

    Args:
        state: the fold of the entries so far; None before the first.
        checkpoint_bytes: the size of the last checkpoint; 0 without one.
        entries, entry_bytes: number and size of the entries since.
    """

    state: S | None = None
    checkpoint_bytes: int = 0
    entries: int = 0
    entry_bytes: int = 0

    @property
    def version(self) -> int:
        """The last version, -1 before the first."""
        return -1 if self.state is None else self.state.version

    @property
    def wants_checkpoint(self) -> bool:
        """Whether the entries since the last checkpoint are a fraction of it worth saving."""
        large = self.entry_bytes >= 64 * 1024 and self.entry_bytes * 4 >= self.checkpoint_bytes
        many = self.entries >= 64 and self.entry_bytes * 10 >= self.checkpoint_bytes
        return large or many


class Timeline(Generic[E, S]):
    """The log of one table or warehouse."""

    def __init__(self, store: Store, codec: Codec[E, S]) -> None:
        self.store = store
        self._codec = codec

    def entry_path(self, version: int) -> str:
        """Where an entry stands."""
        return f"{FOLDER}/log/{version:020d}.json"

    def checkpoint_path(self, version: int) -> str:
        """Where a checkpoint stands."""
        return f"{FOLDER}/checkpoint/{version:020d}{self._codec.suffix}"

    def load(self, version: int | None = None) -> Loaded[S]:
        """The newest state, or that at a version.

        Raises:
            NotFoundError: the version does not exist, or was expired.
            CorruptTableError: the log can't be read.
        """
        start = self._start(version)
        loaded = self.advance(start, version)
        if version is not None and loaded.version != version:
            raise NotFoundError(
                f"{self.store.url} has no version {version}; the newest is {loaded.version}"
            )
        return loaded

    def advance(self, loaded: Loaded[S], until: int | None = None) -> Loaded[S]:
        """What was loaded, and all that was committed since (or up to a version)."""
        while until is None or loaded.version < until:
            found = self.read(loaded.version + 1)
            if found is None:
                return loaded
            entry, size = found
            if isinstance(entry, Stub):
                loaded = self._from_floor(entry, until)
            else:
                loaded = self._apply(loaded, entry, size)
        return loaded

    def _from_floor(self, stub: Stub, until: int | None) -> Loaded[S]:
        if until is not None and until < stub.floor:
            raise NotFoundError(
                f"{self.store.url} keeps versions from {stub.floor} on; version {until} is expired"
            )
        return self._at_floor(stub.floor)

    def _at_floor(self, floor: int) -> Loaded[S]:
        """The checkpoint that stands in for the entries before it, which were expired."""
        found = self._restore(floor)
        if found is None:
            raise CorruptTableError(
                f"{self.store.url}: the checkpoint {floor}, from which all versions are read, "
                "is missing or damaged"
            )
        return found

    def _apply(self, loaded: Loaded[S], entry: E, size: int) -> Loaded[S]:
        try:
            state = self._codec.apply(loaded.state, entry)
        except CorruptTableError as error:
            path = self.entry_path(entry.head.version)
            raise CorruptTableError(f"{self.store.url}/{path}: {error}") from None
        return replace(
            loaded, state=state, entries=loaded.entries + 1, entry_bytes=loaded.entry_bytes + size
        )

    def read(self, version: int) -> tuple[E | Stub, int] | None:
        """The entry of a version and its size, or None where there is none."""
        path = self.entry_path(version)
        data = self.store.read(path)
        if data is None:
            return None
        what = f"{self.store.url}/{path}"
        entry = self._codec.decode(data, what)
        said = entry.version if isinstance(entry, Stub) else entry.head.version
        if said != version:
            raise CorruptTableError(f"{what} calls itself version {said}")
        return entry, len(data)

    def entries(self, start: int, end: int) -> Iterator[E | Stub]:
        """The entries from ``start`` up to and with ``end``.

        Raises:
            CorruptTableError: one is missing.
        """
        for version in range(start, end + 1):
            found = self.read(version)
            if found is None:
                raise CorruptTableError(f"{self.store.url}/{self.entry_path(version)} is missing")
            yield found[0]

    def walk(self, until: int) -> Iterator[tuple[E, S]]:
        """The commits up to and with a version that can still be read, oldest first, and the state
        after each.

        Raises:
            CorruptTableError: the log can't be read.
        """
        first = self._first_kept()
        loaded = self._at_floor(first) if first else Loaded[S]()
        for entry in self.entries(first, until):
            if isinstance(entry, Stub):
                raise CorruptTableError(f"{self.store.url}: version {entry.version} is expired")
            if loaded.version < entry.head.version:
                loaded = self._apply(loaded, entry, 0)
            if loaded.state is not None:
                yield entry, loaded.state

    def _first_kept(self) -> int:
        version = 0
        while (found := self.read(version)) is not None and isinstance(found[0], Stub):
            version = max(found[0].floor, version + 1)
        return version

    def _start(self, version: int | None) -> Loaded[S]:
        """The nearest good checkpoint at or below a version, or nothing."""
        hint = self._hint()
        if hint is not None and (version is None or hint <= version):
            restored = self._restore(hint)
            if restored is not None:
                return restored
        if hint is None and self.store.read(self.entry_path(0)) is None:
            return Loaded()
        for candidate in reversed(self._checkpoints()):
            if version is None or candidate <= version:
                restored = self._restore(candidate)
                if restored is not None:
                    return restored
        return Loaded()

    def _hint(self) -> int | None:
        try:
            return hint_from_bytes(self.store.read(HINT, HINT_BYTES))
        except CorruptTableError:
            return None

    def _checkpoints(self) -> list[int]:
        names = self.store.list(f"{FOLDER}/checkpoint")
        ours = (n.removesuffix(self._codec.suffix) for n in names if n.endswith(self._codec.suffix))
        known = (int(name) for name in ours if len(name) == 20 and name.isdecimal())
        return sorted(version for version in known if version < VERSIONS)

    def _restore(self, version: int) -> Loaded[S] | None:
        """The state of a checkpoint, or None if it is missing or damaged: the log has it too."""
        path = self.checkpoint_path(version)
        try:
            data = self.store.read(path, CHECKPOINT_BYTES)
            if data is None:
                return None
            state = self._codec.restore(data, f"{self.store.url}/{path}")
        except CorruptTableError:
            return None
        return Loaded(state, len(data)) if state.version == version else None

    def commit(
        self, loaded: Loaded[S], commit_id: str, propose: Callable[[S | None], E | None]
    ) -> Loaded[S]:
        """Commit what ``propose`` makes of the newest state (FORMAT.md, section 10).

        Args:
            loaded: the newest state that is known.
            commit_id: who this commit is.
            propose: makes the entry that follows a state, or None where there is nothing to commit;
                raises CommitConflictError, or whatever else ends the commit, when it can't follow.

        Returns:
            The state after the commit.

        Raises:
            CommitOutcomeUnknown: the store did not say, and could not be asked.
        """
        while True:
            entry = propose(loaded.state)
            if entry is None:
                newest = self.advance(loaded)
                if newest.version == loaded.version:
                    return newest
                loaded = newest
                continue
            data = self._codec.encode(entry)
            # First: an entry that nobody could read would be the end of the table.
            after = self._apply(loaded, entry, len(data))
            if self._put(loaded.version + 1, data, commit_id):
                return self._after_commit(after)
            loaded, done = self._catch_up(loaded, commit_id)
            if done:
                return self._after_commit(loaded)

    def _put(self, version: int, data: bytes, commit_id: str) -> bool:
        """Whether the entry was won at once; False when the name is taken, maybe by ourselves."""
        path = self.entry_path(version)
        asked = 0

        def put() -> Put:
            nonlocal asked
            asked += 1
            try:
                outcome = self.store.put_if_absent(path, data)
                if asked > 1 and outcome is Put.UNKNOWN and self.store.read(path) is not None:
                    return Put.TAKEN
            except StorageError as error:
                if asked == 1:
                    raise
                raise self._unknown(commit_id) from error
            return outcome

        match again_while(lambda outcome: outcome is Put.UNKNOWN, put):
            case Put.WON:
                return True
            case Put.TAKEN:
                return False
            case Put.UNKNOWN:
                raise self._unknown(commit_id)

    def _unknown(self, commit_id: str) -> CommitOutcomeUnknown:
        return CommitOutcomeUnknown(
            f"{self.store.url} did not say whether the commit {commit_id} landed; it may be there, "
            "and may still land: ask Table.find_commit before you write the same again",
            commit_id,
        )

    def _catch_up(self, loaded: Loaded[S], commit_id: str) -> tuple[Loaded[S], bool]:
        """What others committed meanwhile; or what was committed up to ourselves, and True.

        An answer that was lost on the way makes a writer lose to itself: it must read who won.
        """
        start = loaded.version
        try:
            while (found := self.read(loaded.version + 1)) is not None:
                entry, size = found
                if isinstance(entry, Stub):
                    return self.advance(self._from_floor(entry, None)), entry.commit_id == commit_id
                loaded = self._apply(loaded, entry, size)
                if entry.head.commit_id == commit_id:
                    return loaded, True
        except StorageError as error:
            raise self._unknown(commit_id) from error
        if loaded.version == start:  # taken, and yet nothing is there
            raise self._unknown(commit_id)
        return loaded, False

    def find_commit(self, commit_id: str, since: int, until: int) -> int | None:
        """The version of a commit after ``since`` and up to ``until``, or None."""
        for entry in self.entries(since + 1, until):
            who = entry.commit_id if isinstance(entry, Stub) else entry.head.commit_id
            if who == commit_id:
                return entry.version if isinstance(entry, Stub) else entry.head.version
        return None

    def _after_commit(self, loaded: Loaded[S]) -> Loaded[S]:
        if not loaded.wants_checkpoint or loaded.state is None:
            return loaded
        try:
            return self.write_checkpoint(loaded.state)
        except Exception:
            # Whatever it is: the commit is made; the next writer will try again.
            return loaded

    def write_checkpoint(self, state: S) -> Loaded[S]:
        """Write the checkpoint of a state, and drop all but the newest few."""
        data = self._codec.checkpoint(state)
        self.store.overwrite(self.checkpoint_path(state.version), data)
        self.store.overwrite(HINT, hint_to_bytes(state.version))
        for old in self._checkpoints()[:-KEPT_CHECKPOINTS]:
            if not self._is_floor(old):
                self.store.delete(self.checkpoint_path(old))
        return Loaded(state, len(data))

    def _is_floor(self, version: int) -> bool:
        """Whether all before a checkpoint is expired, so that reading begins there."""
        found = self.read(version - 1) if version > 0 else None
        return found is not None and isinstance(found[0], Stub) and found[0].floor == version
