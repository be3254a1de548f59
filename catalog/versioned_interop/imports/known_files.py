"""The files that a table has imported, so that an import takes new ones only.

The table's ledger lists them (FORMAT.md, section 6.3). Tables from before the ledger know the files by
their live segments and by *journals*, which early versions of this library put beside each commit of an
import.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.features import EXTERNAL_ROOTS, IMPORTS
from versioned_catalog.log.features import IMPORTS_FOLDER as FOLDER
from versioned_catalog.log.ledger import ImportedFile, Taken, imported_files
from versioned_catalog.log.state import TableState
from versioned_catalog.storage.opening import check_roots, root_store
from versioned_catalog.storage.store import PREFIX, Store, file_of, split_root
from versioned_catalog.storage.text import parse_json
from versioned_interop.imports.options import Again

_DONE = ".done"


class Standing(enum.Enum):
    """State of a file in the ledger of a table."""

    NEW = enum.auto()
    """Never imported, or imported without rows and changed since."""
    SAME = enum.auto()
    """Imported, and unchanged."""
    CHANGED = enum.auto()
    """Imported, and changed since."""


@dataclass(frozen=True)
class KnownFiles:
    """The files that a table has imported.

    Args:
        ledger: by place and by name, as they were each time.
        early: from before the ledger, by ``FileSource.identity``; their places are not known.
    """

    ledger: Mapping[str, tuple[ImportedFile, ...]] = field(default_factory=dict)
    early: Mapping[str, ImportedFile] = field(default_factory=dict)

    def early_file(self, identity: str, file: ImportedFile) -> ImportedFile | None:
        """A ledger entry for a file that was imported before the table had a ledger; else None."""
        if self.earlier(file) or identity not in self.early:
            return None
        return replace(file, taken=self.early[identity].taken)

    def earlier(self, file: ImportedFile) -> tuple[ImportedFile, ...]:
        """All ledger entries of a file, by its place or by its name."""
        return tuple(earlier for key in file.keys for earlier in self.ledger.get(key, ()))

    def was_adopted(self, identity: str, file: ImportedFile) -> bool:
        """Whether a segment of the table ever was the file itself."""
        early = (self.early[identity],) if identity in self.early else ()
        return any(earlier.taken is Taken.ADOPTED for earlier in (*self.earlier(file), *early))

    def standing(self, identity: str, file: ImportedFile) -> Standing:
        """The state of a file, by the ledger or else by its identity."""
        earlier = self.earlier(file)
        if not earlier and identity in self.early:
            earlier = (self.early[identity],)
        if any(file.is_as(version) for version in earlier):
            return Standing.SAME
        if all(version.taken is Taken.EMPTY for version in earlier):
            return Standing.NEW
        return Standing.CHANGED


def known_files(handle: TableHandle) -> KnownFiles:
    """Load the files that a table has imported.

    Raises:
        CorruptTableError: a page of the ledger is missing or damaged.
    """
    ledger: dict[str, tuple[ImportedFile, ...]] = {}
    for file in imported_files(handle.state.ledger, handle.store):
        for key in file.keys:
            ledger[key] = (*ledger.get(key, ()), file)
    return KnownFiles(ledger, _early(handle))


def live_files(state: TableState) -> dict[str, list[str]]:
    """The external segments, by the path of the file."""
    segments: dict[str, list[str]] = {}
    for path in state.segments.paths:
        if path.startswith(PREFIX):
            segments.setdefault(file_of(path), []).append(path)
    return segments


def outdated_segments(
    handle: TableHandle,
    known_files: KnownFiles,
    files: Iterable[tuple[str, ImportedFile]],
    again: Again | None,
) -> tuple[str, ...]:
    """The segments of files that have changed since they were adopted, through whatever root.

    Args:
        files: those to import, as they are now, with their identities.

    Raises:
        InvalidRequestError: the old rows of a file may be in segments of the table by now; or this
            reader lacks the root of a segment, which may be that of a file.
    """
    if again is None:
        return ()
    changed = [file for file in files if known_files.standing(*file) is Standing.CHANGED]
    segments = _by_place(handle) if changed else {}
    marked = handle.state.segments.marks.keys() if segments else ()
    for identity, file in changed:
        paths = segments.get(file.place, [])
        is_gone = not paths and known_files.was_adopted(identity, file)
        if (is_gone or any(path in marked for path in paths)) and again is not Again.ALL:
            where = "is no segment of the table any more" if is_gone else "has deleted rows there"
            raise InvalidRequestError(
                f"{handle.name}: {identity} has changed since it was imported in place, and {where}: "
                "rows of it that a DELETE, an UPDATE or a compaction has rewritten would be in the "
                "table twice. Delete these rows, and import the file with again='all'"
            )
    return tuple(path for _, file in changed for path in segments.get(file.place, ()))


def _by_place(handle: TableHandle) -> dict[str, list[str]]:
    """The external segments, by the resolved address of the file."""
    files, segments = live_files(handle.state), dict[str, list[str]]()
    check_roots(handle.store, files, handle.state.roots)
    for file, paths in files.items():
        place = _place(handle.store, file)
        if place is not None:
            segments.setdefault(place, []).extend(paths)
    return segments


def _place(store: Store, path: str) -> str | None:
    """The place of a segment's file; None if a link leads outside its root."""
    split = split_root(path)
    assert split is not None, "it is the path of a file of others"
    try:
        return root_store(store, split).resolved(split.path)
    except CorruptTableError:
        return None


