"""A store on a local or mounted disk, and the disk space that it reserves for a vacuum."""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TypeVar

from versioned_catalog.errors import CorruptTableError, StorageError, VersionedError
from versioned_catalog.limits import ENTRY_BYTES
from versioned_catalog.observe.requests import of_data, of_result, request, writing
from versioned_catalog.storage import store
from versioned_catalog.storage.failures import is_full, is_system_error, storage_error
from versioned_catalog.storage.store import Store

PROBE_FOLDER = "_versioned"
"""The folder for probe files, whose dates show the disk's clock. If a process dies before it deletes its
probe, vacuum does."""


@contextmanager
def _translated(verb: str, path: str) -> Iterator[None]:
    """Translate errors of the system into StorageError."""
    try:
        yield
    except OSError as error:
        raise storage_error(verb, path, error) from error


class LocalStore(store.Store):
    """Files below a folder of this machine.

    Put-if-absent writes a temporary file and links it to its name, which is atomic. ``open("x")`` would
    let readers see half a file.
    """

    has_disk = True

    def __init__(self, root: str) -> None:
        self._root = os.path.abspath(root)
        self._real_root = os.path.realpath(self._root)
        self.location = store.Location(self._root)

    def _full(self, path: str) -> str:
        return os.path.join(self._root, store.safe_path(path))

    def _inside(self, full: str) -> str:
        """Resolve links in a path, which must stay below the real root."""
        real = os.path.realpath(full)
        if os.path.commonpath([real, self._real_root]) != self._real_root:
            raise CorruptTableError(f"{full} is a link that leads outside {self._root}")
        return real

    def exists(self) -> bool:
        return os.path.isdir(self._root)

    @request("read", of_result)
    def read(self, path: str, limit: int = ENTRY_BYTES) -> bytes | None:
        full = self._inside(self._full(path))
        with _translated("read", full):
            try:
                with open(full, "rb", opener=_open_nonblocking) as file:
                    info = os.fstat(file.fileno())
                    if not stat.S_ISREG(info.st_mode):
                        raise CorruptTableError(f"{full} is not a regular file")
                    store.check_size(info.st_size, limit, full)
                    return file.read(limit)
            except (FileNotFoundError, NotADirectoryError):
                return None

    def _writable(self, path: str) -> str:
        """The full path of a file to write, which must not be below a link that leads outside."""
        full = self._full(path)
        self._inside(os.path.dirname(full))
        return full

    @request("put", of_data)
    def put_if_absent(self, path: str, data: bytes, dated: datetime | None = None) -> store.Put:
        full = self._writable(path)
        folder = os.path.dirname(full)
        with _translated("write", full):
            temporary = self._write_temporary(full, data)
            try:
                store.check_date(dated, store.as_time(os.stat(temporary).st_mtime), full)
                os.link(temporary, full)
            except FileExistsError:
                # An earlier attempt of this writer may have taken it, and then failed to sync.
                _sync_folder(folder)
                return store.Put.TAKEN
            except OSError as error:
                if error.errno in (errno.EPERM, errno.ENOTSUP, errno.EMLINK):
                    raise StorageError(
                        f"the file system of {full} has no hard links, so two writers could both "
                        "win; put the table on one that has them, or on an object store"
                    ) from error
                if error.errno in (errno.EIO, errno.ETIMEDOUT, errno.ESTALE):
                    return store.Put.UNKNOWN  # a file server may have linked it
                raise
            finally:
                with suppress(OSError):
                    os.unlink(temporary)
        try:
            _sync_folder(folder)
        except OSError:
            return store.Put.UNKNOWN
        return store.Put.WON

    @request("write", of_data)
    def overwrite(self, path: str, data: bytes) -> None:
        full = self._writable(path)
        with _translated("write", full):
            try:
                self._replace(full, data)
            except FileNotFoundError:
                # A vacuum deleted the temporary file while this writer was paused for long; the table
                # is still there. A put does not try again: after such a pause, its base is too old.
                if not os.path.isdir(os.path.dirname(full)):
                    raise
                self._replace(self._writable(path), data)
            _sync_folder(os.path.dirname(full))

    def _replace(self, full: str, data: bytes) -> None:
        temporary = self._write_temporary(full, data)
        try:
            os.replace(temporary, full)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise

    def _write_temporary(self, full: str, data: bytes) -> str:
        """Write and sync a temporary file in the same folder."""
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

    @request("list")
    def list(self, folder: str, start: str = "") -> list[str]:
        full = self._inside(self._full(folder))
        with _translated("list", full):
            try:
                names = (name for name in os.listdir(full) if name.startswith(start))
                return sorted(name for name in names if not name.startswith("."))
            except (FileNotFoundError, NotADirectoryError):
                return []

    @request("list")
    def files(self, folder: str) -> Sequence[store.StoredFile]:
        full = self._inside(self._full(folder))
        with _translated("list", full):
            try:
                return sorted(_listed(full), key=lambda file: file.name)
            except (FileNotFoundError, NotADirectoryError):
                return []

    def walk(self, folder: str) -> Iterator[store.StoredFile]:
        full = self._inside(self._full(folder) if folder else self._root)
        if os.path.isdir(full):
            with _translated("list", full):
                yield from _walked(full, "")

    @request("stat")
    def now(self) -> datetime:
        """The clock of the disk's machine, which is the file server on a network file system."""
        try:
            return self._date_of_probe()
        except StorageError as error:
            if not is_full(error):
                raise
        # A full disk refuses a new file, but not a new date of a folder.
        with _translated("write in", self._root):
            os.utime(self._root)
            return store.as_time(os.stat(self._root).st_mtime)

    def _date_of_probe(self) -> datetime:
        folder = os.path.join(self._root, PROBE_FOLDER)
        while not os.path.isdir(folder):  # created with the first file
            folder = os.path.dirname(folder)
        with _translated("write in", folder):
            probe = os.path.join(folder, f".clock.{uuid.uuid4().hex}.tmp")
            try:
                with open(probe, "xb") as file:
                    return store.as_time(os.fstat(file.fileno()).st_mtime)
            finally:
                with suppress(OSError):
                    os.unlink(probe)

    @request("stat")
    def modified(self, path: str) -> datetime | None:
        try:
            return store.as_time(os.stat(self._inside(self._full(path))).st_mtime)
        except OSError:
            return None

    @request("delete")
    def delete(self, path: str) -> None:
        full = self._writable(path)
        with _translated("delete", full), suppress(FileNotFoundError):
            os.unlink(full)

    @contextmanager
    def create(self, path: str) -> Iterator[store.Sink]:
        full = self._writable(path)
        folder = os.path.dirname(full)
        with _translated("write", full), writing(self.url, path) as counted:
            if not os.path.isdir(folder):
                _make_folder(folder)
            file = open(full, "xb", buffering=1 << 20)  # noqa: SIM115 - closed below
            process = os.getpid()
            try:
                with file:
                    sink = store.TranslatingSink(file, lambda: _translated("write", full))
                    yield counted(sink)
                    file.flush()
                    os.fsync(file.fileno())
                _sync_folder(folder)
            except BaseException:
                # No commit lists it, since its writer saw an error. A process that was forked meanwhile
                # may come here, too.
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
        return LocalStore(full).allow_roots(self.location.roots)

    @property
    def address(self) -> str:
        return self._real_root

    def resolved(self, path: str) -> str:
        return self._inside(self._full(path))


