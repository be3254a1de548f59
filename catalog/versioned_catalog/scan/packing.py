"""Packing tasks into splits of about one size: small segments together, large ones in parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from versioned_catalog.datafile.segment_task import WHOLE, SegmentTask
from versioned_catalog.datafile.tasks import Task
from versioned_catalog.limits import SCAN_SPLITS

T = TypeVar("T")

TARGET_BYTES = 128 * 1024 * 1024
OPEN_COST_BYTES = 4 * 1024 * 1024
"""The cost of opening a file, in bytes, as in Spark."""


def pack(tasks: Iterable[tuple[Task, int]], target: int = TARGET_BYTES) -> list[tuple[Task, ...]]:
    """Pack tasks of whole segments, each with its cost in bytes, into splits of about ``target`` bytes.

    The splits keep the order of the segments.
    """
    known = list(tasks)
    # The sizes in the log are not to be trusted: they bound neither the number of splits nor memory.
    target = max(target, sum(size for _, size in known) // SCAN_SPLITS)
    return next_fit(_split(known, target), target)


def next_fit(items: Iterable[tuple[T, int]], target: int) -> list[tuple[T, ...]]:
    """Pack neighbours into splits that cost at most ``target`` bytes.

    The jar packs in the same way; ``tests/vectors/packing.json`` has examples.

    Args:
        items: items, each with its cost in bytes. One that costs more than ``target`` has its own split.
    """
    splits: list[list[T]] = []
    used = 0
    for item, cost in items:
        if not splits or used + cost > target:
            splits.append([])
            used = 0
        splits[-1].append(item)
        used += cost
    return [tuple(split) for split in splits]


def _split(tasks: Iterable[tuple[Task, int]], target: int) -> Iterator[tuple[Task, int]]:
    for task, size in tasks:
        if not isinstance(task, SegmentTask):
            yield task, size
            continue
        parts = max(1, round(size / target))
        for n in range(parts):
            part = (WHOLE * n // parts, WHOLE * (n + 1) // parts)
            yield replace(task, part=part), size // parts + OPEN_COST_BYTES
