"""A merge prefetches remote segments, within bounds."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from read.keyed_table import make, rows, shown
from versioned_catalog import Table
from versioned_catalog.read import tasks as merge_prefetch
from versioned_catalog.storage.local import LocalStore


@pytest.mark.parametrize("ahead", [0, 7, 1000])
def test_small_segments_are_prefetched_within_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    table = overlapping(tmp_path / "t")
    expected = shown(table)
    opened = SlowOpens(monkeypatch)
    monkeypatch.setattr(LocalStore, "is_remote", True)
    monkeypatch.setattr(merge_prefetch, "PREFETCH_ROWS", ahead)
    assert shown(table) == expected
    assert (opened.most > 4) if ahead == 1000 else (opened.most <= 4)


def test_a_compaction_reads_small_segments_of_a_merge_in_two_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that merges them took longer than the one that writes."""
    table = overlapping(tmp_path / "t")
    expected = shown(table)
    opened = SlowOpens(monkeypatch)
    assert table.maintenance.compact().removed == 12
    assert opened.most == 2
    assert shown(table) == expected


def overlapping(folder: Path) -> Table:
    """A table of twelve overlapping segments."""
    table = make(folder)
    for n in range(12):
        table.append(rows(*((f"h{m}", 1, float(n)) for m in range(n % 4 + 2))))
    return table


class SlowOpens:
    """Opens files slowly, and counts how many are opened at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.most = 0
        running, lock, real = 0, threading.Lock(), LocalStore.open

        def slow(store: LocalStore, path: str) -> object:
            nonlocal running
            with lock:
                running += 1
                self.most = max(self.most, running)
            time.sleep(0.02)
            with lock:
                running -= 1
            return real(store, path)

        monkeypatch.setattr(LocalStore, "open", slow)
