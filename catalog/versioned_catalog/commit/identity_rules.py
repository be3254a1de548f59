"""The rule that identity columns can number rows: note 28 of FORMAT.md, section 11."""

from __future__ import annotations

from typing import Any

from versioned_catalog.commit.attempt import Attempt
from versioned_catalog.commit.operations import Import
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.state import TableState, properties_after
from versioned_catalog.model.identity import check_identities, identities_of
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
    if adopts and isinstance(attempt.operation, Import):
        for column in columns:
            if column.identity.always:
                raise InvalidRequestError(
                    f"{attempt.table}: {schema.path_text(column.column_id)} is GENERATED ALWAYS AS "
                    "IDENTITY, so files with numbers of their own can't be adopted; read them, and "
                    "append their rows without the column",
                    condition="NOT_SUPPORTED",
                )


def numbered_after_checks(state: TableState) -> frozenset[int]:
    """The IDs of the columns that get their numbers after Spark has checked constraints."""
    return frozenset(column.column_id for column in identities_of(state.properties))
