"""The order of rows that a scan reports, so that Spark need not sort them again.

Segments of a table with a primary key are sorted by the row key (FORMAT.md, section 13). Those that are
read one after another are sorted together if none begins before the last one ends. Other tables may
have segments that are not sorted, so nothing is reported of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.read_groups import narrowed_ids
from versioned_catalog.model.arrow import from_numpy, integers, one_array, truths
from versioned_catalog.model.types import Atom, DataType, Decimal, Varchar
from versioned_catalog.read.bounds import SegmentBounds
from versioned_catalog.read.projection import Cast, FileLayout, Take
from versioned_catalog.read.row_keys import comparable
from versioned_catalog.read.scan import Scan

_SORTED_ALIKE = (
    *(Atom.BOOLEAN, Atom.BYTE, Atom.SHORT, Atom.INT, Atom.LONG),
    *(Atom.DATE, Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ, Atom.STRING, Atom.BINARY),
)
"""Types whose values Spark sorts as segments are sorted: numbers, and bytes without a sign."""


def ordering_of(scan: Scan, grouping: messages.Grouping | None) -> messages.Ordering | None:
    """The order of the segments of a scan that Spark reads all by itself, without a merge.

    None if rows are not sorted by the first column of the row key: the table has no primary key; the
    column is not shown, or in another type than segments hold; its bounds are not known; or they
    overlap both among all segments and among those of a partition.
    """
    columns = _key_columns(scan) if scan.state.schema.is_keyed and scan.kept.num_rows else []
    bounds = _bounds(scan, [column_id for column_id, _ in columns])
    if not bounds:
        return None
    order = _sorted(bounds)
    whole = _depth(bounds, order, np.zeros(len(order), np.int32))
    grouped = whole
    if grouping is not None and whole < len(bounds):
        places = np.array(grouping.place, np.int32)
        grouped = _depth(bounds, order[np.argsort(places[order], kind="stable")], places)
    most = max(whole, grouped)
    if not most:
        return None
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    names = [name for _, name in columns[:most]]
    return messages.Ordering(names, rank.tolist(), whole, grouped)


def _key_columns(scan: Scan) -> list[tuple[int, str]]:
    """The leading columns of the row key that are shown as they are sorted, by ID and shown name."""
    shown = {column.id: at for at, column in enumerate(scan.columns)}
    narrowed, layouts = narrowed_ids(scan), set(scan.layouts)

    def is_sorted(column_id: int) -> bool:
        at = shown.get(column_id)
        return (
            at is not None
            and column_id not in narrowed
            and is_sorted_alike(scan.columns[at].type)
            and all(_is_stored(scan, layout, at) for layout in layouts)
        )

    ids = takewhile(is_sorted, scan.state.schema.row_key)
    return [(column_id, scan.columns[shown[column_id]].name) for column_id in ids]


def is_sorted_alike(type_: DataType) -> bool:
    """Whether Spark sorts the values of a type as the segments of a table with a primary key do."""
    return isinstance(type_, Decimal | Varchar) or type_ in _SORTED_ALIKE


def _is_stored(scan: Scan, layout: FileLayout, at: int) -> bool:
    """Whether a column is shown as segments of a layout hold it, or widened, which keeps the order.

    Files of others need not be sorted.
    """
    if layout.id_map is not None:
        return False
    output = scan.plan(layout).outputs[at]
    return output.column.id == scan.columns[at].id and isinstance(output.step, Take | Cast)


@dataclass(frozen=True)
class _Ends:
    """The least and the greatest value of a column in each segment, as kernels compare them."""

    low: pa.Array
    high: pa.Array


def _bounds(scan: Scan, ids: Sequence[int]) -> list[_Ends]:
    """The bounds of the leading columns of which they are known in all segments."""
    bounds_of, found = SegmentBounds(scan.state, scan.state.schema, scan.places), []
    for column_id in ids:
        bounds = bounds_of(column_id)
        if bounds is None:
            break
        low, high = (comparable(one_array(end)) for end in (bounds.min, bounds.max))
        if low.null_count or high.null_count or pc.any(pc.greater(low, high)).as_py():
            break
        found.append(_Ends(low, high))
    return found


def _sorted(bounds: Sequence[_Ends]) -> npt.NDArray[np.int64]:
    """The places of the segments by their keys: the only order in which they may be sorted together."""
    ends = [end for column in bounds for end in (column.low, column.high)]
    names = [str(at) for at in range(len(ends))]
    keys = [(name, "ascending") for name in names]
    return integers(pc.sort_indices(pa.table(ends, names), sort_keys=keys).cast(pa.int64()))


def _depth(
    bounds: Sequence[_Ends], order: npt.NDArray[np.int64], places: npt.NDArray[np.int32]
) -> int:
    """The number of leading columns by which segments of one place are sorted one after another.

    A segment follows another if its first value is greater than the other's last one, or if the two
    values are equal and the next columns follow: rows with that value are then sorted by these.
    """
    before, after = order[:-1], order[1:]
    undecided = places[before] == places[after]
    first, second = from_numpy(before), from_numpy(after)
    for depth, ends in enumerate(bounds):
        high, low = ends.high.take(first), ends.low.take(second)
        if (undecided & truths(pc.greater(high, low))).any():
            return depth
        undecided &= truths(pc.equal(high, low))
    return len(bounds)
