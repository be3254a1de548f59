"""Declaring and retiring schema pins (FORMAT.md, section 4.6)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.conflicts.operations import Alter, Base
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.evolution.bind import plan_changes
from versioned_catalog.evolution.changes import Change, PinSchema, RetirePin
from versioned_catalog.evolution.evolution import BoundChange, Evolution
from versioned_catalog.handle import TableHandle
from versioned_catalog.inspection.schema_pins import pinned_path
from versioned_catalog.log.state import TableState
from versioned_catalog.log.through import check_schema_version
from versioned_catalog.log.times import moment
from versioned_catalog.schema.pins import Pin, PinnedSchema, check_label
from versioned_catalog.types.types import Column
from versioned_catalog.write.plan import check_newest


@dataclass(frozen=True)
class Retired:
    """What retiring a pin does, or did.

    Args:
        label: the label of the pin.
        version: the version of the commit; with ``dry_run``, the version that was looked at.
        dropped: the hidden columns that are dropped for good, by their paths in the pinned schema.
        segments, rows: the number of live segments that hold one of these columns, and of their rows.
            Compaction frees the space.
    """

    label: str
    version: int
    dropped: tuple[str, ...]
    segments: int
    rows: int


def pin_schema(
    handle: TableHandle,
    label: str,
    schema_version: int | None,
    owner: str | None,
    until: datetime | date | str | None,
    commit_id: str | None,
) -> int:
    """Declare a pin, or change one. See ``Table.pin_schema``."""
    state = handle.state
    known = state.pins.get(check_label(label))
    kept = state.schema_version if known is None else known.schema_version
    number = kept if schema_version is None else schema_version
    if isinstance(number, bool) or not isinstance(number, int):
        raise InvalidRequestError(f"schema_version must be an integer, got {schema_version!r}")
    if owner is not None and not isinstance(owner, str):
        raise InvalidRequestError(f"owner must be text, got {owner!r}")
    check_schema_version(state, number, handle.name)
    changes_nothing = schema_version is None and owner is None and until is None
    if known is not None and changes_nothing and number != state.schema_version:
        raise InvalidRequestError(
            f"{handle.name}: the pin {label} is there already, of schema {number}, and the current one "
            f"is {state.schema_version}; give schema_version={state.schema_version} to move it, or "
            f"schema_version={number} to leave it"
        )
    when = None if until is None else moment(until, f"{handle.name}: until")
    pin = Pin(number, owner, when)
    if known is not None:
        pin = Pin(number, pin.owner or known.owner, pin.until or known.until)
    return _commit(
        handle, PinSchema(label, PinnedSchema(pin, state.schemas[number].visible)), commit_id
    )


def retire_schema(handle: TableHandle, label: str, dry_run: bool, commit_id: str | None) -> Retired:
    """Remove a pin. See ``Table.retire_schema``."""
    state = handle.state
    check_newest(state, handle.name)  # a dry run commits nothing, so no rule would refuse it
    _, after = _plan(state, RetirePin(label))
    gone = state.schema.ids - after.schema.ids
    found = _retired(state, label, gone)
    if dry_run:
        return found
    version = _commit(handle, RetirePin(label), commit_id)
    return Retired(label, version, found.dropped, found.segments, found.rows)


def _retired(state: TableState, label: str, gone: frozenset[int] | set[int]) -> Retired:
    core = state.segments.core
    holding = [
        version
        for version in pc.unique(core["schema_version"]).to_pylist()
        if gone & state.schemas[version].ids
    ]
    held = core["rows"].filter(pc.is_in(core["schema_version"], pa.array(holding, pa.int32())))
    top = (i for i in sorted(gone) if not gone & {c.id for c in state.schema.ancestors(i)})
    names = tuple(pinned_path(state, column_id) for column_id in top)
    return Retired(label, state.version, names, len(held), pc.sum(held).as_py() or 0)


def _plan(state: TableState, change: Change) -> tuple[tuple[BoundChange, ...], Evolution]:
    return plan_changes((change,), state.evolution, state.schemas.newest.version + 1)


def _commit(handle: TableHandle, change: Change, commit_id: str | None) -> int:
    state = handle.state
    bound, _ = _plan(state, change)
    return handle.commit(Alter(Base.of(state), bound, _no_nulls), commit_id)


def _no_nulls(state: TableState, column: Column) -> int:
    raise AssertionError("pins make no column NOT NULL")
