"""Two maintenance jobs at once, and ones that die, at every storage call: nothing retained is lost."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from faults.store import Fault, FaultyStore, Plan
from maintenance.steps import Died, SteppedStore, calls_of, check_whole, die, stepped
from maintenance.tables import NOW, ids, later, load, make, shown
from versioned_catalog import Catalog, CommitConflictError, CommitOutcomeUnknown, Table
from versioned_catalog.catalog.locations import load_at, timeline_at
from versioned_catalog.maintenance.expiry import write_stubs
from versioned_catalog.progress import silent
from versioned_catalog.storage.local import LocalStore

HOUR = timedelta(hours=1)

EVERY = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 4
"""How many storage calls lie between two that are interrupted."""


def expire(table: Table, keep_last: int = 2) -> object:
    return table.maintenance.expire(NOW, keep_last, dry_run=False, force=True)


def vacuum(table: Table) -> object:
    return table.maintenance.vacuum(NOW, dry_run=False, force=True)


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


@pytest.mark.thorough
@pytest.mark.parametrize("rival", NAMES)
@pytest.mark.parametrize("job", JOBS)
def test_jobs_that_interleave(
    job: str, rival: str, tmp_path: Path, rows: dict[int, list[int]]
) -> None:
    for at in range(NAMES.index(rival) % EVERY, len(calls_of(tmp_path, JOBS[job])), EVERY):
        root = tmp_path / str(at)
        shutil.copytree(tmp_path / "t", root / "t")
        table = stepped(root, at, rivals(root)[rival])
        with suppress(CommitConflictError):  # it says so, and is run again
            JOBS[job](table)
        check_whole(root, rows.get)
        for again in (expire, vacuum):
            again(load(root))
        check_whole(root, rows.get)
        assert load(root).maintenance.verify(every_version=True).findings == ()
        shutil.rmtree(root)


@pytest.mark.parametrize("job", JOBS)
def test_jobs_that_die(job: str, tmp_path: Path, rows: dict[int, list[int]]) -> None:
    """What was half done is neither half seen nor in the way of the next."""
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


# The holes that there were, each where it was found


def test_entries_that_expire_while_vacuum_reads_them(
    tmp_path: Path, rows: dict[int, list[int]]
) -> None:
    """What only their records name is needed still, by the oldest retained version and by tags."""
    table = load(tmp_path)
    table.append(ids(14))  # shown by versions 14 to 17
    table.append(ids(15))
    table.append(ids(16))
    table.append(ids(17))
    table.overwrite(ids(18))
    shows = rows | {14: [12, 14], 15: [12, 14, 15], 16: [12, 14, 15, 16]}
    shows |= {17: [12, 14, 15, 16, 17], 18: [18]}

    def first(root: Path) -> None:
        """Move the oldest retained version, so that the vacuum looks at references again."""
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


class UnheardStore(FaultyStore):
    """A store that commits the next entry, and answers neither that nor what is asked after it."""

    def _fault(self, method: str, path: str) -> Fault | None:
        name = f"{method} {path}"
        if method != "put" and not self._plan.calls:
            return None
        self._plan.calls.append(name)
        return Fault.LOST_REPLY if len(self._plan.calls) == 1 else Fault.FAIL_BEFORE


@pytest.mark.parametrize("how", ["died", "unknown"])
@pytest.mark.parametrize("again", [expire, lambda table: expire(table, 1)])
def test_an_expire_that_ended_before_its_first_stub(
    again: Callable[[Table], object], how: str, tmp_path: Path, rows: dict[int, list[int]]
) -> None:
    """Readers still come from the stub of version 0 to the state that the expire before it kept."""
    if how == "died":
        at = calls_of(tmp_path, expire).index("overwrite _versioned/log/N.json")
        with pytest.raises(Died):
            expire(stepped(tmp_path, at, die))
    else:
        store = UnheardStore(LocalStore(str(tmp_path / "t")), Plan())
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
    floor = load(tmp_path).state.floor
    assert kept == {f"{v:020d}.parquet" for v in (2, 9, floor)}, "and no more"


def test_a_state_that_was_written_by_an_expire_that_died(
    tmp_path: Path, rows: dict[int, list[int]]
) -> None:
    """To a vacuum nobody needs it, until another expire commits the same oldest retained version."""
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


def test_a_table_whose_kept_state_was_lost_is_mended(
    tmp_path: Path, rows: dict[int, list[int]]
) -> None:
    """An earlier vacuum deleted a state that was needed; the next expire had written a later one."""
    at = calls_of(tmp_path, expire).index("overwrite _versioned/log/N.json")
    with pytest.raises(Died):
        expire(stepped(tmp_path, at, die))
    (tmp_path / f"t/_versioned/kept/{4:020d}.parquet").unlink()
    check_whole(tmp_path, rows.get)
    expire(load(tmp_path))
    assert load(tmp_path).maintenance.verify(every_version=True).findings == ()


def test_a_state_that_is_gone_is_written_before_the_stubs(
    tmp_path: Path, rows: dict[int, list[int]]
) -> None:
    """An expire that is finished by another needs the states that the first one kept."""
    calls = calls_of(tmp_path, expire)
    with pytest.raises(Died):
        expire(stepped(tmp_path, calls.index("overwrite _versioned/log/N.json"), die))
    kept = tmp_path / "t/_versioned/kept"
    floor = load(tmp_path).state.floor
    for version in (9, floor):
        (kept / f"{version:020d}.parquet").unlink()
    expire(load(tmp_path), 20)  # which gives up no more
    check_whole(tmp_path, rows.get)
    assert {f"{v:020d}.parquet" for v in (9, floor)} <= {path.name for path in kept.iterdir()}


def test_a_vacuum_of_a_dropped_table_that_died_before_a_create(tmp_path: Path) -> None:
    """The stubs that it wrote name a version that no state of the new table has as its oldest."""
    make(tmp_path, 4).drop()  # 5
    time.sleep(0.02)
    store = SteppedStore(LocalStore(str(tmp_path / "t")))
    timeline = timeline_at(store)
    state = timeline.load().state
    assert state is not None
    timeline.write_kept(state)
    store.begin({5: die})  # each stub takes two calls; that of version 0 comes last
    with pytest.raises(Died):
        write_stubs(timeline, 5, silent)
    assert [timeline.is_stub(version) for version in range(5)] == [False, True, True, False, False]
    made = Catalog.create_path(tmp_path / "t", "id LONG")
    made.append(ids(7))
    made.overwrite(ids(8))
    time.sleep(0.02)
    vacuum(load(tmp_path))
    assert shown(load(tmp_path)) == [8]
    assert shown(load(tmp_path), made.version - 1) == [7]
