"""A store on a local or mounted disk."""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime

from versioned_catalog.errors import CorruptTableError, StorageError
from versioned_catalog.limits import ENTRY_BYTES
from versioned_catalog.storage.failing import is_full, is_of_system, storage_error
from versioned_catalog.storage.store import (
    Location,
    Put,
    Sink,
    Store,
    StoredFile,
    ToldSink,
    as_time,
    check_date,
    check_size,
    safe_path,
)

PROBED = "_versioned"
"""Where files are made to see their dates: vacuum cleans there, if a process dies between."""


@contextmanager
def _told(what: str, path: str) -> Iterator[None]:
    """Failures of the system in our words."""
    try:
        yield
    except OSError as error:
        raise storage_error(what, path, error) from error


class LocalStore(Store):
    """Files below a folder of this machine.

    Put-if-absent is a complete temporary file and ``link``, which is atomic where ``open("x")`` shows
    files half written.
    """

    has_disk = True

    def __init__(self, root: str) -> None:
        self._root = os.path.abspath(root)
        self._real_root = os.path.realpath(self._root)
        self.location = Location(self._root)

    def _full(self, path: str) -> str:
        return os.path.join(self._root, safe_path(path))

    def _inside(self, full: str) -> str:
        """The real path, links followed; it must be below the real root."""
        real = os.path.realpath(full)
        if os.path.commonpath([real, self._real_root]) != self._real_root:
            raise CorruptTableError(f"{full} is a link that leads outside the table's folder")
        return real

    def is_there(self) -> bool:
        return os.path.isdir(self._root)

    def read(self, path: str, limit: int = ENTRY_BYTES) -> bytes | None:
        full = self._inside(self._full(path))
        with _told("read", full):
            try:
                with open(full, "rb", opener=_without_waiting) as file:
                    about = os.fstat(file.fileno())
                    if not stat.S_ISREG(about.st_mode):
                        raise CorruptTableError(f"{full} is no file")
                    check_size(about.st_size, limit, full)
                    return file.read(limit)
            except (FileNotFoundError, NotADirectoryError):
                return None

    def _ours(self, path: str) -> str:
        """The full path of a file that may be made: not below a link that leads outside."""
        full = self._full(path)
        self._inside(os.path.dirname(full))
        return full

    def put_if_absent(self, path: str, data: bytes, dated: datetime | None = None) -> Put:
        full = self._ours(path)
        folder = os.path.dirname(full)
        with _told("write", full):
            temporary = self._write_beside(full, data)
            try:
                check_date(dated, as_time(os.stat(temporary).st_mtime), full)
                os.link(temporary, full)
            except FileExistsError:
                # Who took it may be we ourselves, before a sync that failed.
                _sync_folder(folder)
                return Put.TAKEN
            except OSError as error:
                if error.errno in (errno.EPERM, errno.ENOTSUP, errno.EMLINK):
                    raise StorageError(
                        f"the file system of {full} has no hard links, so two writers could both "
                        "win; put the table on one that has them, or on an object store"
                    ) from error
                if error.errno in (errno.EIO, errno.ETIMEDOUT, errno.ESTALE):
                    return Put.UNKNOWN  # a file server may have done it
                raise
            finally:
                with suppress(OSError):
                    os.unlink(temporary)
        try:
            _sync_folder(folder)
        except OSError:
            return Put.UNKNOWN
        return Put.WON

    def overwrite(self, path: str, data: bytes) -> None:
        full = self._ours(path)
        with _told("write", full):
            temporary = self._write_beside(full, data)
            try:
                os.replace(temporary, full)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary)
                raise
            _sync_folder(os.path.dirname(full))

    def _write_beside(self, full: str, data: bytes) -> str:
        """A complete, synced temporary file in the same folder."""
        folder, name = os.path.split(full)
        temporary = os.path.join(folder, f".{name}.{uuid.uuid4().hex}.tmp")
        try:
            file = open(temporary, "xb")  # noqa: SIM115 - closed below, opened in two places
        except FileNotFoundError:
            _make_folder(folder)
            file = open(temporary, "xb")  # noqa: SIM115
        try:
            with file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        return temporary

    def list(self, folder: str) -> list[str]:
        full = self._inside(self._full(folder))
        with _told("list", full):
            try:
                return sorted(name for name in os.listdir(full) if not name.startswith("."))
            except (FileNotFoundError, NotADirectoryError):
                return []

    def files(self, folder: str) -> Sequence[StoredFile]:
        full = self._inside(self._full(folder))
        with _told("list", full):
            try:
                return sorted(_listed(full), key=lambda file: file.name)
            except (FileNotFoundError, NotADirectoryError):
                return []

    def now(self) -> datetime:
        """The clock of the disk's machine: a network file system has another one than this process."""
        try:
            return self._date_of_a_probe()
        except StorageError as error:
            if not is_full(error):
                raise
        # A full disk takes no new file, and a new date of a folder.
        with _told("write in", self._root):
            os.utime(self._root)
            return as_time(os.stat(self._root).st_mtime)

    def _date_of_a_probe(self) -> datetime:
        folder = os.path.join(self._root, PROBED)
        while not os.path.isdir(folder):  # it is made later, with the first file
            folder = os.path.dirname(folder)
        with _told("write in", folder):
            probe = os.path.join(folder, f".clock.{uuid.uuid4().hex}.tmp")
            try:
                with open(probe, "xb") as file:
                    return as_time(os.fstat(file.fileno()).st_mtime)
            finally:
                with suppress(OSError):
                    os.unlink(probe)

    def modified(self, path: str) -> datetime | None:
        try:
            return as_time(os.stat(self._inside(self._full(path))).st_mtime)
        except OSError:
            return None

    def delete(self, path: str) -> None:
        full = self._ours(path)
        with _told("delete", full), suppress(FileNotFoundError):
            os.unlink(full)

    @contextmanager
    def create(self, path: str) -> Iterator[Sink]:
        full = self._ours(path)
        folder = os.path.dirname(full)
        with _told("write", full):
            if not os.path.isdir(folder):
                _make_folder(folder)
            file = open(full, "xb", buffering=1 << 20)  # noqa: SIM115 - closed below
            process = os.getpid()
            try:
                with file:
                    yield ToldSink(file, lambda: _told("write", full))
                    file.flush()
                    os.fsync(file.fileno())
                _sync_folder(folder)
            except BaseException:
                # No commit names it, since its writer was not told that it is whole. A process that
                # was forked meanwhile may come here, too.
                if os.getpid() == process:
                    with suppress(OSError):
                        os.unlink(full)
                raise

    def open(self, path: str) -> str:
        real = self._inside(self._full(path))
        if not _is_file(real):
            raise CorruptTableError(f"{real} is missing")
        return real

    def child(self, path: str) -> LocalStore:
        full = self._full(path)
        self._inside(full)
        return LocalStore(full)


def _is_file(path: str) -> bool:
    """Whether a plain file is there.

    Raises:
        StorageError: the system does not say.
    """
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError as error:
        if is_of_system(error):
            raise storage_error("read", path, error) from error
        return False


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe without a writer would keep us for ever."""
    return os.open(path, flags | os.O_NONBLOCK)


def _listed(folder: str) -> Iterator[StoredFile]:
    with os.scandir(folder) as found:
        for file in found:
            with suppress(FileNotFoundError):  # a temporary file that was there a moment ago
                if file.is_file(follow_symlinks=False):
                    about = file.stat(follow_symlinks=False)
                    yield StoredFile(file.name, about.st_size, as_time(about.st_mtime))


def _make_folder(folder: str) -> None:
    """Make a folder durably: a synced file in a folder that a crash forgets is lost."""
    if os.path.isdir(folder):
        return
    parent = os.path.dirname(folder)
    _make_folder(parent)
    with suppress(FileExistsError):
        os.mkdir(folder)
    _sync_folder(parent)


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
