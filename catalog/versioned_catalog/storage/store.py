"""The interface between the table format and storage.

A store is rooted at a folder. Its paths are relative, use ``/`` and stay inside; those of segments
may also lie below external roots (FORMAT.md, section 1.1).
"""

from __future__ import annotations

import abc
import enum
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

from versioned_catalog.errors import CorruptTableError, InvalidRequestError, StorageError
from versioned_catalog.limits import ENTRY_BYTES
from versioned_catalog.storage.clock import Clock

FAR_AHEAD = timedelta(minutes=10)
"""The most that a commit's time may be ahead of the store's clock (FORMAT.md, section 10)."""


_SCHEMES = {"gcs": "gs", "abfss": "abfs", "s3a": "s3"}
"""Other names of the same file systems."""

OWN_FOLDERS = ("_versioned", "data")
"""The folders below that of a table in which all of its own files are."""


class Put(enum.Enum):
    """The outcome of a put-if-absent."""

    WON = "won"
    TAKEN = "taken"
    UNKNOWN = "unknown"
    """No answer, or one that may be wrong: the object may exist, or may still appear."""


class Sink(Protocol):
    """A file being written."""

    def write(self, data: Any, /) -> int:
        """Append bytes."""
        ...


class TranslatingSink:
    """Translate write failures into StorageError, in a context that ``translating`` makes."""

    def __init__(self, file: Sink, translating: Callable[[], AbstractContextManager[None]]) -> None:
        self._file = file
        self._translating = translating

    def write(self, data: Any, /) -> int:
        """Append bytes."""
        with self._translating():
            return self._file.write(data)


