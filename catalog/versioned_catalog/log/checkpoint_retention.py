"""Which checkpoints stay when another is written (FORMAT.md, section 8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

NEWEST = 2
"""So many stay whatever there is beside them."""

SHARE = 16
"""Between older ones lies at least this part of the versions since."""

FEWEST, MOST = 16, 256
"""And at least so many versions at first, and no more than so many need lie there."""

TIMES, BYTES = 8, 16 * 1024 * 1024
"""All the older ones are no larger than so many of the newest, or than so many bytes."""


def spared(sizes: Mapping[int, int], floor: int = 0) -> frozenset[int]:
    """The versions whose checkpoints stay: the newest two, and older ones at growing distances.

    Args:
        sizes: by version, how many bytes a checkpoint has.
        floor: the oldest version that can be read; no older checkpoint is of use.
    """
    versions = sorted(sizes)
    newest = versions[-NEWEST:]
    older = [version for version in versions[:-NEWEST] if version >= floor]
    room = max(BYTES, TIMES * sizes[versions[-1]]) if versions else 0
    most = MOST
    kept = _thinned(older, versions[-1], most) if older else []
    while sum(sizes[version] for version in kept) > room:
        most *= 2
        kept = _thinned(older, versions[-1], most)
        if most > versions[-1]:
            kept = [version for version in kept if sizes[version] <= room][:1]
    return frozenset((*kept, *newest))


def _thinned(versions: Iterable[int], newest: int, most: int) -> list[int]:
    """Versions, the first among them, with so much between any two as their age asks for."""
    kept: list[int] = []
    for version in versions:
        wide = max((newest - version) // SHARE * most // MOST, FEWEST)
        if not kept or version - kept[-1] >= min(wide, most):
            kept.append(version)
    return kept
