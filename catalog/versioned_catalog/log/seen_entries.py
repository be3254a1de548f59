"""The entries of other writers that a writer has read, for the checks of its next attempts."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic

from versioned_catalog.log.entry import E

MOST_ENTRIES, MOST_BYTES, ENTRY_BYTES = 16_384, 16 * 1024 * 1024, 64 * 1024
"""Number of entries, bytes of all of them, and bytes of each, at most.

Before each attempt, a writer that has lost more races reads all entries since its base again.
"""


class SeenEntries(Generic[E]):
    """The last entries that were read after a lost race, by version."""

    def __init__(self) -> None:
        self._entries: OrderedDict[int, tuple[E, int]] = OrderedDict()
        self._bytes = 0

    def get(self, version: int) -> E | None:
        """The entry of a version, if it is known."""
        seen = self._entries.get(version)
        return None if seen is None else seen[0]

    def add(self, entry: E, size: int) -> None:
        """Keep an entry of so many bytes; the oldest ones are forgotten for it."""
        version = entry.head.version
        if size > ENTRY_BYTES or version in self._entries:
            return
        self._entries[version] = entry, size
        self._bytes += size
        while len(self._entries) > MOST_ENTRIES or self._bytes > MOST_BYTES:
            _, (_, forgotten) = self._entries.popitem(last=False)
            self._bytes -= forgotten
