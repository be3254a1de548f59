"""docs/schemas.md: its Python examples run in order, and their assertions hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jar import ROOT

PAGE = (ROOT / "docs" / "schemas.md").read_text()


def test_the_python_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert sum(block.count("assert ") for block in blocks) >= 7
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
