"""The schema of a pin over a snapshot (FORMAT.md, section 4.6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from .problems import Unavailable
from .schemas import Columns
from .types import Column, List, Map, Struct, Type, arrow_leaf, arrow_type, widen, widens

DAY = 86_400_000_000
BITS = {"byte": 7, "short": 15, "int": 31, "long": 63}


def seen(pinned: Columns, current: Columns, *, later: bool, nulls: bool) -> Columns:
    """The columns of a pinned schema over those of a snapshot.

    ``later``: the pinned schema is the newer one; ``nulls``: null is shown for what does not fit.
    """
    by_id = {column.id: column for column in current}
    shown = []
    for column in pinned:
        now = by_id.get(column.id)
        if now is None and not later:
            raise Unavailable(f"the column {column.name} of the pinned schema was dropped")
        if now is not None:
            kind = seen_type(column.type, now.type, later=later, nulls=nulls)
            narrowed = nulls and isinstance(kind, str) and not widens(str(now.type), kind)
            nullable = column.nullable or now.nullable or narrowed
            column = replace(column, nullable=nullable, type=kind)
        shown.append(column)
    return tuple(shown)


def united(current: Columns, pinned: Columns) -> Columns:
    """The columns of a snapshot, and those of a pin that it lacks: segments may hold them."""
    by_id = {column.id: column for column in pinned}
    both = [
        replace(now, type=united_type(now.type, by_id[now.id].type)) if now.id in by_id else now
        for now in current
    ]
    ids = {column.id for column in current}
    return (*both, *(column for column in pinned if column.id not in ids))


def united_type(now: Type, pinned: Type) -> Type:
    match now, pinned:
        case Struct(current), Struct(fields):
            return Struct(united(current, fields))
        case List(current_element), List(element):
            return List(*united((current_element,), (element,)))
        case Map(now_key, now_value), Map(key, value):
            return Map(*united((now_key, now_value), (key, value)))
    return now


def seen_type(pinned: Type, now: Type, *, later: bool, nulls: bool) -> Type:
    match pinned, now:
        case Struct(fields), Struct(current):
            return Struct(seen(fields, current, later=later, nulls=nulls))
        case List(element), List(current_element):
            return List(*seen((element,), (current_element,), later=later, nulls=nulls))
        case Map(key, value), Map(now_key, now_value):
            return Map(*seen((key, value), (now_key, now_value), later=later, nulls=nulls))
    return pinned


def fitting(*, nulls: bool) -> Callable[[pa.Array, Column, Column], pa.Array]:
    """How the type of a pin shows a leaf; ``nulls``: as null if it does not fit."""

    def fit(array: pa.Array, now: Column, shown: Column) -> pa.Array:
        if widens(str(now.type), str(shown.type)):  # an older version, in a type of later
            return widen(array, str(now.type), str(shown.type))
        if len(array) and not widens(str(shown.type), str(now.type)):
            raise Unavailable(
                f"{shown.name} is {now.type} now, which can't be shown as {shown.type}"
            )
        plain = array.cast(pa.int64()) if pa.types.is_timestamp(array.type) else array
        values = []
        for item in plain.to_pylist():
            value = None if item is None else narrowed(item, str(shown.type))
            if value is None and item is not None and not nulls:
                raise Unavailable(f"{shown.name}: {item} of type {now.type} is no {shown.type}")
            values.append(value)
        return pa.array(values, arrow_type(shown.type))

    return fit


def narrowed(item: Any, kind: str) -> Any:
    """The value of an earlier type that widens to ``item``; None if there is none."""
    arrow = arrow_leaf(kind)
    if kind in BITS:
        whole = math.isfinite(item) and item == int(item)
        return int(item) if whole and -(2 ** BITS[kind]) <= item < 2 ** BITS[kind] else None
    if pa.types.is_decimal(arrow):
        scaled = item.scaleb(arrow.scale)
        fits = scaled == scaled.to_integral_value() and abs(scaled) < Decimal(10) ** arrow.precision
        return round(item, arrow.scale) if fits else None
    if kind == "float":
        single = pa.array([item], pa.float64()).cast(pa.float32(), safe=False)[0].as_py()
        return item if math.isnan(item) or single == item else None
    if kind == "date":
        return item // DAY if item % DAY == 0 else None
    return item if len(item) <= int(kind.split("(")[1][:-1]) else None  # char and varchar
