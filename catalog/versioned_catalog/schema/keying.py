"""The row key of a table by column name: ``primary_key`` and ``time_index``."""

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
"""The properties that show the row key. The schema stores it, by column ID."""


@dataclass(frozen=True)
class KeyNames:
    """A row key by column name: the primary key in order, empty for none, and the time index."""

    primary_key: tuple[ColumnPath, ...] = ()
    time_index: ColumnPath | None = None

    def apply(self, schema: Schema) -> Schema:
        """A new table's schema with this row key, whose columns become NOT NULL.

        Raises:
            NotFoundError: a column does not exist.
            InvalidRequestError: a column can't be in a row key.
        """
        key = tuple(_find(schema, path) for path in self.primary_key)
        time = None if self.time_index is None else _find(schema, self.time_index)
        columns = tuple(
            replace(column, nullable=False) if column.id in (*key, time) else column
            for column in schema.columns
        )
        return replace(schema, columns=columns, primary_key=key, time_index=time)


def key_names(schema: Schema) -> KeyNames:
    """The row key of a schema, by column name."""
    index = schema.time_index
    return KeyNames(
        tuple(map(schema.path, schema.primary_key)), None if index is None else schema.path(index)
    )


def _find(schema: Schema, path: ColumnPath) -> int:
    found = schema.get(path)
    if len(path) > 1:
        raise InvalidRequestError(
            f"{render_path(path)} can't be in the row key, since it is inside another column; store its "
            "value in a top-level column"
        )
    return found.id


def take_key(
    properties: dict[str, str], primary_key: Sequence[str], time_index: str | None
) -> KeyNames:
    """The row key of a new table, from the arguments or the properties.

    Args:
        properties: the table's properties; those of the row key are removed from them.
        primary_key, time_index: see ``Catalog.create_table``.

    Raises:
        InvalidRequestError: a name is invalid, or arguments and properties differ.
    """
    if isinstance(primary_key, str):
        raise InvalidRequestError(f"primary_key must be a list of columns, not {primary_key!r}")
    text = properties.pop(PRIMARY_KEY, None)
    key = tuple(map(parse_path, primary_key))
    if text is not None:
        named = tuple(map(parse_path, split_names(text, PRIMARY_KEY)))
        _check_same(PRIMARY_KEY, key, named, text)
        key = named
    time = None if time_index is None else parse_path(time_index)
    text = properties.pop(TIME_INDEX, None)
    if text is not None:
        _check_same(TIME_INDEX, time, parse_path(text), text)
        time = parse_path(text)
    return KeyNames(key, time)


def _check_same(name: str, given: object, named: object, text: str) -> None:
    if given and given != named:
        raise InvalidRequestError(
            f"the property {name} is {text!r}, but another {name} is given; give one of them"
        )


def key_properties(schema: Schema) -> Mapping[str, str]:
    """The row key as properties, by current column names."""
    shown = {PRIMARY_KEY: ", ".join(map(schema.path_text, schema.primary_key))}
    if schema.time_index is not None:
        shown[TIME_INDEX] = schema.path_text(schema.time_index)
    return {key: text for key, text in shown.items() if text}


def check_not_key(key: str) -> None:
    """Check that a property of an existing table can be set.

    Raises:
        InvalidRequestError: it is the row key's, or one that the table maintains itself.
    """
    if key == TTL_FLOOR:
        raise InvalidRequestError(
            f"the property {key} can't be set, since the table maintains it; set {TTL}",
            condition="INVALID_OPTION",
        )
    if key in KEY_PROPERTIES:
        raise InvalidRequestError(
            f"the property {key} is set when a table is created and can't be changed; create another "
            "table with the row key that you want, and copy the rows",
            condition="INVALID_OPTION",
        )
