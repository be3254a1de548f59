"""Which columns can be in a row key, or be a time index (FORMAT.md, section 13)."""

from __future__ import annotations

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.types.paths import render_path
from versioned_catalog.types.types import Atom, Column, is_floating, is_nested, is_opaque
from versioned_catalog.types.widening import type_name

TIMES = (Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ, Atom.DATE)
"""The types of time indexes."""


def check_key_type(column: Column) -> None:
    """Refuse a column that rows can't be told apart by.

    Raises:
        InvalidRequestError: it may be null, or its values are not plain or have no one order.
    """
    name = render_path((column.name,))
    if column.nullable:
        raise InvalidRequestError(f"the column {name} is in the row key, so it must be NOT NULL")
    if is_nested(column.type) or is_opaque(column.type) or is_floating(column.type):
        raise InvalidRequestError(
            f"the column {name} can't be in the row key as {type_name(column.type)}; use whole "
            "numbers, decimals, text, binary, dates or times, and have no DOUBLE or FLOAT there"
        )


def check_time_index_type(column: Column) -> None:
    """Refuse a column that is no time.

    Raises:
        InvalidRequestError: it is none.
    """
    if column.type not in TIMES:
        raise InvalidRequestError(
            f"the time index {render_path((column.name,))} is {type_name(column.type)}; it must be "
            "TIMESTAMP, TIMESTAMP_NTZ or DATE"
        )
