"""The log of a table."""

from __future__ import annotations

from collections.abc import Mapping

from versioned_catalog.log.checkpoint import state_from_bytes, state_to_bytes
from versioned_catalog.log.checkpoint_retention import retained_checkpoints
from versioned_catalog.log.commit_log import CommitLog
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.entry_json import commit_from_bytes, commit_to_bytes
from versioned_catalog.log.head import Stub
from versioned_catalog.log.imported import write_page
from versioned_catalog.log.manifest import read_manifest, write_manifest
from versioned_catalog.log.state import TableState, apply
from versioned_catalog.storage.store import Store

TableLog = CommitLog[Commit, TableState]
"""The log of a table."""


class TableCodec:
    """The files of a table's log; see ``Codec``."""

    suffix = ".parquet"

    def decode(self, data: bytes, what: str) -> Commit | Stub:
        """Decode an entry."""
        return commit_from_bytes(data, what)

    def encode(self, entry: Commit) -> bytes:
        """Encode an entry."""
        return commit_to_bytes(entry)

    def read_attachment(self, entry: Commit, store: Store) -> Commit:
        """Read the manifest that an entry names."""
        return read_manifest(entry, store)

    def write_attachment(self, entry: Commit, previous: Commit | None, store: Store) -> Commit:
        """Write a manifest if the records do not fit the entry, and a page of imported files."""
        return write_page(write_manifest(entry, previous, store), previous, store)

    def apply(self, state: TableState | None, entry: Commit) -> TableState:
        """The state after one more entry."""
        return apply(state, entry)

    def encode_checkpoint(self, state: TableState) -> bytes:
        """Encode a checkpoint."""
        return state_to_bytes(state)

    def decode_checkpoint(self, data: bytes, what: str) -> TableState:
        """Decode a checkpoint."""
        return state_from_bytes(data, what)

    def retained_checkpoints(self, state: TableState, sizes: Mapping[int, int]) -> frozenset[int]:
        """The versions whose checkpoints stay."""
        return retained_checkpoints(sizes, state.floor)
