"""The schema of a stream, which stays what it was when the query was analysed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from versioned_catalog.errors import InvalidRequestError, SchemaChangedError
from versioned_catalog.schema.ddl import render_type
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.paths import render_path
from versioned_catalog.types.types import Column, Map, children, is_nested, walk, with_children


def shown(schema: Schema) -> Schema:
    """The columns of a stream: those of a schema, all nullable, since a column may be dropped later."""
    return Schema(tuple(map(_nullable, schema.visible.columns)), schema.version)


def _nullable(column: Column) -> Column:
    inner = children(column.type)
    if isinstance(column.type, Map):
        inner = (replace(_nullable(inner[0]), nullable=False), _nullable(inner[1]))
    else:
        inner = tuple(map(_nullable, inner))
    type_ = with_children(column.type, inner) if is_nested(column.type) else column.type
    return replace(column, type=type_, nullable=True)


def check_no_drop(columns: tuple[Column, ...], now: Schema, table: str, version: int) -> None:
    """Refuse to go on where a column that is read was dropped.

    Raises:
        InvalidRequestError: naming the column.
    """
    held = now.visible.ids
    for column, above in walk(columns):
        if column.id > 0 and column.id not in held:
            path = render_path((*(one.name for one in above), column.name))
            raise InvalidRequestError(
                f"{table}: the column {path} was dropped at version {version}; start the query with a "
                "DataFrame that does not read it, or leave out onDrop = 'fail' to read null",
                condition="COLUMN_NOT_FOUND",
            )


def check_same(before: Schema, now: Schema, table: str, version: int) -> None:
    """Refuse to go on where a new DataFrame would have other columns.

    Raises:
        SchemaChangedError: saying what changed.
    """
    changes = list(_differences(before.visible, now.visible))
    if changes:
        raise SchemaChangedError(
            f"{table}: the schema changed at version {version} ({'; '.join(changes)}), and schemaMode "
            "is 'stop'; all rows before are read: start the query with a new DataFrame and the same "
            "checkpoint, or let pyspark_versioned.follow do so"
        )


def _differences(before: Schema, now: Schema) -> Iterator[str]:
    """How the columns of one schema differ from those of another, as a reader of names sees it."""
    for column_id in sorted(before.ids - now.ids):
        if not {one.id for one in before.ancestors(column_id)} - now.ids:
            yield f"{before.path_text(column_id)} was dropped"
    for column_id in sorted(now.ids - before.ids):
        if not {one.id for one in now.ancestors(column_id)} - before.ids:
            yield f"{now.path_text(column_id)} was added"
    for column_id in sorted(before.ids & now.ids):
        old, new = before.column(column_id), now.column(column_id)
        if old.name != new.name:
            yield f"{before.path_text(column_id)} was renamed to {now.path_text(column_id)}"
        if not is_nested(old.type) and old.type != new.type:
            text = render_type(new.type)
            yield f"{now.path_text(column_id)} is {text} now, and was {render_type(old.type)}"
    both = before.ids & now.ids
    if [c.id for c, _ in walk(before.columns) if c.id in both] != [
        c.id for c, _ in walk(now.columns) if c.id in both
    ]:
        yield "columns were moved"
