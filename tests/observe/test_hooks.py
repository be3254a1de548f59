"""Hooks: called once after each acknowledged commit, and never able to harm it."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest

import versioned_catalog as vc
from versioned_catalog import (
    Catalog,
    CommitConflictError,
    CommitEvent,
    InvalidRequestError,
    Table,
    committed_by,
    on_commit,
)
from versioned_catalog.observe import CommitStarted, observe

NUMBERS = pa.schema([("n", pa.int64())])


def rows(*numbers: int) -> pa.Table:
    return pa.table({"n": pa.array(numbers, pa.int64())})


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(tmp_path)


def test_each_way_to_commit_calls_the_hook_once(catalog: Catalog) -> None:
    seen: list[tuple[str, str, int]] = []
    with on_commit(lambda event: seen.append((event.table, event.operation, event.version))):
        table = catalog.create_table("t", "n BIGINT")
        table.append(rows(1, 2))
        table.alter().add_column("s", "STRING").commit()
        table.delete([("n", "=", 1)])
        table.update({"s": "x"}, None)
        table.pin_schema("job")
        table.set_tag("v1")
        table.rollback(1)
        table.create_branch("b")
        table.branch("b").append(rows(3))
        table.drop_branch("b")
        catalog.replace_table("t", "n BIGINT")
        catalog.drop_table("t")
    assert seen == [
        ("t", "create", 0),
        ("t", "append", 1),
        ("t", "alter", 2),
        ("t", "delete", 3),
        ("t", "update", 4),
        ("t", "alter", 5),
        ("t", "tag", 6),
        ("t", "rollback", 7),
        ("t", "branch", 8),
        ("t.branch_b", "append", seen[9][2]),
        ("t", "branch", 9),
        ("t", "replace", 10),
        ("t", "drop", 11),
    ]


def test_an_event_says_what_was_committed(catalog: Catalog) -> None:
    table = catalog.create_table("t", "n BIGINT")
    events: list[CommitEvent] = []
    with on_commit(events.append), committed_by(user="ann", application="load", message="May"):
        table.append(rows(1, 2, 3))
    (event,) = events
    (file,) = Path(table.location, "data").iterdir()
    assert (event.table, event.location, event.version) == ("t", table.location, 1)
    assert (event.table_uuid, event.schema_version) == (table.state.table_uuid, 0)
    assert (event.attempts, event.branch) == (1, None)
    assert event.summary == {
        "added_segments": 1,
        "removed_segments": 0,
        "rows": 3,
        "bytes": file.stat().st_size,
    }
    assert event.by == {"user": "ann", "application": "load", "message": "May"}
    assert table.find_commit(event.commit_id) == 1
    assert event.seconds > 0
    with pytest.raises(AttributeError):
        event.version = 2  # type: ignore[misc]


def test_the_commit_is_visible_when_the_hook_is_called(catalog: Catalog) -> None:
    table, counts = catalog.create_table("t", "n BIGINT"), list[int]()
    with on_commit(lambda event: counts.append(catalog.load_table("t").count())):
        table.append(rows(1, 2))
    assert counts == [2]


def test_what_a_hook_raises_is_logged_and_changes_nothing(
    catalog: Catalog, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(event: CommitEvent) -> None:
        raise RuntimeError("no network")

    table, seen = catalog.create_table("t", "n BIGINT"), list[int]()
    with on_commit(broken), on_commit(lambda event: seen.append(event.version)):
        assert table.append(rows(1)) == 1
    assert (table.count(), seen) == (1, [1])
    (record,) = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert record.getMessage().startswith("t: the hook ")
    assert record.getMessage().endswith(" failed: RuntimeError: no network")


def test_no_hook_is_called_without_a_commit(catalog: Catalog) -> None:
    keyed = catalog.create_table("k", "n BIGINT", primary_key=["n"])
    table = catalog.create_table("t", "n BIGINT")
    table.append(rows(1))
    other = catalog.load_table("t")
    other.delete(None)
    events: list[CommitEvent] = []
    with on_commit(events.append):
        with pytest.raises(CommitConflictError):
            table.transaction().commit_rewrite(
                table.transaction().plan_write(NUMBERS),
                [],
                [*table.state.segments.core["path"].to_pylist()],
                kind="delete",
            )
        assert keyed.delete([("n", "=", 5)]) == 0
        assert keyed.count() == 0
    assert events == []


def test_lost_races_are_counted_as_attempts(catalog: Catalog) -> None:
    mine, other = catalog.create_table("t", "n BIGINT"), catalog.load_table("t")
    other.append(rows(1))
    events: list[CommitEvent] = []
    with on_commit(events.append):
        mine.append(rows(2))
    assert [(event.version, event.attempts) for event in events] == [(2, 2)]


def test_threads_call_it_for_their_own_commits(catalog: Catalog) -> None:
    catalog.create_table("t", "n BIGINT")
    threads: dict[int, str] = {}

    def write() -> None:
        Table.append(catalog.load_table("t"), rows(1))

    with on_commit(lambda e: threads.__setitem__(e.version, threading.current_thread().name)):
        writers = [threading.Thread(target=write, name=f"w{at}") for at in range(4)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
    assert sorted(threads) == [1, 2, 3, 4]
    assert sorted(threads.values()) == ["w0", "w1", "w2", "w3"]


def test_a_removed_hook_is_not_called(catalog: Catalog) -> None:
    events: list[CommitEvent] = []
    registration = on_commit(events.append)
    registration.remove()
    catalog.create_table("t", "n BIGINT")
    assert events == []


def test_a_hook_must_be_callable() -> None:
    with pytest.raises(InvalidRequestError, match="on_commit needs a function"):
        on_commit("print")  # type: ignore[arg-type]


PRINTING = """
import versioned_catalog as vc

