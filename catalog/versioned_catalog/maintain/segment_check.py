"""Check segments against their records in the log."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from versioned_catalog.commit.table_handle import Progress
from versioned_catalog.errors import CorruptTableError, VersionedError
from versioned_catalog.log.branches import branch_of_file
from versioned_catalog.log.clones import is_copy
from versioned_catalog.log.footer_statistics import footer_stats
from versioned_catalog.log.marks import Mark, mark_from_text, marked_rows
from versioned_catalog.log.record import LiveSegment, RowIds, SegmentRecord
from versioned_catalog.log.segment_table import (
    OF_ROW_IDS,
    constants_from_text,
    delta_from_text,
    statistic_of,
    statistics_of,
)
from versioned_catalog.log.state import TableState
from versioned_catalog.log.statistics import ColumnStats, StatsCollector
from versioned_catalog.maintain.column_tables import rows_of
from versioned_catalog.maintain.log_check import Report, differ, in_parallel, raise_shortage
from versioned_catalog.model.arrow import array_of
from versioned_catalog.model.id_map import id_map_from_text
from versioned_catalog.model.keys import ROW_ID_COLUMNS, TTL, TTL_FLOOR
from versioned_catalog.model.narrowing import held
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.schema_json import schema_to_json
from versioned_catalog.model.types import walk
from versioned_catalog.read.hidden_rows import Group, hidden_rows, resolved_groups
from versioned_catalog.read.planning import record_task
from versioned_catalog.read.segment_file import SegmentTask, open_segment
from versioned_catalog.read.segment_layout import SCHEMA
from versioned_catalog.read.tasks import read_segment
from versioned_catalog.storage.opening import open_file
from versioned_catalog.storage.parquet import check_column_chunks, translate_errors
from versioned_catalog.storage.store import Store
from versioned_catalog.write.segment_writer import split

_SLICE = 256
"""Number of segments compared with the log at once."""
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Contents:
    """Statistics of a segment's rows by column ID, and the partitions of the rows."""

    columns: Mapping[int, ColumnStats]
    partitions: frozenset[tuple[str | None, ...]]


@dataclass(frozen=True)
class Examined:
    """The result of reading one segment: statistics by column ID, as far as readable, and problems."""

    columns: Mapping[int, ColumnStats]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class SegmentMark:
    """The mark of a segment that has ``rows`` rows."""

    path: str
    rows: int
    mark: Mark


def marks_of(state: TableState, paths: Collection[str]) -> Iterator[SegmentMark]:
    """The marks of some of the live segments of a state."""
    for path, mark in state.segments.marks.items():
        rows = state.segments.rows_of(path)
        if path in paths and rows is not None:
            yield SegmentMark(path, rows, mark)


