"""Errors: one line on stderr, and an exit code for the kind of error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Run
from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    CommitConflictError,
    CommitOutcomeUnknown,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    StorageError,
    Table,
    UnsupportedFeatureError,
    VersionedError,
)
from versioned_catalog.alteration import Alteration
from versioned_catalog.maintain.inspection import Inspection


@pytest.mark.parametrize(
    "error, code, line",
    [
        (NotFoundError("none"), 3, "error: none"),
        (InvalidRequestError("no"), 4, "error: no"),
        (AlreadyExistsError("taken"), 4, "error: taken"),
        (UnsupportedFeatureError("keys"), 4, "error: keys"),
        (CommitConflictError("both"), 5, "error: both"),
        (CommitOutcomeUnknown("who knows", "c-1"), 5, "error: who knows"),
        (CorruptTableError("bad"), 6, "error: bad"),
        (StorageError("disk"), 6, "error: disk"),
        (VersionedError("other"), 1, "error: unexpected VersionedError: other"),
        (ZeroDivisionError("by 0"), 1, "error: unexpected ZeroDivisionError: by 0"),
        (OSError(5, "broken"), 1, "error: unexpected OSError: [Errno 5] broken"),
        (KeyboardInterrupt(), 130, "error: interrupted"),
        (NotFoundError("two\nlines,\t\x1b[31mred"), 3, "error: two\n  lines,  \\x1b[31mred"),
    ],
)
def test_every_error_has_a_message_and_an_exit_code(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    line: str,
) -> None:
    def fail(self: Inspection, limit: int | None = None) -> None:
        raise error

    monkeypatch.setattr(Inspection, "history", fail)
    done = run("history", "db.people")
    assert (done.code, done.out, done.err.strip()) == (code, "", line)
    for arguments in (("--json", "history", "db.people"), ("history", "db.people", "--json")):
        done = run(*arguments)
        assert (done.code, done.out) == (code, "")
        message = json.loads(done.err)
        kind = "Abort" if code == 130 else type(error).__name__
        assert message.pop("commit_id", "") == ("c-1" if kind == "CommitOutcomeUnknown" else "")
        expected = {"error": line.removeprefix("error: "), "kind": kind, "exit_code": code}
        assert message == expected


@pytest.mark.parametrize(
    "arguments, code, said",
    [
        ("", 2, "Missing command. (see: versioned --help)"),
        ("nonsense", 2, "No such command 'nonsense'. (see: versioned --help)"),
        ("undo db.people", 2, "rollback takes back writes and ALTERs, undrop a DROP (see"),
        ("restore db.people", 2, "rollback takes back writes"),
        ("sql db.people", 2, "query runs a SELECT"),
        ("tag undo", 2, "No such command 'undo'. (see: versioned tag --help)"),
        ("history", 2, "Missing argument 'TABLE'. (see: versioned history --help)"),
        ("history db.people --no", 2, "No such option"),
        ("schema db.people --as-of 1 --timestamp 2026-01-01", 2, "--as-of, --timestamp"),
        ("tables nowhere", 3, "there is no namespace nowhere"),
        ("namespaces nowhere", 3, "there is no namespace nowhere"),
        ("history db.nobody", 3, "there is no table db.nobody"),
        ("history ./nowhere", 3, "there is no table at"),
        ("schema db.people --as-of 9", 3, "no version 9"),
        ("schema db.people --timestamp 1999-01-01", 3, "did not exist yet"),
        ("schema db.people --timestamp soon", 4, "got 'soon'"),
        ("history db..people", 4, "not a valid name"),
        ("history s4://bucket/t", 4, "s4://"),
    ],
)
def test_usage_errors(run: Run, arguments: str, code: int, said: str) -> None:
    done = run(*arguments.split())
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("error: ")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_a_missing_warehouse_argument_is_reported(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VERSIONED_WAREHOUSE")
    done = run("tables")
    assert done.code == 2
    assert "--warehouse" in done.err
    assert "VERSIONED_WAREHOUSE" in done.err
    assert run("history", "./warehouse/db/people").code == 0


def test_a_folder_without_a_warehouse_is_reported(run: Run, tmp_path: Path) -> None:
    for command in ("tables", "namespaces"):
        done = run("--warehouse", str(tmp_path / "typo"), command)
        assert (done.code, done.out) == (3, "")
        assert done.err.startswith(f"error: there is no warehouse at {tmp_path / 'typo'}: ")


def test_a_damaged_table_is_reported(run: Run, warehouse: Path) -> None:
    logs = sorted((warehouse / "db" / "people" / "_versioned").rglob("*"))
    entry = next(path for path in logs if path.is_file() and "0" in path.name)
    entry.chmod(0o644)
    entry.write_bytes(b"{")
    done = run("history", "db.people")
    assert done.code == 6
    assert done.err.startswith("error: ")


def test_a_conflict_is_reported(run: Run, warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Table.alter

    def late(self: Table) -> Alteration:
        monkeypatch.setattr(Table, "alter", original)
        Catalog(warehouse).load_table("db.people").alter().drop_column("home").commit()
        return original(self)

    monkeypatch.setattr(Table, "alter", late)
    done = run("alter", "db.people", "rename", "home", "house")
    assert done.code == 5, done.err
    assert "home" in done.err


def test_the_help_lists_the_exit_codes(run: Run) -> None:
    shown = run("--help").out
    for line in (
        "0  done",
        "1  unexpected",
        "2  wrong usage",
        "3  not found",
        "4  refused",
        "5  conflict",
        "6  corrupt",
        "130  interrupted",
    ):
        assert line in shown


def test_help_and_version_exit_with_0(run: Run) -> None:
    assert run("--version").code == 0
    assert run("alter", "nowhere.to.be.found", "add", "--help").code == 0
