"""Progress on stderr: bars on a terminal only, lines with ``--verbose``, and what Ctrl-C leaves."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from cli.conftest import Run
from cli.test_process import START
from versioned_catalog import Catalog, InvalidRequestError
from versioned_catalog.cli import running

STEPS = {
    "compact": (["compact", "db.t", "--strategy", "full"], "compact"),
    "verify": (["verify", "db.t"], "check segments"),
    "expire": (["expire", "db.t", "--older-than", "0", "--force", "--execute"], "expire versions"),
    "vacuum": (["vacuum", "db.t", "--retention", "0", "--force", "--execute"], "delete files"),
    "analyze": (["analyze", "db.t"], "analyze"),
    "publish": (["publish", "db.t"], "publish versions"),
    "recover": (["recover", "./warehouse/db/t", "./again"], "copy segments"),
    "clone": (["clone", "db.u", "db.t"], "copy segments"),
    "import": (["import", "db.i", "files", "--copy"], "files"),
    "convert": (["--root", "lake=lake", "convert", "db.c", "lake/t"], "adopt files"),
    "convert --copy": (
        ["--root", "lake=lake", "convert", "db.c", "lake/t", "--copy"],
        "copy files",
    ),
    "maintain": (["maintain", "--all", "warehouse"], "compact"),
}


@pytest.fixture
def data(warehouse: Path) -> Catalog:
    """A table with eight segments, one of them compacted, a Delta table, and a folder of files."""
    catalog = Catalog(warehouse)
    table = catalog.create_table("db.t", "id INT")
    for number in range(4):
        table.append(pa.table({"id": pa.array([number], pa.int32())}))
    table.maintenance.compact()
    for number in range(4):
        table.append(pa.table({"id": pa.array([number], pa.int32())}))
    write_deltalake("lake/t", pa.table({"id": [1, 2]}))
    Path("files").mkdir()
    pq.write_table(pa.table({"n": [1, 2]}), "files/a.parquet")
    return catalog


@pytest.mark.parametrize("name", STEPS)
def test_every_long_command_reports_its_steps(run: Run, data: Catalog, name: str) -> None:
    command, step = STEPS[name]
    if name == "vacuum":
        run("expire", "db.t", "--older-than", "0", "--force", "--execute")
    done = run("--verbose", *command)
    assert done.code == 0, done.err
    lines = [line for line in done.err.splitlines() if line.startswith(f"{step}: ")]
    assert lines, done.err
    _, _, last = lines[-1].partition(": ")
    count, _, total = last.partition(" of ")
    assert count == total


@pytest.mark.parametrize("name", ["compact", "publish"])
def test_a_pipe_gets_no_progress(run: Run, data: Catalog, name: str) -> None:
    assert run(*STEPS[name][0]).err == ""


def test_sync_reports_its_files(run: Run, data: Catalog) -> None:
    root = ["--root", "lake=lake"]
    assert run(*root, "convert", "db.c", "lake/t").code == 0
    write_deltalake("lake/t", pa.table({"id": [3]}), mode="append")
    done = run(*root, "sync", "db.c", "--verbose")
    assert (done.code, done.err.splitlines()[-1]) == (0, "adopt files: 1 of 1")


def on_terminal(*arguments: str) -> str:
    """What the program prints on stderr if that is a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", START, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while select.select([ours], [], [], 30)[0]:
            try:
                shown += os.read(ours, 4096)
            except OSError:  # closed
                break
        assert process.wait(30) == 0, shown
    os.close(ours)
    return shown.decode()


@pytest.mark.usefixtures("data")
def test_a_terminal_gets_bars_unless_quiet() -> None:
    command = ["compact", "db.t", "--strategy", "full"]
    assert "compact" in on_terminal(*command)
    assert on_terminal(*command, "--quiet") == ""
    assert on_terminal("--quiet", *command) == ""


def test_warnings_are_not_printed_if_quiet(run: Run, data: Catalog) -> None:
    data.create_view("db.v", "SELECT id FROM t", "id INT", reads={"db.t": ["id"]})
    assert "warning: " not in run("alter", "db.t", "drop", "id", "--quiet").err
    data.create_table("db.u", "id INT, n INT")
    data.create_view("db.w", "SELECT id FROM u", "id INT", reads={"db.u": ["id"]})
    assert "warning: " in run("alter", "db.u", "drop", "id").err


def test_quiet_and_verbose_exclude_each_other(run: Run) -> None:
    for order in (["--quiet", "tables", "--verbose"], ["tables", "--quiet", "--verbose"]):
        done = run(*order)
        assert (done.code, "give only one of --quiet, --verbose" in done.err) == (2, True)


def test_verbose_shows_where_an_error_was_raised(run: Run) -> None:
    assert "Traceback" not in run("schema", "db.nobody").err
    done = run("schema", "db.nobody", "--verbose")
    assert (done.code, done.err.startswith("error: there is no table")) == (3, True)
    assert "Traceback" in done.err


def stop(step: str, done: int, total: int) -> None:
    """What Ctrl-C does at a report of progress."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("name", STEPS)
def test_ctrl_c_says_what_was_done_and_a_second_call_goes_on(
    run: Run, data: Catalog, name: str
) -> None:
    command, _ = STEPS[name]
    if name == "vacuum":
        run("expire", "db.t", "--older-than", "0", "--force", "--execute")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "_lines", lambda: stop)
        done = run("--verbose", *command)
    assert done.code == 130, done.err
    message = done.err.splitlines()[0]
    assert message.startswith("error: interrupted at "), message
    assert " of " in message
    assert "same command" in message or "run the command again" in message
    if "delete the new folder" in message:
        shutil.rmtree("again", ignore_errors=True)
    assert run(*command).code == 0
    rows = data.load_table("db.t").scan().to_arrow()["id"].to_pylist()
    assert sorted(rows) == [0, 0, 1, 1, 2, 2, 3, 3]


# Python


def test_python_callers_give_a_function(data: Catalog) -> None:
    calls: list[tuple[str, int, int]] = []
    table = data.load_table("db.t")
    table.maintenance.publish(progress=lambda *call: calls.append(call))
    versions = table.version
    assert calls[-1] == ("publish versions", versions, versions)


@pytest.mark.parametrize("progress", [True, False])
def test_python_callers_ask_for_bars(
    data: Catalog, capfd: pytest.CaptureFixture[str], progress: bool
) -> None:
    data.load_table("db.t").maintenance.compact(strategy="full", progress=progress)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert ("compact" in shown.err) is progress


def test_progress_must_be_a_flag_or_a_function(data: Catalog) -> None:
    wrong: Any = "yes"
    with pytest.raises(InvalidRequestError, match="progress must be True, False or a function"):
        data.load_table("db.t").maintenance.compact(progress=wrong)
