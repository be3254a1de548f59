"""Bounds of columns in segments, row groups and partitions, for the evaluation of filters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.log.footer_statistics import chunk_bounds
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.segment_table import BOX
from versioned_catalog.log.state import TableState
from versioned_catalog.log.statistics import has_bounds
from versioned_catalog.model.arrow import ONE, ZERO, array_of, one_array, repeat, to_arrow_type
from versioned_catalog.model.id_map import IdMap
from versioned_catalog.model.schema import PartitionField, Schema
from versioned_catalog.model.shapes import is_shape
from versioned_catalog.model.sql_literals import to_scalar
from versioned_catalog.model.transform_values import apply_transform
from versioned_catalog.model.transforms import Bucket, parse_transform
from versioned_catalog.model.types import (
    Column,
    Struct,
    is_compared,
    is_floating,
    is_metadata,
    is_nested,
    is_repeated,
    walk,
)
from versioned_catalog.read.evaluators import ColumnBounds, LazyBounds, all_match, may_match
from versioned_catalog.read.filters import And, BoundFilter, Compare, In, Literal, Op, columns_of
from versioned_catalog.read.metadata_columns import ROW_ID
from versioned_catalog.read.projection import Metadata, SegmentPlan
from versioned_catalog.storage.footer import Footer


class SegmentBounds:
    """ColumnBounds of live segments of a state, by column ID of the wanted schema.

    Args:
        state: the state.
        wanted: the schema whose columns are asked for.
        places: the segments, by their places among the live ones; None for all.
    """

    def __init__(
        self, state: TableState, wanted: Schema, places: pa.Int64Array | None = None
    ) -> None:
        self._segments: SegmentSet = state.segments
        self._schemas = state.schemas
        self._wanted = wanted
        self._places = places
        self._rows = one_array(self._segments.column("rows", places))
        self._versions = one_array(self._segments.column("schema_version", places))
        self._written = [(v, self._schemas[v]) for v in self._versions.unique().to_pylist()]

    def __call__(self, column_id: int) -> ColumnBounds | None:
        """The bounds of a column, or None if nothing is known."""
        if column_id == ROW_ID:
            return self._row_ids()
        if column_id not in self._wanted.ids:
            return None
        column, above = self._wanted.column(column_id), self._wanted.ancestors(column_id)
        if is_repeated(above):
            return None
        holding = [v for v, schema in self._written if column_id in schema.ids]
        if len(holding) == len(self._written):
            return self._stored(column, above)
        has_column = pc.is_in(self._versions, array_of(holding, pa.int32()))
        stored = self._stored(column, above)
        # A nested default is visible only where the parent is not null, so it decides nothing.
        other = _unknown(column, self._rows) if above else constant_bounds(column, self._rows)
        return _where(has_column, stored, other)

    def _row_ids(self) -> ColumnBounds:
        """The bounds of row IDs, where no file holds them."""
        first, stored = (
            one_array(self._segments.column(name, self._places))
            for name in ("first_row_id", "row_ids_stored")
        )
        unknown = pc.is_valid(stored)
        low = pc.if_else(unknown, _NO_NUMBER, first)
        high = pc.subtract(pc.add(low, self._rows), ONE)
        return ColumnBounds(self._rows, _zeros(self._rows), None, low, high)

    def _stored(self, column: Column, above: tuple[Column, ...]) -> ColumnBounds:
        if is_shape(column.type):
            return self._boxes(column, above)
        if not is_compared(column.type):
            return _unknown(column, self._rows, self._nulls(column, above))

        def compute(name: str) -> pa.Array | None:
            if name == "nulls":
                return self._nulls(column, above)
            if name == "nans" and not is_floating(column.type):
                return None
            return self._statistic(name, column)

        return LazyBounds(self._rows, to_arrow_type(column.type), compute)

    def _boxes(self, column: Column, above: tuple[Column, ...]) -> ColumnBounds:
        """The bounds of shapes: corners of boxes as structs of x and y."""

        def compute(name: str) -> pa.Array | None:
            if name == "nulls":
                return self._nulls(column, above)
            if name == "nans":
                return None
            edges = [edge for edge, (bound, _) in BOX.items() if bound == name]
            values = [_unless_nan(self._statistic(edge, column)) for edge in edges]
            return pa.StructArray.from_arrays(values, ["x", "y"])

        return LazyBounds(self._rows, CORNER, compute)

    def _nulls(self, column: Column, above: tuple[Column, ...]) -> pa.Array:
        nulls = self._statistic("nulls", column)
        for parent in above:
            nulls = pc.add(nulls, self._statistic("nulls", parent))
        return nulls

    def _statistic(self, name: str, column: Column) -> pa.Array:
        return one_array(self._segments.statistic(name, column, self._schemas, self._places))


_NO_NUMBER = pa.nulls(1, pa.int64())[0]

CORNER = pa.struct([("x", pa.float64()), ("y", pa.float64())])
"""The type of the bounds of shapes."""


def _unless_nan(edges: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_nan(edges), pa.nulls(1, pa.float64())[0], edges)


def has_exact_order(column: Column) -> bool:
    """Whether all values of a column lie between its bounds, which NaNs of floats do not."""
    return has_bounds(column.type) and not is_floating(column.type)


def known_bounds(state: TableState, column: Column) -> ColumnBounds | None:
    """The bounds of a seen column in the live segments; None if it is seen in an earlier type."""
    if state.converts and state.reads.widened(column).type != column.type:
        return None
    return SegmentBounds(state, state.known)(column.id)


class RowGroupBounds:
    """ColumnBounds of some row groups of one file, by column ID of the plan's outputs.

    The columns ``nan_free`` have no NaN in the file, which Parquet does not record. For an
    external file (``id_map``), bounds are used only of columns that are stored as in a native file.
    """

    def __init__(
        self,
        footer: Footer,
        groups: Sequence[int],
        plan: SegmentPlan,
        nan_free: frozenset[int],
        *,
        id_map: IdMap | None = None,
    ) -> None:
        self._footer = footer
        self._groups = groups
        self._nan_free = nan_free
        self._rows = array_of([footer.rows[g] for g in groups], pa.int64())
        outputs = tuple(output.column for output in plan.outputs)
        self._wanted = {c.id: (c, above) for c, above in walk(outputs)}
        self._stored = {c.id: (c, above) for c, above in walk(plan.needed)}
        recorded = (o.column.id for o in plan.outputs if isinstance(o.step, Metadata))
        self._recorded = frozenset(recorded)
        self._mapped = None if id_map is None else id_map.columns

    def __call__(self, column_id: int) -> ColumnBounds | None:
        """The bounds of a column, or None if nothing is known."""
        wanted, above = self._wanted[column_id]
        if is_metadata(wanted) or is_repeated((*above, wanted)):
            return None
        if not (is_nested(wanted.type) or is_compared(wanted.type)):
            return None
        if column_id in self._recorded:
            return None
        if column_id not in self._stored:
            return None if above else constant_bounds(wanted, self._rows)
        source, parents = self._stored[column_id]
        if isinstance(source.type, Struct):
            return None
        return self._from_file(wanted, source, (*parents, source))

    def _from_file(
        self, wanted: Column, source: Column, line: tuple[Column, ...]
    ) -> ColumnBounds | None:
        chunks = self._footer.chunks(tuple(column.physical_name for column in line))
        stored_type = _stored_type(self._footer.schema, line)
        if chunks is None or stored_type is None:
            return None
        if self._mapped is not None and (
            stored_type != to_arrow_type(source.type) or self._mapped[source.id].form is not None
        ):
            return None  # bounds of another form have another meaning
        selected = [chunks[group] for group in self._groups]
        low, high = chunk_bounds(selected, stored_type, to_arrow_type(source.type))
        is_nan_free = wanted.id in self._nan_free
        nans = array_of([0 if is_nan_free else None] * len(selected), pa.int64())
        return ColumnBounds(
            self._rows,
            array_of([chunk.nulls for chunk in selected], pa.int64()),
            nans if is_floating(wanted.type) else None,
            _cast(low, wanted),
            _cast(high, wanted),
        )


def constant_bounds(column: Column, rows: pa.Array) -> ColumnBounds:
    """The bounds of a column whose rows all have its read default."""
    type_ = to_arrow_type(column.type)
    default = column.read_default
    if default is None:
        return ColumnBounds(
            rows,
            rows,
            _zeros(rows) if is_floating(column.type) else None,
            pa.nulls(len(rows), type_),
            pa.nulls(len(rows), type_),
        )
    if is_nested(column.type):
        return _unknown(column, rows, _zeros(rows))
    value = to_scalar(default, column.type)
    is_nan = is_floating(column.type) and bool(pc.is_nan(value).as_py())
    bound = pa.nulls(len(rows), type_) if is_nan else pa.repeat(value, len(rows))
    nans = (rows if is_nan else _zeros(rows)) if is_floating(column.type) else None
    return ColumnBounds(rows, _zeros(rows), nans, bound, bound)


def _unknown(column: Column, rows: pa.Array, nulls: pa.Array | None = None) -> ColumnBounds:
    """Unknown bounds, with the number of nulls if it is passed."""
    unknown = pa.nulls(len(rows), to_arrow_type(column.type))
    counts = pa.nulls(len(rows), pa.int64())
    return ColumnBounds(
        rows,
        counts if nulls is None else nulls,
        counts if is_floating(column.type) else None,
        unknown,
        unknown,
    )


def _where(has_column: pa.Array, stored: ColumnBounds, other: ColumnBounds) -> ColumnBounds:
    def pick(left: pa.Array, right: pa.Array) -> pa.Array:
        # ColumnBounds of nested types are never used, and Arrow's if_else does not support them.
        return left if pa.types.is_nested(left.type) else pc.if_else(has_column, left, right)

    nans = None
    if stored.nans is not None and other.nans is not None:
        nans = pick(stored.nans, other.nans)
    return ColumnBounds(
        stored.rows,
        pick(stored.nulls, other.nulls),
        nans,
        pick(stored.min, other.min),
        pick(stored.max, other.max),
    )


def _stored_type(schema: pa.Schema, line: tuple[Column, ...]) -> pa.DataType | None:
    """The type of a column in a file, through the structs that hold it; None if it has none."""
    type_: Any = schema
    for column in line:
        at = type_.get_field_index(column.physical_name)
        if at < 0:
            return None
        type_ = type_.field(at).type
    return type_


def _cast(bounds: pa.Array, wanted: Column) -> pa.Array:
    """ColumnBounds in the wanted type; all unknown if one does not fit."""
    target = to_arrow_type(wanted.type)
    try:
        return bounds.cast(target)
    except pa.ArrowException:
        return pa.nulls(len(bounds), target)


def _zeros(rows: pa.Array) -> pa.Array:
    return pa.repeat(ZERO, len(rows))


def partition_may_match(bound: BoundFilter, state: TableState) -> pa.BooleanArray:
    """Which live segments may hold a row for which a filter is true, by their buckets.

    Buckets are computed in the column type *that the segment was written under*, since 5 and 5.0 hash
    differently.
    """
    wanted = dict(_equalities(bound))
    mask = repeat(True, state.segments.count)
    if not wanted:
        return mask
    core = state.segments.core
    for version in pc.unique(core["schema_version"]).to_pylist():
        schema = state.schemas[version]
        for at, field in enumerate(schema.partitioning):
            buckets = _buckets(field, schema, wanted)
            if buckets is not None:
                mask = pc.and_(mask, _among(core, version, at, buckets))
    return mask


def _equalities(bound: BoundFilter) -> Iterator[tuple[int, tuple[Literal, ...]]]:
    """Columns that must have one of these values for the filter to be true."""
    match bound:
        case And(parts):
            for part in parts:
                yield from _equalities(part)
        case Compare(column_id, Op.EQ, value):
            yield column_id, (value,)
        case In(column_id, values, _, False):
            yield column_id, values
        case _:
            return


def _buckets(
    field: PartitionField, schema: Schema, wanted: dict[int, tuple[Literal, ...]]
) -> list[str] | None:
    """The value texts of the wanted values' buckets; None if unknown or not a bucket field."""
    transform = parse_transform(field.transform)
    if field.source not in wanted or not isinstance(transform, Bucket):
        return None
    type_ = schema.column(field.source).type
    literals = wanted[field.source]
    if not literals:
        return []
    try:
        values = array_of([literal.value for literal in literals], literals[0].type)
        array = values.cast(to_arrow_type(type_))
    except pa.ArrowException:
        return None
    return [str(bucket) for bucket in apply_transform(transform, type_, array).to_pylist()]


