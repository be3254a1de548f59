"""A store on any file system of fsspec; writing needs put-if-absent."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any, Self
from weakref import WeakKeyDictionary

from versioned_catalog.errors import (
    CorruptTableError,
    InvalidRequestError,
    StorageError,
    VersionedError,
)
from versioned_catalog.limits import ENTRY_BYTES
from versioned_catalog.storage import store
from versioned_catalog.storage.clock import Clock
from versioned_catalog.storage.ranged import Range, RangedFile
from versioned_catalog.storage.retrying import retry_errors

CONDITIONAL = ("gs", "gcs", "abfs", "abfss", "az")
"""Protocols whose servers check the condition of a put. The default of fsspec checks on the client, and
then writes."""

MAX_PARALLEL = 16
"""The most requests that run in parallel for one purpose."""

_BLOCK = 16 * 1024 * 1024
"""The size of one part of an upload, in bytes."""

_CLOCKS: WeakKeyDictionary[Any, Clock] = WeakKeyDictionary()
"""One clock a file system, shared by all stores on it."""


class RemoteStore(store.Store):
    """Objects below a prefix, through fsspec.

    Args:
        fs: fsspec's file system.
        protocol: its scheme in URLs.
        root: the folder, as a path of that file system.
    """

    is_remote = True

    def __init__(self, fs: Any, protocol: str, root: str, options: dict[str, Any]) -> None:
        self._fs = fs
        self._protocol = protocol
        self._root = root.rstrip("/")
        self.location = store.Location(f"{protocol}://{self._root}", tuple(sorted(options.items())))

    def _full(self, path: str) -> str:
        return f"{self._root}/{store.safe_path(path)}"

    @contextmanager
    def _translated(self, what: str, path: str) -> Iterator[None]:
        """Translate errors of the file system into StorageError."""
        try:
            yield
        except VersionedError:
            raise
        except Exception as error:  # file systems raise errors of their libraries
            raise StorageError(f"can't {what} {self.url}/{path}: {self._reason(error)}") from error

    def _reason(self, error: BaseException) -> str:
        return str(error) or type(error).__name__

    def _is_transient(self, error: BaseException) -> bool:
        """Whether a retry may succeed after an error."""
        return isinstance(error, ConnectionError | TimeoutError)

    def read(self, path: str, limit: int = ENTRY_BYTES) -> bytes | None:
        full = self._full(path)
        with self._translated("read", path):
            try:
                return retry_errors(self._is_transient, lambda: bytes(self._whole(full, limit)))
            except (FileNotFoundError, IsADirectoryError) as error:
                self._check_absent(error)
                return None

    def read_in_order(self, paths: Sequence[str]) -> Iterator[bytes | None]:
        with ThreadPoolExecutor(max(1, min(len(paths), MAX_PARALLEL))) as pool:
            yield from pool.map(self.read, paths)

    def _whole(self, full: str, limit: int) -> bytes:
        store.check_size(int(self._fs.info(full)["size"]), limit, full)
        data: bytes = self._fs.cat_file(full)
        return data

    def _check_absent(self, error: OSError) -> None:
        """Raise StorageError if more than the file is missing."""

    def put_if_absent(self, path: str, data: bytes, dated: datetime | None = None) -> store.Put:
        if self._protocol not in CONDITIONAL:
            raise InvalidRequestError(
                f"can't write to {self._protocol}://: it can't create a file only if it is absent, so "
                "two writers could both commit a version; reading works; to write, put the table on a "
                "local disk, S3, GCS or Azure"
            )
        try:
            self._fs.pipe_file(self._full(path), data, mode="create")
        except FileExistsError:
            return store.Put.TAKEN
        except PermissionError as error:
            with self._translated("write", path):
                raise
            raise AssertionError from error
        except Exception:
            return store.Put.UNKNOWN
        return store.Put.WON

    def overwrite(self, path: str, data: bytes) -> None:
        with self._translated("write", path):
            self._fs.pipe_file(self._full(path), data)

    def list(self, folder: str, start: str = "") -> list[str]:
        names = (file.name for file in self.files(folder) if file.name.startswith(start))
        return [name for name in names if not name.startswith(".")]

    def files(self, folder: str) -> Sequence[store.StoredFile]:
        with self._translated("list", folder):
            try:
                found = self._fs.ls(self._full(folder), detail=True, refresh=True)
            except (FileNotFoundError, NotADirectoryError):
                return []
            listed = (self._listed(one) for one in found if one["type"] == "file")
            return sorted(listed, key=lambda file: file.name)

    def _listed(self, one: dict[str, Any]) -> store.StoredFile:
        name = str(one["name"])
        modified = one.get("LastModified") or one.get("mtime") or self._fs.modified(name)
        etag = str(one.get("ETag") or one.get("etag") or "").strip('"')
        return store.StoredFile(
            name.rpartition("/")[2], int(one["size"]), store.as_time(modified), etag
        )

    def walk(self, folder: str) -> Iterator[store.StoredFile]:
        top = self._full(folder) if folder else self._root
        with self._translated("list", folder):
            found = self._fs.find(top, detail=True, refresh=True)
            for path, one in sorted(found.items()):
                if one["type"] == "file" and str(path).startswith(f"{top}/"):
                    yield replace(self._listed(one), name=str(path).removeprefix(f"{top}/"))

    def now(self) -> datetime:
        """Read the clock from the date of a probe file."""
        path = f".clock.{uuid.uuid4().hex}"
        with self._translated("write", path):
            self._fs.pipe_file(self._full(path), b"")
            try:
                return store.as_time(self._fs.modified(self._full(path)))
            finally:
                self._fs.rm_file(self._full(path))

    @cached_property
    def clock(self) -> Clock:
        return _CLOCKS.setdefault(self._fs, Clock())

    def modified(self, path: str) -> datetime | None:
        full = self._full(path)
        try:
            return retry_errors(self._is_transient, lambda: store.as_time(self._fs.modified(full)))
        except Exception:  # file systems raise errors of their libraries
            return None

    def delete(self, path: str) -> None:
        with self._translated("delete", path):
            try:
                self._fs.rm_file(self._full(path))
            except FileNotFoundError:
                return

    @contextmanager
    def create(self, path: str) -> Iterator[store.Sink]:
        with self._translated("write", path):
            file = self._fs.open(self._full(path), "wb", block_size=_BLOCK)
        try:
            yield store.TranslatingSink(file, lambda: self._translated("write", path))
        except BaseException:
            self._discard(file)
            raise
        with self._translated("write", path):
            self._finish(file)

    def _finish(self, file: Any) -> None:
        """Complete a file, which makes it visible."""
        file.close()

    def _discard(self, file: Any) -> None:
        """Abandon a file: closing it would make the incomplete file visible."""
        file.closed = True

    def open(self, path: str) -> RangedFile:
        full = self._full(path)
        with self._translated("read", path):
            try:
                return self._ranged(full)
            except FileNotFoundError:
                raise CorruptTableError(f"{self.url}/{path} is missing") from None

    def _ranged(self, full: str) -> RangedFile:
        size = retry_errors(self._is_transient, lambda: int(self._fs.info(full)["size"]))
        return RangedFile(lambda ranges: self._fetch(full, ranges), size)

    def _fetch(self, full: str, ranges: Sequence[Range]) -> Sequence[bytes]:
        if not ranges:
            return []
        starts, ends = [first for first, _ in ranges], [end for _, end in ranges]

        def attempt() -> Sequence[bytes]:
            paths = [full] * len(ranges)
            found: Sequence[bytes] = self._fs.cat_ranges(paths, starts, ends, on_error="raise")
            return found

        with self._translated("read", os.path.basename(full)):
            try:
                return retry_errors(self._is_transient, attempt)
            except FileNotFoundError:
                raise CorruptTableError(f"{self._protocol}://{full} is missing") from None

    def child(self, path: str) -> Self:
        options = dict(self.location.options)
        inner = type(self)(self._fs, self._protocol, self._full(path), options)
        return inner.allow_roots(self.location.roots)
