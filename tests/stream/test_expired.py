"""What was expired and vacuumed under a running reader is said to be so; what is damaged is not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from stream.tables import ids, table_at
from versioned_catalog import CorruptTableError, NotFoundError, Table
from versioned_catalog.stream.offsets import OnRewrite, Settings

SKIP = OnRewrite.SKIP
Read = Callable[[], Any]


def clean_up(table: Table, keep_last: int = 1) -> None:
    table.maintenance.expire(timedelta(0), keep_last, dry_run=False, force=True)
    table.maintenance.vacuum(timedelta(0), dry_run=False, force=True)


def rewrite(table: Table) -> None:
    """Remove all segments, and add one."""
    table.overwrite(table.scan().to_arrow().slice(0, 1))


def commits(table: Table) -> Read:
    stream = table.stream(Settings(starting_version=1, on_rewrite=SKIP))
    start = stream.initial()
    rewrite(table)
    end = stream.latest(start)
    return lambda: stream.read(start, end)


def snapshot(table: Table) -> Read:
    stream = table.stream(Settings(on_rewrite=SKIP))
    start = stream.initial()
    table.append(ids(3))
    rewrite(table)
    end = stream.latest(start)
    return lambda: stream.read(start, end)


def changes(table: Table) -> Read:
    rewrite(table)
    found = table.changes(1)
    return found.to_arrow


def net_changes(table: Table) -> Read:
    rewrite(table)
    found = table.changes(2, net=True)
    return found.to_arrow


def changes_in_batches(table: Table) -> Read:
    stream = table.change_stream(Settings(starting_version=1))
    start = stream.initial()
    rewrite(table)
    found = stream.changes(start, stream.latest(start))
    return found.to_arrow


def scan(table: Table) -> Read:
    found = table.scan()
    rewrite(table)
    return found.to_arrow


PLAIN = [commits, snapshot, changes, net_changes, changes_in_batches, scan]
KEYED = [changes, net_changes, changes_in_batches, scan]
CASES = [(plan, False) for plan in PLAIN] + [(plan, True) for plan in KEYED]


@pytest.mark.parametrize(("plan", "keyed"), CASES)
def test_versions_that_are_expired_while_they_are_read(
    tmp_path: Path, plan: Callable[[Table], Read], keyed: bool
) -> None:
    table = table_at(tmp_path, primary_key=["id"] if keyed else [])
    table.append(ids(1, 2))
    table.append(ids(1, 4))
    read = plan(table)
    clean_up(table)
    with pytest.raises(NotFoundError, match="expired since this was planned"):
        read()


@pytest.mark.parametrize(("plan", "keyed"), [case for case in CASES if case[0] is not snapshot])
def test_a_lost_segment_of_a_retained_version_is_no_expiry(
    tmp_path: Path, plan: Callable[[Table], Read], keyed: bool
) -> None:
    """A tag retains the first version that was read, and an expiry ran."""
    table = table_at(tmp_path, primary_key=["id"] if keyed else [])
    table.append(ids(1, 2))
    table.append(ids(1, 4))
    table.set_tag("kept", 2)
    read = plan(table)
    clean_up(table)
    assert table.state.floor > 2
    read()
    for path in table.at(2).segments.paths:
        Path(table.location, path).unlink()
    with pytest.raises(CorruptTableError, match="restore it from a copy"):
        read()


def test_a_lost_segment_that_a_retained_version_removed_is_no_expiry(tmp_path: Path) -> None:
    table = table_at(tmp_path)
    table.append(ids(1, 2))
    read = commits(table)
    (lost,) = table.at(1).segments.paths
    Path(table.location, lost).unlink()
    with pytest.raises(CorruptTableError, match="restore it from a copy"):
        read()
