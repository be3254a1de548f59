"""What a statement did to rows, as the history shows it: its condition, row counts and duration."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from time import monotonic
from typing import Any

from versioned_catalog.commit.attempt import Attempt
from versioned_catalog.commit.mark_rules import Marking
from versioned_catalog.commit.operations import Compact, Effect, Import, Overwrite, Rewrite, Write
from versioned_catalog.log.marks import Mark
from versioned_catalog.log.state import TableState
from versioned_catalog.read.filters import render_filter

EFFECT = "effect"
"""The member of an entry's ``details`` (FORMAT.md, section 5)."""

LONGEST = 1_000
"""The most characters of a condition that an entry keeps."""


@dataclass(frozen=True)
class Removed:
    """The rows and the bytes of the segments that an entry removes, and the rows that it marks."""

    rows: int
    bytes: int
    marked: int


def effect_details(
    attempt: Attempt[Write], removed: Collection[str], marking: Marking
) -> dict[str, Any]:
    """The member ``details`` of an entry that changes rows: what its statement did.

    The writer says what it knows. Rows of a table without a primary key are counted here, at the commit,
    where they follow from the segments.
    """
    operation, state = attempt.operation, attempt.state
    gone = _removed(state, removed, marking.marks)
    effect = _counted(operation, gone, keyed=state.schema.is_keyed)
    members = {name: value for name, value in asdict(effect).items() if value is not None}
    members |= {"bytes_removed": gone.bytes} if removed else {}
    return {EFFECT: members} if members else {}


def _removed(
    state: TableState, removed: Collection[str], marks: Mapping[str, Mark | None]
) -> Removed:
    if not removed and not marks:
        return Removed(0, 0, 0)
    leaving = state.segments.only(removed)
    before = [state.segments.mark_of(path) for path in marks]
    marked = _cardinality([*marks.values()]) - _cardinality(before)
    return Removed(leaving.shown_rows, leaving.bytes, marked)


def _cardinality(marks: Collection[Mark | None]) -> int:
    return sum(mark.rows for mark in marks if mark is not None)


def _counted(operation: Write, gone: Removed, *, keyed: bool) -> Effect:
    """The effect of an operation, with the counts that follow from its segments."""
    added = sum(record.rows for record in operation.records)
    effect = operation.effect or Effect()
    match operation:
        case Compact():
            return effect
        case Overwrite() | Import() if not keyed:
            return replace(effect, inserted=added, deleted=gone.rows)
        case Rewrite(kind=kind, reads=reads):
            if effect.condition is None and reads is not None:
                effect = replace(effect, condition=render_filter(reads, operation.base.schema))
            effect = _of_rewrite(kind, effect, gone, added, keyed=keyed, whole=reads is None)
        case _:
            pass
    return replace(effect, condition=_shortened(effect.condition))


def _of_rewrite(
    kind: str, effect: Effect, gone: Removed, added: int, *, keyed: bool, whole: bool
) -> Effect:
    """The effect of a DELETE, UPDATE, MERGE or REPLACE WHERE: rows that are copied are in no count."""
    left = gone.rows + gone.marked
    match kind:
        case "delete" if effect.deleted is None and not keyed:
            return replace(effect, deleted=left - added)
        case "delete" if effect.deleted is None and not whole:  # a tombstone for each row
            return replace(effect, deleted=added)
        case "update" if effect.updated is None and keyed:
            return replace(effect, updated=added)
        case "overwrite" if effect.inserted is not None and not keyed:
            return replace(effect, deleted=left - (added - effect.inserted))
        case _:
            return effect


def since(began: float) -> int:
    """Milliseconds since a time of ``time.monotonic``."""
    return round((monotonic() - began) * 1_000)


def _shortened(text: str | None) -> str | None:
    return text if text is None or len(text) <= LONGEST else text[: LONGEST - 3] + "..."


_COLUMNS = {
    "rows_inserted": "inserted",
    "rows_updated": "updated",
    "rows_deleted": "deleted",
    "bytes_removed": "bytes_removed",
    "duration_ms": "milliseconds",
}
"""The members that hold numbers, by column of the history."""


def effect_of(details: Mapping[str, Any]) -> dict[str, Any]:
    """What an entry says of its effect, by column of the history. Entries may hold anything there."""
    said = details.get(EFFECT)
    members = said if isinstance(said, dict) else {}
    condition = members.get("condition")
    numbers = {column: members.get(name) for column, name in _COLUMNS.items()}
    return {
        "condition": condition if isinstance(condition, str) else None,
        **{
            column: number if type(number) is int and 0 <= number < 2**63 else None
            for column, number in numbers.items()
        },
    }
