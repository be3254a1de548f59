"""Which table a data source is about, found again in every process that works on it."""

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
        storage: what the file system is opened with; never shown.
    """

    path: str
    warehouse: str | None
    storage: Mapping[str, Any] = field(repr=False)

    @staticmethod
    def of(options: Options) -> Target:
        """The table that options name."""
        # A worker may stand in another folder than the driver.
        here = options.path if options.warehouse or "://" in options.path else None
        path = here if here is not None else os.path.abspath(os.path.expanduser(options.path))
        return Target(path, options.warehouse, dict(options.storage))

    def load(self) -> Table:
        """The table at its newest version.

        Raises:
            NotFoundError: it is not there.
        """
        if self.warehouse is None:
            return Catalog.load_path(self.path, self.storage)
        return Catalog(self.warehouse, self.storage).load_table(self.path)

    def find(self) -> Table | None:
        """The table, or None where it is not there."""
        try:
            return self.load()
        except NotFoundError:
            return None
