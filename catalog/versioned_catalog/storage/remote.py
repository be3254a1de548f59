"""A store on any file system of fsspec, and files that are read from it by ranges."""

from __future__ import annotations

import io
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import cached_property, lru_cache, partial
from typing import Any, Self
from weakref import WeakKeyDictionary

from versioned_catalog.errors import (
    CorruptTableError,
    InvalidRequestError,
    StorageError,
    VersionedError,
)
from versioned_catalog.limits import ENTRY_BYTES
from versioned_catalog.observe.requests import of_data, of_result, request, writing
from versioned_catalog.observe.tracing import carried
from versioned_catalog.storage import store
from versioned_catalog.storage.clock import Clock
from versioned_catalog.storage.failures import retry_errors

Range = tuple[int, int]
"""The first byte, and the byte after the last."""

Fetch = Callable[[Sequence[Range]], Sequence[bytes]]

GAP = 64 * 1024
"""Ranges with no more bytes than this between them are fetched as one."""

REQUEST_BYTES = 8 * 1024 * 1024
"""The longest range of one request; longer ones are fetched in parallel requests."""


class RangedFile(io.RawIOBase):
    """A file object for PyArrow that fetches ranges.

    Args:
        fetch: fetches ranges, in parallel.
        size: the length of the file, in bytes.
        tail: its last bytes, if they are known.
    """

    def __init__(self, fetch: Fetch, size: int, tail: bytes = b"") -> None:
        self._fetch = fetch
        self._size = size
        self._at = 0
        self._tail = (size - len(tail), tail)
        self._fetched: list[tuple[int, bytes]] = []

    def prefetch(self, ranges: Sequence[Range]) -> None:
        """Fetch ranges in few requests, and drop those fetched before.

        Bytes beyond the end of the file are ignored.
        """
        tail_start = self._tail[0]
        inside = [(first, min(end, self._size)) for first, end in ranges]
        requests = _requests([span for span in joined(inside) if span[0] < tail_start])
        self._fetched = []
        chunks = self._fetch(requests)
        fetched: list[tuple[int, list[bytes]]] = []
        for (first, _), data in zip(requests, chunks, strict=True):
            if fetched and fetched[-1][0] + sum(map(len, fetched[-1][1])) == first:
                fetched[-1][1].append(data)
            else:
                fetched.append((first, [data]))
        self._fetched = [(first, b"".join(datas)) for first, datas in fetched]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def size(self) -> int:
        """The length of the file, in bytes."""
        return self._size

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def read(self, size: int = -1, /) -> bytes | memoryview:
        end = self._size if size < 0 else min(self._at + size, self._size)
        first, self._at = self._at, max(end, self._at)
        return self._between(first, end) if end > first else b""

    def readall(self) -> bytes:
        return bytes(self.read())

    def _between(self, first: int, end: int) -> bytes | memoryview:
        for start, data in (*self._fetched, self._tail):
            if start <= first and end <= start + len(data):
                return memoryview(data)[first - start : end - start]
        (data,) = self._fetch([(first, end)])
        return data


def joined(ranges: Sequence[Range]) -> list[Range]:
    """Ranges in order; those with at most ``GAP`` bytes between them are joined."""
    out: list[Range] = []
    for first, end in sorted(ranges):
        if out and first - out[-1][1] <= GAP:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((first, end))
    return out


def _requests(ranges: Sequence[Range]) -> list[Range]:
    return [
        (start, min(start + REQUEST_BYTES, end))
        for first, end in ranges
        for start in range(first, end, REQUEST_BYTES)
    ]


CONDITIONAL = {
    "gs": "ifGenerationMatch",
    "gcs": "ifGenerationMatch",
    "abfs": "If-None-Match",
    "abfss": "If-None-Match",
    "az": "If-None-Match",
    "s3": "If-None-Match",
    "webhdfs": "renameoptions",
}
"""The schemes that can create a file only if it is absent, each with the condition that its server
checks: of a put, on HDFS of a rename. The default of fsspec checks on the client, and then writes."""

PROBE = "_versioned/put_if_absent"
"""The file that is put twice, to check that the second put is refused (FORMAT.md, section 10)."""

MAX_PARALLEL = 16
"""The most requests that run in parallel for one purpose."""

_BLOCK = 16 * 1024 * 1024
"""The size of one part of an upload, in bytes."""

