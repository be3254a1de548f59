"""Types, their Arrow forms, value texts and widenings (FORMAT.md, sections 4.1, 4.2)."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .problems import Corrupt, Unsupported

LEAVES = {
    **{
        "boolean": pa.bool_(),
        "byte": pa.int8(),
        "short": pa.int16(),
        "int": pa.int32(),
        "long": pa.int64(),
    },
    **{"float": pa.float32(), "double": pa.float64(), "string": pa.string(), "binary": pa.binary()},
    **{
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
    },
    "void": pa.null(),
    "variant": pa.struct(
        [pa.field("value", pa.binary(), False), pa.field("metadata", pa.binary(), False)]
    ),
}
WKB = pa.struct([pa.field("srid", pa.int32(), False), pa.field("wkb", pa.binary(), False)])
INTERVAL = re.compile(r"interval (day|hour|minute|second)( to (hour|minute|second))?")
MONTHS = re.compile(r"interval (year|month|year to month)")
COLLATED = re.compile(r"string collate \w+")
INTEGERS = ["byte", "short", "int", "long"]


@dataclass(frozen=True)
class Column:
    """A column or nested field.

    ``widest`` is the type that its segments may hold, if it was narrowed. ``shown`` is the type in which
    its rows are shown and its read default is stated, if they are read in another one. ``form`` is how a
    file of others stores it.
    """

    id: int
    name: str
    physical: str
    type: Type
    nullable: bool
    read_default: Any = None
    hidden: bool = False
    widest: str | None = None
    shown: Type | None = None
    form: str | None = None


@dataclass(frozen=True)
class Struct:
    fields: tuple[Column, ...]


@dataclass(frozen=True)
class List:
    element: Column


@dataclass(frozen=True)
class Map:
    key: Column
    value: Column


Type = str | Struct | List | Map


def arrow_leaf(leaf: str) -> pa.DataType:
    if leaf in LEAVES:
        return LEAVES[leaf]
    if match := re.fullmatch(r"decimal\((\d+),(\d+)\)", leaf):
        return pa.decimal128(int(match[1]), int(match[2]))
    if re.fullmatch(r"(var)?char\(\d+\)", leaf) or COLLATED.fullmatch(leaf):
        return pa.string()
    if re.fullmatch(r"time\([0-6]\)", leaf):
        return pa.time64("us")
    if INTERVAL.fullmatch(leaf):
        return pa.duration("us")
    if MONTHS.fullmatch(leaf):
        return pa.int32()
    if re.fullmatch(r"geo(metry|graphy)\(.*\)", leaf):
        return WKB
    raise Unsupported(f"the type {leaf}")


def arrow_field(column: Column) -> pa.Field:
    return pa.field(column.name, arrow_type(column.type), column.nullable)


def arrow_type(of: Type) -> pa.DataType:
    match of:
        case str():
            return arrow_leaf(of)
        case Struct(fields):
            return pa.struct([arrow_field(column) for column in fields])
        case List(element):
            return pa.list_(arrow_field(element))
        case Map(key, value):
            return pa.map_(arrow_field(key), arrow_field(value))


def leaf_value(leaf: str, text: str) -> Any:
    """What ``pa.array`` takes for a value text: dates and times as numbers."""
    arrow = arrow_leaf(leaf)
    if pa.types.is_boolean(arrow):
        return {"true": True, "false": False}[text]
    if pa.types.is_floating(arrow):
        return float(text)
    if pa.types.is_decimal(arrow):
        return Decimal(text)
    if pa.types.is_binary(arrow):
        return base64.b64decode(text, validate=True)
    return text if pa.types.is_string(arrow) else int(text)


def value(of: Type, text: Any) -> Any:
    """What ``pa.array`` takes for a value text, nested ones too."""
    if text is None:
        return None
    match of:
        case str():
            return leaf_value(of, text)
        case Struct(fields):  # a field whose ID is missing is newer than the value
            return {
                column.name: value(column.type, text.get(str(column.id), column.read_default))
                for column in fields
            }
        case List(element):
            return [value(element.type, item) for item in text]
        case Map(key, item):
            return [(value(key.type, k), value(item.type, v)) for k, v in text]


def constant(of: Type, text: Any, rows: int) -> pa.Array:
    """An array of ``rows`` times the value of a value text."""
    try:
        single = pa.array([value(of, text)], arrow_type(of))
    except (KeyError, ValueError, AttributeError, TypeError, pa.ArrowException) as error:
        raise Corrupt(f"{text!r} is no value of {of}") from error
    return single.take(pa.array([0] * rows, pa.int64()))


def widens(old: str, new: str) -> bool:
    """Whether every value of ``old`` is exactly one of ``new``."""
    if old == "void":
        return True
    if old == new or (old, new) in {("float", "double"), ("date", "timestamp_ntz")}:
        return True
    if old in INTEGERS:
        if new in INTEGERS:
            return INTEGERS.index(old) < INTEGERS.index(new)
        digits = 20 if old == "long" else 10
        target = re.fullmatch(r"decimal\((\d+),(\d+)\)", new)
        return (new == "double" and old != "long") or bool(
            target and int(target[1]) - int(target[2]) >= digits
        )
    if pa.types.is_decimal(arrow_leaf(old)) and pa.types.is_decimal(arrow_leaf(new)):
        before, after = arrow_leaf(old), arrow_leaf(new)
        integral = after.precision - after.scale >= before.precision - before.scale
        return bool(integral and after.scale >= before.scale)
    if match := re.fullmatch(r"(?:var)?char\((\d+)\)", old):
        longer = re.fullmatch(r"varchar\((\d+)\)", new)
        return new == "string" or bool(longer and int(longer[1]) >= int(match[1]))
    return False


def widen(array: pa.Array, old: str, new: str) -> pa.Array:
    if old != new and not widens(old, new):
        raise Corrupt(f"{old} does not widen to {new}")
    arrow = arrow_leaf(new)
    return array if array.type == arrow else pc.cast(array, arrow)
