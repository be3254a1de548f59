"""The documents cite files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jar import ROOT

OF_OTHERS = ROOT / "docs" / "conformance.md"
"""A page that cites files of other projects."""

PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("*/*.md")} - {OF_OTHERS})
FOLDERS = "tests|catalog|connector|benchmarks|docs|examples"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_cited_files_exist(page: Path) -> None:
    text = page.read_text()
    cited = set(re.findall(rf"`(tests/[\w/]+|(?:{FOLDERS})/[\w/]+\.\w+)`", text))
    assert [
        path for path in sorted(cited) if not (ROOT / path).exists() and path != "tests/PACKAGE"
    ] == []
    names = set(re.findall(r"`(test_\w+\.py)`", text))
    assert [name for name in sorted(names) if not list(ROOT.glob(f"tests/**/{name}"))] == []


def test_the_guarantees_cite_their_tests() -> None:
    assert (ROOT / "docs" / "guarantees.md").read_text().count("`tests/") > 10
