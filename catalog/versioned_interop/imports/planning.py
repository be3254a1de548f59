"""Plan an import: the new files, and one schema for all of them. Nothing is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from versioned_catalog.commit.table_handle import Progress, TableHandle
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.ledger import ImportedFile, Taken
from versioned_catalog.model.schema import Schema, name_key
from versioned_catalog.model.types import Column
from versioned_catalog.storage.store import Store, StoredFile
from versioned_interop.imports.avro_files import AvroReader
from versioned_interop.imports.disagreements import COPY_ROWS, report_text
from versioned_interop.imports.json_maps import JsonMaps
from versioned_interop.imports.known_files import (
    KnownFiles,
    Standing,
    known_files,
    live_files,
    outdated_segments,
)
from versioned_interop.imports.listing import (
    FileSource,
    common_format,
    is_missing,
    refuse_tables,
    selected,
)
from versioned_interop.imports.merging import (
    by_position,
    merge,
    names_by_position,
    with_named_text,
)
from versioned_interop.imports.options import Again, ImportOptions
from versioned_interop.imports.path_parts import PathValue
from versioned_interop.imports.reading import OrcReader, ParquetReader, Reader
from versioned_interop.imports.survey import Survey, survey
from versioned_interop.imports.text_files import CsvReader, JsonReader


@dataclass(frozen=True)
class Compared:
    """The files of a source, compared with those that the table has imported.

    Args:
        new: files to import.
        known: number of imported files that are unchanged.
        changed: imported files that have changed, and are not imported again.
        missing: imported files that are no longer in the source.
        early: files that were imported before the table had a ledger.
    """

    new: tuple[StoredFile, ...]
    known: int = 0
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    early: tuple[ImportedFile, ...] = ()


@dataclass(frozen=True)
class Planned:
    """An import that was planned.

    Args:
        columns: of the table afterwards; new ones without IDs.
        elsewhere: keys of the names of columns that stand in paths.
        compared: which files are new.
        survey: what the new files are.
        known_at: the version of the table at which they were new; None if there was none.
    """

    source: FileSource
    options: ImportOptions
    reader: Reader
    columns: tuple[Column, ...]
    elsewhere: frozenset[str]
    compared: Compared
    survey: Survey
    known_at: int | None

    @property
    def requested(self) -> tuple[str, ...]:
        """The names of the columns in paths that users asked for."""
        names = self.survey.paths
        return tuple(name for name in names if name_key(name) in self.survey.requested)


def plan_import(
    store: Store,
    source: FileSource,
    options: ImportOptions,
    handle: TableHandle | None,
    progress: Progress,
) -> Planned:
    """Compare the files with the table, and survey the new ones.

    Args:
        store: of the table, or of the warehouse if there is no table yet.
        handle: the table, if it exists.

    Raises:
        InvalidRequestError: files can't be read or brought together, or there are none.
    """
    everything = list(source.store.walk(source.folder))
    files = list(selected(source, everything))
    refuse_tables(source, everything, files)
    if not files and handle is None:
        if is_missing(source):
            raise InvalidRequestError(f"there is no file or folder {source.shown}")
        raise InvalidRequestError(
            f"there are no files to import in {source.shown}; files whose names begin with _ or a "
            "dot, and empty ones, are left out"
        )
    compared = _compared(files, source, options.again, handle)
    table = None if handle is None else handle.state.schema
    reader = _reader(files, source, options, table)
    path_values = partial(values_in_path, source, options)
    surveyed = survey(store, source, compared.new, reader, progress, path_values)
    if not options.skip_unreadable:
        surveyed.check(source.shown)
    if isinstance(reader, CsvReader):
        names = () if options.csv.header else names_by_position(options, surveyed.paths)
        reader = CsvReader(replace(options.csv, names=names))
        groups = (
            replace(group, schema=with_named_text(by_position(group.schema, names), options, table))
            for group in surveyed.groups
        )
        surveyed = replace(surveyed, groups=tuple(groups))
    columns, report = merge(
        surveyed.groups, options, surveyed.paths, table, requested=surveyed.requested
    )
    if report:
        raise InvalidRequestError(
            report_text(report, source.shown, len(surveyed.files), options.dialect)
        )
    if not columns:
        raise InvalidRequestError(f"the files in {source.shown} have no columns to import")
    elsewhere = frozenset(map(name_key, surveyed.paths))
    known_at = None if handle is None else handle.state.version
    return Planned(source, options, reader, columns, elsewhere, compared, surveyed, known_at)


def values_in_path(
    source: FileSource, options: ImportOptions, file: StoredFile
) -> dict[str, PathValue]:
    """The columns that stand in the path of a file, or that the storage knows, by their keys."""
    below, identity = source.below(file.name), source.identity(file.name)
    return options.paths.values(options.names, below, identity, file)


def _compared(
    files: Sequence[StoredFile],
    source: FileSource,
    again: Again | None,
    handle: TableHandle | None,
) -> Compared:
    ledger = KnownFiles() if handle is None else known_files(handle)
    new, changed, places = list[StoredFile](), list[str](), dict[str, str]()
    early, now = list[ImportedFile](), list[tuple[str, ImportedFile]]()
    for file in files:
        identity, as_it_is = source.identity(file.name), source.imported(file)
        if as_it_is.place in places:
            continue  # a link to a file that is listed, too
        places[as_it_is.place] = identity
        standing = ledger.standing(identity, as_it_is)
        before = ledger.early_file(identity, as_it_is)
        if before is not None and standing is Standing.SAME:
            early.append(before)
        if is_wanted(standing, again):
            new.append(file)
            now.append((identity, as_it_is))
        elif standing is Standing.CHANGED:
            changed.append(identity)
    if handle is not None:
        outdated_segments(handle, ledger, now, again)  # before anything is read or written
    missing = () if handle is None else _missing(ledger, source, places, handle)
    same = len(files) - len(new) - len(changed)
    return Compared(tuple(new), same, tuple(changed), tuple(missing), tuple(early))


def is_wanted(standing: Standing, again: Again | None) -> bool:
    """Whether a file is to be imported."""
    match standing:
        case Standing.NEW:
            return True
        case Standing.CHANGED:
            return again is not None
        case Standing.SAME:
            return again is Again.ALL


def _missing(
    ledger: KnownFiles, source: FileSource, places: Mapping[str, str], handle: TableHandle
) -> list[str]:
    """The imported files, copied or with live segments, that are no longer in the source.

    Args:
        places: the identities of the listed files, by place.
    """
    here = {*places.values()}
    live = live_files(handle.state)
    missing = set[str]()
    for key, versions in ledger.ledger.items():
        identity = key if source.covers(key) else source.identity_at(key)
        if identity is None or identity in here or any(file.place in places for file in versions):
            continue
        if identity in live or any(file.taken is Taken.COPIED for file in versions):
            missing.add(identity)
    early = (name for name in ledger.early if name not in here and source.covers(name))
    return sorted(missing.union(early))


def _reader(
    files: Sequence[StoredFile], source: FileSource, options: ImportOptions, table: Schema | None
) -> Reader:
    """The reader of the format of all files.

    Raises:
        InvalidRequestError: the format is not known, or can't stay where it is.
    """
    names = (file.name for file in files)
    format_ = common_format(names, options.format, source.shown) if files else "parquet"
    if files:
        options.check_format(format_)
    if format_ != "parquet" and not options.copy:
        raise InvalidRequestError(
            f"{source.shown} is {format_.upper()}, which can't be read in place; {COPY_ROWS}"
        )
    match format_:
        case "orc":
            return OrcReader(options.rules)
        case "avro":
            return AvroReader(options.rules)
        case "csv":
            return CsvReader(options.csv)
        case "json":
            maps = JsonMaps.of(options.provided, options.names, table)
            return JsonReader(options.rules, options.csv.encoding, maps)
        case _:
            return ParquetReader(options.rules)
