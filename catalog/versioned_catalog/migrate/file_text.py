"""The text of a schema file, and how it is rewritten.

Comments before CREATE stay, and so do the IDs of other tables: a file serves several environments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.id_comments import named_table, table_lines
from versioned_catalog.model.schema import name_key
from versioned_catalog.model.table_text import Definition, parse_table, render_table
from versioned_catalog.model.tokens import Cursor
from versioned_catalog.model.type_text import render_path
from versioned_catalog.model.types import Column, children


def rewritten(text: str, table: Definition) -> str:
    """The text of a schema file after its table was created or altered, or accepted as it is.

    Args:
        text: the file as it is; empty if it is new.
        table: the table, with the IDs of its columns and its table UUID.

    Raises:
        InvalidRequestError: the text is not a CREATE TABLE statement, or is of another table.
    """
    if not text.strip():
        return render_table(table, ids=True)
    assert table.table_uuid is not None
    old = parse_table(text, table.table_uuid)
    if tuple(map(name_key, old.name)) != tuple(map(name_key, table.name)):
        raise InvalidRequestError(
            f"it is of {render_path(old.name)}, not of {render_path(table.name)}; move it"
        )
    merged = _merged(old, table)
    statements = render_table(merged, ids=True).removeprefix(table_lines(merged.tables))
    return _header(text, merged.tables) + statements


def _header(text: str, tables: Iterable[str]) -> str:
    """The text before CREATE, with a line for each table."""
    start = Cursor(text, "CREATE TABLE").start
    lines = text[: text.rfind("\n", 0, start) + 1].splitlines(keepends=True)
    named = {named_table(line): at for at, line in enumerate(lines)}
    named.pop(None, None)
    behind = max(named.values(), default=len(lines) - 1) + 1
    missing = table_lines([table for table in tables if table not in named])
    return "".join([*lines[:behind], missing, *lines[behind:]])


def _merged(old: Definition, table: Definition) -> Definition:
    """A table with the IDs, earlier names and new columns that a file declares for other tables."""
    assert table.table_uuid is not None
    is_listed = table.table_uuid in old.tables
    tables = old.tables if is_listed else (*old.tables, table.table_uuid)
    pairs = dict(_paired_ids(table.schema.columns, old.schema.columns, old.given_ids))
    elsewhere: Mapping[int, Mapping[str, int]] = {
        now: old.ids_elsewhere[then] for now, then in pairs.items() if then in old.ids_elsewhere
    }
    return replace(
        table,
        tables=tables,
        ids_elsewhere=elsewhere,
        renamed_from={n: old.renamed_from[o] for n, o in pairs.items() if o in old.renamed_from},
        declared_new=frozenset(now for now, then in pairs.items() if then in old.declared_new),
    )


def _paired_ids(
    columns: Iterable[Column], old: Iterable[Column], given_ids: frozenset[int]
) -> Iterator[tuple[int, int]]:
    """Pairs of the ID of a column in the table and the ID of the same column in the file."""
    free = {column.id: column for column in old}
    for column in columns:
        match = free.get(column.id) if column.id in given_ids else None
        if match is None:
            named = (c for c in free.values() if name_key(c.name) == name_key(column.name))
            match = next((c for c in named if c.id not in given_ids), None)
        if match is None:
            continue
        del free[match.id]
        yield column.id, match.id
        if type(column.type) is type(match.type):
            yield from _paired_ids(children(column.type), children(match.type), given_ids)
