"""A local disk that records system calls, fails, and can lose what was not synced."""

from __future__ import annotations

import enum
import os
import re
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Strike(enum.Enum):
    """What happens at a system call."""

    FAIL_BEFORE = "fail before"
    FAIL_AFTER = "fail after"
    KILL_BEFORE = "kill before"
    KILL_AFTER = "kill after"


class Disk:
    """Replaces ``os`` in the local store.

    Args:
        root: paths are recorded relative to this folder.
        at: the number of the call that fails, counted from 0; None for none.
        strike: how it fails.
        error: the errno.
        watch: called before and after every call.
    """

    def __init__(
        self,
        root: Path,
        at: int | None = None,
        strike: Strike = Strike.FAIL_BEFORE,
        error: int = 5,
        watch: Callable[[], None] = lambda: None,
    ) -> None:
        self.calls: list[str] = []
        self._root = os.path.realpath(root)
        self._at = at
        self._strike = strike
        self._error = error
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    @contextmanager
    def _call(self, name: str, path: str) -> Iterator[None]:
        struck = len(self.calls) == self._at
        self.calls.append(f"{name} {_shape(os.path.relpath(path, self._root))}")
        self._watch()
        if struck:
            self._hit(Strike.FAIL_BEFORE, Strike.KILL_BEFORE)
        yield
        self._watch()
        if struck:
            self._hit(Strike.FAIL_AFTER, Strike.KILL_AFTER)

    def _hit(self, fail: Strike, kill: Strike) -> None:
        if self._strike is fail:
            raise OSError(self._error, os.strerror(self._error))
        if self._strike is kill:
            os.kill(os.getpid(), signal.SIGKILL)

    def new_file(self, path: str, mode: str = "r", *more: Any, **named: Any) -> Any:
        """``open``."""
        if "x" not in mode:
            return open(path, mode, *more, **named)
        with self._call("make", path):
            return open(path, mode, *more, **named)

    def link(self, source: str, target: str) -> None:
        with self._call("link", target):
            os.link(source, target)

    def replace(self, source: str, target: str) -> None:
        with self._call("replace", target):
            os.replace(source, target)

    def unlink(self, path: str) -> None:
        with self._call("unlink", path):
            os.unlink(path)

    def mkdir(self, path: str) -> None:
        with self._call("mkdir", path):
            os.mkdir(path)

    def fsync(self, handle: int) -> None:
        with self._call("sync", os.readlink(f"/proc/self/fd/{handle}")):
            os.fsync(handle)


def _shape(path: str) -> str:
    path = re.sub(r"[0-9a-f]{32}", "ID", path)
    path = re.sub(r"\d{20}", "N", path)
    return re.sub(r"data/[0-9]+-", "data/N-", path)


class Platter(Disk):
    """A disk that knows what a power failure would leave.

    A file keeps the content of its last sync, and a folder the names of its own last sync.
    """

    def __init__(self, root: Path, watch: Callable[[], None] = lambda: None) -> None:
        super().__init__(root, watch=watch)
        self._content: dict[int, bytes] = {}
        self._names: dict[str, dict[str, int]] = {}
        for folder, _, files in os.walk(self._root):
            for name in files:
                self._keep(os.path.join(folder, name))
            self._keep(folder)

    def fsync(self, handle: int) -> None:
        path = os.readlink(f"/proc/self/fd/{handle}")
        super().fsync(handle)
        self._keep(path)

    def _keep(self, path: str) -> None:
        found = os.stat(path)
        if stat.S_ISDIR(found.st_mode):
            self._names[path] = {e.name: e.stat().st_ino for e in os.scandir(path)}
        else:
            self._content[found.st_ino] = Path(path).read_bytes()

    def without_power(self, target: Path) -> Path:
        """Write what a power failure would leave to a folder."""
        self._restore(self._root, target)
        return target

    def _restore(self, folder: str, target: Path) -> None:
        target.mkdir()
        for name, inode in self._names.get(folder, {}).items():
            place = os.path.join(folder, name)
            if place in self._names or os.path.isdir(place):
                self._restore(place, target / name)
            else:
                (target / name).write_bytes(self._content.get(inode, b""))
