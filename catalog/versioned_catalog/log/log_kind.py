"""The codecs of the logs of tables and of warehouses, and the state that a log is replayed to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from versioned_catalog.log.entry import Head, Stub
from versioned_catalog.storage.store import Store

MANY_ENTRIES = 16
"""Number of entries after which a checkpoint is due, if they are a tenth of the last one in bytes."""

MANY_BYTES = 1024 * 1024
"""Bytes of entries after which a checkpoint is due, if they are a quarter of the last one."""


class Entry(Protocol):
    """An entry of any log."""

    @property
    def head(self) -> Head:
        """The members that every entry has."""
        ...

    @property
    def attached_bytes(self) -> int:
        """Size of the files that are read with the entry."""
        ...


class State(Protocol):
    """The state that any log adds up to."""

    @property
    def version(self) -> int:
        """Version of the last commit."""
        ...

    @property
    def time(self) -> datetime:
        """Time of the last commit."""
        ...


E = TypeVar("E", bound=Entry)
S = TypeVar("S", bound=State)


class Codec(Protocol[E, S]):
    """How one kind of log encodes, decodes and replays its entries."""

    @property
    def suffix(self) -> str:
        """File name extension of checkpoints."""
        ...

    def decode(self, data: bytes, what: str) -> E | Stub:
        """Decode an entry."""
        ...

    def encode(self, entry: E) -> bytes:
        """Encode an entry."""
        ...

    def read_attachment(self, entry: E, store: Store) -> E:
        """Complete an entry by the file that it names, if it names one."""
        ...

    def write_attachment(self, entry: E, previous: E | None, store: Store) -> E:
        """Write what does not fit the entry to a file that the entry names.

        The file of ``previous``, the entry of the attempt before, may serve again.
        """
        ...

    def apply(self, state: S | None, entry: E) -> S:
        """The state after one more entry."""
        ...

    def encode_checkpoint(self, state: S) -> bytes:
        """Encode a checkpoint."""
        ...

    def decode_checkpoint(self, data: bytes, what: str) -> S:
        """Decode a checkpoint."""
        ...

    def retained_checkpoints(self, state: S, sizes: Mapping[int, int]) -> frozenset[int]:
        """The versions whose checkpoints stay, by the sizes of all and the newest state that has one."""
        ...


@dataclass(frozen=True)
class LoadedState(Generic[S]):
    """A state, and what was read to get there from the last checkpoint.

    Args:
        state: the state after the entries so far; None before the first.
        checkpoint_bytes: size of the last checkpoint; 0 without one.
        entries, entry_bytes: number and size of the entries since.
    """

    state: S | None = None
    checkpoint_bytes: int = 0
    entries: int = 0
    entry_bytes: int = 0

    @property
    def version(self) -> int:
        """Version of the last commit; -1 before the first."""
        return -1 if self.state is None else self.state.version

    def since(self, checkpoint: int | None) -> LoadedState[S]:
        """Count the entries from a checkpoint that another writer may have written."""
        entries = self.version - checkpoint if checkpoint is not None else self.entries
        if not 0 <= entries < self.entries:
            return self
        return replace(
            self, entries=entries, entry_bytes=self.entry_bytes * entries // self.entries
        )

    @property
    def wants_checkpoint(self) -> bool:
        """Whether a checkpoint is due (FORMAT.md, section 8)."""
        large = self.entry_bytes >= MANY_BYTES and self.entry_bytes * 4 >= self.checkpoint_bytes
        many = self.entries >= MANY_ENTRIES and self.entry_bytes * 10 >= self.checkpoint_bytes
        return large or many
