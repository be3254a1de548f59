"""The ways in which Spark and Python read the segments of a scan."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from pyspark_versioned.spark_types import to_spark
from pyspark_versioned.sql.parquet import (
    by_file_names,
    formed_ids,
    is_exact,
    read_schema,
    reads_exactly,
)
from pyspark_versioned.sql.predicates import columns_of, is_for_parquet
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.protocol.base import SparkType
from versioned_catalog.log.features import PUT_ROW
from versioned_catalog.model.keys import ROW_ID, ROW_UPDATED
from versioned_catalog.model.schema import name_key
from versioned_catalog.model.types import (
    Atom,
    Collated,
    Column,
    Struct,
    children,
    is_floating,
    is_metadata,
    is_repeated,
)
from versioned_catalog.read import metadata_columns
from versioned_catalog.read.projection import (
    Cast,
    FileLayout,
    Fill,
    Metadata,
    Output,
    Rebuild,
    SegmentPlan,
    StoredOr,
    Take,
)
from versioned_catalog.read.scan import Scan

Path = tuple[str, ...]

_INTEGERS = (Atom.BYTE, Atom.SHORT, Atom.INT, Atom.LONG)
_SEGMENT_MEMBERS = {
    metadata_columns.SEGMENT: "path",
    metadata_columns.SCHEMA_VERSION: "schema_version",
    metadata_columns.SEQUENCE: "sequence",
    metadata_columns.COMMIT_TIME: "commit_time",
    metadata_columns.SEQUENCE_OF_ROW: "row_sequence",
    metadata_columns.ROW_ID: "first_row_id",
    metadata_columns.ROW_UPDATED: "row_updated",
}
"""The member of ``Segments`` that a metadata column shows."""


class ReadGroups:
    """The ways of reading that a scan needs, without duplicates; None for reading in Python."""

    def __init__(self, scan: Scan, filters: Sequence[messages.Term], *, in_spark: bool) -> None:
        self._scan = scan
        self._in_spark = in_spark
        self._filters = parquet_filters(filters)
        self._narrowed = narrowed_columns(scan)
        self._indexes: dict[tuple[FileLayout, frozenset[int], bool, bool], int] = {}
        self._native: dict[FileLayout, bool] = {}
        self.shows_row_sequence = any(
            column.id == metadata_columns.SEQUENCE_OF_ROW for column in scan.columns
        )
        self.distinct: list[messages.NativeGroup | None] = []

    def index(
        self, layout: FileLayout, nan_free: frozenset[int], *, alone: bool, is_marked: bool
    ) -> int:
        """The group of a segment. Layouts that are read alike share a group.

        Args:
            layout: the layout of the columns in the file of the segment.
            nan_free: floating columns without NaN in the segment.
            alone: whether Spark can read the segment by itself: it needs no merge, and Hadoop can
                open its path.
            is_marked: whether rows of the segment are marked, which are found by their positions.
        """
        key = (layout, nan_free, alone, is_marked)
        if key not in self._indexes:
            group = self._group(layout, nan_free, alone, is_marked)
            if group not in self.distinct:
                self.distinct.append(group)
            self._indexes[key] = self.distinct.index(group)
        return self._indexes[key]

    @property
    def can_narrow(self) -> bool:
        """Whether Spark can narrow all columns that are shown in narrower types."""
        return self._narrowed is not None

    def is_native(self, layout: FileLayout) -> bool:
        """Whether Spark can read segments of a layout exactly."""
        if layout not in self._native:
            self._native[layout] = self._group(layout, frozenset(), True, True) is not None
        return self._native[layout]

    def _group(
        self, layout: FileLayout, nan_free: frozenset[int], alone: bool, is_marked: bool
    ) -> messages.NativeGroup | None:
        if self._narrowed is None or not (self._in_spark and alone):
            return None
        plan, is_foreign = self._scan.plan(layout), layout.id_map is not None
        if not (is_exact(plan) and reads_exactly(plan, layout)):
            return None
        if is_foreign:
            plan = by_file_names(plan)
        ids = narrowed_ids(self._scan) | formed_ids(layout)
        filters, names = file_filters(self._filters, plan, nan_free, ids)
        return native_group(
            *(plan, filters, names, self._narrowed), is_foreign=is_foreign, is_marked=is_marked
        )


Filters = Sequence[tuple[int, set[Path]]]
"""Filters by index, with the paths of their columns."""


def parquet_filters(filters: Sequence[messages.Term]) -> Filters:
    """The filters that Parquet may evaluate if their columns are in the file."""
    return [(at, columns_of(term)) for at, term in enumerate(filters) if is_for_parquet(term)]


def file_filters(
    filters: Filters, plan: SegmentPlan, nan_free: frozenset[int], narrowed: frozenset[int]
) -> tuple[list[int], dict[Path, Path]]:
    """The filters that Parquet may evaluate in files of a plan, and the names of their columns there.

    The arguments are those of ``physical_path``.
    """
    names: dict[Path, Path] = {}
    filterable = []
    for at, columns in filters:
        paths = {column: physical_path(column, plan, nan_free, narrowed) for column in columns}
        known = {column: path for column, path in paths.items() if path is not None}
        if len(known) == len(columns):
            filterable.append(at)
            names |= known
    return filterable, names


def narrowed_ids(scan: Scan) -> frozenset[int]:
    """The columns that are shown in narrower types, those around them included."""
    narrowing = scan.narrowing
    columns = () if narrowing is None else narrowing.columns
    return frozenset(part.id for c in columns for part in _narrowed_parts(c.wide, c.narrow))


def narrowed_columns(scan: Scan) -> list[messages.NarrowedColumn] | None:
    """The columns that the jar narrows; None if it can't narrow one of them."""
    narrowing = scan.narrowing
    columns = () if narrowing is None else narrowing.columns
    shown = [c for c in columns if c.place < len(scan.columns)]
    if any(is_repeated(tuple(_narrowed_parts(c.wide, c.narrow))) for c in shown):
        return None
    return [
        messages.NarrowedColumn(
            c.place,
            c.narrow.name,
            SparkType(to_spark(c.wide.type).jsonValue()),
            SparkType(to_spark(c.narrow.type, declared=True).jsonValue()),
        )
        for c in shown
    ]