_CLOCKS: WeakKeyDictionary[Any, Clock] = WeakKeyDictionary()
"""One clock a file system, shared by all stores on it."""


@lru_cache(maxsize=1)
def _known_to_comply(process: int) -> set[Any]:
    """What was checked by a process."""
    return set()


class RemoteStore(store.Store):
    """Objects below a prefix, through fsspec.

    Args:
        fs: fsspec's file system.
        protocol: its scheme in URLs.
        root: the folder, as a path of that file system.
    """

    is_remote = True
    _advice = "use the service itself, or a server that honours it"

    def __init__(self, fs: Any, protocol: str, root: str, options: dict[str, Any]) -> None:
        self._fs = fs
        self._protocol = protocol
        self._root = root.rstrip("/")
        self.location = store.Location(f"{protocol}://{self._root}", tuple(sorted(options.items())))

    def _full(self, path: str) -> str:
        return f"{self._root}/{store.safe_path(path)}"

    @contextmanager
    def _translated(self, verb: str, path: str) -> Iterator[None]:
        """Translate errors of the file system into StorageError."""
        try:
            yield
        except VersionedError:
            raise
        except Exception as error:  # file systems raise errors of their libraries
            raise StorageError(f"can't {verb} {self.url}/{path}: {self._reason(error)}") from error

    def _reason(self, error: BaseException) -> str:
        return str(error) or type(error).__name__

    def _is_transient(self, error: BaseException) -> bool:
        """Whether a retry may succeed after an error."""
        return isinstance(error, ConnectionError | TimeoutError)

    @request("read", of_result)
    def read(self, path: str, limit: int = ENTRY_BYTES) -> bytes | None:
        full = self._full(path)
        with self._translated("read", path):
            try:
                return retry_errors(self._is_transient, lambda: bytes(self._whole(full, limit)))
            except (FileNotFoundError, IsADirectoryError) as error:
                self._check_absent(error)
                return None

    def read_in_order(
        self, paths: Sequence[str], limit: int = ENTRY_BYTES
    ) -> Iterator[bytes | None]:
        with ThreadPoolExecutor(max(1, min(len(paths), MAX_PARALLEL))) as pool:
            yield from pool.map(carried(partial(self.read, limit=limit)), paths)

    def _whole(self, full: str, limit: int) -> bytes:
        store.check_size(int(self._fs.info(full)["size"]), limit, full)
        data: bytes = self._fs.cat_file(full)
        return data

    def _check_absent(self, error: OSError) -> None:
        """Raise StorageError if the bucket is missing, and not only the file."""

    def put_if_absent(self, path: str, data: bytes, dated: datetime | None = None) -> store.Put:
        self._check_condition()
        return self._put(path, data)

    @request("put", of_data)
    def _put(self, path: str, data: bytes, *, is_probe: bool = False) -> store.Put:
        """Put a file if it is absent.

        A refusal is final for a probe only: libraries silently repeat a request whose response was lost,
        so that the first one may have had its effect, and the second one be refused.
        """
        try:
            self._fs.pipe_file(self._full(path), data, mode="create")
        except FileExistsError:
            return store.Put.TAKEN
        except Exception:
            if is_probe:
                with self._translated("write", path):
                    raise
            return store.Put.UNKNOWN
        return store.Put.WON

    def _check_condition(self) -> None:
        """Check that the server honours the condition, or two writers could both win; once a process."""
        condition = CONDITIONAL.get(self._protocol)
        if condition is None:
            raise InvalidRequestError(
                f"can't write to {self._protocol}://: it can't create a file only if it is absent, so "
                "two writers could both commit a version; reading works; to write, put the table on a "
                "local disk, S3, GCS, Azure or HDFS (by webhdfs://)"
            )
        proven = _known_to_comply(os.getpid())
        if self._proof in proven:
            return
        wins = 0
        for _ in range(4):  # one put wins, one is refused, and two may get lost
            outcome = self._put(PROBE, b"", is_probe=True)
            if outcome is store.Put.TAKEN:
                proven.add(self._proof)
                return
            wins += outcome is store.Put.WON
        if wins < 2:
            raise StorageError(f"can't write to {self.url}: its server gives no answer to puts")
        raise StorageError(
            f"can't write to {self.url}: its server ignores {condition}, so two writers could both "
            f"commit a version; {self._advice}"
        )

    @property
    def _proof(self) -> Any:
        """The bucket, and how it is reached: what is checked once for all tables in it."""
        bucket = self._root.lstrip("/").partition("/")[0]
        return self._protocol, bucket, repr(self.location.options)

    @request("write", of_data)
    def overwrite(self, path: str, data: bytes) -> None:
        with self._translated("write", path):
            self._fs.pipe_file(self._full(path), data)

    def list(self, folder: str, start: str = "") -> list[str]:
        names = (file.name for file in self.files(folder) if file.name.startswith(start))
        return [name for name in names if not name.startswith(".")]

    @request("list")
    def files(self, folder: str) -> Sequence[store.StoredFile]:
        with self._translated("list", folder):
            try:
                infos = self._fs.ls(self._full(folder), detail=True, refresh=True)
            except (FileNotFoundError, NotADirectoryError):
                return []
            listed = (self._listed(info) for info in infos if info["type"] == "file")
            return sorted(listed, key=lambda file: file.name)

    def _listed(self, info: dict[str, Any]) -> store.StoredFile:
        name = str(info["name"])
        modified = info.get("LastModified") or info.get("mtime") or self._fs.modified(name)
        etag = str(info.get("ETag") or info.get("etag") or "").strip('"')
        return store.StoredFile(
            name.rpartition("/")[2], int(info["size"]), store.as_time(modified), etag
        )

    def walk(self, folder: str) -> Iterator[store.StoredFile]:
        top = self._full(folder) if folder else self._root
        with self._translated("list", folder):
            infos = self._fs.find(top, detail=True, refresh=True)
            for path, info in sorted(infos.items()):
                if info["type"] == "file" and str(path).startswith(f"{top}/"):
                    yield replace(self._listed(info), name=str(path).removeprefix(f"{top}/"))

    @request("stat")
    def now(self) -> datetime:
        """Read the clock from the date of a probe file."""
        path = f"_versioned/.clock.{uuid.uuid4().hex}"
        with self._translated("write", path):
            self._fs.pipe_file(self._full(path), b"")
            try:
                return store.as_time(self._fs.modified(self._full(path)))
            finally:
                self._fs.rm_file(self._full(path))

    @cached_property
    def clock(self) -> Clock:
        return _CLOCKS.setdefault(self._fs, Clock())

    @request("stat")
    def modified(self, path: str) -> datetime | None:
        full = self._full(path)
        try:
            return retry_errors(self._is_transient, lambda: store.as_time(self._fs.modified(full)))
        except Exception:  # file systems raise errors of their libraries
            return None

    @request("delete")
    def delete(self, path: str) -> None:
        with self._translated("delete", path):
            try:
                self._fs.rm_file(self._full(path))
            except FileNotFoundError:
                return

    @contextmanager
    def create(self, path: str) -> Iterator[store.Sink]:
        with writing(self.url, path) as counted:
            with self._translated("write", path):
                file = self._new_file(self._full(path))
            try:
                sink = store.TranslatingSink(file, lambda: self._translated("write", path))
                yield counted(sink)
            except BaseException:
                self._discard(file)
                raise
            with self._translated("write", path):
                self._finish(file)

    def _new_file(self, full: str) -> Any:
        return self._fs.open(full, "wb", block_size=_BLOCK)

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
        return self._fetch_some(full, ranges) if ranges else []

    @request("read", of_result)
    def _fetch_some(self, full: str, ranges: Sequence[Range]) -> Sequence[bytes]:
        starts, ends = [first for first, _ in ranges], [end for _, end in ranges]

        def attempt() -> Sequence[bytes]:
            return self._ranges(full, starts, ends)

        with self._translated("read", os.path.basename(full)):
            try:
                return retry_errors(self._is_transient, attempt)
            except FileNotFoundError:
                raise CorruptTableError(f"{self._protocol}://{full} is missing") from None

    def _ranges(self, full: str, starts: Sequence[int], ends: Sequence[int]) -> Sequence[bytes]:
        paths = [full] * len(starts)
        chunks: Sequence[bytes] = self._fs.cat_ranges(paths, starts, ends, on_error="raise")
        return chunks

    def child(self, path: str) -> Self:
        options = dict(self.location.options)
        inner = type(self)(self._fs, self._protocol, self._full(path), options)
        return inner.allow_roots(self.location.roots)
