"""What the short set runs of a matrix covers what it should."""

from __future__ import annotations

import itertools

from pairwise import cover, pairs, values


def test_a_cover_is_small_and_has_every_pair_or_value_of_every_case() -> None:
    cases = [
        case
        for case in itertools.product("abcd", range(3), (False, True), "xyz")
        if case[0] != "a" or case[2]  # a case that is not possible
    ]
    for covered in (pairs, values):
        chosen = [cases[at] for at in cover(cases, covered)]
        everything = set().union(*(covered(*case) for case in cases))
        assert set().union(*(covered(*case) for case in chosen)) == everything
    assert len(cover(cases, pairs)) < len(cases) / 4
    assert len(cover(cases, values)) == 4