@dataclass(frozen=True)
class SegmentCheck:
    """Checks segments.

    Args:
        sizes: sizes of the files in ``data/``, by path.
        deep: read the rows, too.
        progress: called with "check segments" and the number of segments done.
    """

    store: Store
    sizes: Mapping[str, int]
    deep: bool
    report: Report
    progress: Progress

    def check(self, state: TableState, paths: frozenset[str]) -> None:
        """Check some of the live segments of a state."""
        core = state.segments.core
        chosen = pc.is_in(core["path"], array_of(sorted(paths), pa.string()))
        index = pc.indices_nonzero(chosen)
        for start in range(0, len(index), _SLICE):
            places = index.slice(start, _SLICE)
            self.progress("check segments", start, len(index))
            self._check_slice(state, core.take(places), places)
        self.progress("check segments", len(index), len(index))

    def check_marks(self, marks: Iterable[SegmentMark]) -> None:
        """Check that marks can be read, and that their segments have the marked rows."""
        some = list(marks)
        for mark, problem in zip(some, in_parallel(self._mark_problem, some), strict=True):
            if problem:
                self.report(mark.path, problem)

    def check_resolved(self, state: TableState) -> None:
        """Check that the marks of resolved segments hide the rows that a merge hides."""
        groups = resolved_groups(state)
        for group, problem in zip(
            groups,
            in_parallel(lambda group: self._wrongly_resolved(state, group), groups),
            strict=True,
        ):
            if problem:
                self.report(group.paths[0], problem)

    def _wrongly_resolved(self, state: TableState, group: Group) -> str | None:
        # A row that an expired one hid may be left alone, and is expired itself.
        expires = TTL in state.properties or TTL_FLOOR in state.properties
        try:
            for path, hidden in hidden_rows(self.store, state, group).items():
                rows, mark = state.segments.rows_of(path), state.segments.mark_of(path)
                if rows is None or mark is None:
                    continue  # a segment of such a group is live and has a mark
                marked = marked_rows(self.store, mark, path, rows)
                missing = np.setdiff1d(hidden, marked, assume_unique=True)
                more = np.setdiff1d(marked, hidden, assume_unique=True)
                if len(missing) or (len(more) and not expires):
                    return (
                        f"the marks of the hidden rows of {path} are wrong: {len(missing)} rows lack a "
                        f"mark, and {len(more)} have one that nothing hides"
                    )
        except VersionedError as error:
            raise_shortage(error)  # what cannot be read is reported otherwise
        return None

    def _mark_problem(self, mark: SegmentMark) -> str | None:
        try:
            marked_rows(self.store, mark.mark, mark.path, mark.rows)
        except VersionedError as error:
            raise_shortage(error)
            return f"the marks of deleted rows cannot be read: {error}"
        return None

    def _check_slice(self, state: TableState, core: pa.Table, places: pa.Array) -> None:
        rows = list(segment_rows(core))
        results = list(in_parallel(lambda row: self._examine(state, row), rows))
        for row, result in zip(rows, results, strict=True):
            for problem in result.problems:
                self.report(row.record.path, problem)
        examined = [
            replace(row, record=replace(row.record, columns=result.columns))
            for row, result in zip(rows, results, strict=True)
        ]
        for column in (held(column) for column, _ in walk(state.schema.columns)):
            for name in statistics_of(column.type):
                if name == "inexact" and not self.deep:
                    continue  # a footer may have fewer statistics
                recorded = state.segments.statistic(name, column, state.schemas).take(places)
                actual = statistic_of(examined, name, column, state.schemas)
                for at in pc.indices_nonzero(differ(recorded, actual)).to_pylist():
                    if rows[at].record.id_map is not None and not _contradicts(
                        name, recorded[at], actual[at]
                    ):
                        continue
                    path = state.schema.path_text(column.id)
                    self.report(
                        rows[at].record.path,
                        f"the log says {name} of column {path} is {recorded[at]}, but the file says "
                        f"{actual[at]}",
                    )

    def _examine(self, state: TableState, row: LiveSegment) -> Examined:
        problems: list[str] = []
        record, columns = row.record, dict[int, ColumnStats]()
        size = self.sizes.get(record.path)
        if size is None and record.path.startswith("data/"):
            return Examined({}, ("is missing",))
        if size not in (None, record.bytes):
            problems.append(f"the log says {record.bytes} bytes, but the file has {size}")
        try:
            columns |= self._columns(state, row, problems)
        except VersionedError as error:
            raise_shortage(error)
            problems.append(str(error))
        except Exception as error:  # damaged files make libraries raise anything
            problems.append(f"cannot be read: {type(error).__name__}: {error}")
        return Examined(columns, tuple(problems))

    def _columns(
        self, state: TableState, row: LiveSegment, problems: list[str]
    ) -> Mapping[int, ColumnStats]:
        record, schema = row.record, state.schemas[row.record.schema_version]
        if self.deep and record.checksum is not None:
            checksum = checksum_of(self.store, record.path)
            if checksum != record.checksum:
                problems.append(
                    f"the log says checksum {record.checksum}, but the file has {checksum}"
                )
        task = record_task(state.table_uuid, schema, record, schema.columns)
        task = replace(task, recorded_roots=state.roots)
        opened_segment = open_segment(self.store, task)
        file = opened_segment.parquet
        if record.id_map is None:
            problems += _footer_problems(file, schema, record)
        if self.deep:
            contents = contents_of(self.store, task, schema)
            if contents.partitions - {record.partition}:
                problems.append(
                    f"the log says partition {record.partition}, but the rows are in "
                    f"{sorted(map(str, contents.partitions))}"
                )
            return contents.columns
        if record.id_map is not None:
            return {}
        check_column_chunks(opened_segment.source, file.metadata, f"{self.store.url}/{record.path}")
        stats = footer_stats(file.metadata, schema)
        # Footers leave out NaN, or all bounds because of it.
        return {key: replace(column_stats, nans=None) for key, column_stats in stats.items()}


