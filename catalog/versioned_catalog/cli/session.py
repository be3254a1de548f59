"""What a run of the command line works on: a warehouse, or a table's folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from versioned_catalog.catalog.catalog import Catalog
    from versioned_catalog.table import Table


@dataclass(frozen=True)
class Session:
    """Where tables are looked for.

    Args:
        warehouse: the folder of a warehouse, or None.
        storage: what the file system is opened with; may hold secrets.
    """

    warehouse: str | None
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)

    def catalog(self) -> Catalog:
        """The warehouse.

        Raises:
            click.UsageError: none was given.
            InvalidRequestError: no warehouse can be there.
        """
        from versioned_catalog.catalog.catalog import Catalog

        if self.warehouse is None:
            raise click.UsageError(
                "no warehouse: give --warehouse before the command, or set VERSIONED_WAREHOUSE"
            )
        return Catalog(self.warehouse, self.storage)

    def check_warehouse(self) -> None:
        """Tell a warehouse that holds nothing from a folder that is none: a typing error.

        Raises:
            NotFoundError: nothing was ever made there.
        """
        from versioned_catalog.errors import NotFoundError
        from versioned_catalog.storage.opening import open_store
        from versioned_catalog.warehouse.names import Names

        store = open_store(self.warehouse or "", self.storage)
        if Names(store).log.load().state is None:
            raise NotFoundError(f"there is no warehouse at {store.url}")

    def table(self, name: str) -> Table:
        """The table of a name, or of a folder.

        Raises:
            click.UsageError: it is a name, and no warehouse was given.
            NotFoundError: there is none.
        """
        from versioned_catalog.catalog.catalog import Catalog

        if is_folder(name):
            return Catalog.load_path(name, self.storage)
        return self.catalog().load_table(name)

    def view_problems(self, table: str) -> list[str]:
        """What views of the warehouse can't read of a table; of a folder it is not known."""
        if is_folder(table):
            return []
        return [problem.text for problem in self.catalog().view_problems(table)]


def is_folder(name: str) -> bool:
    """Whether text names a table's folder; no name of a table begins like that."""
    return name.startswith(("/", ".", "~")) or "://" in name
