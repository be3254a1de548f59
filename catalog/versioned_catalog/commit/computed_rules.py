"""The rule that generated columns hold what they are computed from: note 26 of FORMAT.md, section 11."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow.compute as pc

from versioned_catalog.commit.attempt import Attempt
from versioned_catalog.commit.operations import (
    Compact,
    Create,
    Operation,
    Replace,
    Resolve,
    Rollback,
    Write,
)
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.state import TableState, apply, properties_after
from versioned_catalog.model.generated import Generated, generated_of
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import is_integer, is_text
from versioned_catalog.read.arrays import column_of
from versioned_catalog.read.checks import with_all_rows
from versioned_catalog.read.computed import (
    Computed,
    check_types,
    computed_columns,
    differing,
    shown_row,
)
from versioned_catalog.read.scan import Scan
from versioned_catalog.read.scan_columns import resolve
from versioned_catalog.storage.store import PREFIX, Store

_COMPUTED_BEFORE = Compact | Create | Replace | Resolve | Rollback
"""Operations whose rows are moved, or were computed by their plan."""


def check_computed_values(entry: Commit, attempt: Attempt[Any]) -> None:
    """Refuse an entry that adds a row with another value than the one that is computed.

    Rows that were there are looked at again only where a new type may change what is computed.

    Raises:
        InvalidRequestError: naming the column and the row.
    """
    state = attempt.newest
    generated = generated_of(properties_after(state, entry))
    if not generated or state is None or isinstance(attempt.operation, _COMPUTED_BEFORE):
        return
    if not entry.added and entry.schema is None:
        return
    after = apply(state, entry)
    if entry.schema is not None:
        check_types(generated, after.schema)
    if not attempt.looks_at_rows:
        return
    added = [record.path for record in entry.added]
    for column in generated:
        if _may_change(column, state.schema, after.schema):
            _compare(attempt, after, None, column)
        elif added and not _is_trusted(attempt.operation, column, after.schema):
            _compare(attempt, after, added, column)


def _is_trusted(operation: Operation, column: Generated, schema: Schema) -> bool:
    """Whether the writer has computed the values, from columns of these types."""
    if not (isinstance(operation, Write) and operation.base.computed):
        return False
    return not _may_change(column, operation.base.of_segments.schema, schema)


def _may_change(column: Generated, before: Schema, after: Schema) -> bool:
    """Whether other types may change what is computed; longer integers and texts do not."""
    both = [i for i in (*column.sources, column.column_id) if i in before.ids and i in after.ids]
    return any(
        old != new
        and not (is_integer(old) and is_integer(new))
        and not (is_text(old) and is_text(new))
        for old, new in ((before.column(i).type, after.column(i).type) for i in both)
    )


def _compare(
    attempt: Attempt[Any], state: TableState, paths: list[str] | None, column: Generated
) -> None:
    (computed,) = computed_columns((column,), state.schema)
    row = _differing_row(attempt.log.store, state, paths, computed)
    if row is not None:
        which = "a row of the table" if paths is None else "a row to write"
        in_place = any(path.startswith(PREFIX) for path in paths or ())
        way_out = (
            "Leave the column out, and import copies, whose rows the table computes (copy=True)"
            if in_place
            else "Correct or leave out such rows"
        )
        raise InvalidRequestError(
            f"{attempt.table}: {computed.column.name} is generated as {computed.shown}, and {which} "
            f"has another value: {row}; nothing was changed. {way_out}",
            condition="CHECK_VIOLATION",
        )


def _differing_row(
    store: Store, state: TableState, paths: Iterable[str] | None, computed: Computed
) -> str | None:
    """A row whose stored value is not the computed one; None if there is none.

    Args:
        paths: the segments to look into; None for all. Rows that have expired count.
    """
    state = with_all_rows(state, paths)
    ids = (*computed.generated.sources, computed.generated.column_id)
    names = dict.fromkeys(computed.schema.path(column_id)[0] for column_id in ids)
    columns = [resolve(computed.schema, (name,)) for name in names]
    narrow = replace(computed, schema=Schema(tuple(columns), computed.schema.version))
    for batch in Scan(store, state, columns).to_batches():
        stored = column_of(batch, narrow.schema, computed.generated.column_id)
        found = pc.indices_nonzero(differing(stored, narrow.values(batch)))
        if len(found):
            return shown_row(batch.slice(found[0].as_py(), 1), narrow, ids)
    return None
