"""The checker of histories of keyed tables accepts a true history, and finds each planted fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from faults.history import LANDED, OPEN, REFUSED
from faults.keyed_history import Asked, Entry, Judge, Seen
from faults.keyed_model import Ask, Snapshot, made

NAMES = ["g", "k", "n", "m"]


def upsert(*rows: list[Any], names: list[str] = NAMES, partial: bool = False) -> Ask:
    return {"do": "upsert", "names": names, "rows": list(rows), "partial": partial}


def delete(*where: Any) -> Ask:
    return {"do": "delete", "where": list(where)}


def alter(*change: Any) -> Ask:
    return {"do": "alter", "changes": [list(change)]}


STEPS: list[tuple[int, Ask]] = [
    (0, upsert([0, 1, 10, 1], [0, 2, 20, 2])),
    (1, upsert([0, 3, 30, 3])),
    (1, delete("n", "=", 20)),
    (2, alter("drop", "m")),
    (3, upsert([0, 1, 11], names=["g", "k", "n"], partial=True)),
    (5, {"do": "compact"}),
    (4, alter("add", "m", 7)),
    (7, {"do": "update", "where": ["n", ">=", 30], "set": {"m": ["plus", 1]}}),
    (6, upsert([1, 1, 40], names=["g", "k", "n"])),
    (9, delete("m", "=", 100)),
]
"""The base version of each commit, and its request; the last finds nothing to do."""


@dataclass
class History:
    """A history to plant faults in."""

    log: list[Entry]
    asked: list[Asked]
    seen: list[Seen]

    @property
    def findings(self) -> list[str]:
        return Judge(made(NAMES), self.log, self.asked, self.seen).findings

    def snapshots(self) -> list[Snapshot]:
        return Judge(made(NAMES), self.log, self.asked, ()).snapshots

    def show(self, version: int, change: Callable[[dict[Any, list[Any]]], object]) -> None:
        """Make readers see other rows from a version on."""
        for at, seen in enumerate(self.seen):
            if seen.version >= version:
                rows = {(row[0], row[1]): list(row) for row in seen.rows}
                change(rows)
                self.seen[at] = replace(seen, rows=list(rows.values()))


def truth() -> History:
    log, asked = [Entry("create", "c0", -1)], list[Asked]()
    for version, (base, ask) in enumerate(STEPS, 1):
        operation = {"upsert": "append"}.get(ask["do"], ask["do"])
        began, landed = float(version), (LANDED, version)
        if version == len(STEPS):
            landed = (LANDED, version - 1)
        else:
            log.append(Entry(operation, f"c{version}", base))
        asked.append(Asked("w", ask, f"c{version}", base, began, began + 0.5, *landed))
    history = History(log, asked, [])
    history.seen = [
        Seen(
            "r",
            version,
            one.names,
            list(one.shown.values()),
            None,
            True,
            version + 0.6,
            version + 0.7,
        )
        for version, one in enumerate(history.snapshots())
    ]
    return history


def test_a_true_history() -> None:
    history = truth()
    assert history.findings == []
    last = history.snapshots()[-1]
    assert last.shown == {
        (0, 1): (0, 1, 11, 7),
        (0, 3): (0, 3, 30, 8),
        (1, 1): (1, 1, 40, 7),
    }


def at(history: History, number: int, /, **changes: Any) -> None:
    history.asked[number - 1] = replace(history.asked[number - 1], **changes)


def resurrected(history: History) -> None:
    """The compaction of version 6 drops a tombstone whose row is still there."""
    history.show(6, lambda rows: rows.update({(0, 2): [0, 2, 20, *next(iter(rows.values()))[3:]]}))


def lost_by_compaction(history: History) -> None:
    history.show(6, lambda rows: rows.pop((0, 3)))


def patch_taken_for_a_row(history: History) -> None:
    history.show(8, lambda rows: rows.__setitem__((0, 1), [0, 1, 11, None]))


def patch_lost(history: History) -> None:
    history.show(5, lambda rows: rows[0, 1].__setitem__(2, 10))


def dropped_values_come_back(history: History) -> None:
    history.show(7, lambda rows: rows[0, 1].__setitem__(3, 1))


def upsert_lost(history: History) -> None:
    history.log[2] = Entry("fence", "f", 1)


def upsert_lost_and_not_seen(history: History) -> None:
    history.log[2] = Entry("fence", "f", 1)
    history.show(2, lambda rows: rows.pop((0, 3), None))


def delete_takes_a_newer_row(history: History) -> None:
    """(0, 2) was written again after the base of the delete; all readers see the delete win."""
    history.asked[1] = replace(history.asked[1], ask=upsert([0, 3, 30, 3], [0, 2, 21, 2]))


def delete_takes_another_row(history: History) -> None:
    history.show(3, lambda rows: rows.pop((0, 1), None))


def delete_leaves_a_row(history: History) -> None:
    history.asked[2] = replace(history.asked[2], ask=delete("n", ">=", 10))


def update_forgotten(history: History) -> None:
    history.show(8, lambda rows: rows[0, 3].__setitem__(3, 7))


def key_twice(history: History) -> None:
    last = history.seen[-1]
    history.seen[-1] = replace(last, rows=[*last.rows, last.rows[0]])


def filter_forgotten(history: History) -> None:
    history.seen.append(replace(history.seen[-1], where=["n", "=", 11], newest=False))


def columns_of_another_version(history: History) -> None:
    history.seen[5] = replace(history.seen[5], names=NAMES)


def unrequested(history: History) -> None:
    history.log.append(Entry("append", "x", 1))


def doubled(history: History) -> None:
    history.log.append(history.log[1])


def refused_and_there(history: History) -> None:
    at(history, 2, outcome=REFUSED, version=None, said="StorageError: x")


def wrong_version_acknowledged(history: History) -> None:
    at(history, 2, version=3)


def upsert_refused(history: History) -> None:
    history.asked.append(
        Asked("w", upsert([0, 9, 9, 9]), "r", 2, 3.0, 4.0, REFUSED, None, "CommitConflictError: x")
    )


def delete_refused_for_other_keys(history: History) -> None:
    history.asked.append(
        Asked("w", delete("k", "=", 1), "r", 7, 8.0, 9.0, REFUSED, None, "CommitConflictError: x")
    )


def nothing_deleted(history: History) -> None:
    history.asked[-1] = replace(history.asked[-1], ask=delete("m", "=", 7))


def out_of_order(history: History) -> None:
    at(history, 4, began=20.0, ended=21.0)


def future_base(history: History) -> None:
    history.log[2] = replace(history.log[2], base=2)


def reader_of_the_past(history: History) -> None:
    history.seen[3] = replace(history.seen[3], began=12.0, ended=13.0)


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (resurrected, "which do not exist"),
        (lost_by_compaction, "did not see"),
        (patch_taken_for_a_row, "saw"),
        (patch_lost, "saw"),
        (dropped_values_come_back, "saw"),
        (upsert_lost, "lost"),
        (upsert_lost_and_not_seen, "lost"),
        (delete_takes_a_newer_row, "took newer rows"),
        (delete_takes_another_row, "did not see"),
        (delete_leaves_a_row, "which do not exist"),
        (update_forgotten, "saw"),
        (key_twice, "more than once"),
        (filter_forgotten, "which do not exist"),
        (columns_of_another_version, "columns"),
        (unrequested, "was not requested"),
        (doubled, "duplicate"),
        (refused_and_there, "refused, but committed"),
        (wrong_version_acknowledged, "acknowledged as"),
        (upsert_refused, "without a reason"),
        (delete_refused_for_other_keys, "without a reason"),
        (nothing_deleted, "lost"),
        (out_of_order, "had ended"),
        (future_base, "says that it was planned"),
        (reader_of_the_past, "had ended"),
    ],
    ids=lambda one: one.__name__ if callable(one) else "",
)
def test_each_planted_fault_is_a_finding(fault: Callable[[History], None], found: str) -> None:
    history = truth()
    fault(history)
    assert any(found in text for text in history.findings), history.findings


def test_a_commit_with_an_unknown_outcome_may_be_there_or_not() -> None:
    there, absent = truth(), truth()
    at(there, 9, outcome=OPEN, version=None, ended=float("inf"))
    assert there.findings == []
    absent.asked.append(Asked("w", delete("n", "<", 99), "x", 3, 4.0, float("inf"), OPEN))
    assert absent.findings == []


def test_conflicts_with_a_reason() -> None:
    history = truth()
    refused = (REFUSED, None, "CommitConflictError: x")
    history.asked.append(Asked("w", delete("k", "=", 3), "a", 6, 8.0, 9.0, *refused))
    history.asked.append(Asked("w", delete("k", "=", 3), "b", 7, 8.0, 9.0, *refused))
    assert history.findings == []
