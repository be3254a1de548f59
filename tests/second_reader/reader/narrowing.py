"""Showing values in a narrower type than they are read in (FORMAT.md, sections 4.6, 4.10)."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

from .problems import Corrupt, Problem, Unavailable
from .types import Column, arrow_leaf, arrow_type, widen, widens

DAY = 86_400_000_000
BITS = {"byte": 7, "short": 15, "int": 31, "long": 63}
DIGITS = Context(prec=100)


def fitting(*, nulls: bool) -> Callable[[pa.Array, Column, Column], pa.Array]:
    """How a leaf is shown, perhaps by a pin; ``nulls`` in place of what does not fit the pin."""

    def fit(array: pa.Array, now: Column, shown: Column) -> pa.Array:
        current, wanted = str(now.shown), str(shown.type)
        if current != now.type:  # a narrowed column
            array = narrow(array, current, Corrupt(f"{now.name} holds more than {current}"))
        if widens(current, wanted):  # the same type, or an older version in a type of later
            return widen(array, current, wanted)
        if len(array) and not widens(wanted, current):
            raise Unavailable(f"{shown.name} is {current} now, which can't be shown as {wanted}")
        misfit = Unavailable(f"{shown.name}: a value of type {current} is no {wanted}")
        return narrow(array, wanted, None if nulls else misfit)

    return fit


def narrow(array: pa.Array, kind: str, misfit: Problem | None) -> pa.Array:
    """The values in a type that widens to theirs.

    ``misfit`` is raised if one does not fit; without it, null is shown.
    """
    plain = array.cast(pa.int64()) if pa.types.is_timestamp(array.type) else array
    values = []
    for item in plain.to_pylist():
        value = None if item is None else narrowed(item, kind)
        if value is None and item is not None and misfit is not None:
            raise misfit
        values.append(value)
    return pa.array(values, arrow_type(kind))


def narrowed(item: Any, kind: str) -> Any:
    """The value of a type that widens to ``item``; None if there is none."""
    arrow = arrow_leaf(kind)
    if kind == "void":
        return None
    if kind in BITS:
        whole = math.isfinite(item) and item == int(item)
        return int(item) if whole and -(2 ** BITS[kind]) <= item < 2 ** BITS[kind] else None
    if pa.types.is_decimal(arrow):
        scaled = DIGITS.scaleb(item, arrow.scale)
        fits = scaled == int(scaled) and abs(int(scaled)) < 10**arrow.precision
        return Decimal(int(scaled)).scaleb(-arrow.scale, DIGITS) if fits else None
    if kind == "float":
        single = pa.array([item], pa.float64()).cast(pa.float32(), safe=False)[0].as_py()
        return item if math.isnan(item) or single == item else None
    if kind == "date":
        return item // DAY if item % DAY == 0 else None
    return item if len(item) <= int(kind.split("(")[1][:-1]) else None  # char and varchar
