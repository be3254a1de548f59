"""docs/schemas.md: its edits are made in order, and its commands print what the page shows."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from cli.test_page import matches, output_of, squeezed
from jar import ROOT

PAGE = ROOT / "docs" / "schemas.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = Path("schemas/shop/orders.sql")


def edit(diff: str) -> None:
    """Replace the lines with a minus by those with a plus that follow them."""
    text = FILE.read_text()
    for hunk in re.findall(r"(?:^-.*\n)+(?:^\+.*\n)*", diff, re.MULTILINE):
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] == "-")
        new = "".join(line[1:] for line in lines if line[0] == "+")
        assert text.count(old) == 1, f"{old}\n{text}"
        text = text.replace(old, new)
    FILE.write_text(text)


def run(console: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for one in console.removeprefix("$ ").split("\n$ "):
        command, _, shown = one.partition("\n")
        if command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            monkeypatch.setenv(name, value)
            continue
        if command.startswith("cat "):
            output = squeezed(Path(command.removeprefix("cat ")).read_text())
        else:
            output = output_of(command)
        assert matches(squeezed(shown), output), f"{command}\n{output}\n--\n{squeezed(shown)}"


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    edits, names = 0, dict[str, object]()
    for language, text in BLOCK.findall(PAGE.read_text()):
        match language:
            case "python":
                exec(text, names)
            case "diff":
                edits += 1
                edit(text)
            case "console":
                run(text, monkeypatch)
    assert edits == 10
