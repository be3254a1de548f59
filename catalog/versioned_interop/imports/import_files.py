"""Import of files: the schema is committed first, then a batch of files a commit."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa

from versioned_catalog.alteration import Alteration
from versioned_catalog.commit.operations import Base, Import, NewFiles
from versioned_catalog.commit.segment_rules import ImportedMeanwhileError
from versioned_catalog.commit.table_handle import Progress, TableHandle
from versioned_catalog.errors import CommitConflictError, InvalidRequestError, naming_table
from versioned_catalog.log.ledger import ImportedFile, Taken
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.maintain.log_check import in_parallel
from versioned_catalog.model.bound_changes import plan_changes
from versioned_catalog.model.changes import Change
from versioned_catalog.model.constants import to_constant, to_scalar
from versioned_catalog.model.ddl import render_columns
from versioned_catalog.model.evolution import BoundChange
from versioned_catalog.model.schema import name_key
from versioned_catalog.model.table_changes import KeepImportOptions
from versioned_catalog.model.types import Column
from versioned_catalog.read.foreign_file import size_of
from versioned_catalog.storage.opening import open_file
from versioned_catalog.storage.store import Store, StoredFile
from versioned_catalog.transaction import Transaction
from versioned_catalog.write.external import ExternalFile
from versioned_catalog.write.plan import plan_now
from versioned_interop.imports.adopting import Adopter, changed_while_imported, check_unchanged
from versioned_interop.imports.conforming import Target, checked
from versioned_interop.imports.kept_options import Resolved, kept_change, resolve
from versioned_interop.imports.known_files import (
    KnownFiles,
    Standing,
    known_files,
    outdated_segments,
)
from versioned_interop.imports.listing import file_source
from versioned_interop.imports.mapping import changes_to
from versioned_interop.imports.options import Again
from versioned_interop.imports.path_parts import value_text
from versioned_interop.imports.planning import Planned, is_wanted, plan_import, values_in_path
from versioned_interop.imports.reading import ParquetReader
from versioned_interop.imports.survey import Unreadable

_MOST_ATTEMPTS = 32
"""How often a batch is imported while other processes import files of it."""


@dataclass(frozen=True)
class Imported:
    """Result of an import.

    Args:
        version: the newest version of the table afterwards.
        files: how many files were imported.
        rows: their rows.
        known: how many files had been imported before and are unchanged.
        changed: files that were imported before and have changed since; the table keeps their old rows.
        missing: files that the table has and that are no longer in the source.
        unreadable: files that were left out, with the reason of each.
        options_used: the options that this call took from earlier ones.
        options_kept: the options that the next call takes from this one, or does not take any more.
    """

    version: int
    files: int = 0
    rows: int = 0
    known: int = 0
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    options_used: tuple[str, ...] = ()
    options_kept: tuple[str, ...] = ()


def import_into(
    handle: TableHandle,
    source: str | os.PathLike[str],
    options: Mapping[str, Any],
    progress: Progress,
) -> Imported:
    """Import files into a table. See ``Table.import_files``."""
    resolved = resolve(options, handle.state)
    with _naming_kept(resolved):
        files = file_source(handle.store, source, in_place=not resolved.options.copy)
        planned = plan_import(handle.store, files, resolved.options, handle, progress)
        return run_import(handle, planned, progress, resolved)


@contextmanager
def _naming_kept(resolved: Resolved) -> Iterator[None]:
    """Name the options that come from earlier imports in errors."""
    try:
        yield
    except InvalidRequestError as error:
        if resolved.used:
            error.args = (
                f"{error}\nOptions of earlier imports are used: {', '.join(resolved.used)}. Pass "
                "others, or kept='ignore' to leave them out",
            )
        raise


def import_new(
    store: Store,
    name: str,
    source: str | os.PathLike[str],
    options: Mapping[str, Any],
    create: Callable[[str], TableHandle],
    progress: Progress,
) -> Imported:
    """Import files into a table that ``create`` makes of the columns that they have, in DDL.

    Args:
        store: the warehouse's folder.
        name: the name of the table, for errors.
    """
    resolved = resolve(options, None)
    files = file_source(store, source, in_place=not resolved.options.copy)
    with naming_table(name):
        planned = plan_import(store, files, resolved.options, None, progress)
    return run_import(create(render_columns(planned.columns)), planned, progress, resolved)


def run_import(
    handle: TableHandle, planned: Planned, progress: Progress, resolved: Resolved | None = None
) -> Imported:
    """Carry out an import. The commit of the first files keeps its options.

    Raises:
        InvalidRequestError: a file or value does not fit; earlier batches stay.
        CommitConflictError: another commit changed the schema meanwhile; earlier batches stay.
    """
    changes: list[Change] = list(changes_to(handle.state.schema.columns, planned.columns))
    if changes and planned.options.evolve:
        Alteration(handle).add_all(changes).commit()
    kept = None if resolved is None else kept_change(handle.state, resolved, planned.requested)
    to_keep = [] if kept is None else [kept]
    compared = planned.compared
    files = rows = 0
    if planned.survey.files:
        run = _Run(
            handle,
            planned,
            _target(handle, planned),
            progress,
            handle.state.schema.version,
            {file.place: file for file in compared.early},
            handle.state.created_version if planned.known_at is None else planned.known_at,
            to_keep,
        )
        left = iter(enumerate(planned.survey.files, start=1))
        while batch := list(islice(left, planned.options.batch_files)):
            files_taken, rows_taken = run.batch(batch)
            files, rows = files + files_taken, rows + rows_taken
    if to_keep:  # no file came in
        Alteration(handle).add_all(to_keep).commit()
    return Imported(
        handle.state.version,
        files,
        rows,
        compared.known + len(planned.survey.files) - files,
        compared.changed,
        compared.missing,
        planned.survey.unreadable,
        () if resolved is None else resolved.used,
        () if kept is None else kept.changed,
    )


def _target(handle: TableHandle, planned: Planned) -> Target:
    options = planned.options
    columns = tuple(
        column
        for column in handle.state.schema.columns
        if options.provided.takes((column.name,)) or name_key(column.name) in planned.elsewhere
    )
    style = options.style(type(planned.reader))
    return Target(columns, options.names, planned.elsewhere, options.provided.formats, style)


_Numbered = Sequence[tuple[int, StoredFile]]


@dataclass
class _Run:
    """The batches of an import.

    Args:
        early: the files from before the ledger, by place, which the next commit puts in it.
        known_at: the version at which files were compared with the ledger.
        to_keep: the change that keeps the options, which the next commit makes.
        ledger: the imported files at that version; None if all files were compared already.
    """

    handle: TableHandle
    planned: Planned
    target: Target
    progress: Progress
    schema_version: int
    early: dict[str, ImportedFile]
    known_at: int
    to_keep: list[KeepImportOptions]
    ledger: KnownFiles | None = None

    def batch(self, files: _Numbered) -> tuple[int, int]:
        """Commit files, and return the numbers of files and rows that came in.

        Files that another process imports meanwhile are skipped.
        """
        import_batch = self._copy if self.planned.options.copy else self._adopt
        for attempt in range(1, _MOST_ATTEMPTS + 1):
            files = self._new(files)
            if not files:
                return 0, 0
            beside_pages = len(self.handle.state.ledger.files)
            try:
                rows = import_batch(files)
            except ImportedMeanwhileError:
                if attempt == _MOST_ATTEMPTS:
                    raise
                self.handle.refresh()
                self._load_ledger()
                continue
            self.early.clear()
            self.to_keep.clear()
            if len(self.handle.state.ledger.files) < beside_pages:
                # A fold does not show which files it added: the next batch would start again for it.
                self._load_ledger()
            return len(files), rows
        raise AssertionError("the last attempt returns or raises")

    def _load_ledger(self) -> None:
        """Read the ledger again."""
        self.ledger, self.known_at = known_files(self.handle), self.handle.state.version
        for place in [file.place for file in self.early.values() if self.ledger.earlier(file)]:
            del self.early[place]

    def _new(self, files: _Numbered) -> _Numbered:
        """The files that the table does not have, or that are to be imported again."""
        ledger, again = self.ledger, self.planned.options.again
        if ledger is None:
            return files
        return [pair for pair in files if is_wanted(self._standing(ledger, pair[1]), again)]

    def _standing(self, ledger: KnownFiles, file: StoredFile) -> Standing:
        return ledger.standing(
            self.planned.source.identity(file.name), self.planned.source.imported(file)
        )

    def _check_schema(self) -> None:
        if self.handle.state.schema.version != self.schema_version:
            raise CommitConflictError(
                f"{self.handle.name}: the schema was changed while files were imported; run the import "
                "again, which goes on with the files that are left"
            )

    def _outdated(self, files: _Numbered) -> tuple[str, ...]:
        """The segments of files that have changed since they were adopted."""
        if self.planned.options.again is None:
            return ()
        source, ledger = self.planned.source, known_files(self.handle)
        now = (
            (source.identity(file.name), self.planned.source.imported(file)) for _, file in files
        )
        return outdated_segments(self.handle, ledger, now, self.planned.options.again)

    def _import(
        self, files: _Numbered, taken: Mapping[str, Taken]
    ) -> Callable[[Base, Sequence[SegmentRecord], tuple[BoundChange, ...]], Import]:
        """The operation that commits the segments of files."""
        new = (self.planned.source.imported(file, taken[file.name]) for _, file in files)
        records = (*self.early.values(), *new)
        removed, again = self._outdated(files), self.planned.options.again is Again.ALL
        kept, _ = plan_changes(self.to_keep, self.handle.state.evolution, 0)

        def operation(
            base: Base, segments: Sequence[SegmentRecord], changes: tuple[BoundChange, ...]
        ) -> Import:
            new = None if again else NewFiles(records, self.known_at)
            return Import(
                base,
                tuple(segments),
                (*changes, *kept),
                removed,
                new_files=new,
                files=records,
                again=again,
            )

        return operation

    def _adopt(self, files: _Numbered) -> int:
        """Commit files in place, and return their rows."""
        self._check_schema()
        reader, source = self.planned.reader, self.planned.source
        assert isinstance(reader, ParquetReader), "other formats are copied"
        adopter = Adopter(self.handle.store, self.handle.state.schema, self.target, reader)

        def external(numbered: tuple[int, StoredFile]) -> ExternalFile:
            _, file = numbered
            constants = {column.id: text for column, text in self._constants(file)}
            adopted = adopter.file(source.identity(file.name), file, constants)
            self._check_date(file)
            return adopted

        adopted_files: list[ExternalFile] = []
        for (number, _), read in zip(
            files, in_parallel(external, files, source.threads), strict=True
        ):
            adopted_files.append(read)
            self._report(number)
        taken = {
            file.name: Taken.ADOPTED if read.rows else Taken.EMPTY
            for (_, file), read in zip(files, adopted_files, strict=True)
        }
        operation = self._import(files, taken)
        full = [file for file in adopted_files if file.rows]
        Transaction(self.handle).commit_adopted(full, operation)
        return sum(file.rows for file in full)

    def _copy(self, files: _Numbered) -> int:
        """Commit the rows of files, and return how many."""
        self._check_schema()
        handle, rows = self.handle, dict.fromkeys((file.name for _, file in files), 0)
        plan = plan_now(handle.store, handle.state, handle.name)
        records = plan.write_mixed(self._batches(files, rows), handle.store)
        taken = {name: Taken.COPIED if count else Taken.EMPTY for name, count in rows.items()}
        operation = self._import(files, taken)
        Transaction(handle).commit_copied(plan, records, operation)
        return sum(record.rows for record in records)

    def _batches(self, files: _Numbered, rows: dict[str, int]) -> Iterator[pa.RecordBatch]:
        """The rows of files; their numbers are added to ``rows``, by the name of the file."""
        for number, file in files:
            store, path = self.planned.source.opened_by(self.handle.store, file.name)
            constants = {
                column.name: to_scalar(to_constant(text), column.type)
                for column, text in self._constants(file)
            }
            identity = self.planned.source.identity(file.name)
            check_unchanged(size_of(open_file(store, path)), file, identity)
            batches = self.planned.reader.batches(store, path, self.target, constants)
            for batch in checked(batches, identity):
                rows[file.name] += batch.num_rows
                yield batch
            self._check_date(file)
            self._report(number)

    def _check_date(self, file: StoredFile) -> None:
        """Refuse a file that was written while it was read; only local disks are checked.

        Raises:
            InvalidRequestError: naming the file.
        """
        store = self.planned.source.store
        if store.has_disk and store.modified(file.name) != file.modified:
            raise changed_while_imported(self.planned.source.identity(file.name))

    def _report(self, number: int) -> None:
        self.progress("files", number, len(self.planned.survey.files))

    def _constants(self, file: StoredFile) -> Iterator[tuple[Column, str | None]]:
        """The values of the columns that stand in the path of a file, as value texts."""
        values = values_in_path(self.planned.source, self.planned.options, file)
        for column in self.target.columns:
            key = name_key(column.name)
            if key in self.planned.elsewhere:
                value = values.get(key)
                text = None if value is None else value.text
                yield column, value_text(text, column.type, column.name)
