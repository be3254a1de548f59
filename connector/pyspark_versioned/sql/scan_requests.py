"""Requests about reads: segments to read, and statistics from metadata."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields
from itertools import repeat
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_versioned.projection import project
from pyspark_versioned.reader import VersionedReader, planned_read, splits
from pyspark_versioned.spark_types import arrow_schema, struct_from_json, to_spark
from pyspark_versioned.sql.grouping import grouping_of
from pyspark_versioned.sql.native_merges import NativeMerges, native_merges
from pyspark_versioned.sql.ordering import ordering_of
from pyspark_versioned.sql.parquet import is_plain, is_written_alike, spark_urls
from pyspark_versioned.sql.predicates import bound_filters
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.protocol.base import SparkType
from pyspark_versioned.sql.read_groups import ReadGroups, narrowed_ids
from pyspark_versioned.sql.snapshots import open_table
from pyspark_versioned.unseen import Shared, carried_columns
from versioned_catalog.log.marks import FileMark, InlineMark, Mark, mark_from_text
from versioned_catalog.model.types import Atom, Column, Decimal
from versioned_catalog.observe.records import CONNECTOR, INFO, record
from versioned_catalog.read.aggregates import (
    ColumnEstimate,
    count_rows,
    count_values,
    estimate,
    extreme,
    layout_columns,
)
from versioned_catalog.read.filters import And
from versioned_catalog.read.grouped_aggregates import (
    Groups,
    extremes_by,
    groups_by,
    rows_by,
    values_by,
)
from versioned_catalog.read.scan import Scan
from versioned_catalog.read.selectivity import matching_rows
from versioned_catalog.read.top_rows import top_bound

_ESTIMATED = (
    *(Atom.BOOLEAN, Atom.BYTE, Atom.SHORT, Atom.INT, Atom.LONG, Atom.FLOAT, Atom.DOUBLE),
    *(Atom.DATE, Atom.TIMESTAMP),
)


def plan_scan(request: messages.PlanScan) -> messages.ScanPlan:
    """The segments to read, grouped by how they are read."""
    scan, shared = _scan(request.table, request.schema, request.filters, request.limit)
    return planned(scan, shared, request, merges=not request.whole)


def planned(
    scan: Scan, shared: Shared, request: messages.PlanScan, *, merges: bool = False
) -> messages.ScanPlan:
    """The segments of a scan, grouped by how they are read; with ``merges``, Spark may merge some."""
    scan.check_roots()
    in_spark = request.allow_native and shared.is_plain
    groups = ReadGroups(scan, request.filters, in_spark=in_spark)
    path: list[str] = scan.kept["path"].to_pylist()
    url = spark_urls(scan.store, request.table, path) if scan.state.roots else []
    sequences, hidden = _row_sequences(scan), scan.merged_paths()
    readable = _readable(path, url, sequences if groups.shows_row_sequence else (), request)
    may_merge = merges and in_spark and scan.selected.groups
    native = _merges(scan, request, groups, path, readable) if may_merge else NativeMerges()
    marks = _marks(scan.kept, hidden)
    group = [
        groups.index(
            *(layout, nan_free),
            alone=at in native.places or (readable[at] and path[at] not in hidden),
            is_marked=mark is not None or at in native.places,
        )
        for at, (layout, nan_free, mark) in enumerate(
            zip(scan.layouts, scan.nan_free(), marks or repeat(None, len(path)), strict=True)
        )
    ]
    in_python = {file for file, at in zip(path, group, strict=True) if groups.distinct[at] is None}
    if request.in_python is not None:
        in_python &= set(request.in_python)
    if in_python:
        reason = _why_python(request, shared, groups, hidden, in_python)
        record(
            INFO,
            "%s: Python reads %d of %d segments, since %s",
            request.table.name,
            len(in_python),
            len(path),
            reason,
            logger=CONNECTOR,
            table=request.table.name,
            version=scan.state.version,
            segments=len(in_python),
            reason=reason,
        )
    grouping = grouping_of(scan) if request.grouped and not native.merges else None
    is_ordered = request.ordered and not in_python and not native.merges
    return messages.ScanPlan(
        [
            _python_group(scan, shared, in_python, request) if way is None else way
            for way in groups.distinct
        ],
        _segments(scan, group, path, sequences, url, marks),
        scan.state.segments.count,
        [column.name for column in layout_columns(scan)],
        len(scan.selected.groups),
        matching_rows(scan),
        grouping,
        ordering_of(scan, grouping) if is_ordered else None,
        native.merges,
        native.key_groups,
        native.joint_groups,
        native.key_places,
        lasting=not scan.ages,
    )


def _why_python(
    request: messages.PlanScan,
    shared: Shared,
    groups: ReadGroups,
    hidden: Collection[str],
    in_python: Collection[str],
) -> str:
    """Why Spark's reader does not read some segments, as far as it is known for all of them."""
    if not request.allow_native:
        return "the option io, or the kind of storage, asks for it"
    if not shared.is_plain:
        return "Spark's reader has no such columns"
    if not groups.can_narrow:
        return "Spark can't narrow values in arrays and maps"
    if all(path in hidden for path in in_python):
        return "their rows are merged, or may be too old"
    return "Spark's reader can't open them, or does not read their columns exactly"


