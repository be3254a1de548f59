"""A log on storage: committing to it (FORMAT.md, section 10)."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from versioned_catalog.errors import CommitOutcomeUnknown, InvalidRequestError, StorageError
from versioned_catalog.log.checkpoint import hint_to_bytes
from versioned_catalog.log.codec import Codec, E, Loaded, S
from versioned_catalog.log.entry import MICROSECOND, Stub, next_time
from versioned_catalog.log.reading import HINT, LogReader
from versioned_catalog.storage.retrying import back_off, retry_while
from versioned_catalog.storage.store import Put, Store

SEEN_ENTRIES, SEEN_BYTES = 256, 64 * 1024
"""How many entries of other writers are remembered for conflict checks, and how long one may be."""


class Timeline(LogReader[E, S]):
    """The log of one table or warehouse."""

    def __init__(self, store: Store, codec: Codec[E, S]) -> None:
        super().__init__(store, codec)
        self._seen: OrderedDict[int, E] = OrderedDict()

    def commit(
        self, loaded: Loaded[S], commit_id: str, propose: Callable[[S | None], E | None]
    ) -> Loaded[S]:
        """Commit what ``propose`` makes of the newest state (FORMAT.md, section 10).

        Args:
            loaded: the newest state that is known.
            commit_id: who this commit is.
            propose: makes the entry that follows a state, whatever its time, or None where there is
                nothing to commit; raises CommitConflictError, or whatever else ends the commit, when
                it can't follow.

        Returns:
            The state after the commit.

        Raises:
            CommitOutcomeUnknown: the store did not say, and could not be asked.
            StorageError: this machine's clock is far ahead of the store's, and the only one to go by.
        """
        before: E | None = None
        for losses in itertools.count(1):
            entry = propose(loaded.state)
            if entry is None:
                newest = self.advance(loaded)
                if newest.version == loaded.version:
                    return newest
                loaded = newest
                continue
            entry, data = self._encoded(self._dated(entry, loaded.state), before)
            before, unsure = entry, self._unsure_time(entry, loaded.state)
            # First: an entry that nobody could read would be the end of the table.
            after = self._apply(loaded, entry, len(data) + entry.bytes_beside)
            if self._put(loaded.version + 1, data, commit_id, unsure):
                return self._after_commit(after)
            if self.store.is_remote:
                back_off(losses)
            loaded, done = self._catch_up(loaded, commit_id)
            if done:
                return self._after_commit(loaded)
        raise AssertionError("there is no end to trying")

    def since(self, base: int, newest: int) -> Iterator[E | Stub]:
        """The entries after a base version, up to and with the newest, to check conflicts against.

        Those that this process read when it lost a race are not read again.

        Raises:
            CorruptTableError: one is missing.
        """
        for version in range(base + 1, newest + 1):
            found = self._seen.get(version)
            if found is None:
                yield from self.entries(version, newest)
                return
            yield found

    def _remember(self, entry: E, size: int) -> None:
        if size <= SEEN_BYTES:
            self._seen[entry.head.version] = entry
            if len(self._seen) > SEEN_ENTRIES:
                self._seen.popitem(last=False)

    def _dated(self, entry: E, state: S | None) -> E:
        """The entry with the time of this attempt: the store's, and after the entry before it."""
        time = next_time(None if state is None else state.time, self.store.time())
        dated: E = replace(cast(Any, entry), head=replace(entry.head, time=time))
        return dated

    def _unsure_time(self, entry: E, state: S | None) -> datetime | None:
        """The time of an entry where it is by this process's own clock, which may be wrong.

        Where the entry before it is in the future already, its time is the next there is, and no more
        wrong than that.
        """
        time = entry.head.time
        follows = state is not None and time == state.time + MICROSECOND
        return time if self.store.clock.is_own and not follows else None

    def _encoded(self, entry: E, before: E | None) -> tuple[E, bytes]:
        """An entry with what is written beside it, and the content of its file."""
        try:
            placed = self._codec.placed(entry, before, self.store)
            return placed, self._codec.encode(placed)
        except InvalidRequestError as error:
            raise InvalidRequestError(f"{self.store.url}: {error}") from None

    def _put(self, version: int, data: bytes, commit_id: str, unsure: datetime | None) -> bool:
        """Whether the entry was won at once; False when the name is taken, maybe by ourselves."""
        path = self.entry_path(version)
        asked = 0

        def put() -> Put:
            nonlocal asked
            asked += 1
            try:
                outcome = (
                    self.store.put_if_absent(path, data)
                    if unsure is None
                    else self.store.put_if_absent(path, data, unsure)
                )
                if asked > 1 and outcome is Put.UNKNOWN and self.store.read(path) is not None:
                    return Put.TAKEN
            except StorageError as error:
                if asked == 1:
                    raise
                raise self._unknown(commit_id) from error
            return outcome

        match retry_while(lambda outcome: outcome is Put.UNKNOWN, put):
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
            for entry, size in self._following(start + 1, None):
                if isinstance(entry, Stub):
                    newest = self.advance(self._from_floor(entry, None))
                    landed = self.find_commit(commit_id, loaded.version, newest.version)
                    return newest, landed is not None
                loaded = self._apply(loaded, entry, size)
                self._remember(entry, size)
                if entry.head.commit_id == commit_id:
                    return loaded, True
        except StorageError as error:
            raise self._unknown(commit_id) from error
        if loaded.version == start:  # taken, and yet nothing is there
            raise self._unknown(commit_id)
        return loaded, False

    def _after_commit(self, loaded: Loaded[S]) -> Loaded[S]:
        if not loaded.wants_checkpoint or loaded.state is None:
            return loaded
        try:
            known = loaded.since(self._hint())
            return self.write_checkpoint(loaded.state) if known.wants_checkpoint else known
        except Exception:
            # Whatever it is: the commit is made; the next writer will try again.
            return loaded

    def write_checkpoint(self, state: S) -> Loaded[S]:
        """Write the checkpoint of a state, and drop those that need not stay."""
        data = self._codec.checkpoint(state)
        self.store.overwrite(self.checkpoint_path(state.version), data)
        self.store.overwrite(HINT, hint_to_bytes(state.version))
        sizes = self.checkpoint_sizes()
        for old in sorted(sizes.keys() - self._codec.spared(state, sizes)):
            self.store.delete(self.checkpoint_path(old))
        return Loaded(state, len(data))

    def write_kept(self, state: S) -> None:
        """Write the state at a version that is to be read when the entries before it are expired."""
        self.store.overwrite(self.kept_path(state.version), self._codec.checkpoint(state))
