"""Copies of files that can't be adopted, and the refusal of files that were imported before.

The name of a copy begins with the token of its source file, so a later sync finds it without a list of
copies.

The ledger names them by their place. It keeps files whose rows are gone, so the log must say where the
rows went: a commit that removes segments with rows of a file, and adds others, may have moved them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.ledger import ImportedFile, Taken, adopted_files, imported_files
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.model.arrow import to_arrow_schema
from versioned_catalog.model.schema import Schema
from versioned_catalog.read.planning import record_task
from versioned_catalog.read.tasks import read_segment
from versioned_catalog.storage.opening import root_store
from versioned_catalog.storage.store import PREFIX, RootPath, file_of, split_root
from versioned_catalog.write.external import ExternalFile
from versioned_catalog.write.plan import plan_write
from versioned_interop.convert.source import SourceFile, token_of

_COPY = re.compile(r"data/[0-9]{1,20}-([0-9a-f]{12}c[0-9a-f]{3})[0-9a-f]{16}\.parquet")


def copy_token(path: str) -> str | None:
    """The token in the name of a segment, if it is a copy.

    >>> copy_token("data/3-0123456789abcdef0123456789abcdef.parquet")
    '0123456789abcdef'
    """
    match = _COPY.fullmatch(path)
    return None if match is None else match[1]


def source_token(path: str, root: str) -> str | None:
    """The token of the source's file that a segment is, or a copy of; None for other segments.

    Args:
        root: the external root of the source.
    """
    place = split_root(path)
    if place is None:
        return copy_token(path)
    return token_of(place.path) if place.root == root else None


def copy_file(
    handle: TableHandle, schema: Schema, file: SourceFile, external: ExternalFile
) -> list[SegmentRecord]:
    """Write the rows of a file that are not deleted as segments of the table.

    Args:
        schema: the table's schema.
        external: how the file holds its columns.

    Raises:
        InvalidRequestError: a row does not fit the table.
        CorruptTableError: the file can't be read.
    """
    arrow = to_arrow_schema(schema.visible.columns)
    plan = plan_write(handle.store, handle.state, handle.name, arrow, merge_schema=False)
    tagged = replace(plan, spec=replace(plan.spec, tag=file.token))
    rows = _remaining(_rows(handle, schema, external), file)
    batches = (pa.RecordBatch.from_arrays(batch.columns, schema=arrow) for batch in rows)
    return tagged.write(arrow, batches, handle.store)


def _rows(handle: TableHandle, schema: Schema, external: ExternalFile) -> Iterator[pa.RecordBatch]:
    bare = replace(schema, primary_key=(), time_index=None)
    record = SegmentRecord(
        external.path,
        schema.version,
        external.rows,
        external.bytes,
        id_map=external.id_map,
        constants=external.constants,
    )
    task = record_task(handle.state.table_uuid, bare, record, bare.visible.columns)
    total = 0
    for batch in read_segment(handle.store, task):
        total += batch.num_rows
        yield batch
    if total != external.rows:
        raise CorruptTableError(
            f"{external.path}: {total} rows were read of {external.rows}; nothing was committed"
        )


def _remaining(rows: Iterator[pa.RecordBatch], file: SourceFile) -> Iterator[pa.RecordBatch]:
    """The rows that are not deleted; they come in the order of the file."""
    if file.deleted is None:
        yield from rows
        return
    deleted = file.deleted_positions()
    start = 0
    for batch in rows:
        first, end = np.searchsorted(deleted, (start, start + batch.num_rows))
        kept = np.ones(batch.num_rows, bool)
        kept[deleted[first:end] - start] = False
        start += batch.num_rows
        yield batch.filter(pa.array(kept))


def check_not_imported(handle: TableHandle, files: Sequence[SourceFile], root: str) -> None:
    """Refuse files that were imported into this table, and whose rows may still be live.

    Args:
        files: the files that came to the source.
        root: the external root of the source.

    Raises:
        InvalidRequestError: naming a file.
    """
    if not (handle.state.ledger and files):
        return
    store = root_store(handle.store, RootPath(root, ""))
    paths = {store.resolved(file.path): f"{PREFIX}{root}/{file.path}" for file in files}
    # Files of an import have a modification time; those of a conversion have none.
    imported = {
        file
        for file in imported_files(handle.state.ledger, handle.store)
        if file.place in paths and file.modified and file.taken is not Taken.EMPTY
    }
    if imported:
        _check(handle, imported, paths)


def _check(handle: TableHandle, imported: set[ImportedFile], paths: Mapping[str, str]) -> None:
    rows = _Rows(handle, imported)
    unknown = rows.follow()
    live = rows.paths & {*handle.state.segments.paths}
    in_place = sorted(path for path in live if path.startswith(PREFIX))
    if in_place:
        raise imported_before(handle.name, in_place[0])
    if live or unknown:
        path = min(paths[file.place] for file in unknown or imported)
        raise InvalidRequestError(
            f"{handle.name}: {path} was imported here and belongs to the source now, so that its rows "
            "would be here twice. Roll this table back to before the import (Table.rollback), or "
            "convert the source under a new name"
        )


def imported_before(table: str, segment: str) -> InvalidRequestError:
    """The error for a file of the source that an import has adopted, by the path of its segment."""
    return InvalidRequestError(
        f"{table}: {file_of(segment)} was imported here and belongs to the source now; take it "
        "out with Table.remove_external, and sync again"
    )


@dataclass(frozen=True)
class _Rows:
    """The segments that may hold, or have held, rows of imported files."""

    handle: TableHandle
    files: set[ImportedFile]
    paths: set[str] = field(default_factory=set)

    def follow(self) -> set[ImportedFile]:
        """Read the log; return the files whose import has expired."""
        log, state = self.handle.log, self.handle.state
        first = log.first_kept(max(state.floor, state.created_version))
        unseen = set(self.files)
        for commit in log.entries(first, state.version):
            if not isinstance(commit, Commit) or commit.head.operation == "rollback":
                continue  # a rollback restores segments that are in the set already
            if not self.paths.isdisjoint((*commit.removed, *commit.marked)):
                self.paths.update(record.path for record in commit.added)
            taken = unseen & self._taken(commit, is_whole=first == state.created_version)
            self.paths.update(self._holders(commit.added, taken))
            unseen -= taken
        return unseen

    def _taken(self, commit: Commit, is_whole: bool) -> set[ImportedFile]:
        """The files that a commit imported; for a complete ledger, all files in it."""
        change = commit.imported
        if change is None or (change.complete and not is_whole):
            return set()
        return set(imported_files(change.ledger, self.handle.store))

    def _holders(self, added: Sequence[SegmentRecord], files: set[ImportedFile]) -> list[str]:
        """The segments of a commit that hold rows of files: the files themselves, or any other."""
        if not files:
            return []
        places = {file.place for file in files}
        external = [record for record in added if record.path.startswith(PREFIX)]
        adopted = zip(external, adopted_files(self.handle.store, external), strict=True)
        paths = [record.path for record, file in adopted if file.place in places]
        return [*paths, *(record.path for record in added if not record.path.startswith(PREFIX))]