@dataclass(frozen=True, slots=True)
class Location:
    """A store as a value that can be sent to other processes.

    Args:
        url, options: arguments of ``open_store``.
        roots: the external roots that its reader allows, by name (FORMAT.md, section 1.1).
    """

    url: str
    options: tuple[tuple[str, Any], ...] = ()
    roots: tuple[tuple[str, Location], ...] = ()

    def __repr__(self) -> str:
        # Options may be credentials.
        return f"Location({self.url!r})"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as its store lists it.

    Args:
        name: without the folder.
        bytes: its size.
        modified: when it was written, by the store's clock.
        etag: the store's ETag of the content; empty if it has none.
    """

    name: str
    bytes: int
    modified: datetime
    etag: str = ""


class Store(abc.ABC):
    """Files below one folder.

    Every method raises StorageError if the file system fails or refuses, and CorruptTableError if a path
    would leave the folder.
    """

    location: Location
    is_remote = False
    """Whether requests have a high latency, so that parallel ones pay off."""
    is_staging = False
    """Whether commits wait for the end of a transaction over several tables."""
    has_disk = False
    """Whether the folder is on a disk, which may become full."""
    name_tag = ""
    """How the UUIDs in the names of new files begin."""

    @property
    def url(self) -> str:
        """The URL of the folder, for messages."""
        return self.location.url

    @property
    def endpoint(self) -> str | None:
        """The URL of the server that answers, if there is one and its address is known."""
        return None

    @cached_property
    def opened_roots(self) -> dict[str, Store]:
        """The stores of external roots that were opened so far, by name; see ``storage.opening``."""
        return {}

    @cached_property
    def own_folders(self) -> tuple[str, ...]:
        """The addresses of a table's own folders, which no external root gives access to."""
        return tuple(map(self.resolved, OWN_FOLDERS))

    def allow_roots(self, roots: tuple[tuple[str, Location], ...]) -> Self:
        """Let segments lie below external roots, and return the store itself."""
        self.location = replace(self.location, roots=roots)
        return self

    @property
    def address(self) -> str:
        """The address of the folder, with links resolved, and the same under all names of its scheme."""
        scheme, colon, path = self.url.partition("://")
        return f"{_SCHEMES.get(scheme, scheme)}{colon}{path}"

    def resolved(self, path: str) -> str:
        """The address of a file or folder, with links resolved, to compare it with others."""
        return f"{self.address}/{safe_path(path)}"

    def place(self, path: str) -> str:
        """Where a file of the folder is."""
        return path

    def exists(self) -> bool:
        """Whether the folder exists; in an object store every folder does."""
        return True

    @abc.abstractmethod
    def read(self, path: str, limit: int = ENTRY_BYTES) -> bytes | None:
        """Read a whole file of at most ``limit`` bytes; None if it does not exist.

        Raises:
            CorruptTableError: it is longer, or not a regular file.
        """

    def read_in_order(
        self, paths: Sequence[str], limit: int = ENTRY_BYTES
    ) -> Iterator[bytes | None]:
        """Read several files as ``read`` does, in parallel if that pays off; an error ends it."""
        return (self.read(path, limit) for path in paths)

    @abc.abstractmethod
    def put_if_absent(self, path: str, data: bytes, dated: datetime | None = None) -> Put:
        """Create a small file atomically and durably, unless it exists.

        StorageError means that the file was not created.

        Args:
            dated: the time in the content, if it is by the clock of this process. A store that knows
                the date of a file before it is visible refuses a time that is far ahead of it.
        """

    @abc.abstractmethod
    def overwrite(self, path: str, data: bytes) -> None:
        """Create or replace a small file atomically."""

    @abc.abstractmethod
    def list(self, folder: str, start: str = "") -> list[str]:
        """List the names of the files in a folder, sorted, without those that begin with a dot.

        Args:
            start: how the names begin; object stores then list no others.
        """

    @abc.abstractmethod
    def files(self, folder: str) -> Sequence[StoredFile]:
        """List the files directly in a folder, sorted by name, with temporary files."""

    @abc.abstractmethod
    def walk(self, folder: str) -> Iterator[StoredFile]:
        """List all files below a folder (``""`` is the store's), sorted, with paths relative to it."""

    @abc.abstractmethod
    def now(self) -> datetime:
        """The time by the store's clock, which also dates files."""

    @cached_property
    def clock(self) -> Clock:
        """The store's clock, as known to this process."""
        return Clock()

    def time(self) -> datetime:
        """The time by the store's clock, which is read now and then; by the process's clock if the
        store's can't be read."""
        return self.clock.now(self.now)

    def modified(self, path: str) -> datetime | None:
        """When a file was written, by the store's clock; None if it is missing or has no date."""
        folder, _, name = path.rpartition("/")
        try:
            dates = (file.modified for file in self.files(folder) if file.name == name)
            return next(dates, None)
        except StorageError:
            return None

    @abc.abstractmethod
    def delete(self, path: str) -> None:
        """Delete a file if it exists."""

    def delete_all(self, paths: Sequence[str]) -> None:
        """Delete files in as few requests as the store allows."""
        for path in paths:
            self.delete(path)

    @abc.abstractmethod
    def create(self, path: str) -> AbstractContextManager[Sink]:
        """Write a large file under a new name; durable when the block ends without an error."""

    @abc.abstractmethod
    def open(self, path: str) -> Any:
        """Open a file for random access by PyArrow: a path if it can be mapped, else a file object.

        Raises:
            CorruptTableError: it is missing.
        """

    @abc.abstractmethod
    def child(self, path: str) -> Store:
        """The store of a subfolder."""

    def above(self, levels: int) -> Store | None:
        """The store of the folder that is so many levels above; None if its URL opens it."""
        return None


def new_name(base_version: int, tag: str = "") -> str:
    """The name of a new file, without the extension: the version it was planned on, and a UUID.

    Args:
        tag: how the UUID begins, in hex digits.
    """
    return f"{max(base_version, 0)}-{tag}{uuid.uuid4().hex[len(tag) :]}"


PREFIX = "root:"
"""How the paths of external segments begin, and no others."""

