"""The type of a leaf of a Parquet file, or why it can't be imported: one table for all physical forms.

``types.forms`` lists the forms that a segment's ID map can name. This module adds what an annotation of
Parquet says and Arrow does not: that a binary is text (ENUM), that 16 bytes are a UUID, that 12 bytes
are an interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.types.forms import Form, SeenAs, seen_as
from versioned_catalog.types.types import Atom
from versioned_catalog.types.widening import MOST_DIGITS


@dataclass(frozen=True, slots=True)
class LeafRules:
    """What users choose about leaves.

    Args:
        binary_as_string: binaries without annotation are UTF-8, as older writers meant them.
        truncate_nanoseconds: cut off digits below a microsecond, which are refused otherwise.
    """

    binary_as_string: bool = False
    truncate_nanoseconds: bool = False


_ANNOTATED: dict[str, SeenAs] = {
    "ENUM": SeenAs(Atom.STRING, Form.TEXT),
    "UUID": SeenAs(Atom.STRING, Form.UUID),
}
"""Leaves of which Arrow shows the bytes alone, by the logical type of Parquet."""


def leaf_of(arrow: pa.DataType, leaf: Any, rules: LeafRules) -> SeenAs:
    """The type and form of a leaf.

    Args:
        arrow: the type that PyArrow gives it.
        leaf: the ``ColumnSchema`` of PyArrow.

    Raises:
        InvalidRequestError: no column type can hold it; the message is the reason.

    A decimal of more than 38 digits is refused:

    >>> leaf_of(pa.decimal256(40, 2), None, LeafRules())
    Traceback (most recent call last):
    versioned_catalog.errors.InvalidRequestError: decimal256(40, 2) has more than 38 digits
    """
    for is_refused, reason in _REFUSED:
        if is_refused(arrow, leaf):
            raise InvalidRequestError(f"{arrow} {reason}")
    if leaf.logical_type.type in _ANNOTATED:
        return _ANNOTATED[leaf.logical_type.type]
    if pa.types.is_dictionary(arrow):
        return leaf_of(arrow.value_type, leaf, rules)
    seen = seen_as(arrow, leaf.physical_type)
    if seen.form is Form.NANOS and rules.truncate_nanoseconds:
        return SeenAs(seen.type, Form.NANOS_CUT)
    is_plain = seen == SeenAs(Atom.BINARY) and leaf.logical_type.type == "NONE"
    if is_plain and rules.binary_as_string:
        return SeenAs(Atom.STRING, Form.TEXT)
    return seen


def _is_long_decimal(arrow: Any, _: Any) -> bool:
    return bool(pa.types.is_decimal(arrow) and arrow.precision > MOST_DIGITS)


def _is_odd_decimal(arrow: Any, _: Any) -> bool:
    return pa.types.is_decimal(arrow) and not 0 <= arrow.scale <= arrow.precision


def _is_interval(_: Any, leaf: Any) -> bool:
    return bool(leaf.converted_type == "INTERVAL")


_REFUSED: tuple[tuple[Callable[[Any, Any], bool], str], ...] = (
    (_is_long_decimal, "has more than 38 digits"),
    (_is_odd_decimal, "has a scale that is negative or larger than its precision"),
    (_is_interval, "is an INTERVAL of months, days and milliseconds, which no column type holds"),
)
