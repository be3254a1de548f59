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
    """

    path: str
    warehouse: str | None
    storage: Mapping[str, Any] = field(repr=False)

    @staticmethod
    def of(options: Options) -> Target:
        """The table that options name."""
        # A worker may run in another folder than the driver.
        here = options.path if options.warehouse or "://" in options.path else None
        path = here if here is not None else os.path.abspath(os.path.expanduser(options.path))
        return Target(path, options.warehouse, dict(options.storage))

    def load(self) -> Table:
        """The table at its newest version.

        Raises:
            NotFoundError: there is no table.
        """
        if self.warehouse is None:
            return Catalog.load_path(self.path, self.storage)
        return Catalog(self.warehouse, self.storage).load_table(self.path)

    def find(self) -> Table | None:
        """The table, or None if there is none."""
        try:
            return self.load()
        except NotFoundError:
            return None
