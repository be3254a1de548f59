"""Units (segments or row groups) described by statistics, written by hand or collected from rows."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from read.filter_oracle import PATH, array_of
from versioned_catalog.log.statistics import ColumnStats, collect
from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.types import Column, DataType
from versioned_catalog.model.value_text import decode_raw
from versioned_catalog.read.evaluators import ColumnBounds
from versioned_catalog.read.filters import Comparison, Op, TextKind, TextTest, UnboundFilter

Unit = tuple[int, int | None, int | None, Any, Any]


def bounds_of(type_: DataType, units: list[Unit]) -> ColumnBounds:
    """Bounds of units, each given as (rows, nulls, nans, min, max)."""
    rows, nulls, nans, low, high = zip(*units, strict=True)
    arrow = to_arrow_type(type_)
    return ColumnBounds(
        *(pa.array(counts, pa.int64()) for counts in (rows, nulls, nans)),
        pa.array(low, arrow),
        pa.array(high, arrow),
    )


def is_(op: str, value: Any) -> UnboundFilter:
    return Comparison(PATH, Op(op), value)


def starts(text: str) -> UnboundFilter:
    return TextTest(PATH, TextKind.PREFIX, text)


def stats_bounds(type_: DataType, stats: list[tuple[int, ColumnStats]]) -> ColumnBounds:
    raw = [
        (rows, s.nulls, s.nans, decode_raw(s.min, type_), decode_raw(s.max, type_))
        for rows, s in stats
    ]
    return bounds_of(type_, raw)


def cut(
    type_: DataType, rows: list[Any], data: st.DataObject
) -> tuple[list[list[Any]], ColumnBounds]:
    """Units of randomly divided rows with their real statistics, some of which are dropped."""
    cuts = data.draw(st.lists(st.integers(0, 12), max_size=3))
    edges = [0, *sorted(min(at, len(rows)) for at in cuts), len(rows)]
    units = [rows[a:b] for a, b in itertools.pairwise(edges)]
    column = Column(1, "c", type_)
    statistics = [
        collect((column,), pa.record_batch([array_of(type_, unit)], ["c"]))[1] for unit in units
    ]
    forget = data.draw(st.sampled_from([(), (), ("nulls",), ("nans",), ("min",), ("max",)]))
    statistics = [dataclasses.replace(stats, **dict.fromkeys(forget)) for stats in statistics]
    return units, stats_bounds(type_, [(len(u), s) for u, s in zip(units, statistics, strict=True)])
