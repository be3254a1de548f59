"""The command ``lineage``: one column across all schema versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from versioned_catalog.cli.output import cell_text, print_table, show_json, wants_json
from versioned_catalog.cli.program import table_command
from versioned_catalog.cli.session import Session

if TYPE_CHECKING:
    from versioned_catalog.table import Table


@table_command
@click.argument("column")
def lineage(session: Session, table: str, column: str) -> None:
    """Show the names, types and defaults that COLUMN has had, and how each live segment holds it.

    COLUMN is the current name, or the column ID, which also finds a dropped column.
    """
    found = _lineage(session.table(table), column)
    if wants_json():
        show_json(found)
    else:
        _print(found)


def _lineage(table: Table, column: str) -> dict[str, Any]:
    from versioned_catalog.inspection.arrow_rows import rows_of
    from versioned_catalog.types.paths import parse_path

    given = int(column) if column.isdecimal() else column
    column_id = given if isinstance(given, int) else table.schema.get(parse_path(given)).id
    schemas = rows_of(table.inspect.lineage(given))
    return {
        "column_id": column_id,
        "path": table.schema.path_text(column_id) if column_id in table.schema.ids else None,
        "names": list(dict.fromkeys(row["path"] for row in schemas)),
        "schemas": schemas,
        "segments": rows_of(table.inspect.holding(given)),
    }


def _print(lineage: dict[str, Any]) -> None:
    now = "dropped" if lineage["path"] is None else cell_text(lineage["path"])
    click.echo(f"column {lineage['column_id']}: {now}; names so far: {cell_text(lineage['names'])}")
    for rows in (lineage["schemas"], lineage["segments"]):
        click.echo()
        print_table(rows, list(rows[0]) if rows else [])
