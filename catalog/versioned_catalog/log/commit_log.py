"""Committing to a log (FORMAT.md, section 10), and the log of a table."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from versioned_catalog.errors import CommitOutcomeUnknown, InvalidRequestError, StorageError
from versioned_catalog.log.bounded_files import Hint, hint_to_bytes
from versioned_catalog.log.checkpoint import retained_checkpoints, state_from_bytes, state_to_bytes
from versioned_catalog.log.decisions import Prepared, UnsettledError
from versioned_catalog.log.deltas import delta_from_bytes, delta_to_bytes, precedes_delta
from versioned_catalog.log.entry import Codec, Commit, DeltaCodec, E, S, Stub
from versioned_catalog.log.entry_json import commit_from_bytes, commit_to_bytes
from versioned_catalog.log.features import DELTAS, HINT, WITH_TRANSACTIONS, delta_path
from versioned_catalog.log.ledger import write_page
from versioned_catalog.log.manifest import read_manifest, write_manifest
from versioned_catalog.log.reader import Committed, LoadedState, LogReader
from versioned_catalog.log.seen_entries import SeenEntries
from versioned_catalog.log.staging import Staged, StagingStore
from versioned_catalog.log.state import TableState, apply
from versioned_catalog.log.times import MICROSECOND, next_time
from versioned_catalog.observe.records import INFO, WARNING, record
from versioned_catalog.observe.tracing import count, span
from versioned_catalog.storage.failures import back_off, retry_while
from versioned_catalog.storage.store import Put, Store

LARGE = 64 * 1024
"""Least size in bytes of a checkpoint that deltas may refer to."""


class CommitLog(LogReader[E, S]):
    """The log of one table or warehouse, which can be committed to.

    ``lost_races`` counts the entries of this log whose version another commit took first.
    """

    def __init__(self, store: Store, codec: Codec[E, S]) -> None:
        super().__init__(store, codec)
        self._seen = SeenEntries[E]()
        self.lost_races = 0

    def commit(
        self,
        loaded: LoadedState[S],
        commit_id: str,
        propose: Callable[[S | None], E | None],
        operation: object = None,
    ) -> Committed[S]:
        """Commit the entry that ``propose`` builds, retrying after each commit of others.

        Args:
            loaded: the newest known state.
            propose: builds the entry that follows a state, without its time; returns None if there is
                nothing to commit. It is called again after each lost race. What it raises, such as
                CommitConflictError, ends the commit.
            operation: what ``propose`` checks, for a transaction that has to check it otherwise.

        Raises:
            CommitOutcomeUnknown: the store did not say whether the entry was put, and can't be asked.
            StorageError: the time would come from this machine's clock, which is far ahead of the
                store's.
        """
        if isinstance(self.store, StagingStore):
            staged = self._stage(self.store, loaded, commit_id, propose, operation)
            return Committed(staged, staged.version)
        previous: E | None = None
        for losses in itertools.count(1):
            with span("versioned.commit.attempt", attempt=losses) as attempt:
                entry = propose(loaded.state)
                if entry is None:
                    newest = self.advance(loaded)
                    if newest.version == loaded.version:
                        attempt.set(outcome="unchanged")
                        return Committed(newest, newest.version)
                    loaded = newest
                    continue
                entry, data = self._encoded(self._dated(entry, loaded.state), previous)
                previous, unsure = entry, self._unsure_time(entry, loaded.state)
                # Apply the entry before the put: a table with an entry that can't be applied is lost.
                after = self._apply(loaded, entry, len(data) + entry.attached_bytes)
                count("versioned.commit.attempts")
                attempt.set(version=loaded.version + 1)
                if self._put(loaded.version + 1, data, commit_id, unsure):
                    attempt.set(outcome="won")
                    return Committed(self._after_commit(after), after.version)
                attempt.set(outcome="taken")
            self._report_lost(loaded.version + 1, losses)
            if self.store.is_remote:
                back_off(losses)
            loaded, landed = self._catch_up(loaded, commit_id)
            if landed is not None:
                return Committed(self._after_commit(loaded), landed)
            self.lost_races += 1
        raise AssertionError("the loop has no end")

    def _stage(
        self,
        store: StagingStore,
        loaded: LoadedState[S],
        commit_id: str,
        propose: Callable[[S | None], E | None],
        operation: object,
    ) -> LoadedState[S]:
        """Keep an entry for the end of the transaction whose store this is."""
        loaded = self.advance(loaded)
        entry = propose(loaded.state)
        if entry is None:
            return loaded
        entry, data = self._encoded(self._dated(entry, loaded.state), None)
        after = self._apply(loaded, entry, len(data) + entry.attached_bytes)
        store.stage(Staged(self, commit_id, propose, operation, entry), data)
        return after

    def prepare(
        self, loaded: LoadedState[S], entry: E, transaction: Prepared
    ) -> LoadedState[S] | None:
        """Put an entry that counts once its transaction is committed.

        Args:
            loaded: the newest state, or that after an entry of the same transaction.

        Returns:
            The state after the entry, if it is committed; None if the version is taken.

        Raises:
            CommitOutcomeUnknown, StorageError: the store did not say whether it was put.
        """
        features = entry.head.features | WITH_TRANSACTIONS
        head = replace(entry.head, features=features, transaction=transaction)
        dated = self._dated(replace(cast(Any, entry), head=head), loaded.state)
        prepared, data = self._encoded(dated, entry)
        after = self._apply(loaded, prepared, len(data) + prepared.attached_bytes)
        version, commit_id = prepared.head.version, prepared.head.commit_id
        if self._put(version, data, commit_id, self._unsure_time(prepared, loaded.state)):
            return after
        # If a reply was lost, the version is taken by this very entry.
        there = self.store.read(self.entry_path(version))
        return after if there == data else None

    def checkpointed(self, loaded: LoadedState[S]) -> LoadedState[S]:
        """Write a checkpoint of a state if one is due; failures are only logged."""
        return self._after_commit(loaded)

    def _report_lost(self, version: int, losses: int) -> None:
        count("versioned.races.lost")
        record(
            INFO,
            "%s: version %d is taken by another commit; trying again",
            self.store.url,
            version,
            location=self.store.url,
            version=version,
            attempts=losses,
        )

    def since(self, base: int, newest: int) -> Iterator[E | Stub]:
        """The entries after a version, up to the newest, to check conflicts against.

        Entries that were read after a lost race are not read again.

        Raises:
            CorruptTableError: one is missing.
        """
        for version in range(base + 1, newest + 1):
            entry = self._seen.get(version)
            if entry is None:
                yield from self.entries(version, newest)
                return
            yield entry

    def _dated(self, entry: E, state: S | None) -> E:
        """Set the time of this attempt: the store's, but after the previous entry."""
        time = next_time(None if state is None else state.time, self.store.time())
        dated: E = replace(cast(Any, entry), head=replace(entry.head, time=time))
        return dated

    def _unsure_time(self, entry: E, state: S | None) -> datetime | None:
        """The time of an entry if it comes from this machine's clock, which may be wrong; else None.

        A time one microsecond after the previous entry's does not depend on the clock.
        """
        time = entry.head.time
        follows = state is not None and time == state.time + MICROSECOND
        return time if self.store.clock.is_own and not follows else None

    def _encoded(self, entry: E, previous: E | None) -> tuple[E, bytes]:
        """Write the attachment of an entry, and encode the entry."""
        try:
            entry = self._codec.write_attachment(entry, previous, self.store)
            return entry, self._codec.encode(entry)
        except InvalidRequestError as error:
            raise InvalidRequestError(f"{self.store.url}: {error}") from None

    def _put(self, version: int, data: bytes, commit_id: str, unsure: datetime | None) -> bool:
        """Put an entry; False if the version is taken, possibly by a put whose reply was lost."""
        path = self.entry_path(version)
        tries = 0

        def put() -> Put:
            nonlocal tries
            tries += 1
            try:
                outcome = (
                    self.store.put_if_absent(path, data)
                    if unsure is None
                    else self.store.put_if_absent(path, data, unsure)
                )
                if tries > 1 and outcome is Put.UNKNOWN and self.store.read(path) is not None:
                    return Put.TAKEN
            except StorageError as error:
                if tries == 1:
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

    def _catch_up(
        self, loaded: LoadedState[S], commit_id: str
    ) -> tuple[LoadedState[S], int | None]:
        """Replay the commits since a loaded state, and find the version of the given commit among them.

        If the reply to a put was lost, the version is taken by the writer's own entry.
        """
        start = loaded.version
        try:
            for entry, size in self._following(start + 1, None, settles=True):
                if isinstance(entry, Stub):
                    newest = self.advance(self._from_floor(entry, None))
                    return newest, self.find_commit(commit_id, loaded.version, newest.version)
                loaded = self._apply(loaded, entry, size)
                self._seen.add(entry, size)
                if entry.head.commit_id == commit_id:
                    return loaded, loaded.version
        except UnsettledError:
            raise
        except StorageError as error:
            raise self._unknown(commit_id) from error
        if loaded.version == start:  # the version is taken, but has no entry
            raise self._unknown(commit_id)
        return loaded, None

    def _after_commit(self, loaded: LoadedState[S]) -> LoadedState[S]:
        if not loaded.wants_checkpoint or loaded.state is None:
            return loaded
        try:
            hint = self._hint()
            recounted = loaded.since(None if hint is None else hint.newest)
            if not recounted.wants_checkpoint:
                return recounted
            with span("versioned.checkpoint", version=loaded.version):
                return self._write_delta(loaded.state, hint) or self.write_checkpoint(loaded.state)
        except Exception as error:
            # The commit is durable whatever failed; the next writer tries again.
            record(
                WARNING,
                "no checkpoint of %s was written: %s",
                self.store.url,
                error,
                location=self.store.url,
                version=loaded.version,
            )
            return loaded

    def _write_delta(self, state: S, hint: Hint | None) -> LoadedState[S] | None:
        """Write what changed since the files that a hint names; None if a whole checkpoint is due."""
        encoded = None if self._codec.deltas is None else self._codec.deltas.encode(state)
        if self._codec.deltas is None or encoded is None:
            return None
        if hint is None or not {hint.version, *hint.deltas} >= set(encoded[1]):
            # Another writer wrote other files, and may delete those that this state was read from.
            reread = self.load(state.version).state
            encoded = None if reread is None else self._codec.deltas.encode(reread)
            if encoded is None:
                return None
        data, (checkpoint, *deltas), stored = encoded
        self.store.overwrite(delta_path(state.version), data)
        newer = Hint(checkpoint, (*deltas, state.version))
        self.store.overwrite(HINT, hint_to_bytes(newer))
        needed = {*newer.deltas, *(hint.deltas if hint is not None else ())}
        for old in sorted(set(self._versions_in(DELTAS)) - needed):
            self.store.delete(delta_path(old))
        return LoadedState(stored, len(data))

    def write_checkpoint(self, state: S) -> LoadedState[S]:
        """Write the checkpoint of a state, and delete the checkpoints that are not retained."""
        data = self._codec.encode_checkpoint(state)
        self.store.overwrite(self.checkpoint_path(state.version), data)
        self.store.overwrite(HINT, hint_to_bytes(Hint(state.version)))
        sizes = self.checkpoint_sizes()
        for old in sorted(sizes.keys() - self._codec.retained_checkpoints(state, sizes)):
            self.store.delete(self.checkpoint_path(old))
        if self._codec.deltas is None or len(data) < LARGE:
            return LoadedState(state, len(data))
        # Deltas refer to the rows of files that were read.
        path = self.url_of(self.checkpoint_path(state.version))
        return self._loaded(self._codec.decode_checkpoint(data, path), data)

    def write_kept(self, state: S) -> None:
        """Write the kept state of a version, which replaces the expired entries before it."""
        self.store.overwrite(self.kept_path(state.version), self._codec.encode_checkpoint(state))


TableLog = CommitLog[Commit, TableState]
"""The log of a table."""


def _write_attachments(entry: Commit, previous: Commit | None, store: Store) -> Commit:
    """Write a manifest if the records do not fit the entry, and a page of imported files."""
    return write_page(write_manifest(entry, previous, store), previous, store)


def _aborted(commit: Commit) -> Commit:
    """What remains of an entry whose transaction was aborted; of a first one, what it began with."""
    begins = commit.head.version == 0
    return Commit(
        commit.head.aborted, commit.next_column_id, schema=commit.schema if begins else None
    )


def _retained(state: TableState, sizes: Mapping[int, int]) -> frozenset[int]:
    return retained_checkpoints(sizes, state.floor)


TABLE_CODEC: Codec[Commit, TableState] = Codec(
    ".parquet",
    commit_from_bytes,
    commit_to_bytes,
    apply,
    state_from_bytes,
    state_to_bytes,
    _retained,
    read_manifest,
    _write_attachments,
    DeltaCodec(delta_to_bytes, precedes_delta, delta_from_bytes),
    _aborted,
)


def table_log(store: Store) -> TableLog:
    """The log of the table in a folder."""
    return CommitLog(store, TABLE_CODEC)
