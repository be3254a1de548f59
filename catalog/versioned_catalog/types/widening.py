"""The one table of legal widenings: which type a column may be changed to, whoever asks.

A widening keeps every value and their order, so old segments stay as they are and are read in the
new type.
"""

from __future__ import annotations

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.types.type_text import render_type
from versioned_catalog.types.types import (
    Array,
    Atom,
    Char,
    DataType,
    Decimal,
    Map,
    Struct,
    Varchar,
    is_nested,
)

# The table is closed: composing two rows gives nothing that no row says. The chains that could
# (byte → int → long, byte → int → double, int → long → decimal, int → decimal → decimal,
# decimal → decimal → decimal, char → varchar → varchar, char → varchar → string) are rows or
# within the bound of one. tests/schema/test_widening.py checks that over all types.
_ATOMS: dict[Atom, frozenset[Atom]] = {
    Atom.BYTE: frozenset({Atom.SHORT, Atom.INT, Atom.LONG, Atom.DOUBLE}),
    Atom.SHORT: frozenset({Atom.INT, Atom.LONG, Atom.DOUBLE}),
    Atom.INT: frozenset({Atom.LONG, Atom.DOUBLE}),
    Atom.FLOAT: frozenset({Atom.DOUBLE}),
    Atom.DATE: frozenset({Atom.TIMESTAMP_NTZ}),
}

# How many digits before the point a decimal needs to take in an integer. They are the same for
# byte and short as for int, because Parquet stores all three alike.
_DIGITS: dict[Atom, int] = {Atom.BYTE: 10, Atom.SHORT: 10, Atom.INT: 10, Atom.LONG: 20}


def widens(old: DataType, new: DataType) -> bool:
    """Whether a column of the leaf type ``old`` may become one of type ``new``.

    Equal types do. A nested type widens to itself only: its fields are changed one by one.
    """
    if old == new:
        return True
    match old, new:
        case Atom(), Atom():
            return new in _ATOMS.get(old, ())
        case Atom(), Decimal(precision, scale):
            return old in _DIGITS and precision - scale >= _DIGITS[old]
        case Decimal(), Decimal():
            digits = old.precision - old.scale
            return new.scale >= old.scale and new.precision - new.scale >= digits
        case ((Char(length) | Varchar(length)), Varchar(most)):
            return most >= length
        case ((Char() | Varchar()), Atom.STRING):
            return True
    # A table of what is legal: what it does not list is not.
    return False


def check_widens(old: DataType, new: DataType, where: str) -> None:
    """Check that a column may change its type.

    Args:
        old, new: its type now and the one that is wanted.
        where: the column's path, for the message.

    Raises:
        InvalidRequestError: it may not; the message names both types and the way out.
    """
    if is_nested(old):
        raise InvalidRequestError(
            f"the type of {where} can't be changed as a whole, it is {type_name(old)}; "
            f"change what is inside by its path, such as {where}.{_inner_name(old)}",
            condition="NOT_SUPPORTED",
        )
    if not widens(old, new):
        raise InvalidRequestError(
            f"the column {where} can't change from {type_name(old)} to {type_name(new)}, "
            f"since {_reason(old, new)}; add a new column, copy the values, drop the old one",
            condition="NOT_SUPPORTED",
        )


def type_name(type_: DataType) -> str:
    """A type's name in a message: SQL's, nested types without what is inside."""
    if isinstance(type_, Struct | Array | Map):
        return {Struct: "a STRUCT", Array: "an ARRAY", Map: "a MAP"}[type(type_)]
    return render_type(type_)


def _inner_name(type_: DataType) -> str:
    match type_:
        case Struct((first, *_)):
            return first.name
        case Map():
            return "value"
    return "element"


def _reason(old: DataType, new: DataType) -> str:
    if is_nested(new):
        return "a plain value does not become a nested one"
    if widens(new, old):
        return "that is narrower and may not hold every value"
    if isinstance(new, Decimal) and (isinstance(old, Decimal) or old in _DIGITS):
        whole = old.precision - old.scale if isinstance(old, Decimal) else _DIGITS[old]
        scale = old.scale if isinstance(old, Decimal) else 0
        return f"it needs {whole} digits before the point and {scale} after it"
    return "only widenings that keep every value are allowed"
