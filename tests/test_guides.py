"""The guides: their examples run in the order of each page and print what it shows; no JVM."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest

from cli.test_page import matches, output_of, squeezed
from jar import ROOT

PAGES = [
    "checklist",
    "keyed",
    "limits",
    "migration",
    "operators",
    "row-ids",
    "troubleshooting",
    "undo",
    "upgrade",
]
EXAMPLE = re.compile(
    r"^```(?P<language>python|console)\n(?P<code>.*?)^```(?:\n\n```\n(?P<shown>.*?)^```)?",
    re.MULTILINE | re.DOTALL,
)


def check_console(block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for example in block.removeprefix("$ ").split("\n$ "):
        command, _, shown = example.partition("\n")
        if command.startswith("export "):
            monkeypatch.setenv(*command.removeprefix("export ").split("=", 1))
            continue
        output = output_of(command)
        assert matches(squeezed(shown), output), f"{command}\n{output}\n--\n{shown}"


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_print_what_the_page_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    text = (ROOT / "docs" / f"{page}.md").read_text()
    names: dict[str, object] = {}
    examples = list(EXAMPLE.finditer(text))
    assert len(examples) == text.count("```python\n") + text.count("```console\n")
    for example in examples:
        if example["language"] == "console":
            check_console(example["code"], monkeypatch)
            continue
        exec(compile(example["code"], f"{page}.md", "exec"), names)
        assert capsys.readouterr().out == (example["shown"] or "")


def source_texts() -> str:
    """The texts of the code, with a mark for what is put into them."""
    folders = ("catalog", "connector/pyspark_versioned", "connector/jvm")
    python = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    texts = []
    for path in python:
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.JoinedStr(values=values):
                    texts.append("".join(map(constant, values)))
                case ast.Constant(value=str() as value):
                    texts.append(value)
    for path in (ROOT / "connector" / "jvm").rglob("*.java"):
        texts.append(re.sub(r'"\s*\+\s*"', "", path.read_text()))
    return "\n".join(texts)


def constant(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else "\0"


def test_the_symptoms_are_errors_of_the_code() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text()
    symptoms = re.findall(r"^\| (`.*?`(?:, `.*?`)*) \| ", page, re.MULTILINE)
    messages = [m for symptom in symptoms for m in re.findall(r"`(.*?)`", symptom)]
    assert len(messages) > 25
    texts = source_texts()
    missing = [
        (message, piece)
        for message in messages
        for piece in message.split("...")
        if piece.strip(" ;:?,").removeprefix("VERSIONED_") not in texts
    ]
    assert not missing, missing
