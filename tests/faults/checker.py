"""Check a race by the replies that its writers got and the table's log and rows afterwards."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """The outcome of a race.

    Args:
        acknowledged: for each acknowledged append, its version and its rows.
        schema_versions: the schema versions that ALTERs reported, by commit version.
        rows: the rows of the table.
        history: the versions, operations, times and schema versions of its log, in order.
    """

    acknowledged: list[tuple[int, tuple[int, ...]]]
    altered: list[int]
    rows: list[int]
    history: list[dict[str, Any]]


def findings(race: Outcome) -> list[str]:
    """What no order of the commits explains; empty if the outcome is consistent."""
    return [
        *_rows(race),
        *_commits(race),
        *_order(race.history),
    ]


def _rows(race: Outcome) -> Iterable[str]:
    wanted = Counter(row for _, rows in race.acknowledged for row in rows)
    found = Counter(race.rows)
    if lost := wanted - found:
        yield f"lost rows: {sorted(lost)[:5]}"
    if doubled := found - wanted:
        yield f"duplicate or unknown rows: {sorted(doubled)[:5]}"


def _commits(race: Outcome) -> Iterable[str]:
    operations = {row["version"]: row["operation"] for row in race.history}
    given = Counter([version for version, _ in race.acknowledged] + race.altered)
    if any(count > 1 for count in given.values()):
        yield "two writers were given the same version"
    for version, _ in race.acknowledged:
        if operations.get(version) != "append":
            yield f"the append at {version} is not in the history"
    for version in race.altered:
        if operations.get(version) != "alter":
            yield f"the ALTER at {version} is not in the history"
    if len(given) != sum(operation in ("append", "alter") for operation in operations.values()):
        yield "there are commits that were not acknowledged to any writer"


def _order(history: list[dict[str, Any]]) -> Iterable[str]:
    versions = [row["version"] for row in history]
    if versions != list(range(len(versions))):
        yield "the versions have gaps"
    times = [row["time"] for row in history]
    if any(a >= b for a, b in itertools.pairwise(times)):
        yield "times do not increase"
    schemas = [row["schema_version"] for row in history if row["operation"] in ("create", "alter")]
    if schemas != list(range(len(schemas))):
        yield "schema versions are missing"
