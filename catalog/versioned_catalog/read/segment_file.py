"""An open segment: checks against the log, selection and reading of row groups."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from versioned_catalog.errors import CorruptTableError, NotFoundError, VersionedError
from versioned_catalog.log.branches import branch_of_file
from versioned_catalog.log.clones import cloned_from, is_copy
from versioned_catalog.log.commit_log import TableLog, table_log
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.marks import Mark, files_of
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import TableState
from versioned_catalog.model.id_map import IdMap
from versioned_catalog.model.types import Array, Column, Constant, Map, Struct
from versioned_catalog.read.apply_plan import Narrowing
from versioned_catalog.read.bounds import RowGroupBounds
from versioned_catalog.read.evaluators import may_match
from versioned_catalog.read.filters import BoundFilter
from versioned_catalog.read.foreign_file import ForeignFile, changed_error, open_options, size_of
from versioned_catalog.read.projection import SegmentPlan
from versioned_catalog.read.row_selection import EVERY_ROW, RowSelection, selection_of
from versioned_catalog.read.segment_layout import FIELD_ID, SCHEMA_VERSION, TABLE_UUID
from versioned_catalog.read.shredding import is_shredded, typed_paths, with_whole_variants
from versioned_catalog.storage.footer import Footer, Path
from versioned_catalog.storage.opening import open_file
from versioned_catalog.storage.parquet import footer_of, open_parquet, translate_errors
from versioned_catalog.storage.remote import RangedFile
from versioned_catalog.storage.store import Store, shown_path, split_root

WHOLE = 1_000_000
"""``SegmentTask.part`` counts in millionths of a file."""


@dataclass(frozen=True)
class SegmentTask:
    """The task of reading one segment, or a part of one. The driver decides its values, executors read.

    Args:
        path, table_uuid, schema_version, rows: as recorded in the log.
        sequence, commit_time: those of the commit that added the segment.
        plan: the projection of its rows to the wanted columns.
        filter: which rows are wanted, over the plan's outputs; None for all.
        shown: the number of outputs of the plan that are shown; only the filter needs the rest.
        nan_free: the columns that hold no NaN in this segment.
        prune: whether row groups are skipped by their statistics.
        version: the version of the snapshot that holds the segment; -1 for none.
        row_sequence: the sequence of its rows, if the file stores none.
        narrowing: the columns that are shown in narrower types than the plan's outputs; None for none.
        bytes: the recorded size of the file; checked for external files.
        id_map: the columns of an external file; None for a native file.
        constants: the values of columns that an external file lacks, in the types of the outputs.
        recorded_roots: the recorded external roots, for the error of a reader without one.
        part: (first, end) in millionths of the file: read the row groups whose middle lies in it.
        mark: the rows that are not read, since they are deleted; None for none.
        only: the rows of which the others are read; None for all.
        first_row_id, row_updated, row_ids_stored: the IDs of its rows, as of ``RowIds``.
    """

    path: str
    table_uuid: str
    schema_version: int
    rows: int
    sequence: int
    commit_time: datetime
    plan: SegmentPlan
    filter: BoundFilter | None
    shown: int
    nan_free: frozenset[int]
    prune: bool
    version: int
    row_sequence: int
    narrowing: Narrowing | None = None
    bytes: int = 0
    id_map: IdMap | None = None
    constants: Mapping[int, Constant | None] = field(default_factory=dict)
    recorded_roots: Mapping[str, str] = field(default_factory=dict, repr=False)
    part: tuple[int, int] = (0, WHOLE)
    mark: Mark | None = None
    only: Mark | None = None
    first_row_id: int | None = None
    row_updated: int = 0
    row_ids_stored: int | None = None

    @property
    def shown_rows(self) -> int:
        """The number of rows that are not deleted; where ``only`` some are read, those at most."""
        if self.only is not None:
            return self.only.rows
        return self.rows if self.mark is None else self.rows - self.mark.rows


@dataclass(frozen=True)
class SegmentFile:
    """The file of a segment.

    Args:
        task: the task that reads it.
        source: a path, or a remote file.
        parquet: the file as PyArrow opened it.
        url: its URL, for errors.
        selection: the rows to read, if their row groups are read.
    """

    task: SegmentTask
    source: Any
    parquet: pq.ParquetFile
    footer: Footer
    url: str
    selection: RowSelection = EVERY_ROW

    def row_groups(self) -> Iterator[tuple[int, int, int]]:
        """The row groups to read: number, position of the first row, and number of rows."""
        wanted = self.kept_groups()
        position = 0
        for group, rows in enumerate(self.footer.rows):
            if group in wanted and self.selection.count(position, rows):
                yield group, position, rows
            position += rows

    def kept_groups(self) -> set[int]:
        """The row groups of this part of the file that may hold wanted rows."""
        task = self.task
        groups = _groups_of_part(self.footer.rows, task.part)
        if task.filter is None or not task.prune or not groups:
            return set(groups)
        bounds = RowGroupBounds(self.footer, groups, task.plan, task.nan_free, id_map=task.id_map)
        mask = may_match(task.filter, bounds, len(groups))
        return {group for group, keep in zip(groups, mask.to_pylist(), strict=True) if keep}

    def read(self, group: int, batch_rows: int) -> Iterator[tuple[int, list[pa.Array]]]:
        """The columns that the plan needs of one row group: the rows of each batch, and its columns."""
        task, needed = self.task, self.task.plan.needed
        if not needed:
            rows = self.footer.rows[group]
            for start in range(0, rows, batch_rows):
                yield min(batch_rows, rows - start), []
            return
        if isinstance(self.source, RangedFile):
            self.source.prefetch(self.footer.ranges(group, self._leaves))
        if task.id_map is not None:
            yield from self._foreign.read(group, needed, task.id_map, batch_rows)
            return
        options = {"row_groups": [group], "columns": self._paths, "use_threads": False}
        for batch in self.parquet.iter_batches(batch_rows, **options):
            arrays = batch.columns
            for at in self._shredded:
                arrays[at] = with_whole_variants(arrays[at], needed[at])
            yield batch.num_rows, arrays

    @cached_property
    def _foreign(self) -> ForeignFile:
        return ForeignFile(self.parquet, self.url)

    @cached_property
    def _paths(self) -> list[str]:
        paths = self.task.plan.physical_paths
        shredded = (self.task.plan.needed[at] for at in self._shredded)
        return [*paths, *(path for column in shredded for path in typed_paths(column))]

    @cached_property
    def _shredded(self) -> list[int]:
        """The places of needed columns with a variant that may be shredded."""
        needed = self.task.plan.needed
        return [
            at
            for at in self.task.plan.variants
            if is_shredded(self.footer.schema.field(needed[at].physical_name).type, needed[at])
        ]

    @cached_property
    def _leaves(self) -> list[Path]:
        if self.task.id_map is not None:
            leaves = self._foreign.leaves(self.task.plan.needed)
            return self.footer.leaves_at(sorted(leaf.place for leaf in leaves))
        return self.footer.leaves(self._paths)


def open_segment(store: Store, task: SegmentTask) -> SegmentFile:
    """Open the file of a segment and check it against the log.

    Raises:
        CorruptTableError: it or its mark is missing, damaged, or another file.
        NotFoundError: it or its mark is missing since its version is expired and was vacuumed.
    """
    try:
        source = open_file(store, task.path, task.recorded_roots)
    except CorruptTableError as error:
        raise missing_segment_error(store, task.path, task.version, error) from error
    url = shown_path(store, task.path)
    options: dict[str, Any] = {"pre_buffer": False}
    options["page_checksum_verification"] = True
    if task.id_map is not None:
        options = open_options(source)
    is_others = task.id_map is not None or cloned_from(task.path) is not None
    if is_others and size_of(source) != task.bytes:
        raise changed_error(url, f"has {size_of(source)} bytes instead of {task.bytes}")
    opened = source
    if task.id_map is None and isinstance(source, str):
        with translate_errors(url, "is not a whole Parquet file"):
            opened = pa.memory_map(source)
    parquet = open_parquet(opened, url, **options)
    file = SegmentFile(
        task, source, parquet, footer_of(opened, parquet), url, _selection(store, task)
    )
    rows = parquet.metadata.num_rows
    if task.id_map is None:
        _check(file, url)
    elif rows != task.rows:
        raise changed_error(url, f"has {rows} rows instead of {task.rows}")
    else:
        ForeignFile(parquet, url).check(task.plan.needed, task.id_map)
    return file


def _selection(store: Store, task: SegmentTask) -> RowSelection:
    try:
        return selection_of(store, task.path, task.rows, task.mark, task.only)
    except CorruptTableError as error:
        for file in files_of((task.mark, task.only)):
            if task.version >= 0 and store.modified(file) is None:
                raise _missing_error(store, file, task.version, error, _MARK_FILE) from error
        raise


def _check(file: SegmentFile, url: str) -> None:
    task, metadata = file.task, file.parquet.metadata
    stored = metadata.metadata or {}
    is_clones = is_copy(task.path) or cloned_from(task.path) is not None
    if not is_clones and stored.get(TABLE_UUID) != task.table_uuid.encode():
        raise CorruptTableError(f"{url} is not a segment of this table")
    # A merge numbers the schemas of a branch anew; the columns are compared below.
    is_renumbered = branch_of_file(task.path) is not None or is_copy(task.path)
    if not is_renumbered and stored.get(SCHEMA_VERSION) != str(task.schema_version).encode():
        raise CorruptTableError(
            f"{url} was not written with schema version {task.schema_version}, which the log records "
            "for it"
        )
    if metadata.num_rows != task.rows:
        raise CorruptTableError(
            f"{url} holds {metadata.num_rows} rows, and {task.rows} were committed"
        )
    for column in task.plan.needed:
        if not _holds(file.footer.schema, column):
            raise CorruptTableError(
                f"{url} has no column {column.physical_name} with ID {column.id}, or not all of "
                "what the log says is inside it"
            )
        if not _in_order(file.footer.schema.field(column.physical_name).type, column):
            raise CorruptTableError(
                f"{url} holds the fields of {column.physical_name} in another order than its schema"
            )


def _holds(parent: pa.Schema | pa.DataType, column: Column) -> bool:
    """Whether a schema or a struct in a file holds a column and all that is needed inside it."""
    at = parent.get_field_index(column.physical_name)
    return at >= 0 and _is_same(parent.field(at), column)


def _in_order(type_: pa.DataType, column: Column) -> bool:
    """Whether the structs in a file have the fields of a column in its order, in which they are taken.

    Arrow reads top-level columns in the order of the request, and fields in that of the file.
    """
    match column.type:
        case Struct(fields):
            places = [type_.get_field_index(field.physical_name) for field in fields]
            return places == sorted(places) and all(
                _in_order(type_.field(at).type, field)
                for at, field in zip(places, fields, strict=True)
            )
        case Array(element):
            return _in_order(type_.value_type, element)
        case Map(key, value):
            return _in_order(type_.key_type, key) and _in_order(type_.item_type, value)
        case _:
            return True


def _is_same(field: pa.Field, column: Column) -> bool:
    if _field_id(field) != column.id:
        return False
    match column.type:
        case Struct(fields):
            return pa.types.is_struct(field.type) and all(_holds(field.type, f) for f in fields)
        case Array(element):
            return pa.types.is_list(field.type) and _is_same(field.type.value_field, element)
        case Map(key, value):
            inside = pa.types.is_map(field.type) and _is_same(field.type.key_field, key)
            return inside and _is_same(field.type.item_field, value)
        case _:
            return True


def _field_id(field: pa.Field) -> int | None:
    """The column ID in the metadata of a field; None if it has none."""
    meta: Mapping[bytes, bytes] = field.metadata or {}
    text = meta.get(FIELD_ID)
    return int(text) if text is not None and text.lstrip(b"-").isdigit() else None


def _groups_of_part(rows: list[int], part: tuple[int, int]) -> list[int]:
    """The row groups whose middle, counted in rows, falls into a part of the file."""
    first, end = part
    total = max(sum(rows), 1)
    groups: list[int] = []
    position = 0
    for group, count in enumerate(rows):
        middle = (2 * position + count) * 500_000 // total
        if first <= middle < end:
            groups.append(group)
        position += count
    return groups


def missing_segment_error(
    store: Store, path: str, version: int, error: VersionedError
) -> VersionedError:
    """The error for a segment that can't be opened, by the newest state of the table.

    ``version`` is that of the snapshot that is read; negative for none.
    """
    source = cloned_from(path)
    if source is not None and str(error).endswith("is missing"):
        return CorruptTableError(
            f"{error}, and version {version} needs it: this table is a clone of the one in {source}, "
            "whose tag for the clone was dropped. Restore the file, or clone the table again"
        )
    if split_root(path) is not None:
        if not str(error).endswith("is missing"):
            return error
        return CorruptTableError(
            f"{error}, and version {version} needs it: its owner has moved or deleted the file. Restore "
            "it, or remove it from the table with Table.remove_external"
        )
    return error if version < 0 else _missing_error(store, path, version, error, _SEGMENT)


@dataclass(frozen=True)
class _Holders:
    """How to find the versions that hold a file.

    Args:
        in_state: the files that the live segments of a version need.
        near: the files that a version beside a commit needs.
    """

    in_state: Callable[[SegmentSet], Container[str]]
    near: Callable[[Commit], Container[str]]


_SEGMENT = _Holders(lambda segments: segments.paths, lambda commit: commit.removed)
_MARK_FILE = _Holders(
    lambda segments: segments.mark_files, lambda commit: files_of(commit.marked.values())
)


def _missing_error(
    store: Store, path: str, version: int, error: VersionedError, holders: _Holders
) -> VersionedError:
    reason = _removal_reason(table_log(store), version, path, holders)
    if reason is not None:
        return NotFoundError(
            f"{store.url}: {reason} since this was planned, and {path} was vacuumed; load the table "
            "again. To keep a version for longer, tag it, or expire versions later",
            condition="VERSION_NOT_FOUND",
        )
    return CorruptTableError(
        f"{error}, and version {version} needs it; restore it from a copy, or read an older version; "
        "verify() reports what else is damaged"
    )


def _removal_reason(timeline: TableLog, version: int, path: str, holders: _Holders) -> str | None:
    """Why a file that a version needs is not kept; None if it is."""
    state = timeline.load().state
    if state is None:
        return None
    if state.dropped:
        return "the table was dropped"
    if _is_kept(timeline, state, path, holders):
        return None
    # Streams and changes also read segments that only earlier versions hold.
    is_retained = version >= state.floor or version in state.tags.values()
    return (
        "each version with its rows was expired"
        if is_retained
        else f"version {version} was expired"
    )


def _is_kept(timeline: TableLog, newest: TableState, path: str, holders: _Holders) -> bool:
    """Whether a retained version holds a file."""
    first = timeline.first_kept(newest.floor)
    kept = {first, *(version for version in newest.tags.values() if version < first)}
    states = (newest, *(timeline.load(version).state for version in kept))
    if any(state is not None and path in holders.in_state(state.segments) for state in states):
        return True
    later = timeline.entries(first + 1, newest.version)
    return any(path in holders.near(commit) for commit in later if isinstance(commit, Commit))
