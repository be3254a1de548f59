"""docs/engines.md: its examples print what the page shows."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

from jar import ROOT

PAGE = ROOT / "docs" / "engines.md"


def test_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 6
    for block in blocks:
        example = doctest.DocTestParser().get_doctest(block, names, "engines.md", str(PAGE), 0)
        runner = doctest.DocTestRunner()
        assert runner.run(example, clear_globs=False).failed == 0
        assert example.examples
        names = example.globs
