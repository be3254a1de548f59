"""The examples of docs/observability.md run, in the order of the page."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from jar import ROOT

PAGE = ROOT / "docs" / "observability.md"


def test_the_examples_run(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 4
    code = "\n".join([*blocks[:1], "start()", *blocks[1:]])
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "numbers 1 append {'added_segments': 1, " in done.stdout
    assert "INFO:versioned_catalog:numbers: committed append as version 1" in done.stderr
    spans = (tmp_path / "spans.json").read_text().splitlines()
    assert any(json.loads(span)["name"] == "versioned.append" for span in spans)
    assert '"versioned_columns"' in done.stdout + done.stderr


def names_in(folders: tuple[str, ...], functions: str) -> set[str]:
    """The names that the code gives to some functions."""
    call = rf"(?<![\w.])(?:tracing\.)?(?:{functions})\(\s*\"(versioned\.[\w.]+)\""
    texts = (path.read_text() for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return {name for text in texts for name in re.findall(call, text)}


def test_each_span_is_on_the_page() -> None:
    folders = ("catalog/versioned_catalog", "connector/pyspark_versioned")
    names = names_in(folders, "span|spanned|detached")
    assert len(names) > 30
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `versioned.")]
    spelled = re.findall(r"`((?:versioned)?\.[\w.]+)`", "\n".join(rows))
    first, listed = "versioned", set()
    for name in spelled:  # `versioned.storage.read`, `.put`
        first = name.rpartition(".")[0] or first
        listed.add(name if name.startswith("versioned") else first + name)
    assert names - listed == set()


def test_each_metric_is_on_the_page() -> None:
    page = PAGE.read_text()
    names = names_in(("catalog/versioned_catalog",), "count")
    assert names == {
        *("versioned.commits", "versioned.conflicts", "versioned.commit.attempts"),
        *("versioned.races.lost", "versioned.storage.requests", "versioned.storage.bytes"),
    }
    assert all(f"`{name}`" in page for name in names)
