"""Decoded checkpoints and deltas that are kept for the next load (FORMAT.md, section 8)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, CorruptTableError
from versioned_catalog.log import state_files
from versioned_catalog.log.bounded_files import BoundedFile
from versioned_catalog.log.checkpoint import state_to_bytes
from versioned_catalog.log.state_files import RecentFiles, StateFile, state_file


@pytest.fixture
def data(tmp_path: Path) -> bytes:
    """A checkpoint of one segment."""
    table = Catalog.create_path(tmp_path / "t", "id LONG")
    table.append(pa.table({"id": [1]}))
    return state_to_bytes(table.state)


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """The columns that are decoded at once, each time; no file is kept before."""
    monkeypatch.setattr(state_files, "_RECENT", RecentFiles())
    read, names = BoundedFile.read, list[Sequence[str]]()

    def recorded(self: BoundedFile, some: Sequence[str], group: int | None = None) -> pa.Table:
        names.append(some)
        return read(self, some, group)

    monkeypatch.setattr(BoundedFile, "read", recorded)
    return names


def test_the_same_bytes_are_decoded_once(data: bytes, decoded: list[Sequence[str]]) -> None:
    first, second = (state_file(bytes(bytearray(data)), "a") for _ in range(2))
    assert first is second
    assert len(decoded) == 1
    assert state_file(data, "b") is not first  # errors about its other columns name the file
    assert len(decoded) == 2


def test_statistics_are_decoded_once_for_all_loads(
    data: bytes, decoded: list[Sequence[str]]
) -> None:
    for _ in range(2):
        assert state_file(data, "a").columns["1.max"].to_pylist() == [1]
    assert decoded[1:] == [["1.max"]]


@pytest.mark.usefixtures("decoded")
def test_other_bytes_under_the_same_name_are_checked(data: bytes) -> None:
    """The flipped byte is in the first page; the last bytes and the length are the same."""
    state_file(data, "a")
    with pytest.raises(CorruptTableError, match="damaged"):
        state_file(data[:30] + bytes([data[30] ^ 1]) + data[31:], "a")
    assert state_file(data, "a").rows == 1


def test_the_newest_files_are_kept_that_there_is_room_for(
    data: bytes, decoded: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    size = state_file(data, "a").bytes
    assert size > len(data)
    monkeypatch.setattr(state_files, "RECENT_BYTES", 2 * size)
    for what in ("b", "a", "c"):
        state_file(data, what)
    assert len(decoded) == 3
    assert [what for what in "abc" if _is_kept(data, what)] == ["a", "c"]
    monkeypatch.setattr(state_files, "RECENT_BYTES", size - 1)
    state_file(data, "d")
    assert not any(_is_kept(data, what) for what in "abcd")


def _is_kept(data: bytes, what: str) -> bool:
    found: StateFile | None = state_files._RECENT.find(data, what)
    return found is not None
