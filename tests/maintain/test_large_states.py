"""States longer than an entry may be: checkpoints have a limit of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from maintain.tables import DAY, NOW, expire, later, load, make, shown
from versioned_catalog import InvalidRequestError
from versioned_catalog.limits import HINT_BYTES
from versioned_catalog.log import bounded_files as document
from versioned_catalog.log.bounded_files import dump_json
from versioned_catalog.storage.local import LocalStore

LIMIT = 2500
"""The entries of these tests are shorter than this, and their checkpoints are longer."""


@pytest.fixture
def short_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the limit of an entry to that."""
    read = LocalStore.read

    def limited(self: LocalStore, path: str, limit: int = LIMIT) -> bytes | None:
        return read(self, path, limit)

    monkeypatch.setattr(LocalStore, "read", limited)


@pytest.mark.usefixtures("short_entries")
def test_expire_vacuum_and_verify_read_large_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path)
    table.log.write_checkpoint(table.state)
    table.set_tag("two", 2)
    states = tmp_path.glob("t/_versioned/checkpoint/*")
    assert min(path.stat().st_size for path in states) > LIMIT
    assert expire(table, 2) == 6
    # The interrupted expiry, which no retry could finish with the lower limit, is finished.
    assert expire(table, 1) == 8
    assert load(tmp_path).maintenance.verify(every_version=True).is_clean
    assert (shown(load(tmp_path)), shown(load(tmp_path), "two")) == ([6], [2])
    later(monkeypatch, DAY)
    load(tmp_path).maintenance.vacuum(NOW, dry_run=False, force=True)
    assert load(tmp_path).maintenance.verify(deep=True, every_version=True).is_clean


@pytest.mark.usefixtures("short_entries")
def test_an_expiry_of_large_states_ends_with_its_stubs(tmp_path: Path) -> None:
    table = make(tmp_path)
    expire(table, 2)
    (kept,) = tmp_path.glob("t/_versioned/kept/*")
    first = tmp_path / "t/_versioned/log" / f"{0:020d}.json"
    assert b'"stub":true' in first.read_bytes()
    assert kept.stat().st_size > LIMIT
    assert load(tmp_path).maintenance.verify().is_clean


def test_a_state_or_a_hint_beyond_its_limit_is_a_finding(tmp_path: Path) -> None:
    table = make(tmp_path)
    table.log.write_checkpoint(table.state)
    os.truncate(tmp_path / "t/_versioned/last_checkpoint.json", HINT_BYTES + 1)
    (finding,) = load(tmp_path).maintenance.verify().findings
    assert f"has {HINT_BYTES + 1} bytes" in finding.problem


def test_the_length_of_an_entry_is_counted_as_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "ENTRY_BYTES", 100)
    assert len(dump_json({"x": "a" * 90})) == 98
    with pytest.raises(InvalidRequestError, match="takes 128 bytes"):
        dump_json({"x": "ü" * 60})
