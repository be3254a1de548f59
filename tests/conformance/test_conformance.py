"""Each published situation of another project ends as docs/conformance.md says."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from conformance.lake import Lake
from conformance.page import MODULES, PAGE, PROJECTS, page, situations
from conformance.registry import Situation, Verdict

SITUATIONS = situations()
HERE = Path(__file__).parent
LEAST = 680
"""The least number of situations that the page lists."""


def sets() -> dict[str, list[Situation]]:
    """The situations that are run here, by the set of tests that each belongs to.

    Of each sixteen, one is in the short set, nine in the thorough set, and six in the nightly set, so
    that each set has situations of each project.
    """
    divided: dict[str, list[Situation]] = {"short": [], "thorough": [], "nightly": []}
    runnable = [situation for situation in SITUATIONS if situation.run is not None]
    for number, situation in enumerate(runnable):
        place = number % 16
        divided["short" if not place else "thorough" if place <= 9 else "nightly"].append(situation)
    return divided


def test_the_page_is_that_of_the_registry() -> None:
    assert PAGE.read_text() == page(), "run python tests/conformance/page.py"


def test_each_situation_is_listed_once_and_is_run_or_says_why_not() -> None:
    assert len(SITUATIONS) >= LEAST
    assert [key for key, count in Counter(one.key for one in SITUATIONS).items() if count > 1] == []
    for one in SITUATIONS:
        assert bool(one.why) is (one.verdict is not Verdict.PASSES), one.key
        ways = (one.run is not None) + (one.node is not None)
        assert ways == (one.verdict is not Verdict.NOT_APPLICABLE), one.key


def test_each_project_has_enough_situations() -> None:
    by_project = Counter(situation.project for situation in SITUATIONS)
    assert set(by_project) == set(PROJECTS)
    assert min(by_project.values()) >= 10
    assert min(by_project["iceberg"], by_project["delta"]) >= 60


def test_all_modules_are_on_the_page() -> None:
    others = {"__init__", "lake", "page", "registry", "test_conformance"}
    assert {file.stem for file in HERE.glob("*.py")} - others == set(MODULES)


def test_situations_that_other_tests_run_name_tests_that_exist() -> None:
    for one in SITUATIONS:
        if one.node is not None:
            file, name = one.node.split("::")
            assert name in functions(HERE.parents[1] / file), one.key


def functions(file: Path) -> set[str]:
    """The names of the functions of a module."""
    tree = ast.parse(file.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("situation", sets()["short"], ids=lambda one: one.key)
def test_some_situations(tmp_path: Path, situation: Situation) -> None:
    run(situation, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("situation", sets()["thorough"], ids=lambda one: one.key)
def test_more_situations(tmp_path: Path, situation: Situation) -> None:
    run(situation, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("situation", sets()["nightly"], ids=lambda one: one.key)
def test_the_other_situations(tmp_path: Path, situation: Situation) -> None:
    run(situation, tmp_path)


def run(situation: Situation, folder: Path) -> None:
    """Run a situation in a warehouse of its own; it raises AssertionError if it ends otherwise."""
    assert situation.run is not None
    situation.run(Lake(folder))
