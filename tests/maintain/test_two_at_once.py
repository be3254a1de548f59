"""Two concurrent maintenance jobs, and jobs that die, at every storage call: no retained data is lost"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from itertools import product
from pathlib import Path

import pytest

from faults.store import Fault, FaultyStore, Plan
from maintain.steps import Died, SteppedStore, calls_of, check_whole, die, stepped
from maintain.tables import NOW, ids, later, load, make, shown
from pairwise import most_at_night
from versioned_catalog import Catalog, CommitConflictError, CommitOutcomeUnknown, Table
from versioned_catalog.commit.table_handle import silent
from versioned_catalog.maintain.expiry import write_stubs
from versioned_catalog.names.folders import load_at, timeline_at
from versioned_catalog.storage.local import LocalStore

HOUR = timedelta(hours=1)

EVERY = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 24
"""The number of storage calls between two that are interrupted."""


def expire(table: Table, keep_last: int = 2) -> object:
    return table.maintenance.expire(NOW, keep_last, dry_run=False, force=True)


def vacuum(table: Table) -> object:
    return table.maintenance.vacuum(NOW, dry_run=False, force=True)


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[int, list[int]]:
    """Create a table that was expired once, without checkpoints, with tags at and above its oldest.

    Returns:
        The rows of its versions, including those that the jobs below add.
    """
    table = make(tmp_path, 4)  # version n shows n alone
    table.set_tag("two", 2)  # 5
    table.set_tag("gone", 3)  # 6
    later(monkeypatch, HOUR)
    expire(table, 3)  # 7, oldest retained version 4
    table.drop_tag("gone")  # 8
    for number in range(9, 13):
        table.overwrite(ids(number))
    table.set_tag("nine", 9)  # 13
    before = {version: [min(version, 4)] for version in range(2, 9)}
    return before | {version: [min(version, 12)] for version in range(9, 14)}


def rivals(root: Path) -> dict[str, Callable[[], object]]:
    """Commits and jobs of others that run at the same time."""

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


@pytest.mark.thorough
@pytest.mark.parametrize(
    "jobs",
    most_at_night(
        {("expire", "vacuum"), ("expire", "rollback"), ("vacuum", "expire"), ("vacuum", "vacuum")},
        product(JOBS, NAMES),
    ),
    ids="-".join,
)
def test_interleaved_jobs_lose_nothing(
    jobs: tuple[str, str], tmp_path: Path, rows: dict[int, list[int]]
) -> None:
    job, rival = jobs
    for at in range(NAMES.index(rival) % EVERY, len(calls_of(tmp_path, JOBS[job])), EVERY):
        root = tmp_path / str(at)
        shutil.copytree(tmp_path / "t", root / "t")
        table = stepped(root, at, rivals(root)[rival])
        with suppress(CommitConflictError):  # a conflict, after which it is run again
            JOBS[job](table)
        check_whole(root, rows.get)
        for again in (expire, vacuum):
            again(load(root))
        check_whole(root, rows.get)
        assert load(root).maintenance.verify(every_version=True).findings == ()
        shutil.rmtree(root)


@pytest.mark.thorough
@pytest.mark.parametrize("job", JOBS)
def test_jobs_that_die_lose_nothing(job: str, tmp_path: Path, rows: dict[int, list[int]]) -> None:
    """Unfinished work is invisible, and does not stop the next job."""
    for at in range(0, len(calls_of(tmp_path, JOBS[job])), EVERY):
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


# Interleavings that once lost data


@pytest.mark.thorough
def test_entries_that_expire_while_vacuum_reads_them(
    tmp_path: Path, rows: dict[int, list[int]]
) -> None:
    """Segments that only their records name may be needed by the oldest retained version and by tags."""
    table = load(tmp_path)
    table.append(ids(14))  # shown by versions 14 to 17
    table.append(ids(15))
    table.append(ids(16))
    table.append(ids(17))
    table.overwrite(ids(18))
    shows = rows | {14: [12, 14], 15: [12, 14, 15], 16: [12, 14, 15, 16]}
    shows |= {17: [12, 14, 15, 16, 17], 18: [18]}

    def first(root: Path) -> None:
        """Move the oldest retained version, so that the vacuum collects references again."""
        expire(load(root), 4)

    def second(root: Path) -> None:
        other = load(root)
        other.set_tag("late", other.state.floor)
        expire(other, other.version - 16)  # versions from 17 on are retained

    at = calls_of(tmp_path, vacuum).index("put _versioned/log/N.json")
    calls = calls_of(tmp_path, vacuum, at, first)
    reads = [n for n, call in enumerate(calls) if n > at and call == "read _versioned/log/N.json"]
    for again in reads if EVERY == 1 else reads[::3]:
        root = tmp_path / str(again)
        shutil.copytree(tmp_path / "t", root / "t")
        late = {again: lambda root=root: second(root)}
        vacuum(stepped(root, at, lambda root=root: first(root), late))  # type: ignore[misc]
        check_whole(root, shows.get)
        shutil.rmtree(root)


class DisconnectedStore(FaultyStore):
    """A store that commits the next entry, and fails that call and all later ones."""

    def _fault(self, method: str, path: str) -> Fault | None:
        name = f"{method} {path}"
        if method != "put" and not self._plan.calls:
            return None
        self._plan.calls.append(name)
        return Fault.LOST_REPLY if len(self._plan.calls) == 1 else Fault.FAIL_BEFORE


@pytest.mark.parametrize("how", ["died", "unknown"])
@pytest.mark.parametrize("again", [expire, lambda table: expire(table, 1)])
def test_an_expiry_that_died_before_its_first_stub(
    again: Callable[[Table], object], how: str, tmp_path: Path, rows: dict[int, list[int]]
) -> None:
    """Readers still get from the stub of version 0 to the state kept by the expiry before."""
    if how == "died":
        at = calls_of(tmp_path, expire).index("overwrite _versioned/log/N.json")
        with pytest.raises(Died):
            expire(stepped(tmp_path, at, die))
    else:
        store = DisconnectedStore(LocalStore(str(tmp_path / "t")), Plan())
        with pytest.raises(CommitOutcomeUnknown):
            expire(load_at(store, "t"))
    assert load(tmp_path).state.floor == 12
    vacuum(load(tmp_path))
    kept = {path.name for path in (tmp_path / "t/_versioned/kept").iterdir()}
    assert f"{4:020d}.parquet" in kept
    check_whole(tmp_path, rows.get)
    again(load(tmp_path))
    vacuum(load(tmp_path))
    check_whole(tmp_path, rows.get)
    kept = {path.name for path in (tmp_path / "t/_versioned/kept").iterdir()}
    oldest = load(tmp_path).state.floor
    assert kept == {f"{v:020d}.parquet" for v in (2, 9, oldest)}, "no other states"


@pytest.mark.thorough
def test_a_kept_state_of_an_expiry_that_died(tmp_path: Path, rows: dict[int, list[int]]) -> None:
    """A vacuum may delete it until another expiry commits the same oldest retained version."""
    at = calls_of(tmp_path, expire).index("put _versioned/log/N.json")
    with pytest.raises(Died):
        expire(stepped(tmp_path, at, die))
    calls = calls_of(tmp_path, vacuum)
    for at in range(calls.index("files _versioned/kept") + 1, len(calls)):
        root = tmp_path / str(at)
        shutil.copytree(tmp_path / "t", root / "t")
        vacuum(stepped(root, at, lambda root=root: expire(load(root))))  # type: ignore[misc]
        check_whole(root, rows.get)
        shutil.rmtree(root)


def test_an_expiry_restores_a_lost_kept_state(tmp_path: Path, rows: dict[int, list[int]]) -> None:
    """An earlier vacuum deleted a needed state; the next expiry had written a later one."""
    at = calls_of(tmp_path, expire).index("overwrite _versioned/log/N.json")
    with pytest.raises(Died):
        expire(stepped(tmp_path, at, die))
    (tmp_path / f"t/_versioned/kept/{4:020d}.parquet").unlink()
    check_whole(tmp_path, rows.get)
    expire(load(tmp_path))
    assert load(tmp_path).maintenance.verify(every_version=True).findings == ()


def test_a_lost_kept_state_is_written_before_the_stubs(
    tmp_path: Path, rows: dict[int, list[int]]
) -> None:
    """Finishing an expiry of another process needs the states that it kept."""
    calls = calls_of(tmp_path, expire)
    with pytest.raises(Died):
        expire(stepped(tmp_path, calls.index("overwrite _versioned/log/N.json"), die))
    kept = tmp_path / "t/_versioned/kept"
    oldest = load(tmp_path).state.floor
    for version in (9, oldest):
        (kept / f"{version:020d}.parquet").unlink()
    expire(load(tmp_path), 20)  # which expires nothing more
    check_whole(tmp_path, rows.get)
    assert {f"{v:020d}.parquet" for v in (9, oldest)} <= {path.name for path in kept.iterdir()}


def test_a_vacuum_of_a_dropped_table_that_died_before_a_create(tmp_path: Path) -> None:
    """Its stubs name a version that is the oldest one of no state of the new table."""
    make(tmp_path, 4).drop()  # 5
    time.sleep(0.02)
    store = SteppedStore(LocalStore(str(tmp_path / "t")))
    log = timeline_at(store)
    state = log.load().state
    assert state is not None
    log.write_kept(state)
    store.begin({5: die})  # each stub takes two calls; that of version 0 comes last
    with pytest.raises(Died):
        write_stubs(log, 5, silent)
    assert [log.is_stub(version) for version in range(5)] == [False, True, True, False, False]
    created = Catalog.create_path(tmp_path / "t", "id LONG")
    created.append(ids(7))
    created.overwrite(ids(8))
    time.sleep(0.02)
    vacuum(load(tmp_path))
    assert shown(load(tmp_path)) == [8]
    assert shown(load(tmp_path), created.version - 1) == [7]
