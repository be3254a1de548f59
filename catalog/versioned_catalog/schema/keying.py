"""The row key of a table as users name it: ``primary_key`` and ``time_index``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.sorting import split_names
from versioned_catalog.schema.ttl import TTL, TTL_FLOOR
from versioned_catalog.types.paths import ColumnPath, parse_path, render_path

PRIMARY_KEY = "primary_key"
TIME_INDEX = "time_index"
KEY_PROPERTIES = (PRIMARY_KEY, TIME_INDEX)
"""What the row key is called among properties. It is kept in the schema, by column ID."""


@dataclass(frozen=True)
class KeyNames:
    """A row key by name.

    Args:
        primary_key: the columns of the primary key, in order; empty for none.
        time_index: the time index, or None.
    """

    primary_key: tuple[ColumnPath, ...] = ()
    time_index: ColumnPath | None = None

    def apply(self, schema: Schema) -> Schema:
        """A new table's schema with the row key, whose columns become NOT NULL.

        Raises:
            NotFoundError: a column is not there.
            InvalidRequestError: it can't be in a row key.
        """
        key = tuple(_find(schema, path) for path in self.primary_key)
        time = None if self.time_index is None else _find(schema, self.time_index)
        columns = tuple(
            replace(column, nullable=False) if column.id in (*key, time) else column
            for column in schema.columns
        )
        return replace(schema, columns=columns, primary_key=key, time_index=time)


def _find(schema: Schema, path: ColumnPath) -> int:
    found = schema.get(path)
    if len(path) > 1:
        raise InvalidRequestError(
            f"{render_path(path)} can't be in the row key, since it is inside a column; put its value "
            "into a column of its own"
        )
    return found.id


def take_key(
    properties: dict[str, str], primary_key: Sequence[str], time_index: str | None
) -> KeyNames:
    """The row key of a new table: as it is given, or as its properties say.

    Args:
        properties: the table's; what says the key is taken out of them.
        primary_key, time_index: as ``Catalog.create_table`` takes them.

    Raises:
        InvalidRequestError: they are no names, or the properties say something else.
    """
    if isinstance(primary_key, str):
        raise InvalidRequestError(f"primary_key is a list of columns, not {primary_key!r}")
    told = properties.pop(PRIMARY_KEY, None)
    key = tuple(map(parse_path, primary_key))
    if told is not None:
        named = tuple(map(parse_path, split_names(told, PRIMARY_KEY)))
        _check_same(PRIMARY_KEY, key, named, told)
        key = named
    time = None if time_index is None else parse_path(time_index)
    told = properties.pop(TIME_INDEX, None)
    if told is not None:
        _check_same(TIME_INDEX, time, parse_path(told), told)
        time = parse_path(told)
    return KeyNames(key, time)


def _check_same(what: str, given: object, named: object, told: str) -> None:
    if given and given != named:
        raise InvalidRequestError(
            f"the property {what} is {told!r}, and another {what} is given, too"
        )


def key_properties(schema: Schema) -> Mapping[str, str]:
    """The row key as properties, by the names of now."""
    shown = {PRIMARY_KEY: ", ".join(map(schema.path_text, schema.primary_key))}
    if schema.time_index is not None:
        shown[TIME_INDEX] = schema.path_text(schema.time_index)
    return {key: text for key, text in shown.items() if text}


def check_not_key(key: str) -> None:
    """Refuse to change the row key of a table that is there.

    Raises:
        InvalidRequestError: a property would.
    """
    if key == TTL_FLOOR:
        raise InvalidRequestError(
            f"the property {key} is kept by the table itself; set {TTL}", condition="INVALID_OPTION"
        )
    if key in KEY_PROPERTIES:
        raise InvalidRequestError(
            f"{key} is set when a table is made, and not after; make another table with the row key "
            "that you want, and write the rows of this one to it",
            condition="INVALID_OPTION",
        )
