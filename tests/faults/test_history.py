"""The checker of histories finds planted faults, and nothing in a consistent history."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from faults.history import LANDED, OPEN, REFUSED, Commit, Log, Look, findings

COMMITS = (
    Commit("a", "append", 0.0, 1.0, LANDED, 1, (10, 11)),
    Commit("b", "append", 0.5, 1.5, LANDED, 2, (20, 21)),
    Commit("z", "alter", 1.2, 1.3, LANDED, 3),
    Commit("a", "append", 2.0, 3.0, OPEN, None, (12, 13)),
    Commit("b", "append", 2.0, 3.0, OPEN, None, (22, 23)),
    Commit("c", "append", 2.5, 3.5, REFUSED, None, (30, 31)),
    Commit("c", "append", 4.0, 4.5, LANDED, 5, (32, 33)),
)
LOG = Log(
    dict(enumerate(["create", "append", "append", "alter", "append", "append"])),
    {1: (10, 11), 2: (20, 21), 4: (12, 13), 5: (32, 33)},
)
LOOKS = (
    Look("r", 0.1, 0.2, 0, True, (0, 99), ((), ()), 0),
    Look("r", 1.1, 1.2, 1, True, (0, 99), ((10, 11), (11, 10)), 2),
    Look("r", 2.0, 2.1, 3, True, (0, 20), ((10, 11),), 4),
    Look("r", 5.0, 5.1, 2, False, (0, 99), ((10, 11, 20, 21),), 4),
)


def test_a_consistent_history_has_no_findings() -> None:
    assert findings(COMMITS, LOOKS, LOG) == []


def rows(**of: tuple[int, ...]) -> Log:
    return replace(LOG, rows={**LOG.rows, **{int(v[1:]): added for v, added in of.items()}})


def commit(at: int, **changed: object) -> tuple[Commit, ...]:
    return (*COMMITS[:at], replace(COMMITS[at], **changed), *COMMITS[at + 1 :])


def look(**changed: object) -> tuple[Look, ...]:
    return (*LOOKS, replace(LOOKS[3], **changed))


PLANTED: dict[str, tuple[tuple[Commit, ...], tuple[Look, ...], Log, str]] = {
    "a lost commit": (COMMITS, LOOKS, rows(v2=()), "lost"),
    "a commit that was overwritten": (
        COMMITS,
        LOOKS,
        replace(LOG, operations={**LOG.operations, 3: "append"}),
        "lost: alter 3",
    ),
    "two commits with one version": (commit(1, version=1), LOOKS, LOG, "given 2 times"),
    "a duplicated commit": (COMMITS, LOOKS, rows(v5=(32, 33, 10, 11)), "duplicate"),
    "rows duplicated within a version": (COMMITS, LOOKS, rows(v1=(10, 11, 10, 11)), "duplicate"),
    "half of an append": (COMMITS, LOOKS, rows(v2=(20,)), "half committed"),
    "half of an open append": (COMMITS, LOOKS, rows(v4=(12,)), "half committed"),
    "an append split in two": (COMMITS, LOOKS, rows(v4=(12,), v5=(13, 32, 33)), "half committed"),
    "a refused append that was committed": (
        commit(6, outcome=REFUSED),
        LOOKS,
        LOG,
        "refused, but committed",
    ),
    "rows without a writer": (COMMITS, LOOKS, rows(v3=(77,)), "no commit wrote"),
    "a commit without a writer": (
        COMMITS,
        LOOKS,
        replace(LOG, operations={**LOG.operations, 6: "append", 7: "append"}),
        "of append, where",
    ),
    "a gap": (COMMITS, LOOKS, replace(LOG, operations={**LOG.operations, 9: "alter"}), "gaps"),
    "commits against real time": (
        commit(6, began=0.1, ended=0.2),
        LOOKS,
        LOG,
        "append of b at 2 began after append of c at 5",
    ),
    "a stale read": (COMMITS, look(newest=True), LOG, "began after"),
    "a read before the commit": (
        COMMITS,
        (Look("r", 0.1, 0.2, 5, True, (0, 1), ((),)),),
        LOG,
        "began after a look",
    ),
    "a read of a future version": (
        COMMITS,
        look(seen=((10, 11, 12, 13, 20, 21),)),
        LOG,
        r"saw \[12, 13\]",
    ),
    "a partial read": (COMMITS, look(seen=((10, 20, 21),)), LOG, r"did not see \[11\]"),
    "a read that is not repeatable": (
        COMMITS,
        look(seen=(LOOKS[3].seen[0], (10, 11))),
        LOG,
        r"did not see \[20, 21\]",
    ),
    "a row seen twice": (COMMITS, look(seen=((10, 10, 11, 20, 21),)), LOG, r"saw \[10\]"),
    "a wrong count": (COMMITS, look(count=5), LOG, "counted 5"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_every_planted_fault_is_found(name: str) -> None:
    commits, looks, log, words = PLANTED[name]
    found = findings(commits, looks, log)
    assert found
    assert any(re.search(words, text) for text in found), found
