"""The legal widenings: which type a column may be changed to.

A widening keeps every value and their order, so segments written before it stay valid and are read
in the new type. A narrowing is the way back, if every value fits; segments written before it are read
in their type and narrowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.type_text import render_type
from versioned_catalog.model.types import (
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

# Widening is transitive: what two steps allow, one step allows too. tests/model/test_widening.py
# checks that over all types.
_ATOMS: dict[Atom, frozenset[Atom]] = {
    Atom.BYTE: frozenset({Atom.SHORT, Atom.INT, Atom.LONG, Atom.DOUBLE}),
    Atom.SHORT: frozenset({Atom.INT, Atom.LONG, Atom.DOUBLE}),
    Atom.INT: frozenset({Atom.LONG, Atom.DOUBLE}),
    Atom.FLOAT: frozenset({Atom.DOUBLE}),
    Atom.DATE: frozenset({Atom.TIMESTAMP_NTZ}),
}

# The digits before the point that a decimal needs to hold an integer. Byte and short need as many as
# int, because Parquet stores all three as int32.
_DIGITS: dict[Atom, int] = {Atom.BYTE: 10, Atom.SHORT: 10, Atom.INT: 10, Atom.LONG: 20}

MOST_DIGITS = 38
"""The most digits of a decimal."""


def widens(old: DataType, new: DataType) -> bool:
    """Whether a column of type ``old`` may become one of type ``new``, or has that type already.

    A nested type widens to itself only: its fields are changed one by one.
    """
    if old == new:
        return True
    match old, new:
        case Atom.VOID, _:
            return not is_nested(new)
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
    return False


def narrows(old: DataType, new: DataType) -> bool:
    """Whether a column of type ``old`` may become one of type ``new`` if all of its values fit.

    ``new`` must widen to ``old``. A CHAR is not narrowed to, since its values are padded.
    """
    return old != new and not isinstance(new, Char) and widens(new, old)


def common_type(types: Iterable[DataType]) -> DataType | None:
    """The narrowest type that each of some leaf types widens to; None if there is none.

    >>> common_type([Atom.INT, Atom.LONG])
    <Atom.LONG: 'long'>
    >>> common_type([Atom.INT, Decimal(5, 2)])
    Decimal(precision=12, scale=2)
    >>> common_type([Atom.LONG, Atom.DOUBLE]) is None
    True
    """
    distinct = tuple(dict.fromkeys(types))
    candidates = (*distinct, *_decimals_of(distinct), Atom.DOUBLE)
    return next(
        (candidate for candidate in candidates if all(widens(old, candidate) for old in distinct)),
        None,
    )


def _decimals_of(types: tuple[DataType, ...]) -> Iterator[Decimal]:
    """The decimal that holds some decimals and integers, if there is one."""
    exact = [type_ for type_ in types if isinstance(type_, Decimal)]
    whole = [type_.precision - type_.scale for type_ in exact]
    whole += [_DIGITS[type_] for type_ in types if isinstance(type_, Atom) and type_ in _DIGITS]
    scale = max((type_.scale for type_ in exact), default=0)
    if exact and max(whole) + scale <= MOST_DIGITS:
        yield Decimal(max(whole) + scale, scale)


def check_widens(old: DataType, new: DataType, where: str) -> None:
    """Check that a column may change its type.

    Raises:
        InvalidRequestError: it may not; the message names both types and an alternative.
    """
    if is_nested(old):
        raise InvalidRequestError(
            f"the type of {where} is {type_name(old)}, which can't be changed as a whole; "
            f"change a column inside it by its path, such as {where}.{_inner_name(old)}",
            condition="NOT_SUPPORTED",
        )
    if not widens(old, new):
        raise InvalidRequestError(
            f"the column {where} can't change from {type_name(old)} to {type_name(new)}, "
            f"since {_reason(old, new)}; add a column, copy the values and drop the old column",
            condition="NOT_SUPPORTED",
        )


def type_name(type_: DataType) -> str:
    """The name of a type in messages: its SQL, nested types without the columns inside."""
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
        return "it is nested and the column is not"
    if narrows(old, new):
        return "that type is narrower and may not hold every value (narrow() checks the values)"
    if widens(new, old):
        return "CHAR pads its values"
    if isinstance(new, Decimal) and (isinstance(old, Decimal) or old in _DIGITS):
        whole = old.precision - old.scale if isinstance(old, Decimal) else _DIGITS[old]
        scale = old.scale if isinstance(old, Decimal) else 0
        return f"the values need {whole} digits before the point and {scale} after it"
    return "only widenings that keep every value are allowed"
