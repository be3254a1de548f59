"""Constants of segments that somebody else wrote, as values of the wanted columns."""

from __future__ import annotations

import json
from collections.abc import Sequence

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.log.external import constants_from_text
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.types import Column, Constant, is_nested, is_opaque
from versioned_catalog.values.constants import widen
from versioned_catalog.values.value_text import constant_of


def wanted_constants(
    schema: Schema, text: str | None, wanted: Sequence[Column]
) -> dict[int, Constant | None]:
    """The constants of a segment among wanted columns, in their types.

    Args:
        schema: the schema version of the segment, whose types the constants have.
        text: the constants as the state holds them.

    Raises:
        CorruptTableError: one is of no top-level leaf column, or not of its type.
    """
    known = constants_from_text(text)
    asked = [column for column in wanted if column.id in known]
    return {column.id: _constant(schema, column, known[column.id]) for column in asked}


def place_texts(schema: Schema, text: str | None, wanted: Sequence[Column]) -> list[str | None]:
    """The value texts of the constants among wanted columns, by place; empty if there are none.

    Raises:
        CorruptTableError: as for ``wanted_constants``.
    """
    known = wanted_constants(schema, text, wanted)
    values = (known.get(column.id) for column in wanted) if known else ()
    return [None if value is None else json.loads(value.json) for value in values]


def _constant(schema: Schema, wanted: Column, text: str | None) -> Constant | None:
    if text is None:
        return None
    written = None if wanted.id not in schema.ids else schema.column(wanted.id).type
    if written is None or is_nested(written) or is_opaque(written) or schema.ancestors(wanted.id):
        raise CorruptTableError(f"a constant is of the column {wanted.name}, which can't have one")
    if written == wanted.type:
        return constant_of(text)
    try:
        return widen(constant_of(text), written, wanted.type)
    except InvalidRequestError as error:
        raise CorruptTableError(f"the constant of the column {wanted.name}: {error}") from None