def _is_file(path: str) -> bool:
    """Whether a path is a regular file. Raises StorageError if the system failed or refused."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError as error:
        if is_system_error(error):
            raise storage_error("read", path, error) from error
        return False


def _open_nonblocking(path: str, flags: int) -> int:
    """Open a file without waiting; opening a pipe without a writer would block forever."""
    return os.open(path, flags | os.O_NONBLOCK)


def _listed(folder: str) -> Iterator[store.StoredFile]:
    with os.scandir(folder) as entries:
        for file in entries:
            with suppress(FileNotFoundError):  # a temporary file that was deleted meanwhile
                if file.is_file(follow_symlinks=False):
                    info = file.stat(follow_symlinks=False)
                    yield store.StoredFile(file.name, info.st_size, store.as_time(info.st_mtime))


def _walked(folder: str, above: str) -> Iterator[store.StoredFile]:
    """The files below a folder by path, in order of their names; links to folders are not followed."""
    with os.scandir(folder) as scanned:
        entries = sorted(scanned, key=lambda entry: entry.name)
    for entry in entries:
        name = above + entry.name
        if entry.is_dir(follow_symlinks=False):
            yield from _walked(entry.path, f"{name}/")
        elif entry.is_file():
            info = entry.stat()
            yield store.StoredFile(name, info.st_size, store.as_time(info.st_mtime))


def _make_folder(folder: str) -> None:
    """Create a folder durably: if a crash loses the folder, it loses the synced files in it."""
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


T = TypeVar("T")

RESERVE = "_versioned/reserve"
RESERVE_BYTES = 16 * 1024
"""A few blocks: a log entry takes one, and its folder may take another."""


def make_reserve(store: Store) -> None:
    """Reserve space on a local disk unless the table has some; a failure is ignored."""
    if not store.has_disk:
        return
    with suppress(VersionedError):
        if len(store.read(RESERVE, RESERVE_BYTES) or b"") < RESERVE_BYTES:
            # Random bytes, which no file system compresses.
            store.overwrite(RESERVE, os.urandom(RESERVE_BYTES))


def with_room(store: Store, act: Callable[[], T], spare: Sequence[str]) -> T:
    """Call a function that needs a little disk space, and give up the reserve if the disk is full.

    ``act`` is called again after the reserve was deleted. The files in ``spare`` may be deleted in any
    case.

    Raises:
        StorageError: the disk is still full.
    """
    try:
        return act()
    except StorageError as error:
        if not (store.has_disk and is_full(error)):
            raise
    store.delete_all([*spare, RESERVE])
    return act()
