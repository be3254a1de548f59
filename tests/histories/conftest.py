"""Histories are short, and their tables small: checkpoints of two segments are continued by deltas."""

from __future__ import annotations

import pytest

from versioned_catalog.log import commit_log, deltas, reader


@pytest.fixture(autouse=True)
def deltas_of_small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deltas, "LEAST", 2)
    monkeypatch.setattr(deltas, "RATIO", 1)
    monkeypatch.setattr(commit_log, "LARGE", 1)
    monkeypatch.setattr(reader, "MANY_ENTRIES", 2)
