"""Statistics of a segment from the footer of a file that other software wrote (FORMAT.md, section 6.2).

The module reads null counts, and bounds in the fields whose order the Parquet format defines
(``min_value`` and ``max_value``). It ignores the deprecated fields, whose order differs between writers,
and bounds of INT96 and FLOAT16. Such a footer says nothing about NaN, and its bounds of text may be cut.
"""

from __future__ import annotations

import decimal
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.log.footer_statistics import chunk_bounds, plain_ends
from versioned_catalog.log.statistics import (
    ColumnStats,
    Key,
    extremes,
    has_bounds,
    lower_text,
    upper_text,
)
from versioned_catalog.model.arrow import array_of, to_arrow_type
from versioned_catalog.model.calendars import gregorian_dates
from versioned_catalog.model.id_map import IdMap
from versioned_catalog.model.parquet_forms import Form
from versioned_catalog.model.types import (
    Column,
    Family,
    Struct,
    children,
    family,
    is_floating,
    is_nested,
)
from versioned_catalog.model.user_values import widen_text
from versioned_catalog.model.widening import widens
from versioned_catalog.storage.footer import Chunk, Footer

_UNSIGNED = {Form.UINT8: "<I", Form.UINT16: "<I", Form.UINT32: "<I", Form.UINT64: "<Q"}
_TIMES = (Form.MILLIS, Form.NANOS, Form.NANOS_CUT, Form.LOCAL)
_PER_MICRO = {"s": (1_000_000, 1), "ms": (1000, 1), "us": (1, 1), "ns": (1, 1000)}


def foreign_stats(
    footer: Footer, stored: Sequence[Column], id_map: IdMap, columns: Sequence[Column]
) -> dict[int, ColumnStats]:
    """The statistics, by column ID, that the footer proves, in the types of the table.

    Args:
        footer: of the file, which has all of ``stored``.
        stored: the columns of the file (``file_columns``).
        columns: the table's columns, in the schema version of the map.
    """
    by_id = {column.id: column for column in columns}
    reader = _Reader(footer, id_map)
    stats: dict[int, ColumnStats] = {}
    for column in stored:
        field = footer.schema.field(column.physical_name)
        stats |= reader.visit(field, column, by_id[column.id], (), full=True)
    return stats


@dataclass(frozen=True)
class _Reader:
    """Reads the statistics of one file."""

    footer: Footer
    id_map: IdMap

    def visit(
        self, field: pa.Field, column: Column, target: Column, above: tuple[str, ...], *, full: bool
    ) -> dict[int, ColumnStats]:
        """The statistics of a column and of those inside it.

        Args:
            field: the column in the file.
            target: the column of the table.
            above: the names around it in the file.
            full: whether the structs around it are never null.
        """
        path = (*above, column.physical_name)
        required = ColumnStats(0) if not field.nullable else ColumnStats()
        if isinstance(column.type, Struct) and pa.types.is_struct(field.type):
            return self._struct(field, column, target, path, required, full=full)
        if is_nested(column.type):
            return {column.id: required, **dict(_required_inside(field.type, column))}
        return {column.id: self._leaf(field, column, target, path, full=full)}

    def _struct(
        self,
        field: pa.Field,
        column: Column,
        target: Column,
        path: tuple[str, ...],
        required: ColumnStats,
        *,
        full: bool,
    ) -> dict[int, ColumnStats]:
        fields, by_id = children(column.type), {child.id: child for child in children(target.type)}
        below = full and (required.nulls == 0 or self._holds_everywhere(fields, path))
        stats = {column.id: ColumnStats(0) if below else required}
        for inner in fields:
            at = field.type.field(inner.physical_name)
            stats |= self.visit(at, inner, by_id[inner.id], path, full=below)
        return stats

    def _holds_everywhere(self, fields: Sequence[Column], path: tuple[str, ...]) -> bool:
        """Whether a leaf is never null, and so no struct around it."""
        leaves = ((*path, f.physical_name) for f in fields if not is_nested(f.type))
        return any(_nulls(self.footer.chunks(leaf)) == 0 for leaf in leaves)

    def _leaf(
        self, field: pa.Field, column: Column, target: Column, path: tuple[str, ...], *, full: bool
    ) -> ColumnStats:
        chunks = self.footer.chunks(path)
        nulls = _nulls(chunks)
        if not field.nullable or (nulls is not None and (full or nulls == 0)):
            stats = ColumnStats(0 if not field.nullable else nulls)
        else:
            stats = ColumnStats()
        rows = sum(self.footer.rows)
        nans = 0 if is_floating(target.type) and nulls == rows else None
        ends = None if chunks is None else self._ends(chunks, field.type, column)
        return _with_bounds(replace(stats, nans=nans), ends, column, target)

    def _ends(
        self, chunks: Sequence[Chunk], stored: pa.DataType, column: Column
    ) -> tuple[Key, Key] | None:
        """The least and the greatest value; None if a row group has values and no bounds."""
        if not has_bounds(column.type):
            return None
        for chunk, rows in zip(chunks, self.footer.rows, strict=True):
            if (chunk.min is None or chunk.max is None) and chunk.nulls != rows:
                return None
        form = self.id_map.columns[column.id].form
        plain = plain_ends(chunks, stored) if form is None else None
        if plain is not None and _is_alike(stored, to_arrow_type(column.type), form):
            return plain
        lows, highs = _bounds(chunks, stored, column, form)
        valid = pc.sum(lows.is_valid()).as_py(), pc.sum(highs.is_valid()).as_py()
        if valid != (sum(chunk.min is not None for chunk in chunks),) * 2:
            return None
        low, high = extremes(lows), extremes(highs)
        if low is None or high is None or _has_nan(lows) or _has_nan(highs):
            return None
        return low[0], high[1]


