"""The rule that no row violates a CHECK constraint: note 24 of FORMAT.md, section 11."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from versioned_catalog.commit.attempt import Attempt
from versioned_catalog.commit.identity_rules import numbered_after_checks
from versioned_catalog.commit.operations import Compact, Resolve, Rollback, Write
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.entry import NEW_INCARNATION, Commit
from versioned_catalog.log.state import TableState, apply, properties_after
from versioned_catalog.model.checks import check_columns_stay, checks_of, column_ids, with_names
from versioned_catalog.read.checks import bound_check, violating_row


def check_constraints(entry: Commit, attempt: Attempt[Any]) -> None:
    """Refuse an entry that adds a row which violates a constraint, or a constraint that a row violates.

    Rows that are moved are not looked at again, nor rows that were there before, unless a column of a
    constraint has another type now. A schema is refused in which a constraint compares a column with a
    value of another type.

    Raises:
        InvalidRequestError: naming the constraint and the row.
    """
    state = attempt.newest
    begins = state is None or entry.head.operation in NEW_INCARNATION
    checks = checks_of(properties_after(state, entry))
    if not checks or isinstance(attempt.operation, Compact | Resolve | Rollback):
        return
    before = {} if state is None or begins else checks_of(state.properties)
    new = {name for name, text in checks.items() if before.get(name) != text}
    if entry.added or new or entry.schema is not None:
        after = apply(state, entry)
        if entry.schema is not None and state is not None and not begins:
            check_columns_stay(after.properties, state.schema, after.schema.visible)
            new |= _retyped(checks, state, after)
        _check_names(checks, attempt.table)
        _look_for_violations(attempt, entry, after, new)


def _retyped(checks: Mapping[str, str], before: TableState, after: TableState) -> set[str]:
    """Constraints with a column whose type has changed, and with it what a comparison means."""
    return {
        name
        for name, text in checks.items()
        if any(
            column_id in before.schema.ids
            and before.schema.column(column_id).type != after.schema.column(column_id).type
            for column_id in column_ids(text)
        )
    }


def _check_names(checks: Mapping[str, str], table: str) -> None:
    """Refuse two names that differ only in case, which a merge of a branch may bring together.

    Raises:
        InvalidRequestError: naming both.
    """
    by_name: dict[str, str] = {}
    for name in checks:
        other = by_name.setdefault(name.lower(), name)
        if other != name:
            raise InvalidRequestError(
                f"{table}: there would be the constraints {other} and {name}, whose names differ only "
                "in case; drop one of them first"
            )


def _checked_before(attempt: Attempt[Any], after: TableState) -> Mapping[str, str]:
    """The constraints that the writer has checked its rows against, in columns of the same types."""
    operation = attempt.operation
    if not (isinstance(operation, Write) and operation.base.checked):
        return {}
    base = attempt.at(operation.base.version)
    assert base is not None, "the rule same_incarnation comes first"
    checks = checks_of(base.properties)
    unsure = _retyped(checks, base, after)
    numbered = numbered_after_checks(base)
    unsure |= {name for name, text in checks.items() if numbered & set(column_ids(text))}
    return {name: text for name, text in checks.items() if name not in unsure}


def _look_for_violations(
    attempt: Attempt[Any], entry: Commit, after: TableState, new: Collection[str]
) -> None:
    added = [record.path for record in entry.added]
    if any(record.delta.patch is not None for record in entry.added):
        raise InvalidRequestError(
            f"{attempt.table} has constraints, which rows of a partial upsert can't be checked against; "
            "write whole rows",
            condition="NOT_SUPPORTED",
        )
    trusted = _checked_before(attempt, after)
    for name, text in checks_of(after.properties).items():
        violated = bound_check(name, text, after.schema)
        if name not in new and (not added or text == trusted.get(name)):
            continue
        if not attempt.looks_at_rows:
            continue
        paths = None if name in new else added
        row = violating_row(attempt.log.store, after, paths, violated, column_ids(text))
        if row is not None:
            condition = with_names(text, after.schema.path_text)
            which = "a row of the table" if name in new else "a row to write"
            raise InvalidRequestError(
                f"{attempt.table}: {which} violates the constraint {name} CHECK ({condition}): "
                f"{row}; nothing was changed. Correct or leave out such rows"
                + ("" if name in new else ", or drop the constraint"),
                condition="CHECK_VIOLATION",
            )
