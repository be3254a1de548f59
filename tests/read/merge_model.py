"""A model of the merge in plain Python; it imports nothing from the project."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

PUT, DELETE, PATCH = 0, 1, 2


@dataclass(frozen=True)
class ModelRow:
    key: tuple[Any, ...]
    values: tuple[Any, ...]
    sequence: int
    op: int = PUT


@dataclass(frozen=True)
class ModelRun:
    """Rows sorted by key and sequence; `patched` are the positions of values that PATCH rows assign."""

    sequence: int
    ordinal: int
    rows: Sequence[ModelRow]
    patched: frozenset[int] = frozenset()


def merged(runs: Sequence[ModelRun], *, tombstones: bool = False) -> list[tuple[Any, ...]]:
    """The merged rows: key, values, sequence and op of each."""
    history: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for run in runs:
        for position, row in enumerate(run.rows):
            history[row.key].append(((row.sequence, run.ordinal, position), row, run.patched))
    found: list[tuple[Any, ...]] = []
    for key in sorted(history):
        there: tuple[Any, ...] | None = None
        for _, row, patched in sorted(history[key], key=lambda one: one[0]):
            there = after(there, row, patched)
        if there is not None:
            found.append((*key, *there, row.sequence, PUT))
        elif tombstones:
            found.append((*key, *row.values, row.sequence, DELETE))
    return found


def after(
    there: tuple[Any, ...] | None, row: ModelRow, patched: frozenset[int]
) -> tuple[Any, ...] | None:
    """The values of a key after applying one more row."""
    if row.op == DELETE:
        return None
    if row.op == PUT or there is None:
        return row.values
    return tuple(new if at in patched else there[at] for at, new in enumerate(row.values))
