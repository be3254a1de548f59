"""The one interface between the format and bytes on storage.

A store is rooted at a folder. Paths given to it are relative, use ``/`` and stay inside.
"""

from __future__ import annotations

import abc
import enum
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Protocol

from versioned_catalog.errors import CorruptTableError, StorageError
from versioned_catalog.limits import ENTRY_BYTES
from versioned_catalog.storage.clock import Clock

FAR_AHEAD = timedelta(minutes=10)
"""How far a commit's time may be ahead of the store's clock (FORMAT.md, section 10)."""


class Put(enum.Enum):
    """What came of a put-if-absent."""

    WON = "won"
    TAKEN = "taken"
    UNKNOWN = "unknown"
    """No answer, or one that may be wrong: the object may be there, or may still appear."""


class Sink(Protocol):
    """A file being written."""

    def write(self, data: Any, /) -> int:
        """Append bytes."""
        ...


class ToldSink:
    """A file whose failing writes are told in a store's words, whoever writes.

    Args:
        file: what is written to.
        telling: makes what tells of a failure.
    """

    def __init__(self, file: Sink, telling: Callable[[], AbstractContextManager[None]]) -> None:
        self._file = file
        self._telling = telling

    def write(self, data: Any, /) -> int:
        """Append bytes."""
        with self._telling():
            return self._file.write(data)


@dataclass(frozen=True, slots=True)
class Location:
    """A store as a value that travels to other processes: its URL, and how to open it."""

    url: str
    options: tuple[tuple[str, Any], ...] = ()

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
    """

    name: str
    bytes: int
    modified: datetime


class Store(abc.ABC):
    """Files below one folder.

    Every method raises StorageError where the file system refuses or fails, and CorruptTableError for
    a path that would leave the folder.
    """

    location: Location
    is_remote = False
    """Whether a request takes long, so that several at once pay."""
    has_disk = False
    """Whether the folder is on a disk, which may be full."""

    @property
    def url(self) -> str:
        """Where the folder is, for people."""
        return self.location.url

    def is_there(self) -> bool:
        """Whether the folder exists; an object store has no folders that could be missing."""
        return True

    @abc.abstractmethod
    def read(self, path: str, limit: int = ENTRY_BYTES) -> bytes | None:
        """The whole content, or None where there is no such file.

        Args:
            path: the file.
            limit: how many bytes it may have, so that no file takes all memory.

        Raises:
            CorruptTableError: it is longer, or no plain file.
        """

    def read_in_order(self, paths: Sequence[str]) -> Iterator[bytes | None]:
        """The content of several files, as ``read`` gives it; where that pays, read at once."""
        return map(self.read, paths)

    @abc.abstractmethod
    def put_if_absent(self, path: str, data: bytes, dated: datetime | None = None) -> Put:
        """Make a small file, whole and durable, only where there is none.

        A definite failure, after which the file can't be there, raises StorageError.

        Args:
            path: the file.
            data: its content.
            dated: the time in it, if that is by the clock of this process. A store that knows the date
                of a file before anybody sees it refuses one that is dated far ahead.
        """

    @abc.abstractmethod
    def overwrite(self, path: str, data: bytes) -> None:
        """Make or replace a small file; readers see the old or the new content."""

    @abc.abstractmethod
    def list(self, folder: str) -> list[str]:
        """The names of the files in a folder, sorted, without those that begin with a dot."""

    @abc.abstractmethod
    def files(self, folder: str) -> Sequence[StoredFile]:
        """The files in a folder, sorted by name, temporary ones too, but none of folders below."""

    @abc.abstractmethod
    def now(self) -> datetime:
        """What time the store's clock shows, which is the one that files are dated by."""

    @cached_property
    def clock(self) -> Clock:
        """What this process knows of the store's clock."""
        return Clock()

    def time(self) -> datetime:
        """The time by the store's clock, which is asked once in a while; by the process's own clock
        where the store can't be asked."""
        return self.clock.now(self.now)

    def modified(self, path: str) -> datetime | None:
        """When a file was written, by the store's clock; None where it is not there, or nobody says."""
        folder, _, name = path.rpartition("/")
        try:
            found = (file.modified for file in self.files(folder) if file.name == name)
            return next(found, None)
        except StorageError:
            return None

    @abc.abstractmethod
    def delete(self, path: str) -> None:
        """Remove a file; it is no error if there is none."""

    def delete_all(self, paths: Sequence[str]) -> None:
        """Remove many files, in as few requests as the store can."""
        for path in paths:
            self.delete(path)

    @abc.abstractmethod
    def create(self, path: str) -> AbstractContextManager[Sink]:
        """Write a large file under a name that is new; durable when the block ends without error."""

    @abc.abstractmethod
    def open(self, path: str) -> Any:
        """A file to read from at random, as PyArrow takes it (a path, where it can be mapped).

        Raises:
            CorruptTableError: it is not there.
        """

    @abc.abstractmethod
    def child(self, path: str) -> Store:
        """The store of a folder below this one."""


UNSAFE = r"(?:^|/)\.{0,2}(?:/|$)|[\\\x00-\x1f\x7f]"
"""An empty part, one that is ``.`` or ``..``, or a character that a path may not hold, as Python and
Arrow both take it; text in Arrow holds no surrogates."""

_UNSAFE = re.compile(UNSAFE + r"|[\ud800-\udfff]")


def safe_path(path: str) -> str:
    """The path itself, if it stays inside its folder (FORMAT.md, section 1).

    Raises:
        CorruptTableError: it does not.
    """
    if _UNSAFE.search(path):
        raise CorruptTableError(f"the path {path!r} leads outside the folder it belongs to")
    return path


def check_size(size: int, limit: int, what: str) -> None:
    """Refuse a file that is larger than its like may be.

    Raises:
        CorruptTableError: naming it.
    """
    if size > limit:
        raise CorruptTableError(f"{what} has {size} bytes; such files have up to {limit}")


def check_date(dated: datetime | None, date: datetime, what: str) -> None:
    """Refuse a file whose content is dated far ahead of the file itself.

    Raises:
        StorageError: naming both clocks.
    """
    if dated is not None and dated - date > FAR_AHEAD:
        raise StorageError(
            f"can't write {what}: the clock of this machine shows {dated.isoformat()}, and that of the "
            f"store {date.isoformat()}; nothing was committed. Set the clock of this machine, or let it "
            "make files in the table's folder, so that it can ask the store for the time"
        )


def as_time(value: datetime | float) -> datetime:
    """A time as file systems tell it: seconds since the epoch, or a datetime (without offset: UTC)."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return datetime.fromtimestamp(value, UTC)
