"""Reports on views: what they read, and what they can no longer read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from versioned_catalog.errors import VersionedError
from versioned_catalog.inspection.arrow_rows import table_of
from versioned_catalog.log.state import TableState
from versioned_catalog.types.paths import render_path
from versioned_catalog.views.columns import Problem, Shown, missing, missing_view, problems
from versioned_catalog.warehouse.state import Name, WarehouseState, full_key
from versioned_catalog.warehouse.view import ReadTable, View

LISTING = pa.schema(
    {
        "view": pa.string(),
        "reads": pa.string(),
        "column": pa.string(),
        "column_id": pa.int32(),
        "problem": pa.string(),
    }
)
"""The columns of ``Catalog.views``."""


@dataclass(frozen=True)
class ViewReports:
    """Reports on the views of a warehouse; ``load`` loads the newest state of a table by name."""

    state: WarehouseState
    load: Callable[[Name], TableState]
    shown: Shown = render_path

    def listing(self, only: str | None) -> pa.Table:
        """List what every view reads, or only what views read of the table with a created UUID.

        See ``Catalog.views``.
        """
        return table_of([row for view in self._views() for row in self._rows(view, only)], LISTING)

    def problems(self, only: str | None) -> list[Problem]:
        """Find what views can no longer read of tables; ``only`` as for ``listing``."""
        return [
            problem
            for view in self._views()
            for read in view.reads
            if only in (None, read.created_uuid)
            for problem in self._of_table(view, read)
        ]

    def problems_of(self, view: View, name: Name) -> list[Problem]:
        """Find what one view can no longer read under the name of a table or view."""
        key = full_key(name)
        return [
            problem
            for read in view.reads
            if full_key(read.name) == key
            for problem in self._of_table(view, read)
        ] + [problem for problem in self._of_views(view) if full_key(problem.table) == key]

    def _views(self) -> list[View]:
        return [self.state.views[key] for key in sorted(self.state.views)]

    def _rows(self, view: View, only: str | None) -> Iterator[dict[str, Any]]:
        one = {"view": render_path(view.name)}
        for read in view.reads:
            if only in (None, read.created_uuid):
                yield from (one | row for row in self._rows_of_table(view, read))
        if only is not None:
            return
        gone = {problem.table: problem.text for problem in self._of_views(view)}
        for name in view.reads_views:
            yield one | {"reads": render_path(name), "problem": gone.get(name)}
        if not view.reads and not view.reads_views:
            yield one

    def _rows_of_table(self, view: View, read: ReadTable) -> Iterator[dict[str, Any]]:
        found = {problem.column_id: problem.text for problem in self._of_table(view, read)}
        whole, one = found.get(None), {"reads": render_path(read.name)}
        for column in read.columns:
            yield one | {
                "column": render_path(column.path),
                "column_id": column.id,
                "problem": whole or found.get(column.id),
            }
        if not read.columns:
            yield one | {"problem": whole}

    def _of_views(self, view: View) -> list[Problem]:
        return [
            missing_view(view, name, self.shown)
            for name in view.reads_views
            if full_key(name) not in self.state.views and full_key(name) not in self.state.tables
        ]

    def _of_table(self, view: View, read: ReadTable) -> list[Problem]:
        if full_key(read.name) in self.state.views:
            return []  # a view of the same columns may have replaced the table
        named = self.state.tables.get(full_key(read.name))
        if named is None:
            return [missing(view, read, self.state.name_of(read.created_uuid), self.shown)]
        try:
            found = self.load(named.name)
        except VersionedError as error:
            return [Problem(view.name, read.name, None, None, str(error))]
        return list(problems(view, read, found, self.shown))
