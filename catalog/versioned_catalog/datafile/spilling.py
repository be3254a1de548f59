"""Spilling rows to the local disk, grouped by key, until their segments are written."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any, Generic, Self, TypeVar

import pyarrow as pa

from versioned_catalog.errors import StorageError

Key = TypeVar("Key", bound=Hashable)

FILE_BYTES = 256 * 1024 * 1024
"""The size at which a new file begins, as Arrow."""


class Spill(Generic[Key]):
    """Rows by key. The rows of a key keep their order.

    ``scratch`` is a folder of the local disk; None for Python's default. It is used from the first rows
    on, and left empty.
    """

    def __init__(self, scratch: str | None = None) -> None:
        self._scratch = scratch
        self._stack = ExitStack()
        self._folder: Path | None = None
        self._sink: Any = None
        self._writer: Any = None
        self._written = 0
        self._batches = 0
        self._files: list[Path] = []
        self._places: dict[Key, list[tuple[int, int]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._stack:
            self._end_file()

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def add(self, key: Key, rows: pa.Table) -> None:
        """Add rows to a key; all rows have the same columns.

        Raises:
            StorageError: the local disk is full, or fails.
        """
        places = self._places.setdefault(key, [])
        for batch in rows.to_batches():
            with self._on_disk():
                writer = self._writer or self._begin_file(batch.schema)
                writer.write_batch(batch)
            places.append((len(self._files) - 1, self._batches))
            self._batches += 1
            self._written += batch.nbytes
            if self._written >= FILE_BYTES:
                self._end_file()

    def _begin_file(self, schema: pa.Schema) -> Any:
        if self._folder is None:
            folder = TemporaryDirectory(prefix="versioned-", dir=self._scratch)
            self._folder = Path(self._stack.enter_context(folder))
        path = self._folder / str(len(self._files))
        self._files.append(path)
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        self._sink = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._sink, schema, options=options)
        self._written = self._batches = 0
        return self._writer

    @contextmanager
    def _on_disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._writer = None  # closing it would fail again
            where = self._folder or self._scratch or gettempdir()
            raise StorageError(
                f"can't spill rows to {where}: {error}; free space there, or set spark.local.dir or "
                "TMPDIR to a larger disk"
            ) from error

    def _end_file(self) -> None:
        if self._writer is not None:
            with self._on_disk():
                self._writer.close()
                self._sink.close()
            self._writer = None

    def drain(self) -> Iterator[tuple[Key, Iterator[pa.RecordBatch]]]:
        """Read the rows of each key, keys in the order of their first rows. Ends the adding of rows."""
        self._end_file()
        with ExitStack() as stack:
            files = [
                stack.enter_context(pa.ipc.open_file(stack.enter_context(pa.OSFile(str(path)))))
                for path in self._files
            ]
            for key, places in self._places.items():
                yield key, (files[file].get_batch(batch) for file, batch in places)
