"""A commit of an operation, with the log records, spans and calls of observers that report it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import Any

from versioned_catalog.commit.authorship import current_facts, facts_of
from versioned_catalog.commit.matrix import propose
from versioned_catalog.commit.operations import Operation, Rewrite
from versioned_catalog.errors import CommitConflictError, CommitOutcomeUnknown
from versioned_catalog.log.commit_log import TableLog
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.reader import Committed, LoadedState
from versioned_catalog.log.state import TableState
from versioned_catalog.observe.events import CommitEvent, CommitFailed, CommitStarted
from versioned_catalog.observe.hooks import listened, notify
from versioned_catalog.observe.records import DEBUG, INFO, WARNING, is_logged, record
from versioned_catalog.observe.tracing import Span, count, is_used, span


def commit_operation(
    log: TableLog,
    loaded: LoadedState[TableState],
    operation: Operation,
    commit_id: str,
    table: str,
    before_attempt: Callable[[], None] | None = None,
    verify: Callable[[LoadedState[TableState]], None] | None = None,
) -> Committed[TableState]:
    """Commit an operation to the log of a table, retrying while others commit first.

    Args:
        loaded: the newest known state.
        table: name of the table.
        before_attempt: called before every attempt; its exceptions end the attempts.
        verify: called with the state after the commit, before it counts as acknowledged.

    Raises:
        CommitConflictError: a commit since the operation's base conflicts with it.
        CommitOutcomeUnknown: the store did not say whether the commit landed.
    """
    begun, entries = time.perf_counter(), list[Commit | None]()
    kind = _kind_of(operation)
    started = CommitStarted(
        table, log.store.url, kind, commit_id, datetime.now(UTC), current_facts()
    )

    def proposal(state: TableState | None) -> Commit | None:
        if before_attempt is not None:
            before_attempt()
        entries.append(None)
        entries[-1] = propose(operation, state, commit_id, table, log)
        return entries[-1]

    if log.store.is_staging:
        after = log.commit(loaded, commit_id, proposal, operation)
        if verify is not None:
            verify(after.loaded)
        return after  # ``report_transaction`` reports it, once it is committed
    with span("versioned.commit", table=table, operation=kind, commit_id=commit_id) as opened:
        if listened():
            notify(lambda observer: observer.started(started), table)
        try:
            after = log.commit(loaded, commit_id, proposal)
            if verify is not None:
                verify(after.loaded)
        except BaseException as error:
            opened.set(attempts=len(entries))
            _report_failure(CommitFailed(started, error, len(entries), datetime.now(UTC)))
            raise
        entry, state = (entries[-1] if entries else None), after.loaded.state
        if entry is None or state is None:
            count("versioned.commits", operation=kind, outcome="unchanged")
            record(DEBUG, "%s: nothing to commit for %s", table, kind, table=table, operation=kind)
            if listened():
                notify(lambda observer: observer.unchanged(started, datetime.now(UTC)), table)
            return after
        seconds = time.perf_counter() - begun
        _report(started, entry, state, len(entries), seconds, opened)
    return after


def report_transaction(table: str, location: str, entry: Commit, state: TableState) -> None:
    """Report a commit to a table that a transaction over several tables has made.

    Args:
        state: the state after the entry, or after a later one of the transaction.
    """
    started = CommitStarted(
        table,
        location,
        entry.head.operation,
        entry.head.commit_id,
        datetime.now(UTC),
        current_facts(),
    )
    with span("versioned.commit", table=table, commit_id=entry.head.commit_id) as opened:
        if listened():
            notify(lambda observer: observer.started(started), table)
        _report(started, entry, state, 1, 0.0, opened)


def _kind_of(operation: Operation) -> str:
    """The name of an operation before its entry, which may name it more exactly, is built."""
    match operation:
        case Rewrite(kind=kind):
            return kind
        case _:
            return _spelled(type(operation).__name__)


@cache
def _spelled(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _report(
    started: CommitStarted,
    entry: Commit,
    state: TableState,
    attempts: int,
    seconds: float,
    opened: Span,
) -> None:
    """Report an acknowledged commit, if anybody sees reports: counting its segments is not free."""
    if not (listened() or is_used() or is_logged(INFO)):
        return
    operation, version = entry.head.operation, entry.head.version
    event = CommitEvent(
        started.table,
        started.location,
        state.table_uuid,
        version,
        state.schema_version,
        operation,
        started.commit_id,
        None if state.branch is None else state.branch.name,
        state.time,
        datetime.now(UTC),
        seconds,
        attempts,
        len(entry.added),
        len(entry.removed),
        sum(added.rows for added in entry.added),
        sum(added.bytes for added in entry.added),
        _facts(entry.details),
    )
    opened.set(operation=operation, version=version, attempts=attempts, **event.summary)
    count("versioned.commits", operation=operation, outcome="committed")
    record(
        INFO,
        "%s: committed %s as version %d",
        started.table,
        operation,
        version,
        table=started.table,
        version=version,
        operation=operation,
        commit_id=started.commit_id,
        attempts=attempts,
        segments=event.added_segments,
        removed_segments=event.removed_segments,
        rows=event.rows,
        bytes=event.bytes,
        seconds=seconds,
    )
    if listened():
        notify(lambda observer: observer.committed(started, event, state), started.table)


def _facts(details: Any) -> dict[str, str]:
    return {name: text for name, text in facts_of(details).items() if text is not None}


def _report_failure(failure: CommitFailed) -> None:
    """Report a commit that failed."""
    started, error = failure.started, failure.error
    match error:
        case CommitConflictError():
            outcome, level = "conflict", INFO
        case CommitOutcomeUnknown():
            outcome, level = "unknown", WARNING
        case _:
            outcome, level = "failed", INFO
    count("versioned.commits", operation=started.operation, outcome=outcome)
    if isinstance(error, CommitConflictError):
        count("versioned.conflicts", operation=started.operation)
    record(
        level,
        "%s: %s ended without a commit at attempt %d (%s): %s",
        started.table,
        started.operation,
        failure.attempts,
        outcome,
        error,
        table=started.table,
        operation=started.operation,
        commit_id=started.commit_id,
        attempts=failure.attempts,
        outcome=outcome,
    )
    if listened():
        notify(lambda observer: observer.failed(failure), started.table)
