"""Convert a table of another format in place, and follow it.

The format of a source is detected, and the external root above its files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from versioned_catalog.commit.operations import Create
from versioned_catalog.commit.table_handle import Progress, TableHandle, silent
from versioned_catalog.errors import CommitConflictError, InvalidRequestError
from versioned_catalog.storage.opening import missing_root, plain_url, root_store
from versioned_catalog.storage.store import RootPath, Store, check_name
from versioned_interop.convert.delta import delta_source, load_delta
from versioned_interop.convert.evolving import with_origin
from versioned_interop.convert.iceberg import iceberg_source, load_iceberg
from versioned_interop.convert.origin import origin_of
from versioned_interop.convert.source import SourceTable, decoded, encoded, newest_metadata
from versioned_interop.convert.sync import ADOPT, COPY, REFUSE, Synced, follow
from versioned_interop.imports.listing import no_root, place_below

__all__ = ["Conversion", "Request", "Synced", "open_source", "sync"]

ICEBERG, DELTA = "iceberg", "delta"
KINDS = (ICEBERG, DELTA)


@dataclass(frozen=True)
class Request:
    """A source as the user names it.

    Args:
        source: the URL or path of a table's folder or of an Iceberg metadata file; or a table of
            PyIceberg or deltalake.
        kind: ``iceberg`` or ``delta``; detected if omitted.
        root: name of the external root; the one that holds the source if omitted.
        version: a snapshot ID or version number; the newest one if omitted.
        options: of the library that reads the metadata, such as credentials.
    """

    source: Any
    kind: str | None = None
    root: str | None = None
    version: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)


def open_source(
    request: Request, store: Store, since: int | None = None
) -> tuple[SourceTable, str]:
    """The source, and the name of the external root that its files lie below.

    Args:
        store: the store of the table or warehouse, with the roots that its reader allows.
        since: the number of a schema that is known already; see ``delta_source``.

    Raises:
        InvalidRequestError: it can't be read, or no root holds it.
    """
    kind = _kind(request, store)
    if kind == ICEBERG:
        table = request.source
        if isinstance(table, str):
            table = load_iceberg(_metadata_file(request, store), request.options)
        root, url = _root(request, store, table.location())
        return iceberg_source(table, url, request.version), root
    table = request.source
    if isinstance(table, str):
        table = load_delta(encoded(plain_url(table)), request.options, request.version)
    root, url = _root(request, store, decoded(table.table_uri))
    return delta_source(table, url, request.options, since), root


def _kind(request: Request, store: Store) -> str:
    source = request.source
    module = type(source).__module__.partition(".")[0]
    if not isinstance(source, str):
        kind = {"pyiceberg": ICEBERG, "deltalake": DELTA}.get(module)
        if kind is None:
            raise InvalidRequestError(
                f"{type(source).__name__} is not a table to convert; give a URL or path, or a table of "
                "PyIceberg or deltalake"
            )
        return kind
    if request.kind is not None:
        if request.kind not in KINDS:
            raise InvalidRequestError(
                f"kind must be one of {', '.join(KINDS)}, got {request.kind!r}",
                condition="INVALID_OPTION",
            )
        return request.kind
    return _found_kind(request, store)


def _found_kind(request: Request, store: Store) -> str:
    location = request.source
    if location.endswith(".metadata.json"):
        return ICEBERG
    below = _below_root(request, store, location)
    if any(name.endswith(".json") for name in below.list("_delta_log")):
        return DELTA
    if any(name.endswith(".metadata.json") for name in below.list("metadata")):
        return ICEBERG
    if not below.exists():
        raise InvalidRequestError(f"there is no folder {location}")
    raise InvalidRequestError(
        f"{location} is neither a Delta table (it has no _delta_log/*.json) nor an Iceberg table (no "
        "metadata/*.metadata.json); name the table's folder, or import files with import_files "
        "(on the command line, versioned import)"
    )


def _below_root(request: Request, store: Store, location: str) -> Store:
    place = _place(request, store, location)
    root = root_store(store, place)
    return root.child(check_name(place.path)) if place.path else root


def _metadata_file(request: Request, store: Store) -> str:
    """The newest metadata file of a table in a folder."""
    location: str = request.source
    if location.endswith(".json"):
        return location
    names = _below_root(request, store, location).list("metadata")
    newest = newest_metadata(names)
    if newest is None:
        raise InvalidRequestError(
            f"{location} has no metadata/*.metadata.json, so it is no Iceberg table; name the folder of "
            "a table"
        )
    return f"{plain_url(location)}/metadata/{newest}"


def _root(request: Request, store: Store, location: str) -> tuple[str, str]:
    """The name and the URL of the external root that holds a location."""
    name = _place(request, store, location).root
    return name, dict(store.location.roots)[name].url


def _place(request: Request, store: Store, location: str) -> RootPath:
    """The place of a location below an external root.

    Raises:
        InvalidRequestError: there is none; the message says what to pass.
    """
    place = place_below(store, location, request.root)
    if place is None:
        folder = plain_url(location)
        table = folder.rpartition("/metadata/")[0] if folder.endswith(".json") else folder
        above = table.rpartition("/")[0]  # other tables beside it lie below the same root
        raise no_root(store, folder, request.root or "lake", above or table)
    return place


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
                "that are sorted by the key; give copy=True as well (on the command line, "
                "--copy), which copies the rows",
                condition="INVALID_OPTION",
            )
        if self.deletes not in (COPY, REFUSE):
            raise InvalidRequestError(
                f"deletes must be {COPY!r} or {REFUSE!r}, got {self.deletes!r}",
                condition="INVALID_OPTION",
            )

    def check_like(
        self, properties: Mapping[str, str], key: Sequence[str], table: str, root: str | None
    ) -> None:
        """Refuse options that a converted table was not created with; defaults are no options.

        Args:
            properties, key: those of the table; the key is its primary key.
            table: its name for errors.
            root: the external root that was asked for, if any.

        Raises:
            InvalidRequestError: naming the first option that differs.
        """
        origin = origin_of(properties, table)
        compared: tuple[tuple[str, object, object, bool], ...] = (
            ("root", root, origin.root, root is not None),
            ("copy", self.copy, origin.mode == COPY, self.copy),
            ("deletes", self.deletes, origin.deletes, self.deletes != COPY),
            ("primary_key", list(self.primary_key), list(key), bool(self.primary_key)),
        )
        for option, asked, there, is_asked in compared:
            if is_asked and asked != there:
                raise InvalidRequestError(
                    f"{table} exists, and was converted with {option} = {there!r}, not {asked!r}; leave "
                    f"{option} out to follow the source, or convert it under another name",
                    condition="INVALID_OPTION",
                )

    def creation(self, bare: Create, source: SourceTable, root: str) -> Create:
        """The operation that creates the table with the source's first schema, without rows."""
        return with_origin(bare, source, root, COPY if self.copy else ADOPT, self.deletes)


_TRIES = 5
"""How often a sync looks at the newest version again."""


def sync(handle: TableHandle, request: Request, progress: Progress = silent) -> Synced:
    """Apply the commits of the source to a converted table.

    Args:
        request: the source; only what changed since the conversion is needed.
        progress: called with "adopt files" or "copy files" and the number of files done.

    Raises:
        InvalidRequestError: the table was not converted, or both sides changed the same.
        CommitConflictError: other commits came in between at each attempt; run it again.
    """
    for _ in range(_TRIES - 1):
        try:
            return _sync(handle.refresh(), request, progress)
        except CommitConflictError:
            continue  # a concurrent sync may have applied a part
    return _sync(handle.refresh(), request, progress)


def _sync(handle: TableHandle, request: Request, progress: Progress) -> Synced:
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
    return follow(handle, source, progress)
