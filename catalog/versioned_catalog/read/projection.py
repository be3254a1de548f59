"""Resolution of the wanted columns against a segment's columns, to a plan.

Columns are matched by ID only. The plan is one frozen value, decided once per schema version. It
combines GreptimeDB's ReadAdapter, Kudu's read projection and Drill's three-way resolution: stored
columns, filled columns, and metadata columns.

The layout of a native segment is its schema version. The layout of an external file also has its ID map
and the columns that are constants, whose values differ between segments (FORMAT.md, section 6.2).
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.log.segment_table import constants_from_text, shared_texts
from versioned_catalog.model.arrow import to_arrow_schema, to_arrow_type
from versioned_catalog.model.id_map import IdMap, file_columns, id_map_from_text
from versioned_catalog.model.keys import ROW_ID_COLUMNS
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import (
    Array,
    Atom,
    Column,
    Constant,
    DataType,
    DayTimeInterval,
    Family,
    Map,
    Struct,
    children,
    is_metadata,
    is_opaque,
    walk,
    with_children,
)
from versioned_catalog.model.widening import type_name, widens
from versioned_catalog.read.metadata_columns import ROW_ID, ROW_UPDATED, STORED_AS


@dataclass(frozen=True, slots=True)
class Take:
    """Use the column that was read as it is."""

    index: int


@dataclass(frozen=True, slots=True)
class Cast:
    """Widen the column that was read, of type ``source``, to the type of the output."""

    index: int
    source: DataType


@dataclass(frozen=True, slots=True)
class Rebuild:
    """Rebuild a nested column around other children."""

    index: int
    children: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class Fill:
    """Fill a column that the segment does not hold with a constant, or null."""

    constant: Constant | None


@dataclass(frozen=True, slots=True)
class Metadata:
    """Take a metadata column, or a constant, from the log."""


@dataclass(frozen=True, slots=True)
class StoredOr:
    """Use the column that was read; where it is null, take a metadata column from the log."""

    index: int


Step = Take | Cast | Rebuild | Fill | Metadata | StoredOr


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the result, and the step that builds it."""

    column: Column
    step: Step


@dataclass(frozen=True)
class SegmentPlan:
    """The projection of rows of a source schema to the wanted columns.

    Args:
        outputs: one per wanted column, in order. Their indices are positions in ``needed``.
        needed: the columns to read, cut to the fields that are used, in the order of the source.
    """

    outputs: tuple[Output, ...]
    needed: tuple[Column, ...]

    @cached_property
    def variants(self) -> tuple[int, ...]:
        """The places in ``needed`` of columns with a VARIANT, which segments may hold shredded."""
        return tuple(
            at
            for at, column in enumerate(self.needed)
            if any(inner.type is Atom.VARIANT for inner, _ in walk((column,)))
        )

    @cached_property
    def shown(self) -> pa.Schema:
        """The Arrow schema of the outputs."""
        return to_arrow_schema(tuple(output.column for output in self.outputs))

    @cached_property
    def physical_paths(self) -> list[str]:
        """The leaves to read, as dotted paths in the Parquet file."""
        return [path for column in self.needed for path, _ in leaf_paths(column)]


def plan_segment(source: Schema, wanted: Sequence[Column]) -> SegmentPlan:
    """The plan for segments written under ``source``. Wanted columns may be cut to some of their fields.

    Raises:
        CorruptTableError: a column's type does not widen to the wanted type.
    """
    return plan_columns(source.columns, wanted)


def plan_columns(
    source: Sequence[Column], wanted: Sequence[Column], constants: Container[int] = ()
) -> SegmentPlan:
    """``plan_segment`` for segments that hold these columns in this order (see ``model.keys``).

    ``constants`` are the columns whose only value is in the record of a segment.
    """
    by_id = {column.id: at for at, column in enumerate(source)}
    ids = {w.id: STORED_AS.get(w.id, w.id) for w in wanted}
    pairs = {ids[w.id]: _pair(w, source[by_id[ids[w.id]]]) for w in wanted if ids[w.id] in by_id}
    kept = sorted(by_id[column_id] for column_id, (step, _) in pairs.items() if _is_read(step))
    index = {source[at].id: position for position, at in enumerate(kept)}
    outputs = tuple(
        Output(
            w,
            _with_index(pairs[ids[w.id]][0], index.get(ids[w.id], 0))
            if ids[w.id] in pairs
            else absent(w, constants),
        )
        for w in wanted
    )
    needed = tuple(pairs[source[at].id][1] for at in kept)
    return SegmentPlan(outputs, needed)