def _readable(
    path: Sequence[str],
    url: Sequence[str | None],
    sequences: Sequence[int | None],
    request: messages.PlanScan,
) -> list[bool]:
    """Whether Spark can read each segment, apart from how its columns are stored.

    Args:
        url: of segments in external roots; empty if the table has no roots.
        sequences: of the rows of each segment, which Spark shows only if all rows share one; empty if
            they are not shown.
    """
    external = {file for file, link in zip(path, url, strict=False) if link is not None}
    unread = set(request.in_python or ())
    return [
        (is_plain(file) or file in external)
        and file not in unread
        and not (sequences and sequences[at] is None)
        for at, file in enumerate(path)
    ]


def _merges(
    scan: Scan,
    request: messages.PlanScan,
    groups: ReadGroups,
    path: Sequence[str],
    readable: Sequence[bool],
) -> NativeMerges:
    """The merges that Spark carries out."""
    expired = scan.expiring_paths()
    return native_merges(
        *(scan, request.filters, groups, lambda at: readable[at] and path[at] not in expired)
    )


def _segments(
    scan: Scan,
    group: Sequence[int],
    path: Sequence[str],
    sequences: Sequence[int | None],
    url: Sequence[str | None],
    marks: Sequence[messages.Mark | None],
) -> messages.Segments:
    """The segments that are read, by column."""
    kept = scan.kept
    return messages.Segments(
        group,
        path,
        kept["schema_version"].to_pylist(),
        kept["rows"].to_pylist(),
        kept["bytes"].to_pylist(),
        kept["sequence"].to_pylist(),
        kept["commit_time"].cast(pa.int64()).to_pylist(),
        sequences,
        url,
        scan.constant_texts(),
        marks,
        *_row_ids(scan),
    )


def _row_ids(scan: Scan) -> tuple[list[int], list[int], list[int | None]]:
    """The first row ID of each segment, the version of its rows, and that up to which stored ones count.

    All are empty if rows have no IDs.
    """
    kept = scan.kept
    if not scan.state.has_row_ids:
        return [], [], []
    updated = pc.coalesce(kept["row_updated"], kept["sequence"])
    return (
        kept["first_row_id"].to_pylist(),
        updated.to_pylist(),
        kept["row_ids_stored"].to_pylist(),
    )


def _marks(kept: pa.Table, merged: Collection[str]) -> list[messages.Mark | None]:
    """The mark of each segment; empty if none has one. A merge ignores marks."""
    texts = kept["mark"]
    if texts.null_count == len(texts):
        return []
    pairs = zip(kept["path"].to_pylist(), texts.to_pylist(), strict=True)
    return [
        None if text is None or path in merged else _mark(mark_from_text(text))
        for path, text in pairs
    ]


def _mark(mark: Mark) -> messages.Mark | None:
    match mark:
        case InlineMark(rows=0):
            return None
        case InlineMark():
            return messages.InlineMark(mark.rows, mark.blob)
        case FileMark():
            return messages.FileMark(mark.rows, mark.path, mark.offset, mark.bytes)


def _python_group(
    scan: Scan, shared: Shared, paths: Collection[str], request: messages.PlanScan
) -> messages.PythonGroup:
    """The tasks of the segments that Python reads. A read of whole segments has no filters."""
    read = Scan(scan.store, scan.state, scan.columns, like=scan) if request.whole else scan
    schema = struct_from_json(request.schema)
    reader = VersionedReader(scan.store, (), arrow_schema(schema), request.table.name)
    return messages.PythonGroup(planned_read(reader, splits(read, shared, paths), schema))


_LEFT_OUT: Mapping[str, Any] = {
    **{"url": None, "constants": (), "marks": None},
    **{"first_row_id": 0, "row_updated": 0, "row_ids_stored": None},
}
"""The values, by segment, of members of ``Segments`` that a plan leaves out."""


def merged_plan(plans: Sequence[messages.ScanPlan]) -> messages.ScanPlan:
    """One plan of the segments of several, in their order; it has no layout, and merges nothing."""
    groups: list[messages.ReadGroup] = []
    columns: dict[str, list[Any]] = {field.name: [] for field in fields(messages.Segments)}
    for plan in plans:
        count = len(plan.segments.path)
        for name, values in columns.items():
            more = getattr(plan.segments, name) or [_LEFT_OUT.get(name)] * count
            values += [index + len(groups) for index in more] if name == "group" else more
        groups += plan.groups
    live, merged = sum(p.live for p in plans), sum(p.merged_groups for p in plans)
    return messages.ScanPlan(
        *(groups, messages.Segments(**columns), live, (), merged, 0, None, None, (), (), (), ()),
        lasting=False,
    )


def _scan(
    table: messages.TableRef,
    wanted: SparkType,
    filters: Sequence[messages.Term],
    limit: int | None = None,
) -> tuple[Scan, Shared]:
    """A scan of a snapshot with the filters that the catalog understands; Spark applies all of them."""
    opened, state = open_table(table)
    struct = struct_from_json(wanted)
    columns = project(struct, state.seen.schema, opened.name, carried_columns(state))
    shared = Shared.of(columns)
    bound = bound_filters(filters, state.known)
    where = And(tuple(bound)) if bound else None
    return Scan(opened.store, state, shared.read, where, limit=limit), shared


