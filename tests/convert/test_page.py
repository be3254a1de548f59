"""docs/convert.md: its examples run in order and print what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jar import ROOT

PAGE = (ROOT / "docs" / "convert.md").read_text()


def test_the_examples_print_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    examples = re.findall(
        r"^```python\n(.*?)^```\n\n```\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL
    )
    assert len(examples) == PAGE.count("```python")
    for code, shown in examples:
        exec(code, names)
        assert capsys.readouterr().out == shown
