"""Changes of the numbers that are free in an identity column (FORMAT.md, section 4.9)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, replace

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.evolution import Evolution, SchemaChange
from versioned_catalog.model.identity import (
    IdentityColumn,
    identities_of,
    with_identities,
)
from versioned_catalog.model.type_text import ColumnPath, render_path


@dataclass(frozen=True, slots=True)
class TakeNumbers(SchemaChange[None]):
    """Take numbers of an identity column.

    Args:
        column_id: the column.
        count: how many numbers; as many as there are left, if these are fewer.
        earliest: none before this one, since another branch has it.
    """

    column_id: int
    count: int
    earliest: int

    kind = "property"

    def target(self, evolution: Evolution, time: dt.datetime) -> None:
        return None

    def apply(self, target: None, evolution: Evolution) -> Evolution:
        column = _identity(self.column_id, evolution)
        first = column.later(column.next, self.earliest)
        count = min(self.count, column.left_from(first))
        if not count:
            name = evolution.schema.path_text(self.column_id)
            raise InvalidRequestError(
                f"the identity column {name} has no numbers left, as {first} is no BIGINT; create "
                "another table, and copy the rows",
                condition="NOT_SUPPORTED",
            )
        return _with(replace(column, next=first + column.identity.step * count), evolution)

    def describe(self) -> str:
        return f"TAKE {self.count} NUMBERS OF COLUMN #{self.column_id}"

    def clauses(self, before: Evolution, after: Evolution) -> list[str]:
        return []


@dataclass(frozen=True, slots=True)
class GiveBackNumbers(SchemaChange[None]):
    """Make numbers free again that were taken last; nothing if others were taken since.

    Args:
        column_id: the column.
        first: the first number to give back.
        end: the one after the last.
    """

    column_id: int
    first: int
    end: int

    kind = "property"

    def target(self, evolution: Evolution, time: dt.datetime) -> None:
        return None

    def apply(self, target: None, evolution: Evolution) -> Evolution:
        for column in identities_of(evolution.properties):
            if column.column_id == self.column_id and column.next == self.end:
                return _with(replace(column, next=self.first), evolution)
        return evolution

    def describe(self) -> str:
        return f"GIVE BACK NUMBERS OF COLUMN #{self.column_id}"

    def clauses(self, before: Evolution, after: Evolution) -> list[str]:
        return []


@dataclass(frozen=True, slots=True)
class SyncIdentity(SchemaChange[None]):
    """Take all numbers up to one that a row holds.

    Args:
        path: the column, as it was called.
        column_id: the column.
        number: the last number in the table; None if it has no rows.
    """

    path: ColumnPath
    column_id: int
    number: int | None

    kind = "property"

    def target(self, evolution: Evolution, time: dt.datetime) -> None:
        return None

    def apply(self, target: None, evolution: Evolution) -> Evolution:
        column = _identity(self.column_id, evolution)
        return evolution if self.number is None else _with(column.after(self.number), evolution)

    def describe(self) -> str:
        return f"ALTER COLUMN {render_path(self.path)} SYNC IDENTITY"


def only_numbers(changes: Iterable[str]) -> bool:
    """Whether the changes that an entry describes only take numbers for rows, or give some back."""
    described = list(changes)
    return bool(described) and all(text.startswith(_OF_NUMBERS) for text in described)


_OF_NUMBERS = ("TAKE ", "GIVE BACK ")


def _identity(column_id: int, evolution: Evolution) -> IdentityColumn:
    for column in identities_of(evolution.properties):
        if column.column_id == column_id:
            return column
    raise InvalidRequestError(f"the identity column #{column_id} no longer exists")


def _with(column: IdentityColumn, evolution: Evolution) -> Evolution:
    return replace(evolution, properties=with_identities(evolution.properties, [column]))
