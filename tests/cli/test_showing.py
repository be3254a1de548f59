"""Output is complete, control characters are escaped, and no secret is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Run
from versioned_catalog import Catalog
from versioned_catalog.cli.output import storage_values, without_secrets
from versioned_catalog.maintain.inspection import Inspection

LONG = "x" * 5000


@pytest.fixture
def long(warehouse: Path) -> str:
    """A table with a comment of 5000 characters, and a table with control characters in its comment."""
    table = Catalog(warehouse).create_table("db.long", "a INT, b INT")
    table.alter().set_comment("a", LONG).set_comment("b", "[red]\x1b[31m\nü").commit()
    return "db.long"


def test_json_is_complete(run: Run, long: str) -> None:
    first, second = run("schema", long, "--json").json
    assert first["comment"] == LONG
    assert second["comment"] == "[red]\x1b[31m\nü"
    assert run("schema", long, "--json").out.isascii()


def test_piped_output_is_complete(run: Run, long: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    header, first, second = run("schema", long).lines
    assert header == "column_id path type nullable write_default read_default comment"
    assert first == f"1 a INT yes {LONG}"
    assert second == r"2 b INT yes [red]\x1b[31m\nü"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--storage", "key=hush", "history", "hush"],
        ["--storage=key=hush", "history", "hush"],
        ["--storage", "hush", "tables"],
        ["--storage", "=hush", "tables"],
        ["--storage=hush", "tables"],
        ["--storage", "key=hush", "--storage", "hush", "tables"],
        ["--storage", "key=hush", "tables", "hush"],
        ["--storage", "key=hush", "--hush", "tables"],
        ["--storage", "key=hush", "hush"],
        ["tables", "--storage", "key=hush"],
        ["--json", "--storage", "key=hush", "history", "hush"],
    ],
)
def test_storage_options_are_not_shown(run: Run, arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.code in (2, 3)
    assert "hush" not in done.out + done.err


def test_storage_options_of_the_environment_are_not_shown(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Inspection, limit: int | None = None) -> None:
        raise ValueError("opened with {'key': 'hush', 'token': 'a\\\\b'} at s3://me:word@host/t")

    monkeypatch.setattr(Inspection, "history", fail)
    monkeypatch.setenv("VERSIONED_STORAGE", "key=hush token=a\\b")
    said = "unexpected ValueError: opened with {'key': '***', 'token': '***'} at s3://***@host/t"
    assert run("history", "db.people").err == f"error: {said}\n"
    assert "hush" not in run("--help").out


@pytest.mark.parametrize(
    "text, shown",
    [
        ("k=a/b c", "k=*** c"),
        ("k=a%2Fb", "k=***"),
        ("version 1 of 10", "version *** of 10"),
        ("https://user:p@host/a@b", "https://***@host/a@b"),
        ("file:///a/b@c", "file:///***@c"),
        ("nothing", "nothing"),
    ],
)
def test_without_secrets(text: str, shown: str) -> None:
    assert without_secrets(text, {"a/b", "1"}) == shown


def test_storage_values() -> None:
    given = ["--storage", "a=1=2", "--storage=b=3", "--storage", "4", "x=5", "--storage"]
    assert storage_values(given, {"VERSIONED_STORAGE": "c=6 7"}) == {"1=2", "3", "4", "6", "7"}