def absent(wanted: Column, constants: Container[int] = ()) -> Step:
    """The step that builds a column that a segment does not store."""
    is_recorded = is_metadata(wanted) or wanted.id in constants
    return Metadata() if is_recorded else Fill(wanted.read_default)


def _is_read(step: Step) -> bool:
    """Whether a step needs a column of the file: the nulls of a VOID column are not read."""
    return not isinstance(step, Fill)


def _with_index(step: Step, index: int) -> Step:
    match step:
        case Take() | Cast() | Rebuild() | StoredOr():
            return replace(step, index=index)
        case Fill() | Metadata():
            return step


def _pair(wanted: Column, source: Column) -> tuple[Step, Column]:
    """The step that builds a column from the source column of its ID, and the part of that to read."""
    if wanted.id in (ROW_ID, ROW_UPDATED):
        return StoredOr(0), source
    match source.type, wanted.type:
        case Struct(), Struct():
            return _pair_struct(wanted, source)
        case (Array(), Array()) | (Map(), Map()):
            pairs = [
                _pair(w, s)
                for w, s in zip(children(wanted.type), children(source.type), strict=True)
            ]
            steps = [_with_index(step, at) for at, (step, _) in enumerate(pairs)]
            return _nested(wanted, source, steps, [column for _, column in pairs])
        case _:
            return _leaf(wanted, source), source


def _pair_struct(wanted: Column, source: Column) -> tuple[Step, Column]:
    fields = children(source.type)
    by_id = {column.id: at for at, column in enumerate(fields)}
    pairs = {w.id: _pair(w, fields[by_id[w.id]]) for w in children(wanted.type) if w.id in by_id}
    kept = sorted(by_id[column_id] for column_id, (step, _) in pairs.items() if _is_read(step))
    needed = [pairs[fields[at].id][1] for at in kept]
    if not needed:
        # A null struct stays null, so one field is read to know which structs are null.
        needed = [cheapest(fields)]
    index = {fields[at].id: position for position, at in enumerate(kept)}
    steps = [
        _with_index(pairs[w.id][0], index.get(w.id, 0)) if w.id in pairs else Fill(w.read_default)
        for w in children(wanted.type)
    ]
    return _nested(wanted, source, steps, needed)


def _nested(
    wanted: Column, source: Column, steps: list[Step], needed: list[Column]
) -> tuple[Step, Column]:
    cut = replace(source, type=with_children(source.type, tuple(needed)))
    same = [Take(at) for at in range(len(needed))] == steps
    if same and to_arrow_type(physical(cut).type).equals(to_arrow_type(wanted.type)):
        return Take(0), cut
    outputs = tuple(
        Output(column, step) for column, step in zip(children(wanted.type), steps, strict=True)
    )
    return Rebuild(0, outputs), cut


def _leaf(wanted: Column, source: Column) -> Step:
    if source.type is Atom.VOID:
        return Fill(None)
    if source.type == wanted.type:
        # Parquet has no durations; it returns them as integers.
        return Cast(0, source.type) if isinstance(source.type, DayTimeInterval) else Take(0)
    if not widens(source.type, wanted.type):
        raise CorruptTableError(
            f"the column {wanted.name} (ID {wanted.id}) is stored as {type_name(source.type)}, which "
            f"can't be read as {type_name(wanted.type)}"
        )
    return Cast(0, source.type)


def physical(column: Column) -> Column:
    """The column with physical instead of logical names."""
    inner = tuple(physical(child) for child in children(column.type))
    return replace(column, name=column.physical_name, type=with_children(column.type, inner))


