"""Two maintenance jobs at once, and ones that die, at every storage call: nothing retained is lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from maintenance.steps import Died, calls_of, check_whole, die, stepped
from maintenance.tables import NOW, ids, later, load, make
from versioned_catalog import CommitConflictError, Table

HOUR = timedelta(hours=1)

EVERY = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 4
"""How many storage calls lie between two that are interrupted."""


def expire(table: Table, keep_last: int = 2) -> object:
    return table.expire(NOW, keep_last, dry_run=False, force=True)


def vacuum(table: Table) -> object:
    return table.vacuum(NOW, dry_run=False, force=True)


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[int, list[int]]:
    """A table that was expired before, without a checkpoint, with a tag above and one below its floor.

    Returns:
        The rows of its versions, and of those that the jobs below add.
    """
    table = make(tmp_path, 4)  # version n shows n alone
    table.set_tag("two", 2)  # 5
    table.set_tag("gone", 3)  # 6
    later(monkeypatch, HOUR)
    expire(table, 3)  # 7, floor 4
    table.drop_tag("gone")  # 8
    for number in range(9, 13):
        table.overwrite(ids(number))
    table.set_tag("nine", 9)  # 13
    before = {version: [min(version, 4)] for version in range(2, 9)}
    return before | {version: [min(version, 12)] for version in range(9, 14)}


def rivals(root: Path) -> dict[str, Callable[[], object]]:
    """What others do meanwhile."""

    def fresh(job: Callable[[Table], object]) -> None:
        job(load(root))

    def expire_and_vacuum() -> None:
        fresh(expire)
        fresh(vacuum)

    def dropped_tag_too() -> None:
        fresh(lambda table: table.drop_tag("nine"))
        expire_and_vacuum()

    def died(at: int) -> None:
        with pytest.raises(Died):
            expire(stepped(root, at, die))
        fresh(vacuum)

    return {
        "expire": lambda: fresh(expire),
        "vacuum": lambda: fresh(vacuum),
        "expire and vacuum": expire_and_vacuum,
        "drop a tag, expire and vacuum": dropped_tag_too,
        "expire, written on and vacuum": lambda: (
            fresh(expire),
            fresh(lambda table: table.append(ids(99))),
            fresh(lambda table: expire(table, 1)),
            fresh(vacuum),
        ),
        "an expire that died, and vacuum": lambda: died(18),
        "rollback": lambda: fresh(lambda table: table.rollback(9)),
    }


JOBS = {"expire": expire, "vacuum": vacuum}
NAMES = [
    "expire",
    "vacuum",
    "expire and vacuum",
    "drop a tag, expire and vacuum",
    "expire, written on and vacuum",
    "an expire that died, and vacuum",
    "rollback",
]


@pytest.mark.parametrize("rival", NAMES)
@pytest.mark.parametrize("job", JOBS)
def test_jobs_that_interleave(
    job: str, rival: str, tmp_path: Path, rows: dict[int, list[int]]
) -> None:
    for at in range(NAMES.index(rival) % EVERY, calls_of(tmp_path, JOBS[job]), EVERY):
        root = tmp_path / str(at)
        shutil.copytree(tmp_path / "t", root / "t")
        table = stepped(root, at, rivals(root)[rival])
        with suppress(CommitConflictError):  # it says so, and is run again
            JOBS[job](table)
        check_whole(root, rows.get)
        for again in (expire, vacuum):
            again(load(root))
        check_whole(root, rows.get)
        assert load(root).verify(every_version=True).complaints == ()
        shutil.rmtree(root)


@pytest.mark.parametrize("job", JOBS)
def test_jobs_that_die(job: str, tmp_path: Path, rows: dict[int, list[int]]) -> None:
    """What was half done is neither half seen nor in the way of the next."""
    for at in range(0, calls_of(tmp_path, JOBS[job]), EVERY):
        root = tmp_path / str(at)
        shutil.copytree(tmp_path / "t", root / "t")
        with pytest.raises(Died):
            JOBS[job](stepped(root, at, die))
        check_whole(root, rows.get)
        vacuum(load(root))
        check_whole(root, rows.get)
        expire(load(root), 1)
        vacuum(load(root))
        check_whole(root, rows.get)
        shutil.rmtree(root)
