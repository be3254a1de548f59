"""The entry of an ALTER."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from versioned_catalog.conflicts.attempt import Attempt, once
from versioned_catalog.conflicts.entries.creation import features_of
from versioned_catalog.conflicts.entries.heads import next_head
from versioned_catalog.conflicts.entries.writes import change_details
from versioned_catalog.conflicts.operations import Alter
from versioned_catalog.evolution.bind import apply_all, rebase
from versioned_catalog.evolution.evolution import Evolution
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.features import PINS, Features
from versioned_catalog.log.times import settled_time
from versioned_catalog.schema.pins import Pin
from versioned_catalog.schema.ttl import hides_rows, with_ttl_floor


@once
def altered(attempt: Attempt[Alter]) -> Evolution:
    """The table after the changes of an ALTER, which are bound to column IDs (section 11, note 6).

    Raises:
        CommitConflictError: a change is not legal after what others committed.
    """
    operation, state = attempt.operation, attempt.state
    moved = state.version != operation.base.version
    version = state.schemas.newest.version + 1
    return (rebase if moved else apply_all)(operation.changes, state.evolution, version)


def _features(pins: Mapping[str, Pin]) -> Features:
    return Features(write=frozenset({PINS})) if pins else Features()


def is_altered(attempt: Attempt[Alter]) -> bool:
    """Whether the schema and the properties are already what the ALTER would make them."""
    before, after = attempt.state.evolution, altered(attempt)
    return (
        after.schema == before.schema
        and after.properties == before.properties
        and after.pins == before.pins
    )


def alter_entry(attempt: Attempt[Alter]) -> Commit:
    """The entry of an ALTER."""
    after, state = altered(attempt), attempt.state
    properties = dict(after.properties)
    if hides_rows(state.properties):
        time = settled_time(attempt.log.store, state.version, state.time)
        properties = with_ttl_floor(state.properties, time, properties)
    head = next_head(attempt, "alter")
    pins = {label: one.pin for label, one in after.pins.items()}
    return Commit(
        replace(head, features=head.features | features_of(after.schema, ()) | _features(pins)),
        after.next_column_id,
        schema=None if after.schema == state.schema else after.schema,
        properties=properties if properties != dict(state.properties) else None,
        pins=pins if pins != dict(state.pins) else None,
        details=change_details(attempt.operation.changes),
    )