def cheapest(fields: Sequence[Column]) -> Column:
    """The field that is cheapest to read, cut to one leaf."""
    best = min(fields, key=lambda column: _cost(column.type))
    match best.type:
        case Struct(inner):
            return replace(best, type=Struct((cheapest(inner),)))
        case Array(element):
            return replace(best, type=Array(_cheapest_inside(element)))
        case Map(key, value):
            return replace(best, type=Map(key, _cheapest_inside(value)))
        case _:
            return best


def _cheapest_inside(column: Column) -> Column:
    return cheapest((column,))


_COSTS = {
    **dict.fromkeys((Family.TEXT, Family.COLLATED, Family.BINARY, Family.OPAQUE), 16),
    **dict.fromkeys((Family.INTEGER, Family.FLOAT, Family.DECIMAL, Family.TEMPORAL), 8),
    Family.BOOLEAN: 1,
    Family.VOID: 0,
}
"""Bytes of a value, roughly, by the family of its type."""


def _cost(type_: DataType) -> int:
    """A rough cost of reading a column, in bytes per row."""
    match type_:
        case Struct(fields):
            return min(_cost(field.type) for field in fields)
        case Array() | Map():
            return 64
        case _:
            return _COSTS[type_.leaf.family]


def leaf_paths(column: Column, above: str = "") -> list[tuple[str, DataType]]:
    """The leaves of a column: their dotted paths in a Parquet file, and their types."""
    here = above + column.physical_name
    match column.type:
        case Struct(fields):
            return [leaf for f in fields for leaf in leaf_paths(f, here + ".")]
        case Array(element):
            return leaf_paths(element, here + ".list.")
        case Map(key, value):
            return [leaf for c in (key, value) for leaf in leaf_paths(c, here + ".key_value.")]
        case _ if is_opaque(column.type):
            arrow = to_arrow_type(column.type)
            return [(here + "." + field.name, column.type) for field in arrow]
        case _:
            return [(here, column.type)]


@dataclass(frozen=True, slots=True)
class FileLayout:
    """The layout of columns in the file of a segment.

    Args:
        schema_version: the schema version of its record.
        id_map: the columns of an external file; None for a native file.
        constants: the IDs of the columns that are constants, in order.
        row_ids: whether the file holds row IDs.
    """

    schema_version: int
    id_map: IdMap | None = None
    constants: tuple[int, ...] = ()
    row_ids: bool = False


def layout_of(
    schema_version: int, id_map: str | None, constants: str | None, *, row_ids: bool = False
) -> FileLayout:
    """The layout of a segment, from columns of the state.

    Raises:
        CorruptTableError: the map or the constants are invalid.
    """
    if id_map is None:
        return FileLayout(schema_version, row_ids=row_ids)
    ids = tuple(sorted(constants_from_text(constants)))
    return FileLayout(schema_version, id_map_from_text(id_map), ids)


def file_layouts(core: pa.Table) -> list[FileLayout]:
    """The layout of each segment, from the core columns of some segments.

    Raises:
        CorruptTableError: a map or constants are invalid.
    """
    versions: list[int] = core["schema_version"].to_pylist()
    row_ids: list[bool] = pc.is_valid(core["row_ids_stored"]).to_pylist()
    if core["id_map"].null_count == core.num_rows:
        keys = list(zip(versions, row_ids, strict=True))
        layouts = {key: FileLayout(key[0], row_ids=key[1]) for key in set(keys)}
        return [layouts[key] for key in keys]
    pairs = zip(shared_texts(core["id_map"]), core["constants"].to_pylist(), strict=True)
    rows = zip(versions, pairs, row_ids, strict=True)
    return [layout_of(version, *pair, row_ids=has) for version, pair, has in rows]


def plan_layout(
    schema: Schema,
    layout: FileLayout,
    wanted: Sequence[Column],
    internal: Sequence[Column] = (),
) -> SegmentPlan:
    """The plan for segments of a layout.

    Args:
        schema: the layout's schema version.
        internal: columns that the files hold after those of the schema (see ``model.keys``).

    Raises:
        CorruptTableError: the map does not fit the schema, or a type does not widen to the wanted type.
    """
    columns = schema.columns if layout.id_map is None else file_columns(schema, layout.id_map)
    internal = (*internal, *(ROW_ID_COLUMNS if layout.row_ids else ()))
    return plan_columns((*columns, *internal), wanted, frozenset(layout.constants))