def _among(core: pa.Table, version: int, at: int, buckets: list[str]) -> pa.BooleanArray:
    """Which segments have another schema version or are in one of the buckets."""
    other = pc.not_equal(core["schema_version"], version)
    values = pc.list_element(pc.if_else(other, None, core["partition"]), at)
    in_buckets = pc.is_in(values, array_of(buckets, pa.string()))
    return one_array(pc.or_(other, in_buckets))


def some_match(state: TableState, bound: BoundFilter) -> pa.BooleanArray:
    """Which live segments must be read; the others hold no row that the filter selects.

    The parts of an AND are evaluated one after the other, each on the segments that are left.
    """
    mask = partition_may_match(bound, state)
    parts = bound.parts if isinstance(bound, And) else (bound,)
    for part in sorted(parts, key=lambda part: _compares_texts(part, state.known)):
        mask = _still_matching(mask, part, state)
    return mask


_FEW = 8
"""Segments are evaluated alone if they are less than one in this many."""


def _still_matching(
    mask: pa.BooleanArray, bound: BoundFilter, state: TableState
) -> pa.BooleanArray:
    """Which of the live segments in a mask may hold a row for which a filter is true."""
    left = mask.true_count
    if left * _FEW >= len(mask):
        return pc.and_(mask, may_match(bound, SegmentBounds(state, state.known), len(mask)))
    if not left:
        return mask
    places = pc.indices_nonzero(mask).cast(pa.int64())
    matching = may_match(bound, SegmentBounds(state, state.known, places), left)
    return pc.replace_with_mask(mask, mask, matching)


def _compares_texts(bound: BoundFilter, schema: Schema) -> bool:
    """Whether a filter needs bounds of varying length, which take longest to read and compare."""
    types = (to_arrow_type(schema.column(id_).type) for id_ in columns_of(bound) & set(schema.ids))
    return any(not pa.types.is_primitive(type_) for type_ in types)


def every_match(state: TableState, bound: BoundFilter) -> pa.BooleanArray:
    """Which live segments are known to hold only rows that the filter selects."""
    return all_match(bound, SegmentBounds(state, state.known), state.segments.count)
