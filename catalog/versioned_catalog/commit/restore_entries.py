"""Entries that restore a version of an earlier incarnation (FORMAT.md, section 5, *Restore*)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from versioned_catalog.commit.attempt import Attempt
from versioned_catalog.commit.branch_rules import no_branches_lost
from versioned_catalog.commit.incarnation_rules import no_pins_lost
from versioned_catalog.commit.operations import Rollback
from versioned_catalog.commit.table_entries import features_of, features_of_tags, next_head
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.features import RESTORE, WITH_CHECKSUMS, Features
from versioned_catalog.log.ledger import LedgerChange
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.model.iceberg import PUBLISH, REGISTRATION
from versioned_catalog.model.identity import identities_of, latest

_FEATURES = Features(frozenset({RESTORE}), frozenset({RESTORE})) | WITH_CHECKSUMS


def restores_incarnation(attempt: Attempt[Rollback]) -> bool:
    """Whether the version to roll back to is of another incarnation than the newest."""
    then = attempt.at(attempt.operation.version)
    return then is not None and then.table_uuid != attempt.state.table_uuid


def incarnation_can_end(attempt: Attempt[Rollback]) -> None:
    """Refuse a restore where a replacement would be refused, since both end an incarnation.

    Raises:
        InvalidRequestError: naming the pin or the branch that would be lost.
    """
    if restores_incarnation(attempt):
        no_pins_lost(attempt)
        no_branches_lost(attempt)


def restore_entry(
    attempt: Attempt[Rollback], then: TableState, records: tuple[SegmentRecord, ...]
) -> Commit:
    """The entry after which the table is the incarnation of a version again.

    Args:
        then: the state at the version.
        records: the records of all its segments, as a rollback adds them.
    """
    state, marked = attempt.state, then.segments.marks
    schema = then.schema.numbered(state.schemas.newest.version + 1)
    features = then.features | features_of(schema, (), marked) | _FEATURES
    features |= features_of_tags(state.tags_kept)  # tags survive
    head = replace(next_head(attempt, "restore"), table_uuid=then.table_uuid, features=features)
    return Commit(
        head,
        state.next_column_id,
        schema=schema,
        first_schema_version=then.first_schema_version,
        properties=_properties(attempt, then) or None,
        comment=then.comment,
        sets_comment=then.comment is not None,
        added=records,
        marked=dict(marked),
        pins=dict(then.pins) or None,
        roots=dict(then.roots) or None,
        imported=LedgerChange(then.ledger, complete=True) if then.ledger else None,
        batches=_last_batches(then, state),
        row_ids=_row_ids(attempt, then),
        details={"to": then.version},
    )


def _row_ids(attempt: Attempt[Rollback], then: TableState) -> tuple[int, int] | None:
    """The row ID that the incarnation goes on from, which none of its rows had; None for none."""
    if not then.has_row_ids:
        return None
    ends = (attempt.at(version) for version in _ends(attempt, then))
    after = max(then.next_row_id, *(end.next_row_id for end in ends if end is not None), 0)
    return after, after


def _properties(attempt: Attempt[Rollback], then: TableState) -> dict[str, str]:
    """The properties of the version; engines that follow what is published go on to do so."""
    groups = ((PUBLISH,), REGISTRATION)
    publish = {
        key: attempt.state.properties[key]
        for group in groups
        for key in group
        if key in attempt.state.properties and group[0] not in then.properties
    }
    properties = dict(then.properties)
    for version in _ends(attempt, then) if identities_of(properties) else ():
        end = attempt.at(version)
        if end is not None:
            properties = latest(end.properties, properties)
    return publish | properties


def _ends(attempt: Attempt[Rollback], then: TableState) -> Iterator[int]:
    """The last version of each stretch of the incarnation since a version of it."""
    last: int | None = None
    for entry in attempt.since(then.version):
        if isinstance(entry, Commit) and entry.head.table_uuid == then.table_uuid:
            last = entry.head.version
        elif last is not None:
            yield last
            last = None


def _last_batches(then: TableState, state: TableState) -> dict[str, int]:
    """The last batch of each application, so that none is committed twice."""
    batches = {name: last.id for name, last in then.applications.items()}
    for name, last in state.applications.items():
        batches[name] = max(last.id, batches.get(name, last.id))
    return batches