def _contradicts(name: str, recorded: pa.Scalar, actual: pa.Scalar) -> bool:
    """Whether a statistic of a foreign footer contradicts the rows; its bounds may be loose."""
    if pa.types.is_duration(recorded.type):
        recorded, actual = recorded.cast(pa.int64()), actual.cast(pa.int64())
    match name:
        case "min":
            return bool(pc.greater(recorded, actual).as_py())
        case "max":
            return bool(pc.less(recorded, actual).as_py())
        case _:
            return name != "inexact"


def segment_rows(core: pa.Table) -> Iterator[LiveSegment]:
    """Return the segments of a state's core columns, without statistics."""
    for row in rows_of(core):
        record = SegmentRecord(
            path=row["path"],
            schema_version=row["schema_version"],
            rows=row["rows"],
            bytes=row["bytes"],
            partition=tuple(row["partition"] or ()),
            checksum=row["checksum"],
            delta=delta_from_text(row["extra"]),
            id_map=None if row["id_map"] is None else id_map_from_text(row["id_map"]),
            constants=constants_from_text(row["constants"]),
            row_ids=RowIds(*(row[name] for name in OF_ROW_IDS)),
        )
        mark = None if row["mark"] is None else mark_from_text(row["mark"])
        yield LiveSegment(record, row["sequence"], row["ordinal"], row["commit_time"], mark)


def contents_of(store: Store, task: SegmentTask, schema: Schema) -> Contents:
    """Compute the statistics of a segment by reading all its rows.

    Raises:
        CorruptTableError: the rows cannot be read, or their number is not that of the task.
    """
    collector, rows = StatsCollector(schema.columns), 0
    partitions: set[tuple[str | None, ...]] = set()
    for batch in read_segment(store, task):
        collector.update(batch)
        rows += batch.num_rows
        if schema.partitioning:
            partitions.update(key for key, _ in split(pa.Table.from_batches([batch]), schema))
    if rows != task.rows:
        raise CorruptTableError(f"the log says {task.rows} rows, but the file has {rows}")
    return Contents(collector.finish(), frozenset(partitions))


def _footer_problems(file: pq.ParquetFile, schema: Schema, record: SegmentRecord) -> Iterator[str]:
    """Compare a footer with the log."""
    delta, recorded = record.delta, schema_to_json(schema)
    stored = (file.metadata.metadata or {}).get(SCHEMA)
    try:
        footer_schema = None if stored is None else json.loads(stored)
    except (ValueError, RecursionError):
        footer_schema = None
    may_differ = branch_of_file(record.path) is not None or is_copy(record.path)
    if may_differ and isinstance(footer_schema, dict):
        # A merge numbers the schemas of a branch anew.
        recorded["schema_version"] = footer_schema.get("schema_version")
    if footer_schema != recorded:
        yield f"the schema in the footer is not schema version {schema.version} of the log"
    internal = (delta.sequences is not None) + bool(delta.ops)
    names = file.schema_arrow.names
    # A table that was recovered does not know of the IDs that a file holds.
    row_ids = _ROW_ID_NAMES.intersection(names) - {c.physical_name for c in schema.columns}
    if record.row_ids.stored is not None and len(row_ids) < len(_ROW_ID_NAMES):
        yield "the log says that the file holds row IDs, and it does not"
    internal += len(row_ids)
    if len(names) != len(schema.columns) + internal:
        yield (
            f"the file has {len(names)} columns, but schema version "
            f"{schema.version} has {len(schema.columns)}, and the segment {internal} internal ones"
        )


_ROW_ID_NAMES = frozenset(column.physical_name for column in ROW_ID_COLUMNS)


def checksum_of(store: Store, path: str) -> str:
    """Compute the checksum of a file (FORMAT.md, section 6)."""
    crc = 0
    with opened(store, path) as file:
        while chunk := file.read(_CHUNK):
            crc = zlib.crc32(chunk, crc)
    return f"crc32:{crc:08x}"


@contextmanager
def opened(store: Store, path: str) -> Iterator[Any]:
    """Open the file of a segment for sequential reading."""
    source = open_file(store, path)
    with translate_errors(f"{store.url}/{path}"):
        if not isinstance(source, str):
            yield source
            return
        with open(source, "rb") as file:
            yield file
