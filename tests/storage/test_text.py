"""Files of users are written at once: a kill, or a second writer, leaves none that is half written."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from versioned_catalog.errors import StorageError
from versioned_catalog.storage.text import replace_file, write_text


def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "t.sql"
    file.write_text("old")
    write_bytes = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        write_bytes(path, data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(StorageError, match="No space left"):
        write_text(file, "new content")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"t.sql": "old"}


def test_links_and_permissions_stay(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    file.chmod(0o640)
    os.symlink("file", link)
    replace_file(link, b"new")
    assert (link.is_symlink(), file.read_text()) == (True, "new")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_a_pipe_is_written_and_a_folder_refused(tmp_path: Path) -> None:
    replace_file(Path("/dev/null"), b"x")
    assert not Path("/dev/null").is_file()
    code = "from pathlib import Path; from versioned_catalog.storage.text import replace_file; "
    code += "replace_file(Path('/dev/stdout'), b'x')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"x"
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
        inode = os.fstat(out.fileno()).st_ino
    assert (tmp_path / "out").read_bytes() == b"x"
    assert (tmp_path / "out").stat().st_ino == inode
    with pytest.raises(IsADirectoryError):
        replace_file(tmp_path, b"x")
