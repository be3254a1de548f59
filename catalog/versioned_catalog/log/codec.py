"""What differs between the logs of tables and of the warehouse, and what one adds up to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from versioned_catalog.log.entry import Head, Stub
from versioned_catalog.storage.store import Store

MANY_ENTRIES = 16
"""How many small entries a log gathers before the next checkpoint: those are what a load reads."""


MUCH = 1024 * 1024
"""The bytes of entries that a log gathers before the next checkpoint, if they are fewer."""


class Entry(Protocol):
    """What the entries of every log have."""

    @property
    def head(self) -> Head:
        """What every entry says of itself."""
        ...

    @property
    def bytes_beside(self) -> int:
        """The size of the files that are read with it."""
        ...


class State(Protocol):
    """What the states of every log have."""

    @property
    def version(self) -> int:
        """The last commit."""
        ...

    @property
    def time(self) -> datetime:
        """When that was."""
        ...


E = TypeVar("E", bound=Entry)
S = TypeVar("S", bound=State)


class Codec(Protocol[E, S]):
    """How the entries of one kind of log are read, written and folded."""

    @property
    def suffix(self) -> str:
        """How names of checkpoints end."""
        ...

    def decode(self, data: bytes, what: str) -> E | Stub:
        """An entry from a file's content."""
        ...

    def completed(self, entry: E, store: Store) -> E:
        """An entry with what stands in a file beside it."""
        ...

    def placed(self, entry: E, before: E | None, store: Store) -> E:
        """An entry that fits its file: what is too much stands in a file beside it, which is written,
        or was for an attempt ``before``."""
        ...

    def encode(self, entry: E) -> bytes:
        """The content of an entry's file."""
        ...

    def apply(self, state: S | None, entry: E) -> S:
        """The state after one more entry."""
        ...

    def checkpoint(self, state: S) -> bytes:
        """The content of a checkpoint."""
        ...

    def spared(self, state: S, sizes: Mapping[int, int]) -> frozenset[int]:
        """The versions whose checkpoints stay.

        Args:
            state: the newest that has one.
            sizes: by version, how many bytes a checkpoint has.
        """
        ...

    def restore(self, data: bytes, what: str) -> S:
        """The state of a checkpoint."""
        ...


@dataclass(frozen=True)
class Loaded(Generic[S]):
    """A state, and how far it is from the checkpoint it was loaded from.

    Args:
        state: the fold of the entries so far; None before the first.
        checkpoint_bytes: the size of the last checkpoint; 0 without one.
        entries, entry_bytes: number and size of the entries since.
    """

    state: S | None = None
    checkpoint_bytes: int = 0
    entries: int = 0
    entry_bytes: int = 0

    @property
    def version(self) -> int:
        """The last version, -1 before the first."""
        return -1 if self.state is None else self.state.version

    def since(self, checkpoint: int | None) -> Loaded[S]:
        """The same, counted from a checkpoint that another writer may have written meanwhile."""
        entries = self.version - checkpoint if checkpoint is not None else self.entries
        if not 0 <= entries < self.entries:
            return self
        return replace(
            self, entries=entries, entry_bytes=self.entry_bytes * entries // self.entries
        )

    @property
    def wants_checkpoint(self) -> bool:
        """Whether the entries since the last checkpoint are a fraction of it worth saving."""
        large = self.entry_bytes >= MUCH and self.entry_bytes * 4 >= self.checkpoint_bytes
        many = self.entries >= MANY_ENTRIES and self.entry_bytes * 10 >= self.checkpoint_bytes
        return large or many
