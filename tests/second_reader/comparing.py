"""Comparing what both readers show of a random history."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from second_reader.agreement import agree, agree_on, same
from second_reader.histories import History
from second_reader.reader import Problem, SecondTable, Unavailable, open_table
from versioned_catalog import Catalog, NotFoundError, Table, VersionedError


def compare(history: History, versions: int = 4) -> int:
    """Compare all that both readers show; the number of rows that were compared."""
    ours = history.catalog.load_table("t")
    second, rng = open_table(Path(ours.location), history.roots), history.rng
    some = rng.sample(second.versions, min(versions, len(second.versions)))
    compared = agree(ours, second, some) + compare_times(history, ours, second)
    for label in sorted(ours.state.pins):
        version = rng.choice([None, rng.choice(second.versions)])
        compared += compare_pin(ours, second, label, version)
    for name in sorted(ours.branches):
        branch, other = ours.branch(name), second.branch(name)
        some = rng.sample(other.versions, min(versions, len(other.versions)))
        compared += agree(branch, other, some)
    return compared + compare_folders(history)


def compare_folders(history: History) -> int:
    """Compare the newest version of each table by its folder, whatever became of its name."""
    compared = 0
    for log in sorted(history.warehouse.glob("*/_versioned/log")):
        folder = log.parents[1]
        try:
            ours = Catalog.load_path(folder, roots=history.roots)
        except NotFoundError as error:
            try:
                open_table(folder, history.roots).read()
            except Unavailable:
                continue
            raise AssertionError(f"{folder.name}: only ours refuses: {error}") from error
        second = open_table(folder, history.roots)
        compared += agree(ours, second, history.rng.sample(second.versions, 1))
    return compared


def compare_times(history: History, ours: Table, second: SecondTable) -> int:
    when = datetime.now(UTC) - timedelta(seconds=history.rng.random())
    try:
        expected = ours.scan(timestamp=when).to_arrow()
    except VersionedError:
        try:
            second.read(time=when)
        except Problem:
            return 0
        raise
    return same(expected, second.read(time=when), f"at {when}")


def compare_pin(ours: Table, second: SecondTable, label: str, version: int | None) -> int:
    compared = 0
    for overflow in ("error", "null"):
        what = f"pin {label} at {version}, {overflow}"
        view, nulls = ours.seen_as(label, overflow=overflow), overflow == "null"
        try:
            expected = view.scan(version=version).to_arrow()
        except VersionedError as error:
            try:
                second.read(version, pin=label, nulls=nulls)
            except Problem:
                continue
            if "can't be read as" in str(error):  # of segments without rows that are shown
                continue
            raise AssertionError(f"{what}: only ours refuses: {error}") from error
        compared += same(expected, second.read(version, pin=label, nulls=nulls), what)
        if second.state(version).has_row_ids and not nulls:
            compared += agree_on(view, second, version, label)
    return compared