def _early(handle: TableHandle) -> dict[str, ImportedFile]:
    """The files that a table imported before it had a ledger."""
    live = _live(handle.state)
    sizes = _once_adopted(handle) | live
    files = {path: ImportedFile("", size, 0, "", Taken.ADOPTED) for path, size in sizes.items()}
    for entry in _journals(handle):
        taken = Taken.COPIED if entry["copied"] else Taken.ADOPTED
        for name, size, modified, etag in entry["files"]:
            if entry["copied"] or name in live:
                files[name] = ImportedFile("", size, modified, etag, taken)
        for name, size, modified, etag in entry.get("empty", ()):
            files[name] = ImportedFile("", size, modified, etag, Taken.EMPTY)
    return files


def _once_adopted(handle: TableHandle) -> dict[str, int]:
    """The sizes of the files that retained versions from before the ledger have adopted.

    Adoptions that a rollback has undone do not count.
    """
    state, features = handle.state, handle.state.features
    had_none = IMPORTS in features.write and state.adoptions >= 0  # -1: segments from before it
    if had_none or EXTERNAL_ROOTS not in features.read:
        return {}
    first = handle.log.first_kept(max(state.floor, state.created_version))
    before = handle.log.load(first).state
    # Paths with an adoption are in the ledger of their time.
    live = {} if before is None else _live(before, named=False)
    adoptions = [(first, path, size) for path, size in live.items()]
    for commit in handle.log.entries(first + 1, state.version) if first < state.version else ():
        if not isinstance(commit, Commit):
            continue
        head = commit.head
        if head.operation == "rollback":
            target = commit.details.get("to", head.version)
            adoptions = [adoption for adoption in adoptions if adoption[0] <= target]
        elif IMPORTS not in head.features.write:
            external = (record for record in commit.added if record.path.startswith(PREFIX))
            adoptions += [(head.version, file_of(record.path), record.bytes) for record in external]
    return {path: size for _, path, size in adoptions}


def _live(state: TableState, *, named: bool = True) -> dict[str, int]:
    """The sizes of the external segments, by the path of the file.

    Args:
        named: also of those whose path names an adoption.
    """
    table = state.segments.core
    pairs = zip(table["path"].to_pylist(), table["bytes"].to_pylist(), strict=True)
    external = ((path, size) for path, size in pairs if path.startswith(PREFIX))
    return {file_of(path): size for path, size in external if named or path == file_of(path)}


def _journals(handle: TableHandle) -> Iterator[Mapping[str, Any]]:
    """The journals of this incarnation whose commits landed, in order."""
    store = handle.store
    names = store.list(FOLDER)
    done = {name for name in names if name.endswith(_DONE)}
    journals = [name for name in names if name.endswith(".json")]
    contents = store.read_in_order([f"{FOLDER}/{name}" for name in journals])
    for name, data in zip(journals, contents, strict=True):
        entry = None if data is None else _journal(data, name)
        if entry is None or entry["table_uuid"] != handle.state.table_uuid:
            continue
        if f"{name}{_DONE}" in done or not entry["copied"] or _landed(handle, entry):
            yield entry


def _journal(data: bytes, name: str) -> Mapping[str, Any]:
    try:
        document = parse_json(data, name)
        if isinstance(document, dict) and _is_journal(document):
            return document
    except CorruptTableError:
        pass  # reported with the way out
    raise CorruptTableError(
        f"the import journal {FOLDER}/{name} is damaged; restore it from a copy, or delete it if the "
        "files that it records may be imported again"
    )


def _is_journal(document: Mapping[str, Any]) -> bool:
    """Whether a document has the members of a journal, each of its type."""
    texts = all(isinstance(document.get(key), str) for key in ("commit_id", "table_uuid"))
    flags = isinstance(document.get("copied"), bool) and type(document.get("base_version")) is int
    lists = [document.get("files"), document.get("empty", [])]
    return (
        texts
        and flags
        and all(isinstance(rows, list) and all(map(_is_row, rows)) for rows in lists)
    )


def _is_row(row: Any) -> bool:
    return isinstance(row, list) and list(map(type, row)) == [str, int, int, str]


def _landed(handle: TableHandle, entry: Mapping[str, Any]) -> bool:
    return handle.find_commit(entry["commit_id"], entry["base_version"]) is not None
