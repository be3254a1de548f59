"""Segments against what the log says of them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from versioned_catalog.datafile.arrange import split
from versioned_catalog.datafile.file_schema import SCHEMA
from versioned_catalog.datafile.reader import SegmentTask, open_segment, read_segment
from versioned_catalog.errors import CorruptTableError, VersionedError
from versioned_catalog.log.delta import Delta, delta_from_text
from versioned_catalog.log.record import LiveSegment, SegmentRecord
from versioned_catalog.log.segment_table import statistic_of, statistics_of
from versioned_catalog.log.state import TableState
from versioned_catalog.log.times import UNIX_EPOCH
from versioned_catalog.maintenance.findings import Complain, check_own
from versioned_catalog.maintenance.log_check import differ
from versioned_catalog.maintenance.parallel import in_parallel
from versioned_catalog.progress import Progress
from versioned_catalog.projection.resolver import plan_segment
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.wire import schema_to_json
from versioned_catalog.statistics.footers import footer_stats
from versioned_catalog.statistics.stats import ColumnStats, StatsCollector
from versioned_catalog.storage.parquet import told
from versioned_catalog.storage.store import Store
from versioned_catalog.types.arrow_values import array_of
from versioned_catalog.types.types import walk

_SLICE = 256
"""How many segments are compared with the log at once."""
_PIECE = 1 << 20


@dataclass(frozen=True)
class Contents:
    """What a segment's rows are.

    Args:
        columns: statistics by column ID.
        partitions: the partition values that occur.
    """

    columns: Mapping[int, ColumnStats]
    partitions: frozenset[tuple[str | None, ...]]


@dataclass(frozen=True)
class Examined:
    """A segment's file, as far as it could be read.

    Args:
        columns: statistics by column ID.
        problems: what is wrong with it.
    """

    columns: Mapping[int, ColumnStats]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class SegmentCheck:
    """How segments are checked.

    Args:
        store: the table's folder.
        sizes: of the files in ``data/``, by path.
        deep: whether their rows are read.
        complain: is told what is wrong.
        progress: is told how far it is.
    """

    store: Store
    sizes: Mapping[str, int]
    deep: bool
    complain: Complain
    progress: Progress

    def check(self, state: TableState, paths: frozenset[str]) -> None:
        """Check some of the live segments of a state."""
        core = state.segments.core
        chosen = pc.is_in(core["path"], array_of(sorted(paths), pa.string()))
        index = pc.indices_nonzero(chosen)
        for start in range(0, len(index), _SLICE):
            places = index.slice(start, _SLICE)
            self.progress("check segments", start, len(index))
            self._check_some(state, core.take(places), places)
        self.progress("check segments", len(index), len(index))

    def _check_some(self, state: TableState, core: pa.Table, places: pa.Array) -> None:
        rows = list(segment_rows(core))
        found = list(in_parallel(lambda row: self._examine(state, row), rows))
        for row, one in zip(rows, found, strict=True):
            for problem in one.problems:
                self.complain(row.record.path, problem)
        seen = [
            replace(row, record=replace(row.record, columns=one.columns))
            for row, one in zip(rows, found, strict=True)
        ]
        for column, _ in walk(state.schema.columns):
            for name in statistics_of(column.type):
                if name == "inexact" and not self.deep:
                    continue  # a footer may know less
                said = state.segments.statistic(name, column, state.schemas).take(places)
                held = statistic_of(seen, name, column, state.schemas)
                for at in pc.indices_nonzero(differ(said, held)).to_pylist():
                    path = state.schema.path_text(column.id)
                    self.complain(
                        rows[at].record.path,
                        f"the log says {name} of the column {path} is {said[at]}, and the file says "
                        f"{held[at]}",
                    )

    def _examine(self, state: TableState, row: LiveSegment) -> Examined:
        problems: list[str] = []
        record, columns = row.record, dict[int, ColumnStats]()
        size = self.sizes.get(record.path)
        if size is None and record.path.startswith("data/"):
            return Examined({}, ("is missing",))
        if size not in (None, record.bytes):
            problems.append(f"the log says {record.bytes} bytes, and the file has {size}")
        try:
            columns |= self._columns(state, row, problems)
        except VersionedError as error:
            check_own(error)
            problems.append(str(error))
        except Exception as error:  # whatever a damaged file makes a library do
            problems.append(f"can't be read: {type(error).__name__}: {error}")
        return Examined(columns, tuple(problems))

    def _columns(
        self, state: TableState, row: LiveSegment, problems: list[str]
    ) -> Mapping[int, ColumnStats]:
        record, schema = row.record, state.schemas[row.record.schema_version]
        if self.deep:
            problems += _checksum_problems(self.store, record)
        task = task_of(state.table_uuid, schema, record)
        file, _ = open_segment(self.store, task)
        problems += _footer_problems(file, schema, record.delta)
        if not self.deep:
            stats = footer_stats(file.metadata, schema)
            # Footers leave NaN out, or leave all out for it.
            return {key: replace(one, nans=None) for key, one in stats.items()}
        contents = contents_of(self.store, task, schema)
        if contents.partitions - {record.partition}:
            problems.append(
                f"the log says the partition {record.partition}, and the rows are in "
                f"{sorted(map(str, contents.partitions))}"
            )
        return contents.columns


def segment_rows(core: pa.Table) -> Iterator[LiveSegment]:
    """The segments of the core columns of a state, without statistics."""
    plain = core
    at = plain.schema.get_field_index("commit_time")
    plain = plain.set_column(at, "commit_time", plain["commit_time"].cast(pa.int64()))
    for row in plain.to_pylist():
        record = SegmentRecord(
            path=row["path"],
            schema_version=row["schema_version"],
            rows=row["rows"],
            bytes=row["bytes"],
            partition=tuple(row["partition"] or ()),
            checksum=row["checksum"],
            delta=delta_from_text(row["extra"]),
        )
        time = UNIX_EPOCH + timedelta(microseconds=row["commit_time"])
        yield LiveSegment(record, row["sequence"], row["ordinal"], time)


def task_of(table_uuid: str, schema: Schema, record: SegmentRecord) -> SegmentTask:
    """Reading all of a segment as it was written."""
    return SegmentTask(
        path=record.path,
        table_uuid=table_uuid,
        schema_version=schema.version,
        rows=record.rows,
        sequence=0,
        commit_time=UNIX_EPOCH,
        plan=plan_segment(schema, schema.columns),
        filter=None,
        shown=len(schema.columns),
    )


def contents_of(store: Store, task: SegmentTask, schema: Schema) -> Contents:
    """What the rows of a segment are, by reading them all.

    Raises:
        CorruptTableError: they can't be read, or are not as many as the task says.
    """
    collector, rows = StatsCollector(schema.columns), 0
    partitions: set[tuple[str | None, ...]] = set()
    for batch in read_segment(store, task):
        collector.update(batch)
        rows += batch.num_rows
        if schema.partitioning:
            partitions.update(key for key, _ in split(pa.Table.from_batches([batch]), schema))
    if rows != task.rows:
        raise CorruptTableError(f"{rows} rows were read of {task.rows}")
    return Contents(collector.finish(), frozenset(partitions))


def _footer_problems(file: pq.ParquetFile, schema: Schema, delta: Delta) -> Iterator[str]:
    """What else a footer says that the log does not."""
    stored = (file.metadata.metadata or {}).get(SCHEMA)
    try:
        said = None if stored is None else json.loads(stored)
    except (ValueError, RecursionError):
        said = None
    if said != schema_to_json(schema):
        yield f"the schema in the footer is not schema version {schema.version} of the log"
    internal = (delta.sequences is not None) + bool(delta.ops)
    if len(file.schema_arrow.names) != len(schema.columns) + internal:
        yield (
            f"the file has {len(file.schema_arrow.names)} columns, and schema version "
            f"{schema.version} {len(schema.columns)}, and {internal} of the segment itself"
        )


def _checksum_problems(store: Store, record: SegmentRecord) -> Iterator[str]:
    if record.checksum is None:
        return
    found = checksum_of(store, record.path)
    if found != record.checksum:
        yield f"the log says the checksum {record.checksum}, and the file has {found}"


def checksum_of(store: Store, path: str) -> str:
    """The checksum of a file (FORMAT.md, section 6)."""
    crc = 0
    with opened(store, path) as file:
        while piece := file.read(_PIECE):
            crc = zlib.crc32(piece, crc)
    return f"crc32:{crc:08x}"


@contextmanager
def opened(store: Store, path: str) -> Iterator[Any]:
    """A file of a store, to be read from its beginning to its end."""
    source = store.open(path)
    with told(f"{store.url}/{path}"):
        if not isinstance(source, str):
            yield source
            return
        with open(source, "rb") as file:
            yield file
