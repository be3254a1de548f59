"""A small part of a large matrix for the short set; the nightly set has the whole."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from itertools import combinations
from typing import Any

import pytest


def pairs(*case: Any) -> Collection[Hashable]:
    """Every pair of values of a case, with their positions."""
    return {*combinations(enumerate(case), 2)}


def values(*case: Any) -> Collection[Hashable]:
    """Every value of a case, with its position."""
    return {*enumerate(case)}


def cover(
    cases: Sequence[tuple[Any, ...]], covered: Callable[..., Collection[Hashable]]
) -> list[int]:
    """Positions of a few cases that cover all that some case covers: greedily, the most first."""
    wanted = [set(covered(*case)) for case in cases]
    missing, chosen = set[Hashable]().union(*wanted), list[int]()
    while missing:
        best = max(range(len(cases)), key=lambda at: len(wanted[at] & missing))
        chosen.append(best)
        missing -= wanted[best]
    return sorted(chosen)


def matrix(
    cases: Sequence[tuple[Any, ...]],
    name: Callable[..., str],
    covered: Callable[..., Collection[Hashable]] = pairs,
    beyond: pytest.MarkDecorator = pytest.mark.nightly,
) -> list[Any]:
    """Parameters of all cases: those beyond a cover, by default of the pairs, have a mark."""
    chosen = {*cover(cases, covered)}
    return [
        pytest.param(*case, id=name(*case), marks=[] if at in chosen else [beyond])
        for at, case in enumerate(cases)
    ]


def some(
    chosen: Collection[Any],
    all_: Iterable[Any],
    beyond: pytest.MarkDecorator = pytest.mark.thorough,
) -> list[Any]:
    """Parameters of all values; those that are not chosen have a mark."""
    return [value if value in chosen else pytest.param(value, marks=beyond) for value in all_]


def most_at_night(chosen: Collection[Any], all_: Iterable[Any]) -> list[Any]:
    """Parameters of all values; the nightly set runs those that are not chosen."""
    return some(chosen, all_, pytest.mark.nightly)
