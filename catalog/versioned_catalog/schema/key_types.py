"""The types of columns in a row key and of time indexes (FORMAT.md, section 13)."""

from __future__ import annotations

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.types.paths import render_path
from versioned_catalog.types.types import Atom, Column, is_floating, is_nested, is_opaque
from versioned_catalog.types.widening import type_name

TIMES = (Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ, Atom.DATE)
"""The types of time indexes."""


def check_key_type(column: Column) -> None:
    """Check that a column can be in a row key.

    Raises:
        InvalidRequestError: it is nullable, or its type is nested, opaque or floating-point.
    """
    name = render_path((column.name,))
    if column.nullable:
        raise InvalidRequestError(f"the column {name} is in the row key, so it must be NOT NULL")
    if is_nested(column.type) or is_opaque(column.type) or is_floating(column.type):
        raise InvalidRequestError(
            f"the column {name} can't be in the row key as {type_name(column.type)}; use "
            "whole numbers, decimals, text, binary, dates or times, but not DOUBLE or FLOAT"
        )


def check_time_index_type(column: Column) -> None:
    """Check that a column can be a time index.

    Raises:
        InvalidRequestError: it has another type.
    """
    if column.type not in TIMES:
        raise InvalidRequestError(
            f"the time index {render_path((column.name,))} is {type_name(column.type)}; it must be "
            "TIMESTAMP, TIMESTAMP_NTZ or DATE"
        )
