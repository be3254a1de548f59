"""A store in the memory of this process, for tests and experiments."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from fsspec.implementations.memory import MemoryFileSystem

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import ENTRY_BYTES
from versioned_catalog.storage import store

# fsspec checks and writes in two steps, and its files are shared by the whole process.
_LOCK = threading.Lock()


class MemoryStore(store.Store):
    """Files in ``memory://``."""

    def __init__(self, root: str) -> None:
        self._fs = MemoryFileSystem()
        self._root = "/" + root.strip("/")
        self.location = store.Location("memory:/" + self._root)

    def _full(self, path: str) -> str:
        return f"{self._root}/{store.safe_path(path)}"

    def read(self, path: str, limit: int = ENTRY_BYTES) -> bytes | None:
        full = self._full(path)
        try:
            store.check_size(int(self._fs.info(full)["size"]), limit, self.url)
            return bytes(self._fs.cat_file(full))
        except (FileNotFoundError, IsADirectoryError):
            return None

    def put_if_absent(self, path: str, data: bytes, dated: datetime | None = None) -> store.Put:
        full = self._full(path)
        with _LOCK:
            if self._fs.exists(full):
                return store.Put.TAKEN
            self._fs.pipe_file(full, data)
        return store.Put.WON

    def overwrite(self, path: str, data: bytes) -> None:
        with _LOCK:
            self._fs.pipe_file(self._full(path), data)

    def list(self, folder: str, start: str = "") -> list[str]:
        try:
            paths = self._fs.ls(self._full(folder), detail=False)
        except FileNotFoundError:
            return []
        names = (str(name).rstrip("/").rpartition("/")[2] for name in paths)
        wanted = (name for name in names if name.startswith(start))
        return sorted(name for name in wanted if not name.startswith("."))

    def files(self, folder: str) -> Sequence[store.StoredFile]:
        try:
            infos = self._fs.ls(self._full(folder), detail=True)
        except FileNotFoundError:
            return []
        return [
            store.StoredFile(
                info["name"].rpartition("/")[2],
                info["size"],
                store.as_time(self._fs.modified(info["name"])),
            )
            for info in sorted(infos, key=lambda info: str(info["name"]))
            if info["type"] == "file"
        ]

    def walk(self, folder: str) -> Iterator[store.StoredFile]:
        top = self._full(folder) if folder else self._root
        for path, info in sorted(self._fs.find(top, detail=True).items()):
            if not str(path).startswith(f"{top}/"):
                continue
            name = str(path).removeprefix(f"{top}/")
            modified = store.as_time(self._fs.modified(path))
            yield store.StoredFile(name, int(info["size"]), modified)

    def now(self) -> datetime:
        return datetime.now(UTC)

    def delete(self, path: str) -> None:
        if self._fs.exists(self._full(path)):
            self._fs.rm_file(self._full(path))

    @contextmanager
    def create(self, path: str) -> Iterator[store.Sink]:
        with self._fs.open(self._full(path), "wb") as file:
            yield file

    def open(self, path: str) -> Any:
        try:
            # fsspec shares one read position among all readers of a file.
            return io.BytesIO(self._fs.cat_file(self._full(path)))
        except FileNotFoundError:
            raise CorruptTableError(f"{self.url}/{path} is missing") from None

    def child(self, path: str) -> MemoryStore:
        return MemoryStore(self._full(path)).allow_roots(self.location.roots)
