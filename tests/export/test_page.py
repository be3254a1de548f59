"""The example of docs/export.md runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jar import ROOT


def test_the_example_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/export.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(code, "docs/export.md", "exec"), {})