def _narrowed_parts(wide: Column, narrow: Column) -> Iterator[Column]:
    """The column, and the columns in it, that differ in type."""
    if wide.type != narrow.type:
        yield wide
        for stored, shown in zip(children(wide.type), children(narrow.type), strict=True):
            yield from _narrowed_parts(stored, shown)


def native_group(
    plan: SegmentPlan,
    filters: Sequence[int] = (),
    names: dict[Path, Path] | None = None,
    narrowed: Sequence[messages.NarrowedColumn] = (),
    *,
    is_foreign: bool = False,
    is_marked: bool = False,
) -> messages.NativeGroup:
    """A group that Spark's Parquet reader reads; the filters are those that Parquet may evaluate."""
    stored = [_in_file(output) for output in plan.outputs if _is_stored(output)]
    unstored = [output for output in plan.outputs if not _is_stored(output)]
    places = {output.column.id: place for place, output in enumerate(plan.outputs)}
    constants = [
        _constant(output, places[output.column.id])
        for output in unstored
        if output.column.id != metadata_columns.ROW_POSITION
    ]
    has_position = is_marked or any(output.column.id in _BY_POSITION for output in plan.outputs)
    order = _order(plan.outputs, len(stored), has_position)
    row_ids = _row_ids(
        plan.outputs, order, len(stored), len(stored) + has_position + len(constants)
    )
    return messages.NativeGroup(
        SparkType(read_schema(stored, by_name=is_foreign).jsonValue()),
        has_position,
        [*constants, *_constants_of(plan.outputs, row_ids)],
        order,
        filters,
        [messages.PhysicalName(*pair) for pair in sorted((names or {}).items())],
        narrowed,
        is_foreign,
        row_ids,
    )


_BY_POSITION = (metadata_columns.ROW_POSITION, metadata_columns.ROW_ID)
"""Metadata columns that need the position of a row."""


def _order(outputs: Sequence[Output], stored: int, has_position: bool) -> list[int]:
    """Where Spark puts columns: those of the file, the row's position, then constants."""
    next_stored, next_constant, order = 0, stored + has_position, []
    for output in outputs:
        if _is_stored(output):
            order.append(next_stored)
            next_stored += 1
        elif output.column.id == metadata_columns.ROW_POSITION:
            order.append(stored)
        else:
            order.append(next_constant)
            next_constant += 1
    return order


