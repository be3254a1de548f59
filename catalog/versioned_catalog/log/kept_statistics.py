"""Statistics of segments as a state keeps them, once the entries that recorded them are expired."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.log.segment_table import BOX, statistics_of
from versioned_catalog.log.state import TableState
from versioned_catalog.log.statistics import (
    ColumnStats,
    corner_texts,
    extremes,
    lower_text,
    upper_text,
)
from versioned_catalog.model.arrow import array_of, one_array
from versioned_catalog.model.narrowing import held
from versioned_catalog.model.shapes import Box, is_shape
from versioned_catalog.model.types import Column, DataType, walk


def kept_statistics(state: TableState, paths: Sequence[str]) -> dict[str, dict[int, ColumnStats]]:
    """The statistics that a state has of live segments, by path and column ID.

    Bounds of a column whose type was changed since a segment was written are left out: those of a record
    are in the type that the segment has.
    """
    core = state.segments.core
    places = pc.indices_nonzero(pc.is_in(core["path"], array_of(list(paths), pa.string())))
    chosen = core.take(places)
    live, versions = chosen["path"].to_pylist(), chosen["schema_version"].to_pylist()
    statistics: dict[str, dict[int, ColumnStats]] = {path: {} for path in live}
    for column, _ in walk(state.schema.columns):
        for path, version, stats in zip(
            live, versions, _of_column(state, column, places), strict=True
        ):
            then = state.schemas[version]
            if column.id in then.ids and stats != ColumnStats():
                same = then.column(column.id).type == held(column).type
                statistics[path][column.id] = stats if same else ColumnStats(nulls=stats.nulls)
    return statistics


def _of_column(state: TableState, column: Column, places: pa.Array) -> Iterator[ColumnStats]:
    kept = {
        name: one_array(state.segments.statistic(name, held(column), state.schemas).take(places))
        for name in statistics_of(column.type)
    }
    if is_shape(column.type):
        edges = (kept[name].to_pylist() for name in BOX)
        for nulls, *box in zip(kept["nulls"].to_pylist(), *edges, strict=True):
            yield ColumnStats(nulls, None, *(() if None in box else corner_texts(Box(*box))))
        return
    for at in range(len(places)):
        inexact = (kept["inexact"][at].as_py() or 0) if "inexact" in kept else 0
        yield ColumnStats(
            nulls=kept["nulls"][at].as_py(),
            nans=kept["nans"][at].as_py() if "nans" in kept else None,
            min=_text(kept["min"].slice(at, 1), held(column).type, 0) if "min" in kept else None,
            max=_text(kept["max"].slice(at, 1), held(column).type, 1) if "max" in kept else None,
            min_inexact=bool(inexact & 1),
            max_inexact=bool(inexact & 2),
        )


def _text(bound: pa.Array, type_: DataType, which: int) -> str | None:
    """The value text of a bound, which was cut before if it had to be; None if it is not known."""
    ends = extremes(bound)
    if ends is None:
        return None
    text = (lower_text, upper_text)[which](ends[which], type_)
    return None if text is None else text[0]
