"""docs/cli.md: its examples run in order and print what the page shows."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from jar import ROOT
from versioned_catalog.cli.alter import alter
from versioned_catalog.cli.inspect import tag
from versioned_catalog.cli.main import main
from versioned_catalog.cli.program import MEANINGS

PAGE = (ROOT / "docs" / "cli.md").read_text()
ASKS = "; echo $?"


@dataclass(frozen=True)
class Example:
    """A command and its output, with runs of blanks between cells reduced to one."""

    command: str
    shown: str


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def examples() -> Iterator[Example]:
    for one in "".join(blocks("console")).removeprefix("$ ").split("\n$ "):
        command, _, shown = one.partition("\n")
        yield Example(command, squeezed(shown))


def squeezed(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


def output_of(command: str) -> str:
    program, *arguments = shlex.split(command.removesuffix(ASKS))
    assert program == "versioned"
    done = CliRunner().invoke(main, arguments)
    assert command.endswith(ASKS) or done.exit_code == 0, done.output
    return squeezed(done.output + (f"{done.exit_code}\n" if command.endswith(ASKS) else ""))


def matches(shown: str, output: str) -> bool:
    return re.fullmatch(re.escape(shown).replace(r"\.\.\.", ".*"), output, re.DOTALL) is not None


def test_the_examples_print_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    (setup,) = blocks("python")
    exec(setup, {})
    for example in examples():
        if example.command.startswith("export "):
            name, _, value = example.command.removeprefix("export ").partition("=")
            monkeypatch.setenv(name, value)
            continue
        output = output_of(example.command)
        assert matches(example.shown, output), f"{example.command}\n{output}\n--\n{example.shown}"


def test_every_command_has_an_example() -> None:
    given = " ".join(example.command for example in examples())
    for name in main.commands.keys() - {"alter", "tag"}:
        assert f"versioned {name} " in given.replace(f"warehouse {name}", f"versioned {name}"), name
    for name in alter.commands:
        assert re.search(rf"versioned (--json )?alter metrics\.cpu {name} ", given), name
    for name in tag.commands:
        assert f"versioned tag {name} " in given, name


def test_every_exit_code_is_documented() -> None:
    for code, meaning in MEANINGS.items():
        assert f"| {code} | {meaning} |" in PAGE
