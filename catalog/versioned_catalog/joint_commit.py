"""The end of a transaction over several tables: its entries are prepared, decided once, and settled.

FORMAT.md, section 19, has the protocol.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from versioned_catalog.commit import matrix, operations
from versioned_catalog.commit.attempt import Attempt
from versioned_catalog.commit.observed import report_transaction
from versioned_catalog.commit.row_rules import Isolation, row_keys_unchanged
from versioned_catalog.commit.segment_rules import read_above_fence
from versioned_catalog.errors import (
    CommitConflictError,
    CommitOutcomeUnknown,
    StorageError,
    VersionedError,
)
from versioned_catalog.log.commit_log import TABLE_CODEC, CommitLog, table_log
from versioned_catalog.log.decisions import Decision, Prepared, copy_decision, decide
from versioned_catalog.log.entry import ABORT, GUARD, WRITER, Commit, Head, Stub
from versioned_catalog.log.reader import LoadedState
from versioned_catalog.log.staging import LogStage, Stage, Staged
from versioned_catalog.log.state import TableState
from versioned_catalog.log.times import UNIX_EPOCH
from versioned_catalog.names.names_log import WAREHOUSE_CODEC, WarehouseEntry
from versioned_catalog.observe.records import WARNING, record
from versioned_catalog.storage.failures import back_off
from versioned_catalog.storage.store import Store
from versioned_catalog.table import Table
from versioned_catalog.write.auto_maintain import maintain_if_due
from versioned_catalog.write.row_level import key_check

HARMLESS = frozenset(
    {*("compact", "fence", "expire", "tag", "branch", "guard_names"), ABORT, GUARD}
)
"""Operations after which a table has the same rows and columns."""


def log_in(folder: str, store: Store) -> CommitLog[Any, Any]:
    """The log in a folder below a warehouse, or that of the warehouse itself."""
    return table_log(store) if folder else CommitLog(store, WAREHOUSE_CODEC)


def _uuid_of(stage: LogStage) -> str:
    """The UUID by which the logs of a transaction are ordered."""
    if stage.staged:
        return str(stage.staged[0].entry.head.table_uuid)
    state: Any = stage.pinned.state
    return str(state.table_uuid if isinstance(state, TableState) else state.warehouse_uuid)


@dataclass(eq=False)
class _Participant:
    """A log that a transaction changes, or whose reads it guards.

    Args:
        log: the log, without the transaction.
        after: the state after each entry that was prepared, if the transaction is committed.
    """

    stage: LogStage
    log: CommitLog[Any, Any]
    prepared: list[tuple[Any, LoadedState[Any]]]


@dataclass(frozen=True, eq=False)
class JointCommit:
    """The commit of what a transaction has staged.

    Args:
        id: UUID of the transaction.
        store: the folder of the warehouse, without the transaction.
        stage: the logs that it has looked at, with its own entries.
        reads_names: whether what it did depends on which tables there are.
        names: the names of tables by their locations, for errors.
    """

    id: str
    store: Store
    stage: Stage
    isolation: Isolation
    reads_names: bool
    names: Mapping[str, str]

    def run(self) -> dict[str, int]:
        """Commit everything or nothing; return the new versions of the logs changed, by their locations.

        Raises:
            CommitConflictError: another commit conflicts with the transaction, or has aborted it.
            CommitOutcomeUnknown: the store did not say whether it was committed.
            StorageError: the store failed; nothing is changed.
        """
        participants = self._participants()
        if not participants:
            return {}
        only = participants[0]
        if len(participants) == 1 and len(only.stage.staged) == 1:
            self._commit_alone(only)
        else:
            self._commit_together(participants)
        for participant in participants:
            self._finish(participant)
        return {
            each.stage.store.url: each.prepared[-1][1].version
            for each in participants
            if each.prepared and each.stage.staged
        }

    def _participants(self) -> list[_Participant]:
        """The logs to change, and those whose reads must still be current, in the order of UUIDs."""
        logs = list(self.stage.logs.values())
        if not any(stage.staged for stage in logs):
            return []
        taking_part = [stage for stage in logs if stage.staged or self._is_guarded(stage)]
        taking_part.sort(key=_uuid_of)
        return [_Participant(stage, log_in(stage.folder, stage.store), []) for stage in taking_part]

    def _is_guarded(self, stage: LogStage) -> bool:
        """Whether a log must not have changed, though the transaction does not change it."""
        if self.isolation is Isolation.SNAPSHOT or stage.pinned.state is None:
            return False
        return self.reads_names if not stage.folder else not stage.pinned.state.dropped

    def _commit_alone(self, only: _Participant) -> None:
        """Commit a transaction that is one commit of one log as such."""
        stage, (staged,) = only.stage, only.stage.staged
        entries = []

        def propose(state: Any) -> Any:
            version = -1 if state is None else state.version
            is_behind = version != stage.pinned.version
            entries.append(
                self._rebased(only, LoadedState(state), 0) if is_behind else staged.entry
            )
            return entries[-1]

        after = only.log.commit(stage.pinned, staged.commit_id, propose)
        only.prepared.append((entries[-1], after.loaded))

    def _commit_together(self, participants: Sequence[_Participant]) -> None:
        try:
            warehouse = self._warehouse_uuid(participants)
            for participant in participants:
                self._prepare(participant, warehouse)
        except BaseException as error:
            self._give_up(participants, error)
            raise
        try:
            decision = decide(self.store, self.id, Decision.COMMIT)
        except CommitOutcomeUnknown:
            raise
        except VersionedError as error:
            # The store says that nothing was put; what is there counts.
            if self._give_up(participants, error) is not Decision.COMMIT:
                raise
            return
        self._copy(participants, decision)
        if decision is Decision.ABORT:
            raise CommitConflictError(
                f"{self.store.url}: another writer aborted the transaction {self.id}, which took too "
                "long between its first entry and its decision. Nothing was changed: run it again"
            )

    def _warehouse_uuid(self, participants: Sequence[_Participant]) -> str:
        names = self.stage.log("", self.store)
        return _uuid_of(names)

    def _prepare(self, participant: _Participant, warehouse: str) -> None:
        """Put the entries of one log, behind what others have committed."""
        stage, log = participant.stage, participant.log
        levels = len(stage.folder.split("/")) if stage.folder else 0
        transaction = Prepared(self.id, warehouse, levels)
        loaded, losses = stage.pinned, 0
        at = 0
        while at < max(len(stage.staged), 1):
            entry = self._entry(participant, loaded, at)
            if entry is None:
                at += 1
                continue
            after = log.prepare(loaded, entry, transaction)
            if after is not None:
                participant.prepared.append((entry, after))
                loaded, at = after, at + 1
                continue
            if participant.prepared:
                raise self._conflict(participant, "another writer aborted this transaction")
            losses += 1
            if stage.store.is_remote:
                back_off(losses)
            loaded = log.advance(loaded, settles=True)

    def _entry(self, participant: _Participant, loaded: LoadedState[Any], at: int) -> Any:
        """The next entry of a log; None if the commit changes nothing any more."""
        stage = participant.stage
        begins_at = loaded.version - len(participant.prepared)
        if not stage.staged:
            if begins_at != stage.pinned.version:
                self._check_unchanged(participant, loaded)
            return _guard(loaded.state, self.id)
        if begins_at == stage.pinned.version:
            return stage.staged[at].entry
        return self._rebased(participant, loaded, at)

    def _rebased(self, participant: _Participant, loaded: LoadedState[Any], at: int) -> Any:
        """The entry of a staged commit behind commits of others.

        Raises:
            CommitConflictError: it conflicts with one of them.
        """
        stage = participant.stage
        stage.show(loaded.version - len(participant.prepared))
        for own, after in participant.prepared:
            head = replace(own.head, version=after.version)
            stage.contents[after.version] = _encoded(stage.folder, replace(own, head=head))
        if len(stage.staged) > 1 and not _are_appends(stage.staged):
            raise self._conflict(
                participant,
                "another commit came first, and the transaction has several for this table",
            )
        if at == 0:
            if self.isolation is Isolation.SERIALIZABLE:
                self._check_unchanged(participant, loaded)
            self._check_keys(participant, loaded)
        staged = stage.staged[at]
        if len(stage.staged) == 1:
            return staged.propose(loaded.state)
        operation: Any = staged.operation
        pinned: Any = stage.pinned.state
        base = replace(
            operation.base,
            version=stage.pinned.version,
            segments=pinned.segments.count,
        )
        name = self._name(stage)
        return matrix.propose(
            replace(operation, base=base), loaded.state, staged.commit_id, name, staged.log
        )

    def _check_unchanged(self, participant: _Participant, loaded: LoadedState[Any]) -> None:
        """Refuse to go on if others have changed rows or columns of a table that was read.

        Raises:
            CommitConflictError: naming the first such commit.
        """
        stage = participant.stage
        for head in participant.log.heads(stage.pinned.version + 1, loaded.version):
            if isinstance(head, Stub) or head.operation not in HARMLESS:
                what = "an expired commit" if isinstance(head, Stub) else head.operation
                raise self._conflict(
                    participant,
                    f"version {head.version} ({what}) came since the transaction read it",
                )

    def _check_keys(self, participant: _Participant, loaded: LoadedState[Any]) -> None:
        """Refuse upserts of row keys that others have written since the transaction began.

        Raises:
            CommitConflictError: naming the first such commit, or it may be vacuumed already.
        """
        stage, pinned = participant.stage, participant.stage.pinned.state
        if not isinstance(pinned, TableState) or pinned.dropped or not pinned.schema.is_keyed:
            return
        appends = [each.operation for each in stage.staged]
        records = tuple(
            added
            for operation in appends
            if isinstance(operation, operations.Append)
            for added in operation.records
        )
        if not records:
            return
        check = operations.Rewrite(
            operations.Base.of(pinned),
            records,
            kind="upsert",
            reads=None,
            keys=key_check(stage.store, pinned, pinned.schema, records),
        )
        attempt = Attempt(check, loaded.state, self.id, self._name(stage), participant.log)
        read_above_fence(attempt)
        row_keys_unchanged(attempt)

    def _name(self, stage: LogStage) -> str:
        return self.names.get(stage.store.url, stage.store.url)

    def _conflict(self, participant: _Participant, problem: str) -> CommitConflictError:
        return CommitConflictError(
            f"{self._name(participant.stage)}: {problem}. Nothing was changed: run the transaction again"
        )

    def _give_up(
        self, participants: Sequence[_Participant], error: BaseException
    ) -> Decision | None:
        """Abort a transaction that could not be prepared or decided; return what counts, if known."""
        if not any(participant.prepared for participant in participants) and not isinstance(
            error, CommitOutcomeUnknown
        ):
            return None
        decision = None
        with suppress(VersionedError):  # whoever meets its entries aborts it otherwise
            decision = decide(self.store, self.id, Decision.ABORT)
            self._copy(participants, decision)
        if isinstance(error, CommitOutcomeUnknown):
            raise StorageError(
                f"{self.store.url}: the transaction {self.id} could not be prepared, and nothing was "
                f"changed: {error}"
            ) from error
        return decision

    def _copy(self, participants: Sequence[_Participant], decision: Decision) -> None:
        """Copy the decision to the folders of the tables; readers find the original otherwise."""
        for participant in participants:
            for _, after in participant.prepared:
                levels = len(participant.stage.folder.split("/")) if participant.stage.folder else 0
                try:
                    transaction = Prepared(self.id, "", levels)
                    copy_decision(participant.stage.store, after.version, transaction, decision)
                except VersionedError as error:
                    record(WARNING, "the decision was not copied: %s", error)

    def _finish(self, participant: _Participant) -> None:
        """Do after a commit what writers do: a checkpoint, publications, maintenance; never fail."""
        if not participant.prepared:
            return
        stage, (_, last) = participant.stage, participant.prepared[-1]
        loaded = participant.log.checkpointed(last)
        state = loaded.state
        if not isinstance(state, TableState):
            return
        table = Table(participant.log, loaded, self._name(stage))
        for entry, _ in participant.prepared:
            if entry.head.operation != GUARD:
                report_transaction(table.name, stage.store.url, entry, state)
        with suppress(VersionedError):
            table.handle.after_commit(table.handle)
            if not state.dropped and stage.staged:
                maintain_if_due(table.handle, stage.pinned.version)


def _encoded(folder: str, entry: Any) -> bytes:
    return TABLE_CODEC.encode(entry) if folder else WAREHOUSE_CODEC.encode(entry)


def _are_appends(staged: Sequence[Staged[Any, Any]]) -> bool:
    """Whether commits only add segments to a table."""
    return all(
        type(each.operation) is operations.Append and each.entry.schema is None for each in staged
    )


def _guard(state: Any, transaction_id: str) -> Any:
    """An entry that changes nothing, and holds a log until the transaction is decided."""
    is_table = isinstance(state, TableState)
    head = Head(
        table_uuid=state.table_uuid if is_table else state.warehouse_uuid,
        version=state.version + 1,
        commit_id=str(uuid.uuid4()),
        base_version=state.version,
        time=UNIX_EPOCH,
        operation=GUARD if is_table else "guard_names",
        writer=WRITER,
        features=state.features,
    )
    return Commit(head, state.next_column_id) if is_table else WarehouseEntry(head)
