"""The warehouse or table folder that a run of the command line works on."""

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
    """Where a run of the command line finds tables; ``storage`` options may hold secrets."""

    warehouse: str | None
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)

    def catalog(self) -> Catalog:
        """Open the warehouse.

        Raises:
            click.UsageError: The user named no warehouse.
            InvalidRequestError: The folder can't hold a warehouse.
        """
        from versioned_catalog.catalog.catalog import Catalog

        if self.warehouse is None:
            raise click.UsageError(
                "no warehouse: give --warehouse before the command, or set VERSIONED_WAREHOUSE"
            )
        return Catalog(self.warehouse, self.storage)

    def check_warehouse(self) -> None:
        """Check that the folder is a warehouse: a mistyped folder would look like an empty one.

        Raises:
            NotFoundError: There is no warehouse.
        """
        from versioned_catalog.errors import NotFoundError
        from versioned_catalog.storage.opening import open_store
        from versioned_catalog.warehouse.names import Names

        store = open_store(self.warehouse or "", self.storage)
        if Names(store).log.load().state is None:
            raise NotFoundError(f"there is no warehouse at {store.url}")

    def table(self, name: str) -> Table:
        """Load a table by its name or its folder.

        Raises:
            click.UsageError: It is a name, and the user named no warehouse.
            NotFoundError: There is no such table.
        """
        from versioned_catalog.catalog.catalog import Catalog

        if is_folder(name):
            return Catalog.load_path(name, self.storage)
        return self.catalog().load_table(name)

    def view_problems(self, table: str) -> list[str]:
        """Problems of the views that read a table; none for a folder, whose name is unknown."""
        if is_folder(table):
            return []
        return [problem.text for problem in self.catalog().view_problems(table)]


def is_folder(name: str) -> bool:
    """Whether text is a folder: no table name starts like one."""
    return name.startswith(("/", ".", "~")) or "://" in name
