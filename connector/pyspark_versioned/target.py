"""The table of a data source, found again in every process that works on it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark_versioned.options import Options
from versioned_catalog import Catalog, NotFoundError, Table


@dataclass(frozen=True)
class Target:
    """A table by its folder, or by its name in a warehouse.

    Args:
        path: the folder, or the name.
        warehouse: the warehouse's folder, or None.
        storage: options of the file system; may hold secrets, so they have no repr.
        schema, overflow: the schema in which it is seen; see ``Table.seen_as``.
    """

    path: str
    warehouse: str | None
    storage: Mapping[str, Any] = field(repr=False)
    schema: str | None = None
    overflow: str = "error"

    @staticmethod
    def of(options: Options) -> Target:
        """The table that options name."""
        # A worker may run in another folder than the driver.
        here = options.path if options.warehouse or "://" in options.path else None
        path = here if here is not None else os.path.abspath(os.path.expanduser(options.path))
        storage = dict(options.storage)
        return Target(path, options.warehouse, storage, options.schema, options.overflow)

    def load(self) -> Table:
        """The table at its newest version, in the schema in which it is seen.

        Raises:
            NotFoundError: there is no table, or no such schema.
        """
        return self.seen(self.open())

    def seen(self, table: Table) -> Table:
        """The table in the schema in which it is seen."""
        return table if self.schema is None else table.seen_as(self.schema, overflow=self.overflow)

    def open(self) -> Table:
        """The table at its newest version, in its current schema.

        Raises:
            NotFoundError: there is no table.
        """
        if self.warehouse is None:
            return Catalog.load_path(self.path, self.storage)
        return Catalog(self.warehouse, self.storage).load_table(self.path)

    def find(self) -> Table | None:
        """The table, or None if there is none."""
        try:
            table = self.open()
        except NotFoundError:
            return None
        return self.seen(table)
