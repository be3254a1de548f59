"""Folders that a process may not write."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


@contextmanager
def readable_by_all() -> Iterator[Path]:
    """A folder that other users can reach, unlike those of pytest."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        for above, _, _ in os.walk(folder):
            os.chmod(above, 0o755)
        shutil.rmtree(folder)


def make_read_only(folder: Path) -> None:
    """Take the write bits away from a folder and all below it."""
    for above, _, files in os.walk(folder, topdown=False):
        for name in files:
            os.chmod(Path(above, name), 0o444)
        os.chmod(above, 0o555)


@contextmanager
def without_privileges() -> Iterator[None]:
    """Run as another user than root, whom write bits do not stop."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
