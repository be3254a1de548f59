"""Which files were imported, so that a second call takes new ones only.

Each commit of an import puts ``_versioned/imports/<base version>-<commit ID>.json`` before it, with the
path, size, date and etag of its files, and an empty file ``….done`` after it. Readers of the table
ignore
both (FORMAT.md, section 1). Files adopted in place are known by the table's segments; the journal adds
their dates. Files that were copied are known by the journal alone: one without ``.done`` counts if the
table's log has its commit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from versioned_catalog.errors import CorruptTableError, StorageError
from versioned_catalog.handle import TableHandle
from versioned_catalog.log.layout import FOLDER
from versioned_catalog.storage.json_text import parse_json
from versioned_catalog.storage.root_paths import PREFIX
from versioned_catalog.storage.store import Put, StoredFile

IMPORTS = f"{FOLDER}/imports"
_DONE = ".done"


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as it was when it was imported.

    Args:
        bytes: its size.
        modified: its date, in microseconds since 1970; 0 if it is not known.
        etag: what its store called the content.
    """

    bytes: int
    modified: int = 0
    etag: str = ""

    @classmethod
    def of(cls, file: StoredFile) -> Seen:
        """A file as its store lists it."""
        return cls(file.bytes, _micros(file.modified), file.etag)

    def is_same(self, file: StoredFile) -> bool:
        """Whether a file is as it was: by its etag, else by its size and date."""
        if file.bytes != self.bytes:
            return False
        if self.etag and file.etag:
            return self.etag == file.etag
        return not self.modified or self.modified == _micros(file.modified)


def _micros(time: datetime) -> int:
    since = time - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def known_files(handle: TableHandle) -> dict[str, Seen]:
    """The files that the table has, by identity (``FileSource.identity``)."""
    live = _live(handle)
    found = {path: Seen(size) for path, size in live.items()}
    for entry in _entries(handle):
        for name, size, modified, etag in entry["files"]:
            if entry["copied"] or name in live:
                found[name] = Seen(size, modified, etag)
        for name, size, modified, etag in entry.get("empty", ()):
            found[name] = Seen(size, modified, etag)
    return found


def _live(handle: TableHandle) -> dict[str, int]:
    """The sizes of the external segments, by path."""
    table = handle.state.segments.core
    pairs = zip(table["path"].to_pylist(), table["bytes"].to_pylist(), strict=True)
    return {path: size for path, size in pairs if path.startswith(PREFIX)}


def _entries(handle: TableHandle) -> Iterator[Mapping[str, Any]]:
    """The imports of this incarnation that landed, in order."""
    store = handle.store
    names = store.list(IMPORTS)
    done = {name for name in names if name.endswith(_DONE)}
    journals = [name for name in names if not name.endswith(_DONE)]
    contents = store.read_in_order([f"{IMPORTS}/{name}" for name in journals])
    for name, data in zip(journals, contents, strict=True):
        entry = None if data is None else _entry(data, name)
        if entry is None or entry["table_uuid"] != handle.state.table_uuid:
            continue
        if f"{name}{_DONE}" in done or not entry["copied"] or _landed(handle, name, entry):
            yield entry


def _entry(data: bytes, name: str) -> Mapping[str, Any]:
    try:
        found = parse_json(data, name)
        if isinstance(found, dict) and _is_entry(found):
            return found
    except CorruptTableError:
        pass  # reported with the way out
    raise CorruptTableError(
        f"the import journal {IMPORTS}/{name} is damaged; restore it from a copy, or delete it if the "
        "files that it records may be imported again"
    )


def _is_entry(found: Mapping[str, Any]) -> bool:
    """Whether a document has the members of a record, each of its type."""
    texts = all(isinstance(found.get(key), str) for key in ("commit_id", "table_uuid"))
    flags = isinstance(found.get("copied"), bool) and type(found.get("base_version")) is int
    lists = [found.get("files"), found.get("empty", [])]
    return (
        texts
        and flags
        and all(isinstance(rows, list) and all(map(_is_row, rows)) for rows in lists)
    )


def _is_row(row: Any) -> bool:
    return isinstance(row, list) and list(map(type, row)) == [str, int, int, str]


def _landed(handle: TableHandle, name: str, entry: Mapping[str, Any]) -> bool:
    if handle.find_commit(entry["commit_id"], entry["base_version"]) is None:
        return False
    handle.store.put_if_absent(f"{IMPORTS}/{name}{_DONE}", b"")
    return True


@dataclass(frozen=True)
class Batch:
    """The files of one commit.

    Args:
        commit_id: idempotency key of the commit.
        files: the files with their identities.
        empty: those among others that have no rows, and are not in the table.
        copied: whether their rows are copied.
    """

    commit_id: str
    files: Sequence[tuple[str, StoredFile]]
    empty: Sequence[tuple[str, StoredFile]] = ()
    copied: bool = False


def begin(handle: TableHandle, batch: Batch) -> str:
    """Record files before their commit, and return the name of the record.

    Raises:
        StorageError: the store failed.
    """
    state = handle.state
    entry = {
        "commit_id": batch.commit_id,
        "base_version": state.version,
        "table_uuid": state.table_uuid,
        "copied": batch.copied,
        "files": list(map(_row, batch.files)),
        "empty": list(map(_row, batch.empty)),
    }
    name = f"{state.version:020d}-{batch.commit_id}.json"
    data = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()
    if handle.store.put_if_absent(f"{IMPORTS}/{name}", data) is Put.UNKNOWN:
        raise StorageError(f"the store did not say whether {IMPORTS}/{name} was written; try again")
    return name


def _row(one: tuple[str, StoredFile]) -> tuple[str, int, int, str]:
    identity, file = one
    seen = Seen.of(file)
    return identity, seen.bytes, seen.modified, seen.etag


def finish(handle: TableHandle, name: str) -> None:
    """Record that a commit landed."""
    handle.store.put_if_absent(f"{IMPORTS}/{name}{_DONE}", b"")
