"""Conversion of tables of other formats, in place."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from versioned_catalog.catalog.declaration import creation
from versioned_catalog.catalog.locations import Mode
from versioned_catalog.conflicts.operations import Create
from versioned_catalog.errors import AlreadyExistsError, naming_table
from versioned_catalog.interop import interop
from versioned_catalog.schema.maintained import SOURCE
from versioned_catalog.storage.store import Store
from versioned_catalog.table import Table
from versioned_catalog.types.paths import parse_path, render_path
from versioned_catalog.warehouse.state import Name

if TYPE_CHECKING:
    from versioned_catalog.conversion.convert import Conversion, Request, Synced


class Conversions(abc.ABC):
    """The part of ``Catalog`` that converts tables."""

    _store: Store

    @abc.abstractmethod
    def table_exists(self, name: str | Name) -> bool:
        """See ``Catalog.table_exists``."""

    @abc.abstractmethod
    def load_table(self, name: str | Name) -> Table:
        """See ``Catalog.load_table``."""

    @abc.abstractmethod
    def _create_now(self, name: str | Name, operation: Create, mode: Mode) -> Table:
        """See ``TableCreation``."""

    def convert(
        self,
        name: str | Name,
        source: Any,
        *,
        kind: str | None = None,
        root: str | None = None,
        version: int | None = None,
        copy: bool = False,
        primary_key: Sequence[str] = (),
        deletes: str = "copy",
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Table:
        """Convert an Iceberg or Delta table in place: its files stay where they are, and its owner's.

        The new table has the source's schema with its IDs, and the schemas before it. Its owner can go
        on reading and writing the source; ``Table.sync`` follows what it commits. Run again after an
        interruption, this goes on where it was.

        Args:
            name: the name of the new table.
            source: the URL or path of the table's folder or of an Iceberg metadata file; or a table as
                PyIceberg or deltalake loads it. It must lie below one of the catalog's ``roots``.
            kind: ``iceberg`` or ``delta``; found out if omitted.
            root: the name of the external root; the one that holds the source if omitted.
            version: a snapshot ID of Iceberg or a version number of Delta; the newest one if omitted.
            copy: copy the rows of all files into the new table, which then needs no root, and may have a
                primary key.
            primary_key: columns that identify a row, for a copy.
            deletes: ``copy`` the remaining rows of files that have deleted rows, or ``refuse`` them.
            properties, comment: as in ``create_table``.
            options: storage options of the library that reads the source's metadata.

        Raises:
            AlreadyExistsError: the name is taken by a table that was not converted from this source.
            InvalidRequestError: the source can't be converted, or lies below no root.
        """
        return self.convert_and_tell(
            name,
            interop("Request")(source, kind, root, version, dict(options or {})),
            interop("Conversion")(copy, tuple(primary_key), deletes),
            properties,
            comment,
        )[0]

    def convert_and_tell(
        self,
        name: str | Name,
        request: Request,
        how: Conversion,
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
    ) -> tuple[Table, Synced]:
        """Convert a table, and return what was done. See ``convert``."""
        shown = name if isinstance(name, str) else render_path(name)
        with naming_table(shown):
            how.check()
            if self.table_exists(name):
                table = self._converted(name)
                return table, interop("sync")(table.handle, request)
            source, root = interop("open_source")(request, self._store)
            bare = creation(
                interop("first_schema")(source, how.primary_key),
                (),
                properties,
                comment,
                primary_key=how.primary_key,
            )
            table = self._create_now(name, how.creation(bare, source, root), "create")
            return table, interop("sync_from")(table.handle, source)

    def _converted(self, name: str | Name) -> Table:
        table = self.load_table(name)
        if SOURCE not in table.state.properties:
            shown = render_path(parse_path(name))
            raise AlreadyExistsError(
                f"there is a table {shown} already, which was not converted; choose another name"
            )
        return table
