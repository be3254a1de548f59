"""The text of CREATE TABLE, which ``table_parser`` reads back.

ALTER TABLE statements follow it for what CREATE TABLE can't say: defaults of nested fields, and
comments and NOT NULL of list elements and map values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from versioned_catalog.schema.ddl import render_options, render_type
from versioned_catalog.schema.definition import APPLIED_SCHEMA, Definition
from versioned_catalog.schema.id_comments import id_comment, table_lines
from versioned_catalog.schema.keying import TIME_INDEX
from versioned_catalog.schema.partition_changes import partition_fields
from versioned_catalog.schema.sorting import SORT_BY, render_sort_by
from versioned_catalog.types.paths import quote, render_path
from versioned_catalog.types.tokens import sql_string
from versioned_catalog.types.type_text import render_comment, render_nullability
from versioned_catalog.types.types import Array, Column, DataType, Map, Struct, walk
from versioned_catalog.values.sql_rendering import to_sql

_INDENT = "  "


def render_table(table: Definition, *, ids: bool = False) -> str:
    """The statements that create a table, one column a line.

    Args:
        table: the table.
        ids: add a line for each table whose IDs are known, and a comment to each line with the IDs of
            the columns that begin on it; structs then have one line a field.
    """
    name = render_path(table.name)
    statements = [f"CREATE TABLE {name} (\n{_body(table, ids)}\n){_clauses(table)}"]
    statements += render_rest(name, table.schema.columns)
    lines = table_lines(table.tables) if ids else ""
    return lines + "".join(f"{statement};\n" for statement in statements)


def render_rest(
    table: str, columns: tuple[Column, ...], above: tuple[Column, ...] = ()
) -> Iterator[str]:
    """The ALTER TABLE statements for what the types of columns can't say.

    ``above`` are the ancestors of ``columns``.
    """
    for column, outer in walk(columns, above):
        if len(outer) == len(above):
            continue
        where = render_path((*(one.name for one in outer), column.name))
        alter = f"ALTER TABLE {table} ALTER COLUMN {where}"
        if column.write_default is not None:
            yield f"{alter} SET DEFAULT {to_sql(column.write_default, column.type)}"
        if isinstance(outer[-1].type, Struct):
            continue
        if column.comment is not None:
            yield f"{alter} COMMENT {sql_string(column.comment)}"
        is_key = isinstance(outer[-1].type, Map) and outer[-1].type.key.id == column.id
        if not column.nullable and not (is_key and column.name == "key"):
            yield f"{alter} SET NOT NULL"


def _clauses(table: Definition) -> str:
    fields, shown = partition_fields(table.schema), _properties(table)
    clauses = ["\nUSING versioned"]
    if fields:
        clauses.append(f"\nPARTITIONED BY ({', '.join(fields)})")
    if table.comment is not None:
        clauses.append(f"\nCOMMENT {sql_string(table.comment)}")
    if shown:
        pairs = [f"{_INDENT}{sql_string(k)} = {sql_string(v)}" for k, v in sorted(shown.items())]
        clauses.append("\nTBLPROPERTIES (\n" + ",\n".join(pairs) + "\n)")
    return "".join(clauses)


def _properties(table: Definition) -> Mapping[str, str]:
    shown = {key: text for key, text in table.properties.items() if key != APPLIED_SCHEMA}
    sort_by, index = render_sort_by(table.schema), table.schema.time_index
    if sort_by:
        shown[SORT_BY] = sort_by
    if index is not None:
        shown[TIME_INDEX] = table.schema.path_text(index)
    return shown


def _body(table: Definition, ids: bool) -> str:
    schema = table.schema
    lines = _Lines(table if ids else None)
    for index, column in enumerate(schema.columns):
        if index:
            lines.add(",")
        lines.next(1)
        lines.column(column, " ", render_options(column), 1)
    if schema.primary_key:
        lines.add(",")
        lines.next(1)
        lines.add(f"PRIMARY KEY ({', '.join(map(schema.path_text, schema.primary_key))})")
    return "\n".join(lines.texts())


@dataclass
class _Line:
    text: str
    ids: list[int] = field(default_factory=list)


class _Lines:
    """Lines of columns that are being written, each with the IDs of those that begin on it."""

    def __init__(self, table: Definition | None) -> None:
        self._table = table
        self._ids = table is not None
        self._lines: list[_Line] = []

    def next(self, depth: int) -> None:
        """Begin another line."""
        self._lines.append(_Line(_INDENT * depth))

    def add(self, text: str) -> None:
        """Add to the last line."""
        self._lines[-1].text += text

    def column(self, column: Column, separator: str, options: str, depth: int) -> None:
        """Add a column or a field."""
        self._lines[-1].ids.append(column.id)
        self.add(f"{quote(column.name)}{separator}")
        self._type(column.type, depth)
        self.add(options)

    def _type(self, type_: DataType, depth: int) -> None:
        match type_:
            case Struct(fields) if self._ids:
                self.add("STRUCT<")
                for index, one in enumerate(fields):
                    if index:
                        self.add(",")
                    self.next(depth + 1)
                    options = render_nullability(one) + render_comment(one)
                    self.column(one, ": ", options, depth + 1)
                self.next(depth)
                self.add(">")
            case Array(element) if self._ids:
                self.add("ARRAY<")
                self._inner(element, depth)
                self.add(">")
            case Map(key, value) if self._ids:
                self.add("MAP<")
                self._inner(key, depth)
                self.add(", ")
                self._inner(value, depth)
                self.add(">")
            case _:
                self.add(render_type(type_))

    def _inner(self, column: Column, depth: int) -> None:
        self._lines[-1].ids.append(column.id)
        self._type(column.type, depth)

    def texts(self) -> Iterator[str]:
        """The lines, with their comments."""
        for line in self._lines:
            table, comment = self._table, ""
            if table is not None and line.ids:
                columns = [table.ids_of(column_id) for column_id in line.ids]
                first = line.ids[0]
                was, new = table.renamed_from.get(first), first in table.declared_new
                comment = f"  {id_comment(columns, was, new)}"
            yield line.text + comment