def _nulls(chunks: Sequence[Chunk] | None) -> int | None:
    """Number of nulls of a leaf, those of its parents included; None if unknown."""
    counts = [None] if chunks is None else [chunk.nulls for chunk in chunks]
    recorded = [count for count in counts if count is not None]
    return sum(recorded) if len(recorded) == len(counts) else None


def _bounds(
    chunks: Sequence[Chunk], stored: Any, column: Column, form: Form | None
) -> tuple[pa.Array, pa.Array]:
    """The bounds of row groups in the type of a column of the file; null if they have no such order."""
    target = to_arrow_type(column.type)
    if form in _UNSIGNED:
        values = ([_unsigned(raw, form) for raw in ends] for ends in _raw(chunks))
        low, high = (array_of(ends, target) for ends in values)
        return low, high
    if form in _TIMES:
        low, high = (_micros(ends, stored, target) for ends in chunk_bounds(chunks, stored, stored))
        return low, high
    if form is Form.JULIAN and stored == pa.date32():
        low, high = map(gregorian_dates, chunk_bounds(chunks, stored, stored))
        return low, high
    # Julian timestamps have no bounds: a 29 February that became 1 March changes their order.
    if form in (None, Form.TEXT) and _is_alike(stored, target, form):
        return chunk_bounds(chunks, target, target)
    unknown = pa.nulls(len(chunks), target)
    return unknown, unknown


def _raw(chunks: Sequence[Chunk]) -> tuple[list[bytes | None], list[bytes | None]]:
    return [chunk.min for chunk in chunks], [chunk.max for chunk in chunks]


def _unsigned(raw: bytes | None, form: Form) -> Any:
    layout = _UNSIGNED[form]
    if raw is None or len(raw) != struct.calcsize(layout):
        return None
    (value,) = struct.unpack(layout, raw)
    return decimal.Decimal(value) if form is Form.UINT64 else value


def _micros(ends: pa.Array, stored: Any, target: pa.DataType) -> pa.Array:
    """Times of another unit in microseconds, rounded down; null if one is out of range."""
    factor, divisor = _PER_MICRO[stored.unit]
    try:
        numbers = ends.view(pa.int32() if stored.bit_width == 32 else pa.int64()).cast(pa.int64())
        scaled = pc.multiply_checked(numbers, pa.scalar(factor, pa.int64()))
    except pa.ArrowInvalid:
        return pa.nulls(len(ends), target)
    if divisor > 1:
        # Integer division rounds towards zero.
        quotient = pc.divide(scaled, divisor)
        is_above = pc.greater(pc.multiply(quotient, divisor), scaled)
        scaled = pc.subtract(quotient, is_above.cast(pa.int64()))
    return scaled.view(target)


def _is_alike(stored: pa.DataType, target: pa.DataType, form: Form | None) -> bool:
    """Whether bounds of a type in a file have the order and meaning of a type of the table."""
    t = pa.types
    if pa.types.is_dictionary(stored):
        return _is_alike(stored.value_type, target, form)
    texts = (t.is_string, t.is_large_string, t.is_string_view)
    blobs = (t.is_binary, t.is_large_binary, t.is_binary_view)
    if t.is_string(target):
        kinds = (*texts, *blobs) if form is Form.TEXT else texts
        return any(is_kind(stored) for is_kind in kinds)
    if t.is_binary(target):
        return any(is_kind(stored) for is_kind in blobs)
    return bool(stored == target)


def _has_nan(values: pa.Array) -> bool:
    return pa.types.is_floating(values.type) and bool(pc.any(pc.is_nan(values)).as_py())


def _with_bounds(
    stats: ColumnStats, ends: tuple[Key, Key] | None, column: Column, target: Column
) -> ColumnStats:
    """Statistics with bounds in the type of the table."""
    if ends is None:
        return stats
    low, high = ends
    if isinstance(low, float) and isinstance(high, float):
        low, high = low or -0.0, high or 0.0  # footers do not distinguish the zeros
    may_be_cut = family(column.type) in (Family.TEXT, Family.BINARY)
    low_text, low_cut = lower_text(low, column.type) or (None, False)
    high_text, high_cut = upper_text(high, column.type) or (None, False)
    return replace(
        stats,
        min=_widened(low_text, column, target),
        max=_widened(high_text, column, target),
        min_inexact=(low_cut or may_be_cut) and low_text is not None,
        max_inexact=(high_cut or may_be_cut) and high_text is not None,
    )


def _widened(text: str | None, column: Column, target: Column) -> str | None:
    if text is None or column.type == target.type or not widens(column.type, target.type):
        return text
    widened = widen_text(text, column.type, target.type)
    return widened if isinstance(widened, str) else None


def _required_inside(stored: Any, column: Column) -> Iterator[tuple[int, ColumnStats]]:
    """Statistics of the columns inside a list or map that the file declares as never null."""
    if pa.types.is_map(stored):
        fields = [stored.key_field, stored.item_field]
    elif hasattr(stored, "value_field"):
        fields = [stored.value_field]
    elif pa.types.is_struct(stored):
        fields = [stored.field(child.physical_name) for child in children(column.type)]
    else:
        return
    for field, inner in zip(fields, children(column.type), strict=True):
        if not field.nullable:
            yield inner.id, ColumnStats(0)
        if is_nested(inner.type):
            yield from _required_inside(field.type, inner)
