"""Which checkpoints stay when another is written (FORMAT.md, section 8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

NEWEST = 2
"""Number of newest checkpoints that always stay."""

SHARE = 16
"""Between two older checkpoints lies at least one part in so many of the versions since."""

FEWEST, MOST = 16, 256
"""Least and greatest number of versions that must lie between two older checkpoints."""

TIMES, BYTES = 8, 16 * 1024 * 1024
"""The older checkpoints take no more than so many times the newest one, or than so many bytes."""


def retained_checkpoints(sizes: Mapping[int, int], floor: int = 0) -> frozenset[int]:
    """The versions whose checkpoints stay: the newest two, and older ones at growing distances.

    ``sizes`` are in bytes, by version. Checkpoints below ``floor`` are of no use.
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
    """Thin out versions, keeping the first, to the distances that their age allows."""
    kept: list[int] = []
    for version in versions:
        wide = max((newest - version) // SHARE * most // MOST, FEWEST)
        if not kept or version - kept[-1] >= min(wide, most):
            kept.append(version)
    return kept
