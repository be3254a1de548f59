"""Identifier fields: columns that are declared to identify a row (FORMAT.md, section 4.4).

As in Iceberg, nothing enforces them. The primary key of a table is something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.keys import (
    IDENTIFIER_FIELDS,
    IDENTIFIERS,
    split_names,
    user_properties,
)
from versioned_catalog.model.logical_columns import logical_properties
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.type_text import ColumnPath, parse_path
from versioned_catalog.model.types import Struct, is_compared, is_floating

_STORED = re.compile(r"[1-9][0-9]{0,9}(?: [1-9][0-9]{0,9})*")


def parse_identifiers(text: str) -> list[ColumnPath]:
    """The paths of the property, such as ``id, at.day``.

    Raises:
        InvalidRequestError: it is not a list of columns.
    """
    return [parse_path(part) for part in split_names(text, IDENTIFIER_FIELDS)]


def identifier_ids(properties: Mapping[str, str], schema: Schema) -> tuple[int, ...]:
    """The IDs of the identifier fields; none if the schema lacks one of them, or it can't be one."""
    ids = _stored(properties)
    shown = schema.visible
    return ids if all(_unfit(column_id, shown) is None for column_id in ids) else ()


def _stored(properties: Mapping[str, str]) -> tuple[int, ...]:
    text = properties.get(IDENTIFIERS, "")
    return tuple(map(int, text.split())) if _STORED.fullmatch(text) else ()


def shown_properties(properties: Mapping[str, str], schema: Schema) -> dict[str, str]:
    """The properties that users set, with identifier fields and logical types by current names."""
    shown = user_properties(properties) | logical_properties(properties, schema)
    ids = identifier_ids(properties, schema)
    return {**shown, IDENTIFIER_FIELDS: ", ".join(map(schema.path_text, ids))} if ids else shown


def without_identifiers(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties of a table without identifier fields."""
    return {key: text for key, text in properties.items() if key != IDENTIFIERS}


def with_identifiers(
    properties: Mapping[str, str], schema: Schema, ids: Iterable[int]
) -> dict[str, str]:
    """The properties once a table has these identifier fields; those of none without any.

    Raises:
        InvalidRequestError: a column can't be one, is named twice, or the table has a primary key of
            other columns.
    """
    kept = without_identifiers(properties)
    unique = tuple(dict.fromkeys(ids))
    for column_id in unique:
        reason = _unfit(column_id, schema)
        if reason is not None:
            raise InvalidRequestError(
                f"the column {schema.path_text(column_id)} can't be an identifier field, since {reason}",
                condition="NOT_SUPPORTED",
            )
    if schema.is_keyed:
        if set(unique) != set(schema.primary_key):
            key = ", ".join(map(schema.path_text, schema.primary_key))
            raise InvalidRequestError(
                f"the identifier fields of a table with a primary key are its columns ({key}), which "
                "are set when the table is created; create another table, and copy the rows",
                condition="NOT_SUPPORTED",
            )
        return kept
    return {**kept, IDENTIFIERS: " ".join(map(str, unique))} if unique else kept


def _unfit(column_id: int, schema: Schema) -> str | None:
    """Why a column can't be an identifier field, as in Iceberg; None if it can."""
    if column_id not in schema.ids:
        return "it was dropped"
    column, above = schema.column(column_id), schema.ancestors(column_id)
    if any(not isinstance(parent.type, Struct) for parent in above):
        return "it is inside a list or map"
    if not is_compared(column.type):
        return "its values are not simple"
    if is_floating(column.type):
        return "it is a FLOAT or DOUBLE, whose values are not exact"
    if column.nullable or any(parent.nullable for parent in above):
        return "it may be null; make it NOT NULL first (ALTER COLUMN ... SET NOT NULL)"
    return None


def check_identifiers_stay(properties: Mapping[str, str], before: Schema, after: Schema) -> None:
    """Refuse a change after which an identifier field can't be one.

    Raises:
        InvalidRequestError: naming the column.
    """
    for column_id in _stored(properties):
        reason = _unfit(column_id, after)
        if reason is not None and _unfit(column_id, before) is None:
            name = before.path_text(column_id)
            raise InvalidRequestError(
                f"the column {name} can't be changed so, since it is an identifier field, and {reason}; "
                f"drop it from these first (ALTER TABLE ... DROP IDENTIFIER FIELDS {name})",
                condition="NOT_SUPPORTED",
            )


def unfit_identifiers(properties: Mapping[str, str], schema: Schema) -> Iterator[tuple[int, str]]:
    """The identifier fields that can't be ones in a schema, by ID, and why."""
    for column_id in _stored(properties):
        reason = _unfit(column_id, schema)
        if reason is not None:
            yield column_id, reason


def changed_identifiers(
    word: str, paths: Iterable[ColumnPath], properties: Mapping[str, str], schema: Schema
) -> str:
    """The property after ``SET`` or ``DROP IDENTIFIER FIELDS``; empty for none.

    Raises:
        InvalidRequestError: a column that is dropped is none, or is of the primary key.
        NotFoundError: there is no such column.
    """
    named = [schema.get(path).id for path in paths]
    if word.upper() == "SET":
        return ", ".join(map(schema.path_text, named))
    current = schema.primary_key or identifier_ids(properties, schema)
    for column_id in named:
        if column_id not in current:
            raise InvalidRequestError(
                f"the column {schema.path_text(column_id)} is no identifier field; these are: "
                f"{', '.join(map(schema.path_text, current)) or 'none'}"
            )
    if schema.is_keyed:
        raise InvalidRequestError(
            f"the column {schema.path_text(named[0])} is of the primary key, which is set when a table "
            "is created; create another table, and copy the rows",
            condition="NOT_SUPPORTED",
        )
    return ", ".join(schema.path_text(i) for i in current if i not in named)
