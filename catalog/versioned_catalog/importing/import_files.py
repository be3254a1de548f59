"""Import of files: the schema is committed first, then a batch of files a commit."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa

from versioned_catalog.alteration import Alteration
from versioned_catalog.evolution.changes import Change
from versioned_catalog.handle import TableHandle
from versioned_catalog.importing import journal
from versioned_catalog.importing.adopting import Adopter
from versioned_catalog.importing.conforming import Target, checked
from versioned_catalog.importing.evolving import changes_to
from versioned_catalog.importing.journal import Batch
from versioned_catalog.importing.listing import file_source
from versioned_catalog.importing.options import import_options
from versioned_catalog.importing.path_parts import path_parts, value_text
from versioned_catalog.importing.planning import Planned, plan_import
from versioned_catalog.importing.reading import ParquetReader
from versioned_catalog.importing.survey import Unreadable, file_path, open_path
from versioned_catalog.maintenance.parallel import in_parallel
from versioned_catalog.progress import Progress
from versioned_catalog.schema.schema import name_key
from versioned_catalog.storage.store import StoredFile
from versioned_catalog.transaction import Transaction
from versioned_catalog.types.types import Column
from versioned_catalog.values.constants import to_constant, to_scalar
from versioned_catalog.write.external import ExternalFile
from versioned_catalog.write.plan import plan_now

_THREADS, _REMOTE_THREADS = 2, 16


@dataclass(frozen=True)
class Imported:
    """Result of an import.

    Args:
        version: the newest version of the table afterwards.
        files: how many files were imported.
        rows: their rows.
        known: how many files had been imported before, and are as they were.
        changed: files that were imported before and have changed since; the table keeps what it had.
        missing: files that the table has and the source has no more.
        unreadable: files that were left out, with the reason of each.
    """

    version: int
    files: int = 0
    rows: int = 0
    known: int = 0
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()


def import_into(
    handle: TableHandle,
    source: str | os.PathLike[str],
    options: Mapping[str, Any],
    progress: Progress,
) -> Imported:
    """Import files into a table. See ``Table.import_files``."""
    checked_options = import_options(**options)
    files = file_source(handle.store, source, in_place=not checked_options.copy)
    planned = plan_import(handle.store, files, checked_options, handle, progress)
    return run_import(handle, planned, progress)


def run_import(handle: TableHandle, planned: Planned, progress: Progress) -> Imported:
    """Carry out an import.

    Raises:
        InvalidRequestError: a file or value does not fit; earlier batches stay.
        CommitConflictError: another commit changed the schema meanwhile.
    """
    changes: list[Change] = list(changes_to(handle.state.schema.columns, planned.columns))
    if changes and planned.options.evolve:
        Alteration(handle).add_all(changes).commit()
    files, compared = planned.survey.files, planned.compared
    rows = sum(_rows(handle, planned, progress)) if files else 0
    return Imported(
        handle.state.version,
        len(files),
        rows,
        compared.known,
        compared.changed,
        compared.missing,
        planned.survey.unreadable,
    )


def _rows(handle: TableHandle, planned: Planned, progress: Progress) -> Iterator[int]:
    """Import batch by batch, and yield the number of rows of each."""
    run = _Run(handle, planned, _target(handle, planned), progress)
    import_batch = run.copy if planned.options.copy else run.adopt
    files = iter(enumerate(planned.survey.files, start=1))
    while some := list(islice(files, planned.options.batch_files)):
        yield import_batch(some)


def _target(handle: TableHandle, planned: Planned) -> Target:
    options = planned.options
    columns = tuple(
        one
        for one in handle.state.schema.columns
        if options.provided.takes((one.name,)) or name_key(one.name) in planned.elsewhere
    )
    return Target(columns, options.names, planned.elsewhere, options.provided.formats)


_Numbered = Sequence[tuple[int, StoredFile]]


@dataclass(frozen=True)
class _Run:
    handle: TableHandle
    planned: Planned
    target: Target
    progress: Progress

    def adopt(self, files: _Numbered) -> int:
        """Commit files in place, and return the number of their rows."""
        reader, source = self.planned.reader, self.planned.source
        assert isinstance(reader, ParquetReader), "other formats are copied"
        adopter = Adopter(self.handle.store, self.handle.state.schema, self.target, reader)

        def external(one: tuple[int, StoredFile]) -> ExternalFile:
            _, file = one
            constants = {column.id: text for column, text in self._constants(file)}
            return adopter.file(source.identity(file.name), file, constants)

        threads = _REMOTE_THREADS if source.store.is_remote else _THREADS
        found = []
        for (number, _), read in zip(files, in_parallel(external, files, threads), strict=True):
            found.append(read)
            self._report(number)
        pairs = [(one.path, file) for one, (_, file) in zip(found, files, strict=True)]
        full = [one for one in found if one.rows]
        with_rows = {one.path for one in full}
        batch = Batch(
            str(uuid.uuid4()),
            [one for one in pairs if one[0] in with_rows],
            [one for one in pairs if one[0] not in with_rows],
        )
        name = journal.begin(self.handle, batch)
        if full:
            Transaction(self.handle).commit_external(full, commit_id=batch.commit_id)
        journal.finish(self.handle, name)
        return sum(one.rows for one in full)

    def copy(self, files: _Numbered) -> int:
        """Commit the rows of files, and return their number."""
        handle, identity = self.handle, self.planned.source.identity
        plan = plan_now(handle.store, handle.state, handle.name)
        records = plan.write_mixed(self._batches(files), handle.store)
        pairs = [(identity(file.name), file) for _, file in files]
        batch = Batch(str(uuid.uuid4()), pairs, copied=True)
        name = journal.begin(handle, batch)
        if records:
            Transaction(handle).commit_append(plan, records, commit_id=batch.commit_id)
        journal.finish(handle, name)
        return sum(one.rows for one in records)

    def _batches(self, files: _Numbered) -> Iterator[pa.RecordBatch]:
        for number, file in files:
            store, path = open_path(self.handle.store, self.planned.source, file.name)
            constants = {
                column.name: to_scalar(to_constant(text), column.type)
                for column, text in self._constants(file)
            }
            batches = self.planned.reader.batches(store, path, self.target, constants)
            yield from checked(batches, self.planned.source.identity(file.name))
            self._report(number)

    def _report(self, number: int) -> None:
        self.progress("files", number, len(self.planned.survey.files))

    def _constants(self, file: StoredFile) -> Iterator[tuple[Column, str | None]]:
        """The values of the columns that stand in the path of a file, as value texts."""
        _, below = file_path(self.planned.source, file)
        parts = {name_key(name): text for name, text in path_parts(below).items()}
        for column in self.target.columns:
            key = name_key(column.name)
            if key in self.planned.elsewhere:
                yield column, value_text(parts.get(key), column.type, column.name)
