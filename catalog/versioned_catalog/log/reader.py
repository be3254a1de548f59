"""Reading a log: entries, checkpoints, and the state that they add up to (FORMAT.md, sections 8 and 9).

Tables and warehouses keep logs of the same kind; they differ in their ``Codec``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Generic, TypeVar, cast

from versioned_catalog.errors import CorruptTableError, NotFoundError
from versioned_catalog.limits import CHECKPOINT_BYTES, HINT_BYTES, VERSIONS
from versioned_catalog.log.bounded_files import Hint, hint_from_bytes
from versioned_catalog.log.decisions import Decision, known_decision, settle
from versioned_catalog.log.entry import Codec, E, Entry, Head, S, Stub, before_first, stub_to_bytes
from versioned_catalog.log.features import CHECKPOINTS, HINT, KEPT, delta_path, entry_path
from versioned_catalog.observe.records import WARNING, record
from versioned_catalog.observe.tracing import spanned
from versioned_catalog.storage.store import Store

T = TypeVar("T")

MOST_AT_ONCE = 16
"""Number of entries that are requested at once, at most."""

LARGEST_PAGE = 256
"""Number of entries that a reader of the past holds at once, at most."""

MANY_ENTRIES = 16
"""Number of entries after which a checkpoint is due, if they are a tenth of the last one in bytes."""

MANY_BYTES = 1024 * 1024
"""Bytes of entries after which a checkpoint is due, if they are a quarter of the last one."""


def _is_prepared(entry: Entry | Stub) -> bool:
    return not isinstance(entry, Stub) and entry.head.transaction is not None


def _size(entry: Entry | Stub, data: bytes) -> int:
    """The bytes that were read for an entry."""
    return len(data) + (0 if isinstance(entry, Stub) else entry.attached_bytes)


@dataclass(frozen=True)
class LoadedState(Generic[S]):
    """A state, and what was read to get there from the last checkpoint.

    Args:
        state: the state after the entries so far; None before the first.
        checkpoint_bytes: size of the last checkpoint or delta; 0 without one, or if the next file
            will be the first delta after a checkpoint.
        entries, entry_bytes: number and size of the entries since.
    """

    state: S | None = None
    checkpoint_bytes: int = 0
    entries: int = 0
    entry_bytes: int = 0

    @property
    def version(self) -> int:
        """Version of the last commit; -1 before the first."""
        return -1 if self.state is None else self.state.version

    def since(self, checkpoint: int | None) -> LoadedState[S]:
        """Count the entries from a checkpoint that another writer may have written."""
        entries = self.version - checkpoint if checkpoint is not None else self.entries
        if not 0 <= entries < self.entries:
            return self
        return replace(
            self, entries=entries, entry_bytes=self.entry_bytes * entries // self.entries
        )

    @property
    def wants_checkpoint(self) -> bool:
        """Whether a checkpoint is due (FORMAT.md, section 8)."""
        large = self.entry_bytes >= MANY_BYTES and self.entry_bytes * 4 >= self.checkpoint_bytes
        many = self.entries >= MANY_ENTRIES and self.entry_bytes * 10 >= self.checkpoint_bytes
        return large or many


@dataclass(frozen=True)
class Committed(Generic[S]):
    """What a commit led to.

    Args:
        loaded: the state after it; a later one, if it was expired before the store said that it was put.
        version: the version of the commit; the newest version if there was nothing to commit.
    """

    loaded: LoadedState[S]
    version: int


class LogReader(Generic[E, S]):
    """The log of one table or warehouse, read only."""

    def __init__(self, store: Store, codec: Codec[E, S]) -> None:
        self.store = store
        self._codec = codec

    def entry_path(self, version: int) -> str:
        """Path of an entry."""
        return entry_path(version)

    def checkpoint_path(self, version: int) -> str:
        """Path of a checkpoint."""
        return f"{CHECKPOINTS}/{version:020d}{self._codec.suffix}"

    def kept_path(self, version: int) -> str:
        """Path of the kept state of a version, which outlives the entries before it."""
        return f"{KEPT}/{version:020d}{self._codec.suffix}"

    def url_of(self, path: str) -> str:
        """The URL of a file of the log, for errors."""
        return f"{self.store.url}/{self.store.place(path)}"

    @spanned("versioned.load")
    def load(self, version: int | None = None) -> LoadedState[S]:
        """Load the newest state, or the state at a version.

        Raises:
            NotFoundError: the version does not exist, or was expired.
            CorruptTableError: the log can't be read.
        """
        start = self._start(version)
        loaded = self.advance(start, version, expected=MANY_ENTRIES // 2)
        if version is not None and loaded.version != version:
            raise NotFoundError(
                f"{self.store.url} has no version {version}; the newest is {loaded.version}",
                condition="VERSION_NOT_FOUND",
            )
        return loaded

    @spanned("versioned.refresh")
    def advance(
        self,
        loaded: LoadedState[S],
        until: int | None = None,
        *,
        expected: int = 1,
        settles: bool = False,
    ) -> LoadedState[S]:
        """Replay the commits since a loaded state, up to ``until`` or the newest version.

        With ``settles``, transactions of others that are not decided are decided.
        """
        while True:
            following = self._following(loaded.version + 1, until, expected, settles=settles)
            for entry, size in following:
                if isinstance(entry, Stub):
                    loaded = self._from_floor(entry, until)
                    break
                loaded = self._apply(loaded, entry, size)
            else:
                return loaded

    def newer(self, loaded: LoadedState[S]) -> Iterator[tuple[E | Stub, LoadedState[S]]]:
        """The entries that were committed since a loaded state, each with the state after it.

        It ends at a stub, which comes with the state before it: ``advance`` goes on from there.
        """
        for entry, size in self._following(loaded.version + 1, None):
            if not isinstance(entry, Stub):
                loaded = self._apply(loaded, entry, size)
            yield entry, loaded
            if isinstance(entry, Stub):
                return

    def _following(
        self, start: int, until: int | None, count: int = 1, *, settles: bool = False
    ) -> Iterator[tuple[E | Stub, int]]:
        """The entries from ``start`` on, up to ``until`` or the first absent one, and their sizes.

        ``count`` entries are requested at first, then twice as many each time. An entry of a transaction
        that is not decided counts as absent, unless ``settles``: it is then decided.
        """
        looks_again = True
        while looks_again:
            looks_again = False
            for version, data in self._contents(start, until, count):
                bare = self._bare(version, data)
                # What was absent may have been put before the transaction was decided.
                looks_again = looks_again or _is_prepared(bare)
                entry = self._decided(bare, settles=settles)
                if entry is None:
                    return
                entry = self._attached(version, entry)
                yield entry, _size(entry, data)
                start, count = version + 1, 1

    def _decided(self, entry: E | Stub, *, settles: bool = False) -> E | Stub | None:
        """What an entry says once its transaction, if it has one, is decided; None before."""
        if isinstance(entry, Stub) or entry.head.transaction is None:
            return entry
        head, transaction = entry.head, entry.head.transaction
        if settles:
            decision = settle(self.store, head.version, head.time, transaction)
        else:
            known = known_decision(self.store, head.version, transaction)
            if known is None:
                return None
            decision = known
        if decision is Decision.ABORT:
            return self._codec.aborted(entry)
        # Copies of the entry elsewhere, as in a branch, stand alone.
        alone: E = replace(cast(Any, entry), head=replace(head, transaction=None))
        return alone

    def _contents(self, start: int, until: int | None, count: int) -> Iterator[tuple[int, bytes]]:
        """The versions and contents of these entries."""
        first = start
        while until is None or start <= until:
            end = start + count if until is None else min(start + count, until + 1)
            versions = range(start, end)
            contents = self.store.read_in_order([self.entry_path(v) for v in versions])
            for version, data in zip(versions, contents, strict=False):
                if data is None:
                    end = version
                    break
                yield version, data
            else:
                start, count = end, min(end - first, MOST_AT_ONCE)
                continue
            # Of a log that begins at a later version, the ones before it were never written.
            begin = self._begins_at() if until is not None and end <= until else 0
            if end >= begin:
                return
            start = min(begin, (until or 0) + 1)
            yield from ((v, stub_to_bytes(before_first(v, begin))) for v in range(end, start))

    def _begins_at(self) -> int:
        """The version that the log begins at."""
        first = self.store.read(self.entry_path(0))
        entry = None if first is None else self._bare(0, first)
        return (entry.begins_at or 0) if isinstance(entry, Stub) else 0

    def _from_floor(self, stub: Stub, until: int | None) -> LoadedState[S]:
        if until is not None and until < stub.floor:
            tagged = self._kept(until)
            if tagged is None:
                raise NotFoundError(
                    f"{self.store.url} keeps versions from {stub.floor} on; version {until} is expired",
                    condition="VERSION_NOT_FOUND",
                )
            return tagged
        start = self._at_floor(stub.floor)
        if until is not None and until < start.version:
            return self._from_floor(replace(stub, floor=start.version), until)
        return start

    def _at_floor(self, floor: int) -> LoadedState[S]:
        """The kept state that replaces the expired entries before it."""
        while (kept_state := self.restore(floor, self.kept_path(floor))) is None:
            # If the entry is a stub by now, another expiry went further, up to the floor of the stub.
            stub = self.head(floor)
            if not isinstance(stub, Stub) or stub.floor <= floor:
                return self._at_later_floor(floor)
            floor = stub.floor
        return kept_state

    def _at_later_floor(self, floor: int) -> LoadedState[S]:
        """The oldest kept state after a lost one, which an interrupted expiry wrote."""
        for version in self._versions_in(KEPT):
            kept_state = None
            if version > floor:
                kept_state = self.restore(version, self.kept_path(version))
            if kept_state is not None:
                return kept_state
        raise CorruptTableError(
            f"{self.store.url}: the kept state of version {floor}, from which all versions are read, "
            f"is missing or damaged; restore {self.url_of(self.kept_path(floor))} from a copy"
        )

    def _apply(self, loaded: LoadedState[S], entry: E, size: int) -> LoadedState[S]:
        try:
            state = self._codec.apply(loaded.state, entry)
        except CorruptTableError as error:
            path = self.entry_path(entry.head.version)
            raise CorruptTableError(f"{self.url_of(path)}: {error}") from None
        return replace(
            loaded, state=state, entries=loaded.entries + 1, entry_bytes=loaded.entry_bytes + size
        )

    def read(self, version: int) -> tuple[E | Stub, int] | None:
        """The entry of a version and its size, or None if there is none, or none that is decided."""
        return next(self._following(version, version), None)

    def head(self, version: int) -> Head | Stub | None:
        """The head of an entry, or None if there is none."""
        return next(self._heads(version, version), None)

    def heads(self, start: int, end: int) -> Iterator[Head | Stub]:
        """The heads of the entries from ``start`` to ``end``, both included; attachments are not read.

        Raises:
            CorruptTableError: one is missing.
        """
        return self._all(self._heads(start, end), start, end)

    def _heads(self, start: int, end: int) -> Iterator[Head | Stub]:
        for version, data in self._contents(start, end, 1):
            entry = self._decided(self._bare(version, data))
            if entry is None:
                return
            yield entry if isinstance(entry, Stub) else entry.head

    def decoded(self, version: int, data: bytes) -> E | Stub | None:
        """Decode the entry of a version, and read its attachment; None if it is not decided.

        Raises:
            CorruptTableError: it is damaged, or is of another version.
        """
        entry = self._decided(self._bare(version, data))
        return None if entry is None else self._attached(version, entry)

    def as_put(self, version: int) -> E | Stub | None:
        """The entry of a version as it was put, whatever became of its transaction; None if absent."""
        data = self.store.read(self.entry_path(version))
        return None if data is None else self._attached(version, self._bare(version, data))

    def _attached(self, version: int, entry: E | Stub) -> E | Stub:
        """An entry with its attachment."""
        if isinstance(entry, Stub):
            return entry
        try:
            return self._codec.read_attachment(entry, self.store)
        except CorruptTableError:
            # The entry may have been expired, and its manifest vacuumed, since it was read.
            again = self.store.read(self.entry_path(version))
            now = None if again is None else self._bare(version, again)
            if isinstance(now, Stub):
                return now
            raise

    def _bare(self, version: int, data: bytes) -> E | Stub:
        """Decode an entry without reading its attachment."""
        url = self.url_of(self.entry_path(version))
        entry = self._codec.decode(data, url)
        recorded = entry.version if isinstance(entry, Stub) else entry.head.version
        if recorded != version:
            raise CorruptTableError(
                f"{url} must hold version {version}, but holds the entry of version {recorded}"
            )
        return entry

    def entries(self, start: int, end: int) -> Iterator[E | Stub]:
        """The entries from ``start`` to ``end``, both included.

        Raises:
            CorruptTableError: one is missing.
        """
        return self._all((entry for entry, _ in self._following(start, end)), start, end)

    def newest_first(self, newest: int) -> Iterator[E | Stub]:
        """All entries up to a version, newest first, read page by page as they are asked for.

        Raises:
            CorruptTableError: one is missing.
        """
        page = MOST_AT_ONCE
        while newest >= 0:
            first = max(newest + 1 - page, 0)
            yield from reversed([*self.entries(first, newest)])
            newest, page = first - 1, min(2 * page, LARGEST_PAGE)

    def _all(self, items: Iterator[T], start: int, end: int) -> Iterator[T]:
        """Yield one item a version; raise CorruptTableError if the items end before ``end``."""
        version = start
        for item in items:
            yield item
            version += 1
        if version <= end:
            raise CorruptTableError(f"{self.url_of(self.entry_path(version))} is missing")

    def walk(self, until: int, floor: int = 0) -> Iterator[tuple[E, S]]:
        """The commits from one version to another, both included, and the state after each.

        Commits that are expired at the start are left out.

        Raises:
            NotFoundError: versions were expired while they were read.
            CorruptTableError: the log can't be read.
        """
        first = self.first_kept(floor)
        loaded = self._at_floor(first) if first else LoadedState[S]()
        for entry in self.entries(first, until):
            if isinstance(entry, Stub):
                raise NotFoundError(
                    f"{self.store.url}: version {entry.version} was expired while it was read",
                    condition="VERSION_NOT_FOUND",
                )
            if loaded.version < entry.head.version:
                loaded = self._apply(loaded, entry, 0)
            if loaded.state is not None:
                yield entry, loaded.state

    def first_kept(self, floor: int = 0) -> int:
        """The first version from ``floor`` on whose entry is not a stub."""
        version = floor
        while isinstance(head := self.head(version), Stub):
            version = max(head.floor, version + 1)
        return version

    def is_stub(self, version: int) -> bool:
        """Whether the entry of a version is a stub."""
        return isinstance(self.head(version), Stub)

    def _start(self, version: int | None) -> LoadedState[S]:
        """The nearest readable checkpoint at or below a version, else the state before any entry."""
        hint = self._hint()
        if hint is not None and (version is None or hint.version <= version):
            restored = self._hinted(hint, version)
            if restored is not None:
                return restored
        first = self.store.read(self.entry_path(0)) if hint is None else None
        if hint is None and first is None:
            return LoadedState()
        for candidate in reversed(self.checkpoints()):
            if version is None or candidate <= version:
                restored = self.restore(candidate, self.checkpoint_path(candidate))
                if restored is not None:
                    return restored
        entry = None if first is None else self.decoded(0, first)
        if first is None or entry is None or isinstance(entry, Stub):
            return LoadedState()
        return self._apply(LoadedState(), entry, _size(entry, first))

    def _hinted(self, hint: Hint, version: int | None) -> LoadedState[S] | None:
        """The newest readable state that a hint names, at or below a version."""
        deltas = [delta for delta in hint.deltas if version is None or delta <= version]
        if not deltas or self._codec.deltas is None:
            return self.restore(hint.version, self.checkpoint_path(hint.version))
        contents = self._contents_of(hint.version, deltas)
        for delta in reversed(deltas):
            try:
                return self._of_delta(delta, contents)
            except CorruptTableError:
                continue
        return self.restore(hint.version, self.checkpoint_path(hint.version))

    def delta(self, version: int, hint: Hint) -> LoadedState[S]:
        """The state of a delta that a hint names.

        Raises:
            CorruptTableError: it is damaged, or a file that it refers to is missing or damaged.
        """
        return self._of_delta(version, self._contents_of(hint.version, hint.deltas))

    def _of_delta(self, version: int, contents: Mapping[str, bytes | None]) -> LoadedState[S]:
        assert self._codec.deltas is not None
        path = delta_path(version)
        state = self._codec.deltas.decode(path, contents, self.store.url)
        if state.version != version:
            raise CorruptTableError(
                f"{self.url_of(path)} is the state at another version, {state.version}"
            )
        return LoadedState(state, len(contents[path] or b""))

    def _contents_of(self, checkpoint: int, deltas: Sequence[int]) -> dict[str, bytes | None]:
        """The contents of a checkpoint and of deltas by path; None if one is missing or too large."""
        paths = [self.checkpoint_path(checkpoint), *map(delta_path, deltas)]
        try:
            contents = [*self.store.read_in_order(paths, CHECKPOINT_BYTES)]
        except CorruptTableError:  # one is too large
            contents = [self._read_stored(path) for path in paths]
        return dict(zip(paths, contents, strict=True))

    def _read_stored(self, path: str) -> bytes | None:
        try:
            return self.stored(path)
        except CorruptTableError as error:
            self._report_unusable(path, error)
            return None

    def _hint(self) -> Hint | None:
        try:
            data = self.store.read(HINT, HINT_BYTES)
        except CorruptTableError as error:
            self._report_unusable(HINT, error)
            return None
        hint = hint_from_bytes(data)
        if hint is None and data is not None:
            self._report_unusable(HINT, "it is damaged")
        return hint

    def _report_unusable(self, path: str, error: CorruptTableError | str) -> None:
        """Log that a file is not used which only saves time: the log has what it says, too."""
        record(
            WARNING,
            "%s: %s is not used, and older files are read instead: %s",
            self.store.url,
            path,
            error,
            location=self.store.url,
            path=path,
        )

    def checkpoints(self) -> list[int]:
        """Versions that have checkpoints, in order."""
        return self._versions_in(CHECKPOINTS)

    def checkpoint_sizes(self) -> dict[int, int]:
        """Bytes of each checkpoint, by version."""
        files = self.store.files(CHECKPOINTS)
        sizes = ((self._version_of(file.name), file.bytes) for file in files)
        return {version: size for version, size in sizes if version is not None}

    def _versions_in(self, folder: str) -> list[int]:
        versions = map(self._version_of, self.store.list(folder))
        return sorted(version for version in versions if version is not None)

    def _version_of(self, name: str) -> int | None:
        """The version in the name of a checkpoint, or None if it is not such a name."""
        number = name.removesuffix(self._codec.suffix)
        if number == name or len(number) != 20 or not number.isdecimal():
            return None
        return int(number) if int(number) < VERSIONS else None

    def restore(self, version: int, path: str) -> LoadedState[S] | None:
        """The state in a checkpoint; None if it is missing or damaged, since the log has it, too."""
        try:
            return self._stored_state(version, path)
        except CorruptTableError as error:
            self._report_unusable(path, error)
            return None

    def _kept(self, version: int) -> LoadedState[S] | None:
        """The kept state of a version, or None if there is none.

        Raises:
            CorruptTableError: it is damaged.
        """
        return self._stored_state(version, self.kept_path(version))

    def _stored_state(self, version: int, path: str) -> LoadedState[S] | None:
        data = self.stored(path)
        if data is None:
            return None
        url = self.url_of(path)
        state = self._codec.decode_checkpoint(data, url)
        if state.version != version:
            raise CorruptTableError(f"{url} is the state at another version, {state.version}")
        return self._loaded(state, data)

    def _loaded(self, state: S, data: bytes) -> LoadedState[S]:
        """The state of a checkpoint."""
        deltas = self._codec.deltas
        # The next delta is small, however large the checkpoint is.
        is_large = deltas is not None and deltas.precedes(state)
        return LoadedState(state, 0 if is_large else len(data))

    def stored(self, path: str) -> bytes | None:
        """The content of a checkpoint or kept state, or None if there is no such file.

        Raises:
            CorruptTableError: it is larger than a checkpoint may be.
        """
        return self.store.read(path, CHECKPOINT_BYTES)

    def find_commit(self, commit_id: str, since: int, until: int) -> int | None:
        """The version of a commit after ``since`` and up to ``until``, or None."""
        for head in self.heads(since + 1, until):
            if head.commit_id == commit_id:
                return head.version
        return None

    def version_at(
        self, time: datetime, newest: int, latest: Sequence[datetime] | None = None
    ) -> int:
        """Find the last version up to ``newest`` that is not later than a time; -1 if there is none.

        ``latest`` has an upper bound of each version's time, whatever its entry says.
        """
        low, high = -1, newest
        while low < high:
            middle = (low + high + 1) // 2
            (head,) = self.heads(middle, middle)
            then = head.time if latest is None else min(head.time, latest[middle])
            low, high = (middle, high) if then <= time else (low, middle - 1)
        return low