def start():
    vc.on_commit(lambda event: print("hook", event.table, event.operation, event.version))
"""


def command(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("versioned"), *arguments],
        env={**os.environ, "PYTHONPATH": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_environment_sets_up_a_process(tmp_path: Path) -> None:
    """Such as the command line's."""
    (tmp_path / "printing.py").write_text(PRINTING)
    vc.Catalog(tmp_path / "w").create_table("t", "n BIGINT")
    alter = ("alter", str(tmp_path / "w" / "t"), "add", "s", "STRING")
    done = command(tmp_path, *alter, VERSIONED_OBSERVE=" printing:start, ")
    assert "hook" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("hook") == 1


def test_the_jar_is_told_of_a_setting_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark_versioned.sql.dispatch import respond

    monkeypatch.setenv("VERSIONED_OBSERVE", "nothing:start")
    error = json.loads(respond({"request": "handshake", "body": {"protocol": 0}}))["error"]
    assert error["condition"] == "VERSIONED_INVALID_OPTION"
    assert error["message"].startswith("VERSIONED_OBSERVE names 'nothing:start', which failed: ")


def test_functions_may_open_tables(tmp_path: Path) -> None:
    catalog = tmp_path / "w"
    vc.Catalog(catalog).create_table("t", "n BIGINT")
    code = f"""
import versioned_catalog as vc
def start():
    print("rows", vc.open({str(catalog / "t")!r}).count())
"""
    (tmp_path / "opening.py").write_text(code)
    show = ("schema", str(catalog / "t"))
    done = command(tmp_path, *show, VERSIONED_OBSERVE="opening:start")
    assert done.stdout.count("rows 0") == 1, done.stdout + done.stderr


@pytest.mark.parametrize(
    "setting, problem",
    [
        ("nothing:start", "ModuleNotFoundError: No module named 'nothing'"),
        ("os", "ValueError: it names no function"),
        ("os:nothing", "AttributeError: "),
    ],
)
def test_a_setting_that_fails_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, problem: str
) -> None:
    monkeypatch.setenv("VERSIONED_OBSERVE", setting)
    for _ in range(2):
        with pytest.raises(InvalidRequestError) as refused:
            Catalog(tmp_path)
        assert f"VERSIONED_OBSERVE names {setting!r}, which failed: {problem}" in str(refused.value)


def test_an_observer_that_is_registered_twice_is_removed_once(tmp_path: Path) -> None:
    seen: list[str] = []

    class Starts:
        def started(self, commit: CommitStarted, /) -> None:
            seen.append(commit.operation)

        def committed(self, *_: object) -> None: ...

        def unchanged(self, *_: object) -> None: ...

        def failed(self, *_: object) -> None: ...

    starts = Starts()
    with observe(starts):
        observe(starts).remove()
        Catalog(tmp_path / "w").create_table("t", "n BIGINT")
    assert seen == ["create"]
