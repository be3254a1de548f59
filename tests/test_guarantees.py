"""docs/guarantees.md cites tests that exist."""

from __future__ import annotations

import re

from jar import ROOT


def test_the_cited_tests_exist() -> None:
    page = (ROOT / "docs" / "guarantees.md").read_text()
    named = set(re.findall(r"`(tests/[\w/]+(?:\.py)?)", page))
    assert len(named) > 10
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
