"""Convert a table of another format in place, and follow it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from versioned_catalog.commit.operations import Create
from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import CommitConflictError, InvalidRequestError
from versioned_catalog.model.schema import Schema
from versioned_catalog.storage.opening import missing_root
from versioned_catalog.storage.store import RootPath
from versioned_interop.convert.evolving import first_schema, with_origin
from versioned_interop.convert.opening import Request, open_source
from versioned_interop.convert.origin import Origin, origin_of
from versioned_interop.convert.source import SourceTable
from versioned_interop.convert.sync import ADOPT, COPY, REFUSE, Synced, follow


@dataclass(frozen=True)
class Conversion:
    """Options of a conversion.

    Args:
        copy: whether all rows are copied into segments of the table, which may have a primary key then.
        primary_key: columns that identify a row; of a copy only.
        deletes: ``copy`` or ``refuse`` files that have deleted rows.
    """

    copy: bool = False
    primary_key: Sequence[str] = ()
    deletes: str = COPY

    def check(self) -> None:
        """Refuse options that exclude each other.

        Raises:
            InvalidRequestError: a primary key without a copy, or an unknown value of ``deletes``.
        """
        if self.primary_key and not self.copy:
            raise InvalidRequestError(
                "a table with a primary key can't have files of others in it, since a merge needs rows "
                "that are sorted by the key; give copy=True as well, which copies the rows",
                condition="INVALID_OPTION",
            )
        if self.deletes not in (COPY, REFUSE):
            raise InvalidRequestError(
                f"deletes must be {COPY!r} or {REFUSE!r}, got {self.deletes!r}",
                condition="INVALID_OPTION",
            )

    def creation(self, bare: Create, source: SourceTable, root: str) -> Create:
        """The operation that creates the table with the source's first schema, without rows."""
        mode = COPY if self.copy else ADOPT
        origin = Origin(
            source.kind,
            source.uuid,
            source.location,
            root,
            Schema(()),
            {},
            source.schemas[0].schema_id,
            mode=mode,
            deletes=self.deletes,
        )
        return with_origin(bare, source, origin)


_TRIES = 5
"""How often a sync looks at the newest version again."""

__all__ = ["Conversion", "Request", "Synced", "first_schema", "open_source", "sync", "sync_from"]


def sync(handle: TableHandle, request: Request) -> Synced:
    """Apply the commits of the source to a converted table.

    Args:
        request: the source; only what changed since the conversion is needed.

    Raises:
        InvalidRequestError: the table was not converted, or both sides changed the same.
        CommitConflictError: other commits came in between at each attempt; run it again.
    """
    for _ in range(_TRIES - 1):
        try:
            return _sync(handle.refresh(), request)
        except CommitConflictError:
            continue  # a concurrent sync may have applied a part
    return _sync(handle.refresh(), request)


def _sync(handle: TableHandle, request: Request) -> Synced:
    origin = origin_of(handle.state.properties, handle.name)
    if origin.root not in dict(handle.store.location.roots):
        raise missing_root(RootPath(origin.root, "..."), handle.state.roots)
    full_request = replace(
        request,
        source=origin.location if request.source is None else request.source,
        kind=origin.kind if request.kind is None else request.kind,
        root=origin.root,
    )
    source, _ = open_source(full_request, handle.store, origin.schema_id)
    return follow(handle, source)


def sync_from(handle: TableHandle, source: SourceTable) -> Synced:
    """Follow a source that is open already."""
    return follow(handle, source)