def _row_sequences(scan: Scan) -> list[int | None]:
    """The sequence of the rows of each segment; None for rows of several sequences."""
    sequences, deltas = scan.kept["sequence"].to_pylist(), scan.selected.decoded(scan.kept.num_rows)
    return [
        None if delta.sequences is not None else (delta.order or (sequence,))[0]
        for sequence, delta in zip(sequences, deltas, strict=True)
    ]


def estimate_columns(request: messages.EstimateColumns) -> messages.ColumnEstimates:
    """Column statistics for Spark's cost-based optimizer."""
    scan, _ = _scan(request.table, request.schema, request.filters)
    narrowed = narrowed_ids(scan)
    columns = [
        column
        for column in scan.columns
        if column.id > 0 and column.id not in narrowed and _is_estimated(column)
    ]
    return messages.ColumnEstimates([_estimate(scan, column) for column in columns])


def _is_estimated(column: Column) -> bool:
    """Whether Spark can handle bounds of the column's type; it fails at others."""
    return isinstance(column.type, Decimal) or column.type in _ESTIMATED


def _estimate(scan: Scan, column: Column) -> messages.ColumnStatistics:
    estimated = estimate(scan, column) or ColumnEstimate(None, None, None, None)
    return messages.ColumnStatistics(column.name, _type(column), **asdict(estimated))


def aggregate(request: messages.Aggregate) -> messages.Aggregates:
    """COUNT, MIN and MAX of a snapshot or of each of its groups, if metadata determines all of them."""
    scan = _whole(request.table)
    found = _by_groups(request, scan) if request.by else _of_all(request, scan)
    return messages.Aggregates(found)


def find_top(request: messages.FindTop) -> messages.TopBound:
    """A value that as many rows reach as are wanted, if segments lie beyond it."""
    scan = _whole(request.table)
    column = _shown(scan, request.column)
    if column is None:
        return messages.TopBound(None)
    text = top_bound(scan, column, request.rows, descending=request.descending)
    return messages.TopBound(None if text is None else messages.TypedValue(_type(column), text))


def _whole(ref: messages.TableRef) -> Scan:
    """All rows of a snapshot."""
    table, state = open_table(ref)
    return Scan(table.store, state, state.seen.schema.columns)


def _shown(scan: Scan, path: Sequence[str]) -> Column | None:
    """A column whose bounds Spark understands as they are stored; None if it does not."""
    column = scan.state.seen.schema.find(tuple(path))
    if column is None or column.id in narrowed_ids(scan):
        return None
    return column if is_written_alike((column,)) else None


def _of_all(request: messages.Aggregate, scan: Scan) -> list[messages.AggregateColumn] | None:
    found = []
    for function in request.functions:
        value = _value(function, scan)
        if value is None:
            return None
        found.append(value)
    return found


def _value(function: messages.AggregateFunction, scan: Scan) -> messages.AggregateColumn | None:
    if function.column is None:
        return _counts([count_rows(scan)])
    column = scan.state.seen.schema.find(tuple(function.column))
    if column is None or column.id in narrowed_ids(scan):
        return None
    if function.function == "count":
        return _counts([count_values(scan, column)])
    if not is_written_alike((column,)):
        return None
    exact, text = extreme(scan, column, function.function == "max")
    return messages.AggregateColumn(_type(column), [text]) if exact else None


def _by_groups(request: messages.Aggregate, scan: Scan) -> list[messages.AggregateColumn] | None:
    """The columns that group, then the functions."""
    columns = [column for path in request.by if (column := _top(scan, path)) is not None]
    groups = groups_by(scan, columns) if len(columns) == len(request.by) else None
    if groups is None:
        return None
    found = [
        messages.AggregateColumn(_type(column), key)
        for column, key in zip(columns, groups.keys, strict=True)
    ]
    for function in request.functions:
        values = _values(function, groups)
        if values is None:
            return None
        found.append(values)
    return found


def _top(scan: Scan, path: Sequence[str]) -> Column | None:
    return _shown(scan, path) if len(path) == 1 else None


def _values(
    function: messages.AggregateFunction, groups: Groups
) -> messages.AggregateColumn | None:
    if function.column is None:
        return _counts(rows_by(groups))
    column = _top(groups.scan, function.column)
    if column is None:
        return None
    if function.function == "count":
        return _counts(values_by(groups, column))
    texts = extremes_by(groups, column, function.function == "max")
    return None if texts is None else messages.AggregateColumn(_type(column), texts)


def _type(column: Column) -> SparkType:
    return SparkType(to_spark(column.type).jsonValue())


def _counts(counts: Sequence[int | None] | None) -> messages.AggregateColumn | None:
    if counts is None or None in counts:
        return None
    return messages.AggregateColumn(SparkType("long"), [str(count) for count in counts])


HANDLERS = (plan_scan, estimate_columns, aggregate, find_top)
