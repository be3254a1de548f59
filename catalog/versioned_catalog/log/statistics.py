"""Statistics of the columns of a segment (FORMAT.md, section 7).

Bounds in memory are Python values in the order of FORMAT.md: temporal values as the stored integers,
text as its UTF-8 bytes.

The functions that read JSON raise CorruptTableError if it is not statistics.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.model.schema_json import Json, check_members, optional
from versioned_catalog.model.shapes import Box, boxes_of, is_shape
from versioned_catalog.model.types import (
    Array,
    Column,
    DataType,
    Map,
    Struct,
    is_compared,
    is_floating,
    is_text,
    walk,
)
from versioned_catalog.model.value_text import double_text, leaf_text

Key = bool | int | float | decimal.Decimal | bytes
"""A value of a column; all of one column compare with one another."""

LONGEST = 64
"""Code points or bytes; longer bounds are cut."""


def has_bounds(type_: DataType) -> bool:
    """Whether columns of a type have a minimum and a maximum."""
    return is_compared(type_)


def extremes(array: pa.Array) -> tuple[Key, Key] | None:
    """The minimum and the maximum of an array, nulls and NaNs left out; None if nothing else is there.

    The values are of a type that ``has_bounds``.
    """
    if pa.types.is_temporal(array.type):
        array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    if pa.types.is_floating(array.type) and len(array) and not array.null_count:
        low, high = _float_extremes(array)
        if low == low:  # noqa: PLR0124 - NaN differs from itself
            return low, high
    min_max = pc.min_max(array)
    least = min_max["min"]
    if not least.is_valid:
        return None
    low, high = _key(least), _key(min_max["max"])
    # The minimum is NaN only if all values are.
    return (low, high) if low == low else None  # noqa: PLR0124 - NaN differs from itself


def _float_extremes(array: pa.Array) -> tuple[float, float]:
    """The extremes of floats without nulls, in an eighth of Arrow's time; NaN if one is NaN."""
    size = array.type.bit_width // 8
    values = np.frombuffer(array.buffers()[1], f"f{size}", len(array), array.offset * size)
    return float(values.min()), float(values.max())


def _key(scalar: Any) -> Any:
    # The bytes of text, which may not be UTF-8.
    is_bytes = pa.types.is_string(scalar.type) or pa.types.is_binary(scalar.type)
    return scalar.as_buffer().to_pybytes() if is_bytes else scalar.as_py()


def lower_text(key: Key, type_: DataType) -> tuple[str, bool] | None:
    """The value text of a lower bound, and whether it was cut; None for bytes that are not UTF-8."""
    if not isinstance(key, bytes):
        return leaf_text(key, type_), False
    if not is_text(type_):
        return leaf_text(key[:LONGEST], type_), len(key) > LONGEST
    text = _decoded(key)
    return None if text is None else (text[:LONGEST], len(text) > LONGEST)


def upper_text(key: Key, type_: DataType) -> tuple[str, bool] | None:
    """The value text of an upper bound, and whether it was cut.

    A cut bound is raised to stay an upper one. None if it can't be raised, or for bytes that are not
    UTF-8.
    """
    if not isinstance(key, bytes):
        return leaf_text(key, type_), False
    if not is_text(type_):
        if len(key) <= LONGEST:
            return leaf_text(key, type_), False
        kept = key[:LONGEST].rstrip(b"\xff")
        above = kept[:-1] + bytes([kept[-1] + 1]) if kept else None
        return None if above is None else (leaf_text(above, type_), True)
    text = _decoded(key)
    if text is None or len(text) <= LONGEST:
        return None if text is None else (text, False)
    kept_text = text[:LONGEST].rstrip("\U0010ffff")
    return (kept_text[:-1] + _next(kept_text[-1]), True) if kept_text else None


def corner_texts(box: Box) -> tuple[str, str]:
    """The bounds of shapes: the corners of the box around them (FORMAT.md, section 7)."""
    xmin, ymin, xmax, ymax = map(double_text, box)
    return f"{xmin} {ymin}", f"{xmax} {ymax}"


def _decoded(key: bytes) -> str | None:
    """The text of bytes; None if they are not UTF-8, which Arrow does not check."""
    try:
        return key.decode()
    except UnicodeDecodeError:
        return None


def _next(character: str) -> str:
    return "\ue000" if character == "\ud7ff" else chr(ord(character) + 1)


@dataclass(frozen=True, slots=True)
class ColumnStats:
    """The statistics of one column of a segment; None is unknown.

    Args:
        nulls: the number of nulls whose parent is not null.
        nans: the number of NaNs; None for a type that is not floating-point.
        min, max: bounds of the values that are neither null nor NaN, as value text; of shapes, corners
            of the box around them.
        min_inexact, max_inexact: whether the bound was cut, so that it may not occur as a value.
    """

    nulls: int | None = None
    nans: int | None = None
    min: str | None = None
    max: str | None = None
    min_inexact: bool = False
    max_inexact: bool = False


_INEXACT = {(False, False): None, (True, False): "min", (False, True): "max", (True, True): "both"}
_FLAGS = {word: flags for flags, word in _INEXACT.items()}
_ID = re.compile(r"[1-9][0-9]{0,9}")


_MEMBERS = frozenset({"nulls", "nans", "min", "max", "inexact"})


