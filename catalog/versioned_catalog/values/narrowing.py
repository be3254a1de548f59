"""Values of a widened column in the type that it had before."""

from __future__ import annotations

import decimal

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.types.arrow import to_arrow_type
from versioned_catalog.types.arrow_values import scalar_of
from versioned_catalog.types.types import (
    Atom,
    Char,
    Constant,
    DataType,
    Decimal,
    LeafType,
    Varchar,
    is_integer,
    is_text,
)
from versioned_catalog.types.widening import widens
from versioned_catalog.values.constants import from_scalar, to_scalar

_BITS = {Atom.BYTE: 8, Atom.SHORT: 16, Atom.INT: 32, Atom.LONG: 64}


def narrow_array(array: pa.Array, source: LeafType, target: LeafType) -> pa.Array:
    """Values of a type as values of one that widens to it; null where a value does not fit."""
    return fitting(array, source, target).cast(to_arrow_type(target), safe=False)


def fitting(array: pa.Array, source: LeafType, target: LeafType) -> pa.Array:
    """Values of a type, null where one does not fit a type that widens to it.

    A value fits if it is the widening of one of ``target``. Texts fit by their length, and are not
    padded.
    """
    assert widens(target, source), "only the narrowing of a legal widening is defined"
    return pc.if_else(_fits(array, source, target), array, scalar_of(None, array.type))


def narrow(constant: Constant, source: DataType, target: DataType) -> Constant | None:
    """A constant of a type as one of a type that widens to it; None if it does not fit.

    If the types do not widen in this direction but in the other one, the constant is widened.
    """
    value = to_scalar(constant, source)
    if not widens(target, source):
        return from_scalar(value, target)
    (found,) = narrow_array(pa.repeat(value, 1), source, target)  # type: ignore[arg-type]
    return from_scalar(found, target)


def _fits(array: pa.Array, source: LeafType, target: LeafType) -> pa.Array:
    """Whether each value fits; null or false for a null."""
    match source, target:
        case _ if is_text(source):
            assert isinstance(target, Char | Varchar), "every text fits a STRING"
            return pc.less_equal(pc.utf8_length(array), scalar_of(target.length, pa.int32()))
        case Decimal(), Decimal():
            wide = array.cast(pa.decimal256(76, source.scale))
            whole = pc.equal(pc.round(wide, target.scale), wide)
            limit = _number(10 ** (target.precision - target.scale), wide.type)
            return pc.and_(whole, pc.less(pc.abs(wide), limit))
        case Decimal(), _:
            wide = array.cast(pa.decimal256(76, source.scale))
            return pc.and_(pc.equal(pc.floor(wide), wide), _in_range(wide, target))
        case Atom.DOUBLE, Atom.FLOAT:
            back = array.cast(pa.float32(), safe=False).cast(pa.float64())
            return pc.or_(pc.equal(back, array), pc.is_nan(array))
        case Atom.DOUBLE, _:
            return pc.and_(pc.equal(pc.floor(array), array), _in_range(array, target))
        case Atom.TIMESTAMP_NTZ, Atom.DATE:
            return pc.equal(array.cast(pa.date32(), safe=False).cast(array.type), array)
        case _:
            assert is_integer(source), "no other type is widened to"
            return _in_range(array, target)


def _in_range(array: pa.Array, target: LeafType) -> pa.Array:
    """Whether numbers are in the range of an integer type."""
    assert isinstance(target, Atom), "only integers widen to other integers, doubles and decimals"
    end = 2 ** (_BITS[target] - 1)
    low, high = _number(-end, array.type), _number(end - 1, array.type)
    return pc.and_(pc.greater_equal(array, low), pc.less_equal(array, high))


def _number(value: int, type_: pa.DataType) -> pa.Scalar:
    """A number as a scalar of an integer, floating or decimal type."""
    if pa.types.is_decimal(type_):
        return pa.scalar(decimal.Decimal(value), type_)
    return scalar_of(value, pa.int64()).cast(type_, safe=False)
