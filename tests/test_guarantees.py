"""The page on what is guaranteed names tests that are there."""

from __future__ import annotations

import re

from jar import ROOT


def test_the_tests_that_are_named_exist() -> None:
    page = (ROOT / "docs" / "guarantees.md").read_text()
    named = set(re.findall(r"`(tests/[\w/]+(?:\.py)?)", page))
    assert len(named) > 10
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
