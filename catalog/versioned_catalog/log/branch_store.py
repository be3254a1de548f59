"""The log of a branch, as the log of a table in the same folder (FORMAT.md, section 17)."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import cached_property
from typing import Any

from versioned_catalog.limits import ENTRY_BYTES
from versioned_catalog.log.branches import BRANCHES_FOLDER, Branch, name_tag
from versioned_catalog.log.commit_log import TableLog, table_log
from versioned_catalog.log.entry import Stub, stub_to_bytes
from versioned_catalog.log.features import CHECKPOINTS, DELTAS, HINT, KEPT, LOG
from versioned_catalog.log.times import UNIX_EPOCH
from versioned_catalog.storage.clock import Clock
from versioned_catalog.storage.store import Put, Sink, Store, StoredFile

_FOLDERS = {LOG: "log", CHECKPOINTS: "checkpoint", DELTAS: "delta", KEPT: "kept"}
"""The folders that a branch has of its own, by those of the table; all others are shared."""


class BranchStore(Store):
    """The folder of a table, with the log of a branch in place of the table's own.

    Entries below the branch's first are stubs, as if they had expired; see ``branch_stub``.

    Args:
        table: the table's store.
        branch_id: the ID of the branch.
        base: the version that the branch began at.
    """

    def __init__(self, table: Store, branch_id: str, base: int) -> None:
        self.table = table
        self.branch_id = branch_id
        self.base = base
        self.location = table.location
        self.is_remote = table.is_remote
        self.has_disk = table.has_disk
        self.name_tag = name_tag(branch_id)
        self._folder = f"{BRANCHES_FOLDER}/{branch_id}"

    @cached_property
    def opened_roots(self) -> dict[str, Store]:
        return self.table.opened_roots

    @cached_property
    def clock(self) -> Clock:
        return self.table.clock

    def exists(self) -> bool:
        return self.table.exists()

    def place(self, path: str) -> str:
        """Where a file of the table is that the branch may have of its own."""
        folder, _, name = path.rpartition("/")
        if path == HINT:
            return f"{self._folder}/{HINT.rpartition('/')[2]}"
        return f"{self._folder}/{_FOLDERS[folder]}/{name}" if folder in _FOLDERS else path

    def _stub(self, path: str) -> bytes | None:
        """The stub of an entry below the branch's first; None for other files."""
        folder, _, name = path.rpartition("/")
        number = name.removesuffix(".json")
        is_below = folder == LOG and number.isdecimal() and int(number) < self.base
        return stub_to_bytes(Stub(int(number), "", UNIX_EPOCH, self.base)) if is_below else None

    def read(self, path: str, limit: int = ENTRY_BYTES) -> bytes | None:
        stub = self._stub(path)
        return self.table.read(self.place(path), limit) if stub is None else stub

    def read_in_order(
        self, paths: Sequence[str], limit: int = ENTRY_BYTES
    ) -> Iterator[bytes | None]:
        if any(self._stub(path) is not None for path in paths):
            return super().read_in_order(paths, limit)
        return self.table.read_in_order([self.place(path) for path in paths], limit)

    def put_if_absent(self, path: str, data: bytes, dated: datetime | None = None) -> Put:
        place = self.place(path)
        if dated is None:
            return self.table.put_if_absent(place, data)
        return self.table.put_if_absent(place, data, dated)

    def overwrite(self, path: str, data: bytes) -> None:
        self.table.overwrite(self.place(path), data)

    def list(self, folder: str, start: str = "") -> builtins.list[str]:
        return self.table.list(self._place_of_folder(folder), start)

    def files(self, folder: str) -> Sequence[StoredFile]:
        return self.table.files(self._place_of_folder(folder))

    def _place_of_folder(self, folder: str) -> str:
        return f"{self._folder}/{_FOLDERS[folder]}" if folder in _FOLDERS else folder

    def walk(self, folder: str) -> Iterator[StoredFile]:
        return self.table.walk(folder)

    def now(self) -> datetime:
        return self.table.now()

    def modified(self, path: str) -> datetime | None:
        return self.table.modified(self.place(path))

    def delete(self, path: str) -> None:
        self.table.delete(self.place(path))

    def delete_all(self, paths: Sequence[str]) -> None:
        self.table.delete_all([self.place(path) for path in paths])

    def create(self, path: str) -> AbstractContextManager[Sink]:
        return self.table.create(self.place(path))

    def open(self, path: str) -> Any:
        return self.table.open(self.place(path))

    def child(self, path: str) -> Store:
        return self.table.child(path)


def branch_log(table: Store, branch: Branch) -> TableLog:
    """The log of a branch. ``table`` is the store of the table's folder."""
    return table_log(BranchStore(table, branch.id, branch.base))
