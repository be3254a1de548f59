"""The rule that identity columns can number rows: note 28 of FORMAT.md, section 11."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from versioned_catalog.commit.attempt import Attempt
from versioned_catalog.commit.operations import Append, Import, Overwrite, Rewrite
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState, properties_after
from versioned_catalog.model.identity import (
    Taken,
    check_identities,
    identities_of,
    with_identities,
)
from versioned_catalog.storage.store import PREFIX


def check_identity_columns(entry: Commit, attempt: Attempt[Any]) -> None:
    """Refuse an entry after which a column can't number rows, or that adopts rows with other numbers.

    Raises:
        InvalidRequestError: naming the column.
    """
    state, properties = attempt.newest, properties_after(attempt.newest, entry)
    columns = identities_of(properties)
    if not columns:
        return
    schema = entry.schema or (None if state is None else state.schema)
    assert schema is not None, "the first entry of a table has a schema"
    check_identities(properties, schema)
    adopts = any(record.path.startswith(PREFIX) for record in entry.added)
    if adopts and isinstance(attempt.operation, Append | Import | Overwrite | Rewrite):
        for column in columns:
            if column.identity.always:
                raise InvalidRequestError(
                    f"{attempt.table}: {schema.path_text(column.column_id)} is GENERATED ALWAYS AS "
                    "IDENTITY, so files with numbers of their own can't be adopted; read them, and "
                    "append their rows without the column",
                    condition="NOT_SUPPORTED",
                )


def given_back(
    properties: dict[str, str], taken: Iterable[Taken], records: Sequence[SegmentRecord]
) -> dict[str, str]:
    """The properties without the numbers that were taken last and that no row holds.

    Args:
        properties: those of the newest state.
        taken: what was taken for the rows.
        records: their segments. A number that a row brought itself, after those, keeps them all.
    """
    columns = {column.column_id: column for column in identities_of(properties)}
    for numbers in taken:
        column = columns.get(numbers.column_id)
        if column is None or column.next != numbers.end:
            continue
        following = _after_last(numbers, records)
        if following is not None:
            properties = with_identities(properties, [replace(column, next=following)])
    return properties


def _after_last(numbers: Taken, records: Sequence[SegmentRecord]) -> int | None:
    """The first number that no row holds, and none after it; None if that is not known."""
    following, step = numbers.first, numbers.step
    for record in records:
        stats = record.columns.get(numbers.column_id)
        end = None if stats is None else stats.max if step > 0 else stats.min
        if end is None:
            return None
        last = (int(end) - numbers.first) // step
        if last >= numbers.count:
            return None
        if last >= 0:
            beyond = numbers.first + step * (last + 1)
            following = max(following, beyond) if step > 0 else min(following, beyond)
    return following


def past_rows(properties: Mapping[str, str], records: Sequence[SegmentRecord]) -> dict[str, str]:
    """The properties of a table whose log was lost, without the numbers that rows hold."""
    moved = []
    for column in identities_of(properties):
        for record in records:
            stats = record.columns.get(column.column_id)
            end = None if stats is None else stats.max if column.identity.step > 0 else stats.min
            column = column if end is None else column.after(int(end))
        moved.append(column)
    return with_identities(properties, moved)


def numbered_after_checks(state: TableState) -> frozenset[int]:
    """The IDs of the columns that get their numbers after Spark has checked constraints."""
    return frozenset(column.column_id for column in identities_of(state.properties))
