"""The base types of logical types: what type a column of each must have."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from versioned_catalog.model.logical import (
    Bitmask,
    CalendarInterval,
    Enumeration,
    Fixed,
    Float16,
    IpAddress,
    Json,
    LogicalType,
    NdArray,
    Numeric,
    Oid,
    Range,
    Unsigned,
    Uuid,
)
from versioned_catalog.model.types import Array, Atom, DataType, Decimal, Struct

_UINT64_BASE = Decimal(20, 0)
_UNSIGNED_BASES: Mapping[int, tuple[DataType, ...]] = {
    8: (Atom.SHORT, Atom.INT, Atom.LONG),
    16: (Atom.INT, Atom.LONG),
    32: (Atom.LONG,),
    64: (_UINT64_BASE,),
}


def base_problem(logical: LogicalType, type_: DataType) -> str | None:
    """Which type a column of a logical type must have; None if it has one."""
    bases, shown = _bases(logical)
    return None if bases(type_) else shown


def _one_of(*types: DataType) -> Callable[[DataType], bool]:
    return lambda type_: type_ in types


def _struct_of(**fields: Callable[[DataType], bool]) -> Callable[[DataType], bool]:
    """Structs with these fields, in any order."""

    def has_fields(type_: DataType) -> bool:
        if not isinstance(type_, Struct):
            return False
        by_name = {field.name: field.type for field in type_.fields if not field.hidden}
        return by_name.keys() == fields.keys() and all(
            fits(by_name[name]) for name, fits in fields.items()
        )

    return has_fields


_ordered = _one_of(
    *(Atom.BYTE, Atom.SHORT, Atom.INT, Atom.LONG, Atom.DATE, Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ)
)


def _is_bound(type_: DataType) -> bool:
    return _ordered(type_) or isinstance(type_, Decimal)


def _has_bounds(type_: DataType) -> bool:
    """Whether both bounds of a range are of one type."""
    fields = {field.name: field.type for field in type_.fields} if isinstance(type_, Struct) else {}
    return _RANGE_FIELDS(type_) and fields["lower"] == fields["upper"]


def _is_array(type_: DataType) -> bool:
    return isinstance(type_, Array)


def _is_array_of_int(type_: DataType) -> bool:
    return isinstance(type_, Array) and type_.element.type is Atom.INT


_RANGE_FIELDS = _struct_of(
    lower=_is_bound,
    upper=_is_bound,
    lower_inclusive=_one_of(Atom.BOOLEAN),
    upper_inclusive=_one_of(Atom.BOOLEAN),
    empty=_one_of(Atom.BOOLEAN),
)


def _bases(logical: LogicalType) -> tuple[Callable[[DataType], bool], str]:
    match logical:
        case Unsigned(bits):
            types = _UNSIGNED_BASES[bits]
            names = {8: "SMALLINT, INT or BIGINT", 16: "INT or BIGINT", 32: "BIGINT"}
            return _one_of(*types), names.get(bits, "DECIMAL(20,0)")
        case Oid():
            return _one_of(Atom.LONG), "BIGINT"
        case Enumeration():
            return _one_of(Atom.BYTE, Atom.SHORT, Atom.INT), "TINYINT, SMALLINT or INT"
        case Uuid():
            return _one_of(Atom.STRING, Atom.BINARY), "STRING or BINARY"
        case Json():
            return _one_of(Atom.STRING), "STRING"
        case Fixed() | Bitmask() | IpAddress():
            return _one_of(Atom.BINARY), "BINARY"
        case Float16():
            return _one_of(Atom.FLOAT), "FLOAT"
        case CalendarInterval():
            fields = {
                "months": _one_of(Atom.INT),
                "days": _one_of(Atom.INT),
                "microseconds": _one_of(Atom.LONG),
            }
            return _struct_of(**fields), "STRUCT<months: INT, days: INT, microseconds: BIGINT>"
        case Numeric():
            fields = {"approximate": _one_of(Atom.DOUBLE), "exact": _one_of(Atom.STRING)}
            return _struct_of(**fields), "STRUCT<approximate: DOUBLE, exact: STRING>"
        case Range():
            return _has_bounds, (
                "STRUCT<lower: T, upper: T, lower_inclusive: BOOLEAN, upper_inclusive: BOOLEAN, empty: "
                "BOOLEAN>, with an integer, DECIMAL, DATE, TIMESTAMP or TIMESTAMP_NTZ as T"
            )
        case NdArray():
            fields = {
                "lower_bounds": _is_array_of_int,
                "lengths": _is_array_of_int,
                "elements": _is_array,
            }
            return _struct_of(**fields), (
                "STRUCT<lower_bounds: ARRAY<INT>, lengths: ARRAY<INT>, elements: ARRAY<T>>"
            )
