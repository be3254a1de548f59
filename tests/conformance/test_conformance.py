"""Each published situation of another project ends as docs/conformance.md says."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from conformance.lake import Lake
from conformance.page import PAGE, PROJECTS, page, situations
from conformance.registry import Situation, Verdict

SITUATIONS = situations()
RUN = [situation for situation in SITUATIONS if situation.run is not None]
IN_THE_SHORT_SET = 8
"""Of so many situations one is in the short set, and the others are in the thorough set."""


def test_the_page_is_that_of_the_registry() -> None:
    assert PAGE.read_text() == page(), "run python tests/conformance/page.py"


def test_each_situation_is_listed_once_and_is_run_or_says_why_not() -> None:
    assert [key for key, count in Counter(one.key for one in SITUATIONS).items() if count > 1] == []
    for one in SITUATIONS:
        assert one.project in PROJECTS
        assert bool(one.why) is (one.verdict is not Verdict.PASSES), one.key
        ways = (one.run is not None) + (one.node is not None)
        assert ways == (one.verdict is not Verdict.NOT_APPLICABLE), one.key


def test_situations_that_other_tests_run_name_tests_that_exist() -> None:
    root = Path(__file__).parents[2]
    for one in SITUATIONS:
        if one.node is not None:
            file, name = one.node.split("::")
            assert name.split("[")[0] in functions(root / file), one.key


def functions(file: Path) -> set[str]:
    return {
        node.name
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef)
    }


@pytest.mark.parametrize("situation", RUN[::IN_THE_SHORT_SET], ids=lambda one: one.key)
def test_some_situations(tmp_path: Path, situation: Situation) -> None:
    assert situation.run is not None
    situation.run(Lake(tmp_path))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "situation",
    [one for number, one in enumerate(RUN) if number % IN_THE_SHORT_SET],
    ids=lambda one: one.key,
)
def test_the_other_situations(tmp_path: Path, situation: Situation) -> None:
    assert situation.run is not None
    situation.run(Lake(tmp_path))
