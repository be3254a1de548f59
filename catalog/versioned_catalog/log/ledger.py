"""The ledger of imported files: the files of others that a table has taken in (FORMAT.md, section 6.3).

A state holds the newest files itself, and names *pages*, Parquet files with the older ones. Only
imports, and the rule that no two imports add the same file, read pages; scans never do.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import CHECKPOINT_BYTES, SEGMENT_BYTES
from versioned_catalog.log.bounded_files import (
    LEAST_ROW_BYTES,
    check_attached,
    checksum,
    read_bounded,
)
from versioned_catalog.log.features import IMPORTS_FOLDER, OWN_NAME
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.model.arrow import array_of
from versioned_catalog.model.schema_json import Json, check_members, member, optional
from versioned_catalog.storage.opening import root_store
from versioned_catalog.storage.store import Store, is_root_path, new_name, safe_path, split_root

if TYPE_CHECKING:
    from versioned_catalog.log.entry import Commit

PAGE_FROM = 256
"""Number of files from which a commit puts its files in a page."""

FOLD_FROM = 1024
"""Number of files beside the pages from which an import puts all of them in a page."""


class Taken(enum.StrEnum):
    """How a file was taken in."""

    ADOPTED = "adopted"
    """Its segment is the file itself."""
    COPIED = "copied"
    """Its rows are in segments of the table."""
    EMPTY = "empty"
    """It had no rows."""


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A file as it was when it was imported.

    Args:
        place: its address, with links resolved.
        bytes: its size.
        modified: its modification time, in microseconds since 1970; 0 if it is not known.
        etag: what its store called the content; empty if it has no such name.
        taken: how it was taken in.
        name: ``root:<name>/<path>`` if it was reached through an external root, else empty. It stays the
            same wherever the root lies.
    """

    place: str
    bytes: int
    modified: int
    etag: str
    taken: Taken
    name: str = ""

    @property
    def keys(self) -> frozenset[str]:
        """What identifies the file: its place, and its name if it has one."""
        return frozenset({self.place, self.name} - {""})

    def is_as(self, before: ImportedFile) -> bool:
        """Whether a file is unchanged: by its ETag, else by its size and time."""
        if self.bytes != before.bytes:
            return False
        if self.etag and before.etag:
            return self.etag == before.etag
        return not before.modified or self.modified == before.modified


@dataclass(frozen=True)
class ImportedPage:
    """A file that holds a part of the ledger.

    Args:
        path: its path in the table's folder.
        bytes, checksum: its size, and ``crc32:`` and 8 hex digits.
        files: number of files in it.
    """

    path: str
    bytes: int
    checksum: str
    files: int


@dataclass(frozen=True)
class Ledger:
    """The files that a table has taken in, in order: those of the pages first."""

    pages: tuple[ImportedPage, ...] = ()
    files: tuple[ImportedFile, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.pages or self.files)

    def after(self, change: LedgerChange) -> Ledger:
        """The ledger after a commit."""
        if change.complete:
            return change.ledger
        added = change.ledger
        return Ledger(self.pages + added.pages, self.files + added.files)


@dataclass(frozen=True)
class LedgerChange:
    """What a commit does to the ledger: it adds files, or replaces it."""

    ledger: Ledger
    complete: bool = False


def added_files(ledger: Ledger, files: Sequence[ImportedFile]) -> LedgerChange | None:
    """The change that adds files; many small imports are put together in one page."""
    if not files:
        return None
    if len(ledger.files) + len(files) < FOLD_FROM or len(files) >= PAGE_FROM:
        return LedgerChange(Ledger((), tuple(files)))
    return LedgerChange(Ledger(ledger.pages, (*ledger.files, *files)), complete=True)


def adopted_files(store: Store, records: Sequence[SegmentRecord]) -> tuple[ImportedFile, ...]:
    """The files of segments below external roots; their dates are not known.

    Args:
        store: the table's folder, with the roots.
    """
    files = []
    for record in records:
        place = split_root(record.path)
        if place is not None:
            address = root_store(store, place).resolved(place.path)
            files.append(ImportedFile(address, record.bytes, 0, "", Taken.ADOPTED, place.file))
    return tuple(files)


def write_page(commit: Commit, previous: Commit | None, store: Store) -> Commit:
    """Put the imported files of a commit in a page if there are many; return the commit that names it.

    Args:
        previous: the commit of the attempt before, whose page serves again if it holds the same files.
    """
    change = commit.imported
    if change is None or len(change.ledger.files) < PAGE_FROM:
        return commit
    if commit.head.operation == "rollback":
        return commit  # keeps the ledger of its target: a second rollback must not differ
    files, paged = change.ledger.files, None
    if previous is not None and previous.paged == files and previous.imported is not None:
        paged = previous.imported.ledger.pages[-1]
    page = paged or _written(files, max(commit.head.base_version, 0), store)
    pages = (*change.ledger.pages, page)
    return replace(commit, imported=replace(change, ledger=Ledger(pages)), paged=files)


