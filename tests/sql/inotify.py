"""Watch a folder tree with inotify: every file event in it, whichever process causes it."""

from __future__ import annotations

import ctypes
import os
import re
import select
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

_KINDS = {0x2: "write", 0x8: "close", 0x80: "move", 0x100: "create", 0x200: "delete"}
_FOLDER, _LOST = 0x40000000, 0x4000
_HEAD = struct.Struct("iIII")


class Watch:
    """File events below a folder, such as ``create data/N-ID.parquet``; new folders are watched, too."""

    def __init__(self, root: Path) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._root = root
        self._folders: dict[int, Path] = {}
        self._handle = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self._handle >= 0, os.strerror(ctypes.get_errno())
        self._add(root)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)

    def _add(self, folder: Path) -> list[str]:
        """Watch a folder; return what it holds already, for which inotify reports no event."""
        mask = sum(_KINDS)
        number = self._libc.inotify_add_watch(self._handle, os.fsencode(folder), mask)
        assert number >= 0, f"{folder}: {os.strerror(ctypes.get_errno())}"
        self._folders[number] = folder
        found = []
        for below in sorted(folder.iterdir()):
            found.append(self._event("create", below))
            if below.is_dir():
                found += self._add(below)
        return found

    def _event(self, kind: str, path: Path) -> str:
        return f"{kind} {shape(path.relative_to(self._root).as_posix())}"

    def events(self, until: float) -> Iterator[str]:
        """Yield events as they happen, and an empty string while there are none.

        Consecutive writes to one file are one event.

        Args:
            until: when to stop, as a time of ``time.monotonic``.
        """
        last = ""
        while (left := until - time.monotonic()) > 0:
            if not select.select([self._handle], [], [], min(left, 0.2))[0]:
                yield ""
                continue
            for event in self._read():
                if event != last or not event.startswith("write"):
                    yield event
                last = event

    def _read(self) -> Iterator[str]:
        data = os.read(self._handle, 1 << 16)
        while data:
            number, mask, _, size = _HEAD.unpack_from(data)
            name = os.fsdecode(data[_HEAD.size : _HEAD.size + size].rstrip(b"\0"))
            data = data[_HEAD.size + size :]
            assert not mask & _LOST, "events were lost"
            path = self._folders[number] / name
            kind = next((word for bit, word in _KINDS.items() if mask & bit), None)
            if kind is not None:
                yield self._event(kind, path)
            if mask & _FOLDER and kind == "create":
                yield from self._add(path)


def shape(path: str) -> str:
    """A path with its random parts replaced by placeholders."""
    path = re.sub(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", path)
    path = re.sub(r"\d{20}", "N", path)
    return re.sub(r"data/[.]?[0-9]+-", "data/N-", path)