def stats_to_json(stats: ColumnStats) -> Json:
    """The JSON of one column's statistics (FORMAT.md, section 6)."""
    members = {
        "nulls": stats.nulls,
        "nans": stats.nans,
        "min": stats.min,
        "max": stats.max,
        "inexact": _INEXACT[stats.min_inexact, stats.max_inexact],
    }
    return {name: value for name, value in members.items() if value is not None}


def stats_from_json(value: Json) -> ColumnStats:
    """Read one column's statistics. Bounds are not checked against the column's type."""
    if not isinstance(value, dict):
        raise CorruptTableError(f"statistics must be an object, not {str(value)[:100]!r}")
    check_members(value, _MEMBERS)
    word = optional(value, "inexact", str)
    if word not in _FLAGS:
        raise CorruptTableError(
            f"{str(word)[:100]!r} is not a value of the member 'inexact' of statistics"
        )
    return ColumnStats(
        _count(value, "nulls"),
        _count(value, "nans"),
        optional(value, "min", str),
        optional(value, "max", str),
        *_FLAGS[word],
    )


def _count(value: Json, name: str) -> int | None:
    count = optional(value, name, int)
    if count is not None and not 0 <= count < 2**63:
        raise CorruptTableError(
            f"the member {name!r} of statistics is {count}, which is not a count"
        )
    return count


def columns_to_json(stats: Mapping[int, ColumnStats]) -> Json:
    """The JSON of the member ``columns`` of a segment record."""
    return {str(column_id): stats_to_json(value) for column_id, value in stats.items()}


def columns_from_json(value: Json) -> dict[int, ColumnStats]:
    """Read the member ``columns`` of a segment record: statistics by column ID."""
    if not isinstance(value, dict):
        raise CorruptTableError(f"statistics must be an object, not {str(value)[:100]!r}")
    for key in value:
        if not _ID.fullmatch(key) or int(key) >= 2**31:
            raise CorruptTableError(
                f"statistics are stored for {key[:100]!r}, which is not a column ID"
            )
    return {int(key): stats_from_json(stats) for key, stats in value.items()}


def collect(
    columns: tuple[Column, ...], batch: pa.RecordBatch | pa.Table
) -> dict[int, ColumnStats]:
    """Statistics by column ID of one batch (see ``StatsCollector``)."""
    collector = StatsCollector(columns)
    collector.update(batch)
    return collector.finish()


class StatsCollector:
    """Statistics of top-level columns, and of those inside them, over any number of batches."""

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self._columns = columns
        self._running = {column.id: _Running.of(column.type) for column, _ in walk(columns)}

    def update(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Add rows, whose columns have the order and the Arrow types of ``columns``."""
        batches = batch.to_batches() if isinstance(batch, pa.Table) else [batch]
        for record_batch in batches:
            for column, array in zip(self._columns, record_batch.columns, strict=True):
                self._visit(column, array, 0)

    def finish(self) -> dict[int, ColumnStats]:
        """The statistics of all rows added so far, by column ID."""
        return {column_id: running.stats() for column_id, running in self._running.items()}

    def _visit(self, column: Column, array: pa.Array, parents_null: int) -> None:
        """Add a column's values, ``parents_null`` of which are null because their parent is."""
        self._running[column.id].update(array, parents_null)
        match column.type:
            case Struct(fields):
                # Unlike field(), flatten() applies the parent's nulls and offset.
                for child, values in zip(fields, array.flatten(), strict=True):
                    self._visit(child, values, array.null_count)
            case Array(element):
                self._visit(element, array.flatten(), 0)
            case Map(key, value):
                keys, items = _entries(array)
                self._visit(key, keys, 0)
                self._visit(value, items, 0)
            case _:
                pass


def _entries(array: pa.MapArray) -> tuple[pa.Array, pa.Array]:
    """The keys and values of a map array, without those of nulls or outside its slice."""
    if array.null_count:
        array = array.drop_null()
    first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
    return array.keys[first:last], array.items[first:last]


@dataclass(slots=True)
class _Running:
    """One column's statistics so far."""

    type: DataType
    nulls: int
    nans: int | None
    range: tuple[Key, Key] | None = None
    box: Box | None = None
    is_box_known: bool = True

    @staticmethod
    def of(type_: DataType) -> _Running:
        return _Running(type_, 0, 0 if is_floating(type_) else None)

    def update(self, array: pa.Array, parents_null: int) -> None:
        self.nulls += array.null_count - parents_null
        if self.nans is not None:
            self.nans += pc.is_nan(array).true_count
        batch_range = extremes(array) if has_bounds(self.type) else None
        if batch_range is not None:
            old = self.range or batch_range
            self.range = min(old[0], batch_range[0]), max(old[1], batch_range[1])
        if is_shape(self.type) and self.is_box_known:
            self._grow_box(array)

    def _grow_box(self, shapes: pa.StructArray) -> None:
        boxes = boxes_of(shapes, self.type)
        self.is_box_known = not boxes.is_unknown.any()
        around = boxes.around()
        if around is not None:
            self.box = around if self.box is None else self.box.joined(around)

    def stats(self) -> ColumnStats:
        if self.box is not None and self.is_box_known:
            return ColumnStats(self.nulls, None, *corner_texts(self.box))
        if self.range is None:
            return ColumnStats(self.nulls, self.nans)
        low, low_cut = lower_text(self.range[0], self.type) or (None, False)
        high, high_cut = upper_text(self.range[1], self.type) or (None, False)
        return ColumnStats(self.nulls, self.nans, low, high, low_cut, high_cut)
