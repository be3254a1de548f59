"""Follow a source: its schema by ALTERs, and its files by one commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from versioned_catalog.commit.operations import Append, Base, NewFiles, Rewrite
from versioned_catalog.commit.table_handle import Progress, TableHandle, silent
from versioned_catalog.errors import AlreadyExistsError, CommitConflictError, InvalidRequestError
from versioned_catalog.log.entry import Batch
from versioned_catalog.log.ledger import ImportedFile, Taken
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.model.bound_changes import plan_changes
from versioned_catalog.model.changes import SetProperty
from versioned_catalog.model.schema import PartitionField
from versioned_catalog.read.filters import Always
from versioned_catalog.read.foreign_file import size_of
from versioned_catalog.storage.opening import root_store
from versioned_catalog.storage.store import RootPath
from versioned_catalog.write.external import ExternalFile, external_records, used_roots
from versioned_interop.convert.copying import (
    check_not_imported,
    copy_file,
    copy_token,
    imported_before,
    source_token,
)
from versioned_interop.convert.evolving import follow_schemas, partition_versions
from versioned_interop.convert.files import Adopter, Names, partition_of
from versioned_interop.convert.origin import Origin, origin_of
from versioned_interop.convert.source import SourceFile, SourceTable, digest_of, token_of

ADOPT, COPY, REFUSE = "adopt", "copy", "refuse"


@dataclass(frozen=True)
class Synced:
    """Result of a sync.

    Args:
        version: the table's version after it.
        source_version: the source's version that the table shows: a snapshot ID, a version number.
        schemas: number of commits that changed the schema.
        adopted, copied, removed: numbers of files of the source.
        dropped: what of the source is not taken over.
        roots: the external roots that every reader of the table must allow: URLs by name.
    """

    version: int
    source_version: str
    schemas: int = 0
    adopted: int = 0
    copied: int = 0
    removed: int = 0
    dropped: tuple[str, ...] = ()
    roots: Mapping[str, str] = field(default_factory=dict)


def follow(handle: TableHandle, source: SourceTable, progress: Progress = silent) -> Synced:
    """Bring a converted table to the version of its source.

    Raises:
        InvalidRequestError: the source is another table, or both sides changed the same.
        CommitConflictError: another commit came in between; run it again.
    """
    origin = origin_of(handle.state.properties, handle.name)
    if (source.kind, source.uuid) != (origin.kind, origin.uuid):
        raise InvalidRequestError(
            f"{handle.name} follows the {origin.kind} table {origin.uuid} at {origin.location}, and "
            f"{source.location} is {source.uuid}: it was replaced there. Convert it under a new name"
        )
    schemas = follow_schemas(handle, source)
    origin_now = origin_of(handle.state.properties, handle.name)
    done = _Files(handle, source, origin_now, progress).commit()
    roots = {origin.root: dict(handle.store.location.roots)[origin.root].url}
    return replace(
        done,
        version=handle.loaded.version,
        schemas=schemas,
        dropped=source.dropped,
        roots=roots,
    )


@dataclass(frozen=True)
class _Files:
    """The commit that follows the files of a source."""

    handle: TableHandle
    source: SourceTable
    origin: Origin
    progress: Progress

    def commit(self) -> Synced:
        """Add the files that the source added, and remove those that it removed."""
        origin, source = self.origin, self.source
        nothing = Synced(0, source.version)
        if source.batch is None:
            return nothing
        if origin.version != source.version:
            if source.batch <= origin.number:
                raise InvalidRequestError(
                    f"{self.handle.name} shows version {origin.version} of {origin.location} already, "
                    f"which is newer than {source.version}; to see an earlier one, use the table's own "
                    "history"
                )
        elif not self._is_remapped:
            return nothing
        files = {file.token: file for file in source.files()}
        live = _live(self.handle.state, origin.root)
        before = self._before(live)
        twice = [live[token] for token in files.keys() - before.keys() if token in live]
        if twice:
            raise imported_before(self.handle.name, min(twice)[0])
        remapped = self._remapped(before, files, live)
        removed = self._removed(before, files, live, remapped)
        came = [file for token, file in files.items() if token not in before or token in remapped]
        new: list[SourceFile] = []
        if not self.handle.state.schema.is_keyed:  # with a key, rows that come twice count once
            new = [file for file in came if not {file.token, token_of(file.path)} & before.keys()]
            check_not_imported(self.handle, new, origin.root)
        known_at = self.handle.state.version
        copied_files = [file for file in came if self._is_copied(file)]
        refused = [file for file in copied_files if file.deletes]
        if origin.deletes == REFUSE and refused:
            raise InvalidRequestError(
                f"{self.handle.name}: {len(refused)} files of the source have deleted rows, such as "
                f"{refused[0].path}; {_PURGE[source.kind]}, or convert with deletes='copy'"
            )
        adopted = self._adopted([file for file in came if not self._is_copied(file)])
        copied = self._copied(copied_files)
        if removed and self.handle.state.schema.is_keyed:
            raise InvalidRequestError(
                f"{self.handle.name} has a primary key, and {len(removed)} files are gone or changed in "
                "the source: their rows can't be taken back here. Convert the source under a new name"
            )
        records = [*adopted, *(record for parts in copied for record in parts)]
        imported = self._imported([*new, *copied_files])
        copies = tuple(imported[file.token] for file in copied_files)
        new_files = NewFiles(tuple(imported[file.token] for file in new), known_at)
        self._commit(records, removed, files, copies, new_files)
        return replace(nothing, adopted=len(adopted), copied=len(copied), removed=len(removed))

    def _before(self, live: Mapping[str, list[str]]) -> Mapping[str, SourceFile | None]:
        """The source's files at the last sync, by token.

        Read from the live segments if this table has kept all files, else from the source.
        """
        origin = self.origin
        if not origin.version:
            return {}
        if digest_of(set(live)) == origin.digest:
            return dict.fromkeys(live)
        earlier_files = self.source.files_at(origin.version)
        if earlier_files is None:
            raise InvalidRequestError(
                f"{self.handle.name} has rewritten files of its source, and version {origin.version} of "
                f"{origin.location}, to which it must be compared, has expired there; convert the "
                "source under a new name, and sync more often than the source expires versions"
            )
        return {file.token: file for file in earlier_files}

    @property
    def _is_remapped(self) -> bool:
        """Whether files without field IDs may show other columns than at the last sync."""
        return bool(self.source.name_mapping) and self.source.name_mapping != self.origin.names

    def _remapped(
        self,
        before: Mapping[str, SourceFile | None],
        files: Mapping[str, SourceFile],
        live: Mapping[str, list[str]],
    ) -> set[str]:
        """The files without field IDs whose columns change with the source's name mapping.

        A changed mapping can map older files to a column that was dropped and added again.
        """
        if not self._is_remapped:
            return set()
        names = self.origin.names
        followed = [
            file
            for token, file in files.items()
            if token in before and (token in live or names is not None)
        ]
        return self._adopter().remapped(followed, self._names(names or {}))

    def _removed(
        self,
        before: Mapping[str, SourceFile | None],
        files: Mapping[str, SourceFile],
        live: Mapping[str, list[str]],
        remapped: Set[str],
    ) -> list[str]:
        """The segments of files that the source removed, or whose columns are mapped differently now."""
        segments: list[str] = []
        marked = self.handle.state.segments.marks.keys()
        for token in (before.keys() - files.keys()) | remapped:
            file, paths = before[token], live.get(token, [])
            changed_here = [path for path in paths if path in marked]
            if not paths and file is not None and not file.is_empty():
                changed_here = [file.path]
            segments += paths
            if changed_here:
                change = (
                    "reads other columns from" if token in remapped else "has removed or rewritten"
                )
                raise InvalidRequestError(
                    f"{self.handle.name}: the source {change} {changed_here[0]}, and this "
                    "table has changed rows of the same file, so the two changes conflict. Roll "
                    "this table back to before its change (Table.rollback), or convert the source under "
                    "a new name"
                )
        return sorted(segments)

    def _is_copied(self, file: SourceFile) -> bool:
        return self.origin.mode == COPY or bool(file.deletes)

    def _copied(self, files: Sequence[SourceFile]) -> list[list[SegmentRecord]]:
        """The copies of files of which rows remain, in the order that a primary key needs."""
        schema = self.handle.state.schema
        copied = [file for file in files if not file.is_empty()]
        if schema.is_keyed:
            copied = self.source.oldest_first(copied)
        files_and_forms = zip(copied, self._adopter().all(copied), strict=True)
        records = []
        for number, (file, external) in enumerate(files_and_forms, 1):
            records.append(copy_file(self.handle, schema, file, external))
            self.progress("copy files", number, len(copied))
        return records

    def _imported(self, files: Sequence[SourceFile]) -> dict[str, ImportedFile]:
        """Ledger entries of files by token, marked as copied; a file may be named twice."""
        root = root_store(self.handle.store, RootPath(self.origin.root, ""))

        def size(file: SourceFile) -> int:
            return size_of(root.open(file.path)) if file.bytes is None else file.bytes

        return {
            token: ImportedFile(
                place=root.resolved(file.path),
                bytes=size(file),
                modified=0,
                etag="",
                taken=Taken.COPIED,
            )
            for token, file in {file.token: file for file in files}.items()
        }

    def _adopted(self, files: Sequence[SourceFile]) -> list[SegmentRecord]:
        """Records of files in place, each under a schema version that is partitioned as the file is."""
        handle, origin, schema = self.handle, self.origin, self.handle.state.schema
        partitions = [partition_of(file, origin.keys, schema, origin.columns) for file in files]
        versions = partition_versions(handle, [tuple(partition) for partition in partitions])
        groups: dict[tuple[PartitionField, ...], list[ExternalFile]] = {}
        forms = zip(partitions, self._adopter().all(files), strict=True)
        for number, (partition, external) in enumerate(forms, 1):
            self.progress("adopt files", number, len(files))
            fields, values = tuple(partition), tuple(partition.values())
            placed = replace(external, schema_version=versions[fields].version, partition=values)
            groups.setdefault(fields, []).append(placed)
        return [
            record
            for fields, externals in groups.items()
            for record in external_records(
                handle.store, handle.state, externals, handle.name, versions[fields]
            )
        ]

    def _adopter(self) -> Adopter:
        return Adopter(
            self.handle.store,
            self.handle.state.schema,
            self.origin.columns,
            self.origin.keys,
            self._names(self.source.names),
            self.origin.root,
        )

    def _names(self, mapping: Mapping[str, tuple[str, ...]]) -> Names:
        keys = {column_id: key for key, column_id in self.origin.keys.items()}
        return Names(keys, self.source.by_field_id, mapping, self.source.physical)

    def _commit(
        self,
        records: Sequence[SegmentRecord],
        removed: Sequence[str],
        files: Mapping[str, SourceFile],
        copied: tuple[ImportedFile, ...],
        new_files: NewFiles,
    ) -> None:
        handle, state = self.handle, self.handle.state
        tokens = {token for token, file in files.items() if not file.deletes} | {
            token for record in records if (token := copy_token(record.path)) is not None
        }
        tokens |= {token for token in _live(state, self.origin.root) if token in files}
        before = origin_of(state.properties, handle.name)
        origin = replace(
            before,
            schema_id=max(before.schema_id, self.source.schema.schema_id),
            names=self.source.name_mapping,
            version=self.source.version,
            number=self.source.batch or 0,
            digest=digest_of(tokens),
        )
        base, roots = Base.of(state), used_roots(handle.store, records)
        # Not the source's number, so that a table that was rolled back can sync again.
        application = self.source.application
        last = state.applications.get(application)
        batch = Batch(application, 0 if last is None else last.id + 1)
        requests = [
            SetProperty(key, text)
            for key, text in origin.properties().items()
            if state.properties.get(key) != text
        ]
        changes, _ = plan_changes(requests, state.evolution, state.schemas.newest.version + 1)
        parts = (base, tuple(records), changes, tuple(removed), batch, roots, copied, new_files)
        operation = (
            Rewrite(*parts, kind="overwrite", reads=Always(False)) if removed else Append(*parts)
        )
        try:
            handle.commit(operation)
        except AlreadyExistsError as error:
            raise CommitConflictError(
                f"{handle.name}: another process followed the source at the same time; nothing was "
                "changed by this one; run it again"
            ) from error


_PURGE = {
    "iceberg": "rewrite them in the source (rewrite_data_files with delete-file-threshold 1)",
    "delta": "rewrite them in the source (REORG TABLE ... APPLY (PURGE))",
}


def _live(state: TableState, root: str) -> dict[str, list[str]]:
    """The live segments that hold a file of the source, by its token."""
    segments: dict[str, list[str]] = {}
    for path in state.segments.paths:
        token = source_token(path, root)
        if token is not None:
            segments.setdefault(token, []).append(path)
    return segments