def _row_ids(
    outputs: Sequence[Output], order: list[int], position: int, constants: int
) -> list[messages.RowIdColumn]:
    """The columns that the jar computes from those that Spark reads.

    Args:
        order: see ``_order``; a column that is computed by position gets the index of that, so that
            positions are read.
        position: the index of the position of a row.
        constants: that of the first constant that only these columns need.
    """
    found = []
    for place, output in enumerate(outputs):
        if output.column.id not in _LATEST or (
            output.column.id == metadata_columns.ROW_UPDATED and not _is_stored(output)
        ):
            continue
        base, at = order[place], None
        stored = most = None
        if _is_stored(output):
            stored, base, constants = base, constants, constants + 1
        if output.column.id == metadata_columns.ROW_ID:
            at = order[place] = position
        elif stored is not None:
            most, constants = constants, constants + 1
        found.append(messages.RowIdColumn(place, stored, most, base, at))
    return found


_LATEST = (metadata_columns.ROW_ID, metadata_columns.ROW_UPDATED)


def _constants_of(
    outputs: Sequence[Output], row_ids: Sequence[messages.RowIdColumn]
) -> Iterator[messages.ConstantColumn]:
    """The constants that only the columns of ``_row_ids`` need, in the order that it counts."""
    for computed in row_ids:
        column = outputs[computed.index].column
        type_, member = SparkType("long"), _SEGMENT_MEMBERS[column.id]
        if computed.stored is not None:
            yield messages.ConstantColumn(f"{column.name} base", type_, member, None, None)
        if computed.most is not None:
            yield messages.ConstantColumn(
                f"{column.name} most", type_, "row_ids_stored", None, None
            )


def _in_file(output: Output) -> Column:
    """The column of the file from which an output is built."""
    kinds = {metadata_columns.ROW_ID: ROW_ID, metadata_columns.ROW_UPDATED: ROW_UPDATED}
    return kinds.get(output.column.id, output.column)


def _is_stored(output: Output) -> bool:
    match output.step:
        case Take() | Cast() | Rebuild() | StoredOr():
            return True
        case Fill() | Metadata():
            return False


def _constant(output: Output, place: int) -> messages.ConstantColumn:
    column, member, value, in_record = output.column, None, None, False
    match output.step:
        case Metadata() if not is_metadata(column):
            in_record = True
        case Metadata() if column.id == metadata_columns.OP_TYPE_OF_ROW:
            value = str(PUT_ROW)  # segments with other rows are merged
        case Metadata():
            member = _SEGMENT_MEMBERS[column.id]
        case Fill(constant):
            value = None if constant is None else json.loads(constant.json)
        case _:
            raise AssertionError(output)
    type_ = SparkType(to_spark(column.type).jsonValue())
    return messages.ConstantColumn(column.name, type_, member, value, place if in_record else None)


def physical_path(
    path: Path,
    plan: SegmentPlan,
    nan_free: frozenset[int],
    narrowed: frozenset[int] = frozenset(),
) -> Path | None:
    """The physical path of a column in a segment, or None if Parquet may not filter by it.

    Args:
        nan_free: floating columns without NaN in the segment. Parquet's bounds leave NaN out, and in
            Spark NaN is the greatest value.
        narrowed: columns that are shown in another type than they are stored in.
    """
    outputs, node, names = plan.outputs, None, []
    for part in path:
        node = next((o for o in outputs if name_key(o.column.name) == name_key(part)), None)
        if node is None or not _is_stored(node) or isinstance(node.step, StoredOr):
            return None
        names.append(node.column.physical_name)
        outputs = node.step.children if isinstance(node.step, Rebuild) else _fields(node.column)
    if node is None or node.column.id in narrowed or not _filters_alike(node, nan_free):
        return None
    return tuple(names)


def _fields(column: Column) -> tuple[Output, ...]:
    if not isinstance(column.type, Struct):
        return ()
    return tuple(Output(field, Take(at)) for at, field in enumerate(column.type.fields))


def _filters_alike(output: Output, nan_free: frozenset[int]) -> bool:
    """Whether Parquet compares the values in the file as Spark compares those of the column."""
    column = output.column
    match output.step:
        case Cast(_, source):
            return source in _INTEGERS and column.type in _INTEGERS
        case Take() if isinstance(column.type, Collated):
            return False  # Parquet compares bytes
        case Take():
            return not is_floating(column.type) or column.id in nan_free
        case _:
            return False
