"""A merge prefetches remote segments, within bounds."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from read.keyed_table import make, rows, shown
from versioned_catalog.read import tasks as merge_prefetch
from versioned_catalog.storage.local import LocalStore


@pytest.mark.parametrize("ahead", [0, 7, 1000])
def test_small_segments_are_prefetched_within_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    table = make(tmp_path / "t")
    for n in range(12):
        table.append(rows(*((f"h{m}", 1, float(n)) for m in range(n % 4 + 2))))
    expected = shown(table)
    running, most, lock = 0, 0, threading.Lock()
    real = LocalStore.open

    def slow(store: LocalStore, path: str) -> object:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1
        return real(store, path)

    monkeypatch.setattr(LocalStore, "open", slow)
    monkeypatch.setattr(LocalStore, "is_remote", True)
    monkeypatch.setattr(merge_prefetch, "PREFETCH_ROWS", ahead)
    assert shown(table) == expected
    assert (most > 4) if ahead == 1000 else (most <= 4)