def _written(files: Sequence[ImportedFile], base: int, store: Store) -> ImportedPage:
    data = _page_bytes(files, "zstd")
    if len(files) * LEAST_ROW_BYTES > len(data):
        data = _page_bytes(files, "none")  # readers refuse a file that is too small for its rows
    path = f"{IMPORTS_FOLDER}/{new_name(base, store.name_tag)}.parquet"
    with store.create(path) as sink:
        sink.write(data)
    return ImportedPage(path, len(data), checksum(data), len(files))


_SCHEMA = pa.schema(
    [
        pa.field("place", pa.string(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("modified", pa.int64(), nullable=False),
        pa.field("etag", pa.string(), nullable=False),
        pa.field("taken", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
    ]
)


def _page_bytes(files: Sequence[ImportedFile], compression: str) -> bytes:
    columns = [
        array_of([getattr(file, field.name) for file in files], field.type) for field in _SCHEMA
    ]
    sink = pa.BufferOutputStream()
    options: dict[str, Any] = {"store_schema": False, "write_page_checksum": True}
    options |= {"use_dictionary": ["taken"], "write_statistics": False, "compression": compression}
    with pq.ParquetWriter(sink, _SCHEMA, **options) as writer:
        writer.write_table(pa.table(columns, schema=_SCHEMA))
    return bytes(sink.getvalue())


def imported_files(ledger: Ledger, store: Store) -> Iterator[ImportedFile]:
    """All files of a ledger, in order.

    Raises:
        CorruptTableError: a page is missing or damaged.
    """
    for page in ledger.pages:
        yield from _read(page, store)
    yield from ledger.files


def _read(page: ImportedPage, store: Store) -> Iterator[ImportedFile]:
    url = f"{store.url}/{page.path}"
    data = store.read(page.path, page.bytes)
    if data is None:
        raise CorruptTableError(
            f"{url} is missing; it says which files were imported: restore it from a copy"
        )
    then = "; restore it from a copy"
    check_attached(data, page.bytes, page.checksum, url, "the log", then)
    table = read_bounded(data, url)
    try:
        rows = table.select(_SCHEMA.names).cast(_SCHEMA)
    except (KeyError, pa.ArrowException):
        raise CorruptTableError(f"{url} is not a page of imported files") from None
    columns = [column.to_pylist() for column in rows.columns]
    yield from (_file(list(row), url) for row in zip(*columns, strict=True))


def _file(row: Json, what: str) -> ImportedFile:
    match row:
        case [str(place), int(size), int(modified), str(etag), str(taken), str(name)] if (
            place
            and 0 <= size <= SEGMENT_BYTES
            and taken in list(Taken)
            and (not name or is_root_path(name))
        ):
            return ImportedFile(place, size, modified, etag, Taken(taken), name)
    raise CorruptTableError(f"{what} holds something else than an imported file: {str(row)[:100]}")


_LEDGER_MEMBERS = frozenset({"pages", "files"})
_PAGE_MEMBERS = frozenset({"path", "bytes", "checksum", "files"})


def ledger_to_json(ledger: Ledger) -> dict[str, Json]:
    """The JSON of a ledger, as checkpoints hold it."""
    pages = [
        {"path": page.path, "bytes": page.bytes, "checksum": page.checksum, "files": page.files}
        for page in ledger.pages
    ]
    files = [
        [file.place, file.bytes, file.modified, file.etag, str(file.taken), file.name]
        for file in ledger.files
    ]
    return {**({"pages": pages} if pages else {}), **({"files": files} if files else {})}


def ledger_from_json(value: Json) -> Ledger:
    """The ledger of a checkpoint.

    Raises:
        CorruptTableError: it is not as FORMAT.md says.
    """
    check_members(value, _LEDGER_MEMBERS)
    pages = tuple(map(_page, optional(value, "pages", list) or []))
    name = "the member 'imported'"
    return Ledger(pages, tuple(_file(row, name) for row in optional(value, "files", list) or []))


def _page(value: Json) -> ImportedPage:
    check_members(value, _PAGE_MEMBERS)
    path = safe_path(member(value, "path", str))
    folder, _, name = path.rpartition("/")
    if folder != IMPORTS_FOLDER or not OWN_NAME.fullmatch(name):
        raise CorruptTableError(
            f"a page of imported files is called {path[:100]!r}; it must be a file of {IMPORTS_FOLDER}/"
        )
    size, files = member(value, "bytes", int), member(value, "files", int)
    if not (0 <= size <= CHECKPOINT_BYTES and files >= 0):
        raise CorruptTableError(f"the page {path} has an impossible size")
    return ImportedPage(path, size, member(value, "checksum", str), files)


def change_to_json(change: LedgerChange) -> Json:
    """The member ``imported`` of an entry."""
    complete = {"complete": True} if change.complete else {}
    return {**ledger_to_json(change.ledger), **complete}


def change_from_json(value: Json) -> LedgerChange:
    """Read the member ``imported`` of an entry.

    Raises:
        CorruptTableError: it is not as FORMAT.md says.
    """
    complete = bool(optional(value, "complete", bool))
    files = {name: inner for name, inner in value.items() if name != "complete"}
    return LedgerChange(ledger_from_json(files), complete)
