"""CHECK constraints: properties that hold conditions by column ID (FORMAT.md, section 4.7)."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.calendars import parse_timestamp
from versioned_catalog.model.keys import CHECK_PREFIX, PRIMARY_KEY
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.tokens import clip_repr
from versioned_catalog.model.type_text import ColumnPath, has_control_characters, render_path
from versioned_catalog.model.types import Atom, Char, DataType

_PARTS = re.compile(r"'(?:[^'\\]|\\.|'')*'|`#([1-9][0-9]{0,9})`")
"""A text constant, in which there is no column, or a column by its ID."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A constant that is a time where the column that it is compared with is a TIMESTAMP.

    Args:
        path: the column.
        text: the constant as text, without an offset if it is in ``zone``.
        other: its SQL for columns of other types.
        zone: where it is without an offset.
    """

    path: ColumnPath
    text: str
    other: str
    zone: dt.tzinfo

    def sql(self, type_: DataType) -> str:
        """Its SQL for a column of this type: a time in UTC, or as it was written.

        Raises:
            InvalidRequestError: it is no time, and the column is a TIMESTAMP.
        """
        if type_ is not Atom.TIMESTAMP:
            return self.other
        try:
            micros, has_offset = parse_timestamp(self.text)
            time = _EPOCH + dt.timedelta(microseconds=micros)
            return instant_sql(time if has_offset else time.replace(tzinfo=self.zone))
        except (ValueError, OverflowError) as error:
            raise InvalidRequestError(
                f"the column {render_path(self.path)} is a TIMESTAMP and can't be compared with "
                f"{clip_repr(self.text)}: {error}"
            ) from None


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def instant_sql(time: dt.datetime) -> str:
    """The SQL of a time, which means the same in every time zone.

    Raises:
        OverflowError: it is in the year 0 or 10000 in UTC.
    """
    return f"TIMESTAMP '{time.astimezone(dt.UTC).isoformat()}'"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition in SQL, in pieces.

    Args:
        pieces: texts, and between them the paths of columns and what depends on their types.
    """

    pieces: tuple[str | ColumnPath | Moment, ...]

    @property
    def columns(self) -> tuple[ColumnPath, ...]:
        """The columns, in the order in which they occur."""
        return tuple(piece for piece in self.pieces if isinstance(piece, tuple))

    def text(self, columns: Mapping[ColumnPath, tuple[str, DataType]]) -> str:
        """The condition as SQL, with these names and types of its columns.

        Raises:
            InvalidRequestError: a TIMESTAMP is compared with what is no time, or a column is a CHAR,
                whose padding Spark compares when it checks rows.
        """
        for path, (_, type_) in columns.items():
            if isinstance(type_, Char):
                raise InvalidRequestError(
                    f"the column {render_path(path)} is a CHAR, which can't be in a constraint; make it "
                    "a VARCHAR or STRING first (ALTER COLUMN ... TYPE)",
                    condition="NOT_SUPPORTED",
                )
        return "".join(_sql(piece, columns) for piece in self.pieces)

    def shown(self) -> str:
        """The condition as it was asked for."""
        # Only of a TIMESTAMP are constants written differently.
        return self.text({path: (render_path(path), Atom.STRING) for path in self.columns})


def _sql(
    piece: str | ColumnPath | Moment, columns: Mapping[ColumnPath, tuple[str, DataType]]
) -> str:
    match piece:
        case str():
            return piece
        case Moment():
            return piece.sql(columns[piece.path][1])
        case _:
            return columns[piece][0]


def check_name(name: object) -> str:
    """Return the name of a constraint if it is a legal one.

    Raises:
        InvalidRequestError: it is no text, is empty or has control characters.
    """
    if not isinstance(name, str) or not name or has_control_characters(name):
        raise InvalidRequestError(
            f"the name of a constraint must be text that is not empty, without control characters, got "
            f"{name!r}",
            condition="INVALID_NAME",
        )
    if name.lower() == PRIMARY_KEY:
        raise InvalidRequestError(
            f"a CHECK constraint can't be called {name}, as primary keys are; choose another name",
            condition="INVALID_NAME",
        )
    return name


def checks_of(properties: Mapping[str, str]) -> dict[str, str]:
    """The conditions of constraints by name, with columns by their IDs."""
    return {
        key.removeprefix(CHECK_PREFIX): text
        for key, text in properties.items()
        if key.startswith(CHECK_PREFIX)
    }


def by_id(column_id: int) -> str:
    """A column in a stored condition."""
    return f"`#{column_id}`"


def column_ids(condition: str) -> list[int]:
    """The IDs of the columns of a stored condition."""
    return [int(match[1]) for match in _PARTS.finditer(condition) if match[1]]


def with_names(condition: str, name_of: Callable[[int], str]) -> str:
    """A stored condition with the names of its columns."""
    return _PARTS.sub(lambda match: name_of(int(match[1])) if match[1] else match[0], condition)


def shown_checks(properties: Mapping[str, str], schema: Schema) -> dict[str, str]:
    """The conditions of constraints by name, with the current names of their columns."""
    return {
        name: with_names(text, schema.path_text) for name, text in checks_of(properties).items()
    }


def check_columns_stay(properties: Mapping[str, str], before: Schema, after: Schema) -> None:
    """Refuse to drop a column that a constraint needs.

    Raises:
        InvalidRequestError: naming the column and the constraint.
    """
    for name, text in checks_of(properties).items():
        for column_id in column_ids(text):
            if column_id not in after.ids:
                where = before.path_text(column_id) if column_id in before.ids else f"#{column_id}"
                raise InvalidRequestError(
                    f"the column {where} can't be dropped, since the constraint {name} needs it; drop "
                    f"the constraint first (ALTER TABLE ... DROP CONSTRAINT {name})",
                    condition="NOT_SUPPORTED",
                )