WAREHOUSE_ROOT = "this-warehouse"
"""The root that every catalog allows: its own warehouse, in which tables may share files."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_ADOPTION = re.compile(r"[1-9][0-9]{0,15}")


class RootPath(NamedTuple):
    """A path below an external root.

    Args:
        adoption: the version that adopted the file, as text of the path; empty for the first adoption of
            a file, which the path alone identifies.
    """

    root: str
    path: str
    adoption: str = ""

    @property
    def file(self) -> str:
        """The path without the adoption: the same for all segments of one file."""
        return f"{PREFIX}{self.root}/{self.path}"


def split_root(path: str) -> RootPath | None:
    """The root and the relative path of a path below an external root; None for other paths.

    >>> split_root("root:lake/day=1/a.parquet")
    RootPath(root='lake', path='day=1/a.parquet', adoption='')
    >>> split_root("root:lake@7/day=1/a.parquet")
    RootPath(root='lake', path='day=1/a.parquet', adoption='7')
    """
    if not path.startswith(PREFIX):
        return None
    name, _, relative = path.removeprefix(PREFIX).partition("/")
    root, _, adoption = name.partition("@")
    return RootPath(root, relative, adoption)


def file_of(path: str) -> str:
    """The path of a segment's file: without the adoption, if it is below an external root.

    >>> file_of("root:lake@7/a.parquet"), file_of("data/0-x.parquet")
    ('root:lake/a.parquet', 'data/0-x.parquet')
    """
    place = split_root(path)
    return path if place is None else place.file


def shown_path(store: Store, path: str) -> str:
    """A file of a table as errors show it: its URL, or its path below an external root.

    >>> from versioned_catalog.storage.memory import MemoryStore
    >>> shown_path(MemoryStore("t"), "root:lake@7/a.parquet")
    'root:lake/a.parquet'
    """
    return file_of(path) if path.startswith(PREFIX) else f"{store.url}/{path}"


def adopted_at(path: str, version: int) -> str:
    """The path of a segment below an external root that a version adopts.

    >>> adopted_at("root:lake/a.parquet", 7)
    'root:lake@7/a.parquet'
    """
    root, _, relative = path.removeprefix(PREFIX).partition("/")
    return f"{PREFIX}{root}@{version}/{relative}"


def is_root_path(path: str) -> bool:
    """Whether a path that starts with ``root:`` names a root and a file below it."""
    split = split_root(path)
    if split is None or not is_root_name(split.root) or not split.path:
        return False
    name = path.removeprefix(PREFIX).partition("/")[0]
    return "@" not in name or _ADOPTION.fullmatch(split.adoption) is not None


def is_root_name(name: str) -> bool:
    """Whether a root can have a name."""
    return _NAME.fullmatch(name) is not None


UNSAFE = r"(?:^|/)\.{0,2}(?:/|$)|[\\\x00-\x1f\x7f]"
"""A regular expression for Python and Arrow: an empty segment of a path, ``.`` or ``..``, or a character
that a path may not hold. Text in Arrow holds no surrogates."""

_UNSAFE = re.compile(UNSAFE + r"|[\ud800-\udfff]")


def root_url(store: Store) -> str:
    """The absolute URL of a table's folder, as other engines open it."""
    return f"file://{store.url}" if store.url.startswith("/") else store.url.rstrip("/")


def safe_path(path: str) -> str:
    """Check that a path stays inside its folder, and return it (FORMAT.md, section 1).

    Raises:
        CorruptTableError: the path leads outside.
    """
    if _UNSAFE.search(path):
        raise CorruptTableError(f"the path {path!r} leads outside the folder it belongs to")
    if path.startswith(PREFIX) and not is_root_path(path):
        raise CorruptTableError(f"the path {path!r} names no external root and file below it")
    return path


def check_name(path: str) -> str:
    """Check that a path that a user named can be one of a segment, and return it.

    Raises:
        InvalidRequestError: it has a part that is empty, ``.`` or ``..``, a backslash or a control
            character.
    """
    if _UNSAFE.search(path):
        raise InvalidRequestError(
            f"{path!r} has a backslash, a control character or a part that is empty or consists of "
            "dots, which paths in tables can't have (FORMAT.md, section 1); rename the file or folder",
            condition="INVALID_NAME",
        )
    return path


def check_size(size: int, limit: int, file: str) -> None:
    """Refuse a file that is too large.

    Raises:
        CorruptTableError: the file is larger than the limit.
    """
    if size > limit:
        raise CorruptTableError(f"{file} has {size} bytes; such files have up to {limit}")


def check_date(dated: datetime | None, date: datetime, file: str) -> None:
    """Refuse content whose time is far ahead of the date of its file.

    Raises:
        StorageError: it is; the message names both clocks.
    """
    if dated is not None and dated - date > FAR_AHEAD:
        raise StorageError(
            f"can't write {file}: this machine's clock shows {dated.isoformat()}, but the store's "
            f"shows {date.isoformat()}; nothing was committed. Set this machine's clock, or grant it "
            "permission to create files in the table's folder, so that it can get the time from the "
            "store"
        )


def as_time(value: datetime | float) -> datetime:
    """Convert a time of a file system: seconds since 1970, or a datetime, in UTC if it has no zone."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return datetime.fromtimestamp(value, UTC)
