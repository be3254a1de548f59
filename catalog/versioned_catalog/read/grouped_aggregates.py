"""COUNT, MIN and MAX by groups, from metadata, where each segment holds rows of one group only.

So it is with partition columns. Bounds tell, and not the partitioning: a column whose least value is its
greatest in a segment groups as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.model.arrow import FALSE, ZERO, from_numpy, integers, one_array, truths
from versioned_catalog.model.types import Column
from versioned_catalog.read.aggregates import (
    exact_text,
    is_inexact,
    may_be_gone,
    value_counts,
    whole_segments,
)
from versioned_catalog.read.bounds import has_exact_order, known_bounds
from versioned_catalog.read.scan import Scan

Texts = list[str | None]
"""Value texts (FORMAT.md, section 4.2) by group; None for null."""

MOST_GROUPS = 100_000
"""More groups are too many for one answer."""


@dataclass(frozen=True, eq=False)
class Groups:
    """The segments of a scan by the values of some columns.

    Args:
        scan: all rows of a snapshot.
        shown: which of its live segments show rows.
        place: the group of each of these.
        count: the number of groups.
        keys: for each column, its values by group.
    """

    scan: Scan
    shown: pa.BooleanArray
    place: npt.NDArray[np.int64]
    count: int
    keys: list[Texts]


def groups_by(scan: Scan, columns: Sequence[Column]) -> Groups | None:
    """Group the segments of a scan; None if metadata does not tell the columns' values.

    Args:
        scan: the rows of a snapshot.
        columns: top-level columns.
    """
    whole = whole_segments(scan)
    if whole is None:
        return None
    shown = pc.and_(whole, pc.greater(scan.state.segments.shown_counts, ZERO))
    values = [_constants(scan, column, shown) for column in columns]
    known = [value for value in values if value is not None]
    if len(known) < len(columns):
        return None
    place, first = _distinct(known)
    if len(first) > MOST_GROUPS:
        return None
    at = from_numpy(first)
    keys = [_texts(value.take(at), column) for value, column in zip(known, columns, strict=True)]
    return Groups(scan, shown, place, len(first), keys)


def rows_by(groups: Groups) -> list[int]:
    """The number of rows of each group."""
    return _sums(groups, groups.scan.state.segments.shown_counts.filter(groups.shown))


def values_by(groups: Groups, column: Column) -> list[int] | None:
    """The number of non-null values of a top-level column in each group; None if unknown."""
    bounds = known_bounds(groups.scan.state, column)
    if bounds is None:
        return None
    counts = value_counts(groups.scan.state, bounds).filter(groups.shown)
    return None if counts.null_count else _sums(groups, counts)


def extremes_by(groups: Groups, column: Column, greatest: bool) -> Texts | None:
    """The greatest or the least value of a top-level column in each group; None if unknown."""
    state = groups.scan.state
    bounds = known_bounds(state, column) if has_exact_order(column) else None
    if bounds is None:
        return None
    ends = one_array((bounds.max if greatest else bounds.min).filter(groups.shown))
    are_null = pc.fill_null(pc.equal(bounds.nulls, bounds.rows), FALSE).filter(groups.shown)
    if pc.any(pc.and_not(pc.is_null(ends), are_null)).as_py():
        return None
    vague = pc.or_(is_inexact(state, column, greatest), may_be_gone(state, bounds))
    best = _best(groups, ends, greatest)
    # An inexact bound lies beyond its values: it is not a result, nor does it exclude an exact one.
    reached = pc.equal(ends, best.take(from_numpy(groups.place)))
    exact = pc.fill_null(pc.and_not(reached, one_array(vague.filter(groups.shown))), FALSE)
    has_exact = np.zeros(groups.count, bool)
    has_exact[groups.place[truths(exact)]] = True
    if pc.any(pc.and_not(pc.is_valid(best), from_numpy(has_exact))).as_py():
        return None
    return _texts(best, column)


def _constants(scan: Scan, column: Column, shown: pa.BooleanArray) -> pa.Array | None:
    """The value of a column in each segment that shows rows; None if one has several or unknown ones."""
    bounds = known_bounds(scan.state, column) if has_exact_order(column) else None
    if bounds is None:
        return None
    alike = pc.and_(pc.equal(bounds.min, bounds.max), pc.equal(bounds.nulls, ZERO))
    for greatest in (False, True):
        alike = pc.and_not(alike, is_inexact(scan.state, column, greatest))
    null = pc.fill_null(pc.equal(bounds.nulls, bounds.rows), FALSE)
    known = pc.or_(pc.fill_null(alike, FALSE), null)
    if pc.any(pc.invert(one_array(known).filter(shown))).as_py():
        return None
    return one_array(bounds.min.filter(shown))


def _distinct(
    columns: Sequence[pa.Array],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For each row its group, and for each group the place of its first row."""
    codes = np.stack([_codes(column) for column in columns], axis=1)
    _, first, place = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    return place.reshape(-1).astype(np.int64), first.astype(np.int64)


def _codes(column: pa.Array) -> npt.NDArray[np.int64]:
    encoded = column.dictionary_encode(null_encoding="encode")
    return integers(encoded.indices.cast(pa.int64()))


def _best(groups: Groups, ends: pa.Array, greatest: bool) -> pa.Array:
    """The greatest or the least of the ends of each group; null if it has none."""
    kind, how = ends.type, "max" if greatest else "min"
    if pa.types.is_duration(kind):  # Arrow has no kernel for intervals
        ends = ends.cast(pa.int64())
    table = pa.table({"group": from_numpy(groups.place), "end": ends})
    best = table.group_by("group").aggregate([("end", how)]).sort_by("group")
    return one_array(best[f"end_{how}"]).cast(kind)


def _sums(groups: Groups, counts: pa.Array) -> list[int]:
    sums = np.zeros(groups.count, np.int64)
    np.add.at(sums, groups.place, integers(one_array(counts)))
    found: list[int] = sums.tolist()
    return found


def _texts(values: pa.Array, column: Column) -> Texts:
    return [exact_text(value, column) if value.is_valid else None for value in values]
