"""A store in the memory of this process, for tests and experiments."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from fsspec.implementations.memory import MemoryFileSystem

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import ENTRY_BYTES
from versioned_catalog.observe.requests import of_data, request
from versioned_catalog.storage import store
from versioned_catalog.storage.clock import Clock
from versioned_catalog.storage.remote import RemoteStore

# fsspec checks and writes in two steps, and its files are shared by the whole process.
_LOCK = threading.Lock()


class MemoryStore(RemoteStore):
    """Files in ``memory://``, without the latency of other file systems of fsspec."""

    is_remote = False

    def __init__(self, root: str) -> None:
        super().__init__(MemoryFileSystem(), "memory", "/" + root.strip("/"), {})
        self.location = store.Location("memory:/" + self._root)
        self.clock = Clock()

    def read_in_order(
        self, paths: Sequence[str], limit: int = ENTRY_BYTES
    ) -> Iterator[bytes | None]:
        return (self.read(path, limit) for path in paths)

    @request("put", of_data)
    def put_if_absent(self, path: str, data: bytes, dated: datetime | None = None) -> store.Put:
        full = self._full(path)
        with _LOCK:
            if self._fs.exists(full):
                return store.Put.TAKEN
            self._fs.pipe_file(full, data)
        return store.Put.WON

    def now(self) -> datetime:
        return datetime.now(UTC)

    def _discard(self, file: Any) -> None:
        self._fs.rm_file(file.path)

    def open(self, path: str) -> Any:
        try:
            # fsspec shares one read position among all readers of a file.
            return io.BytesIO(self._fs.cat_file(self._full(path)))
        except FileNotFoundError:
            raise CorruptTableError(f"{self.url}/{path} is missing") from None

    def child(self, path: str) -> MemoryStore:
        return MemoryStore(self._full(path)).allow_roots(self.location.roots)
