"""Values of a widened column in the type that it had before."""

from __future__ import annotations

import decimal

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.types.arrow import to_arrow_type
from versioned_catalog.types.arrow_values import scalar_of
from versioned_catalog.types.types import (
    Array,
    Atom,
    Char,
    Constant,
    DataType,
    Decimal,
    LeafType,
    Map,
    Struct,
    Varchar,
    is_integer,
    is_text,
)
from versioned_catalog.types.widening import widens
from versioned_catalog.values.constants import from_scalar_text, to_constant, to_scalar
from versioned_catalog.values.fitting import widen_text
from versioned_catalog.values.value_text import ValueText, constant_of, field_key, parse_json

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
    """A constant of a column's current type in an earlier type; None if a value in it does not fit.

    Fields of structs are matched by ID. A leaf whose earlier type is the wider one, as after a
    rollback, is widened.
    """
    try:
        return to_constant(_narrow_text(parse_json(constant.json), source, target))
    except _Misfit:
        return None


class _Misfit(Exception):
    """A value does not fit the earlier type."""


def _narrow_text(text: ValueText, source: DataType, target: DataType) -> ValueText:
    if text is None or source == target:
        return text
    match source, target:
        case Struct(fields), Struct(kept) if isinstance(text, dict):
            types = {field_key(field): field.type for field in fields}
            return {
                key: _narrow_text(text[key], types[key], field.type)
                for field in kept
                if (key := field_key(field)) in types and key in text
            }
        case Array(element), Array(other) if isinstance(text, list):
            return [_narrow_text(one, element.type, other.type) for one in text]
        case Map(key, value), Map(other_key, other_value) if isinstance(text, list):
            return [
                [
                    _narrow_text(k, key.type, other_key.type),
                    _narrow_text(v, value.type, other_value.type),
                ]
                for k, v in text
            ]
        case _ if widens(target, source):
            value = pa.repeat(to_scalar(constant_of(text), source), 1)
            (found,) = narrow_array(value, source, target)  # type: ignore[arg-type]
            if not found.is_valid:
                raise _Misfit
            return from_scalar_text(found, target)
        case _:
            return widen_text(text, source, target)


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
