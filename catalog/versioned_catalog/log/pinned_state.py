"""A table as the user of an earlier schema sees it (FORMAT.md, section 4.6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.log.entry import Commit, Stub
from versioned_catalog.log.state import Lens, TableState
from versioned_catalog.model.pins import (
    Overflow,
    Pin,
    check_pinned,
    loosened,
    seen_by_rows,
    seen_through,
)
from versioned_catalog.model.schema import Schema
from versioned_catalog.spelling import one_of


class Lensed(Protocol):
    """A view that a handle applies to each snapshot.

    It is an earlier schema (``Through``), or the names under which a stream writes (``RowsOf``).
    """

    def over(self, state: TableState, table: str) -> TableState:
        """A snapshot as it is shown; see ``Through`` and ``RowsOf``."""
        ...


@dataclass(frozen=True)
class RowsOf:
    """The rows that a stream writes: their columns were named when the stream began.

    Args:
        table_uuid: the incarnation that the stream writes to.
        schema: the schema version of then.
    """

    table_uuid: str
    schema: Schema

    def over(self, state: TableState, table: str) -> TableState:
        """A snapshot for writes of such rows; see ``seen_by_rows``.

        Raises:
            NotFoundError: the table was replaced.
        """
        if state.table_uuid != self.table_uuid:
            raise replaced_under_stream(table)
        if state.lens is not None or state.schema_version == self.schema.version:
            return state
        seen = seen_by_rows(self.schema, state.schema)
        return replace(state, lens=Lens(str(self.schema.version), seen, Overflow.ERROR))


@dataclass(frozen=True)
class Through:
    """An earlier schema of a table, through which its snapshots are seen.

    Args:
        label: label of the pin, or number of the schema version.
        table_uuid: the incarnation that the schema belongs to.
        schema: the earlier schema.
        overflow: what is shown of a value that does not fit its earlier type.
    """

    label: str
    table_uuid: str
    schema: Schema
    overflow: Overflow

    def over(self, state: TableState, table: str) -> TableState:
        """A snapshot, seen in the earlier schema.

        Raises:
            InvalidRequestError: the snapshot is of another incarnation, or lacks a column.
        """
        if state.lens is not None:
            return state
        asked = f"{table} can't be used in schema {self.schema.version} ({self.label})"
        if state.table_uuid != self.table_uuid:
            raise InvalidRequestError(
                f"{asked}, since it was replaced; its columns have other IDs, and pins end with a "
                "replacement: leave out the schema, or pin a schema of the new table"
            )
        try:
            seen = seen_through(
                self.schema, state.schema, newest=state.schema_version >= self.schema.version
            )
        except InvalidRequestError as error:
            raise InvalidRequestError(
                f"{asked}: {error}; use a later schema version, or the current one",
                condition="COLUMN_NOT_FOUND",
            ) from None
        if self.overflow is Overflow.NULL:
            seen = loosened(seen)
        return replace(state, lens=Lens(self.label, seen, self.overflow))


@dataclass(frozen=True)
class RetiredPin:
    """A pin that is no more.

    Args:
        pin: the pin as it was last.
        version: the version that retired it.
    """

    pin: Pin
    version: int


def retired_pins(entries: Iterable[Commit | Stub]) -> dict[str, RetiredPin]:
    """The pins that were retired and not declared again, by their labels, as far as entries know."""
    pins: Mapping[str, Pin] = {}
    retired: dict[str, RetiredPin] = {}
    for entry in entries:
        if isinstance(entry, Commit) and entry.pins is not None:
            for label in pins.keys() - entry.pins.keys():
                retired[label] = RetiredPin(pins[label], entry.head.version)
            pins = entry.pins
    return {label: gone for label, gone in retired.items() if label not in pins}


def replaced_under_stream(table: str) -> NotFoundError:
    """The error of a stream whose target is another table now."""
    return NotFoundError(
        f"{table} was dropped or replaced while a stream wrote to it, and the columns of another table "
        "are other columns; start the query again to write to the table that is there now",
        condition="TABLE_NOT_FOUND",
    )


def see_as(state: TableState, schema: str | int, overflow: str, table: str) -> Through:
    """Find the schema of a pin, or of a schema version, in the newest state of a table.

    Args:
        schema: label of a pin, or a schema version; digits in text are a version.
        overflow: ``error`` or ``null``.

    Raises:
        NotFoundError: there is no such pin or schema version.
        InvalidRequestError: an argument is malformed.
    """
    if isinstance(schema, bool) or not isinstance(schema, str | int):
        raise InvalidRequestError(
            f"{table}: schema must be the label of a pin or a schema version, got {schema!r}"
        )
    if isinstance(schema, str) and not (schema.isascii() and schema.isdigit() and len(schema) < 10):
        check_pinned(state.pins, schema)
        number = state.pins[schema].schema_version
    else:
        number = int(schema)
    check_schema_version(state, number, table)
    earlier = state.schemas[number].visible
    return Through(str(schema), state.table_uuid, earlier, overflow_of(overflow, table))


def check_schema_version(state: TableState, number: int, table: str) -> None:
    """Check that a table has a schema version. Raises NotFoundError if it has not."""
    first, last = state.first_schema_version, state.schema_version
    if not first <= number <= last or number not in state.schemas:
        raise NotFoundError(
            f"{table} has no schema version {number}; it has those from {first} to {last}",
            condition="VERSION_NOT_FOUND",
        )


def overflow_of(text: str, table: str) -> Overflow:
    """What is shown of values that do not fit. Raises InvalidRequestError for any other text."""
    return one_of(Overflow, text, f"{table}: overflow")
