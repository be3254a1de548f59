"""A table as CREATE TABLE declares it, and the text of that statement.

ALTER TABLE statements follow it for members that it can't express: defaults of nested fields, and
comments and NOT NULL of list elements and map values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.ddl import render_options, render_type
from versioned_catalog.model.id_comments import id_comment, table_lines
from versioned_catalog.model.keys import SORT_BY, TIME_INDEX, render_sort_by
from versioned_catalog.model.partitioning import partition_fields
from versioned_catalog.model.schema import Schema, declared_schema
from versioned_catalog.model.sql_literals import to_sql
from versioned_catalog.model.table_parser import parse_statement
from versioned_catalog.model.tokens import sql_string
from versioned_catalog.model.type_text import (
    ColumnPath,
    parse_path,
    quote,
    render_comment,
    render_nullability,
    render_path,
)
from versioned_catalog.model.types import Array, Column, DataType, Map, Struct, walk
from versioned_catalog.model.value_clauses import Clause, Identity, clause_sql

APPLIED_SCHEMA = "applied_schema"
"""The property that holds the schema version that the last ``apply`` of a schema file made."""


def is_folder(name: str) -> bool:
    """Whether the name of a table in errors is the URL or path of its folder."""
    return "/" in name and "`" not in name


def own_name(name: str, *, catalog: bool = False) -> ColumnPath | None:
    """The namespace and name of a table in its warehouse; None for a folder, or without a namespace.

    Args:
        name: its name in errors.
        catalog: whether that begins with the catalog of a Spark session.
    """
    try:
        path = () if is_folder(name) else parse_path(name)[catalog:]
    except InvalidRequestError:
        return None  # a folder with a backtick in its path
    return path if len(path) > 1 else None


def sql_name(name: str) -> ColumnPath:
    """The name of a table in SQL, from its name in errors, which may be the URL of its folder."""
    if is_folder(name):
        return (name.rstrip("/").rpartition("/")[2] or name,)
    return parse_path(name)


def check_name(named: ColumnPath, table: ColumnPath | None) -> None:
    """Check that a statement is of a table; its name may lack namespaces, or begin with a catalog.

    Raises:
        InvalidRequestError: it names another table; never if ``table`` is not known.
    """
    if table is None or named[-len(table) :] == table or table[-len(named) :] == named:
        return
    raise InvalidRequestError(
        f"the statement is of {render_path(named)}, but this table is {render_path(table)}; use it on "
        "the table that it names"
    )


@dataclass(frozen=True)
class Definition:
    """A table as CREATE TABLE declares it.

    Args:
        name: the table's name; empty if it is not known.
        schema: the columns, and the arrangement by their IDs. A column without an ID in the DDL has one
            above all others; physical names are empty.
        properties: the properties, without those that the schema holds.
        comment: the comment of the table.
        given_ids: the column IDs that comments of the DDL give for this table.
        renamed_from: the earlier names that comments of the DDL give, by column ID.
        declared_new: the IDs of the columns that comments of the DDL call new.
        table_uuid: the table that it is for; None if it is not known.
        tables: the UUIDs of the tables whose column IDs the comments of the DDL give.
        ids_elsewhere: the IDs that comments give for the other tables, by column ID and table UUID.
        clauses: how the values of columns are made, by their names.
        checks: the conditions of CHECK constraints, by their names.
        zone: the time zone in which generated columns take parts of a TIMESTAMP; None if none does.
        lines: the lines of the DDL on which columns begin, from 1, by column ID.
    """

    name: ColumnPath
    schema: Schema
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    given_ids: frozenset[int] = frozenset()
    renamed_from: Mapping[int, str] = field(default_factory=dict)
    declared_new: frozenset[int] = frozenset()
    table_uuid: str | None = None
    tables: tuple[str, ...] = ()
    ids_elsewhere: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    clauses: Mapping[str, Clause] = field(default_factory=dict)
    checks: Mapping[str, str] = field(default_factory=dict)
    zone: str | None = None
    lines: Mapping[int, int] = field(default_factory=dict)

    @property
    def ignores_ids(self) -> bool:
        """Whether the comments give IDs of other tables only."""
        return bool(self.tables) and self.table_uuid not in self.tables

    def ids_of(self, column_id: int) -> tuple[int | None, ...]:
        """The IDs of a column in each of the tables, or in this one if it names none."""
        elsewhere = self.ids_elsewhere.get(column_id, {})
        if not self.tables:
            return (column_id,)
        declared_id = column_id if column_id in self.given_ids else None
        return tuple(
            declared_id if table == self.table_uuid else elsewhere.get(table)
            for table in self.tables
        )

    @property
    def generated(self) -> dict[str, str]:
        """The SQL of generated columns, by their paths."""
        return {
            render_path((name,)): clause
            for name, clause in self.clauses.items()
            if isinstance(clause, str)
        }

    @property
    def identity(self) -> dict[str, Identity]:
        """The columns that number rows, by their paths."""
        return {
            render_path((name,)): clause
            for name, clause in self.clauses.items()
            if isinstance(clause, Identity)
        }

    def creation_arguments(self) -> dict[str, Any]:
        """Keyword arguments of ``Catalog.create_table``, without constraints and the time zone."""
        return {
            "partitioned_by": partition_fields(self.schema),
            "properties": dict(self.properties),
            "comment": self.comment,
            "generated": self.generated,
            "identity": self.identity,
        }


def parse_table(ddl: str, table_uuid: str | None = None) -> Definition:
    """Parse CREATE TABLE, and what ``render_table`` writes around it: ALTER TABLE ... ALTER COLUMN and
    SET TIME ZONE.

    Comments give column IDs and earlier names (see ``id_comments``). Of several tables, those of the
    first one count.

    Args:
        ddl: the statements.
        table_uuid: the table that they are for; IDs of other tables are ignored.

    Raises:
        InvalidRequestError: it does not parse, has what versioned tables do not support, or a default
            does not fit.
        NotFoundError: the key, the partitioning, the sort order or an ALTER names a column that does
            not exist.
    """
    parsed = parse_statement(ddl, table_uuid)
    comments, ids, place = parsed.comments, parsed.ids, parsed.place
    return Definition(
        parsed.name,
        declared_schema(parsed),
        parsed.properties,
        parsed.comment,
        frozenset() if place is None else frozenset(comments.of(place).values()),
        {ids[index]: name for index, name in comments.was.items()},
        frozenset(ids[index] for index in comments.new),
        parsed.table_uuid,
        comments.tables,
        parsed.ids_elsewhere,
        parsed.clauses,
        parsed.checks,
        parsed.zone,
        dict(zip(ids, comments.lines, strict=True)),
    )


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
    if table.zone is not None:
        statements.insert(0, f"SET TIME ZONE {sql_string(table.zone)}")
    statements += render_rest(name, table.schema.columns)
    lines = table_lines(table.tables) if ids else ""
    return lines + "".join(f"{statement};\n" for statement in statements)


def render_rest(
    table: str, columns: tuple[Column, ...], above: tuple[Column, ...] = ()
) -> Iterator[str]:
    """The ALTER TABLE statements for members of nested columns that their types can't express.

    ``above`` are the ancestors of ``columns``.
    """
    for column, outer in walk(columns, above):
        if len(outer) == len(above):
            continue
        where = render_path((*(ancestor.name for ancestor in outer), column.name))
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
        clause = table.clauses.get(column.name)
        made = "" if clause is None else f" {clause_sql(clause)}"
        lines.column(column, " ", render_options(column) + made, 1)
    constraints = [f"CONSTRAINT {quote(n)} CHECK ({text})" for n, text in table.checks.items()]
    if schema.primary_key:
        key = ", ".join(map(schema.path_text, schema.primary_key))
        constraints.insert(0, f"PRIMARY KEY ({key})")
    for constraint in constraints:
        lines.add(",")
        lines.next(1)
        lines.add(constraint)
    return "\n".join(lines.texts())


@dataclass
class _Line:
    text: str
    ids: list[int] = field(default_factory=list)


class _Lines:
    """Lines of DDL, each with the IDs of the columns that begin on it."""

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
                for index, field in enumerate(fields):
                    if index:
                        self.add(",")
                    self.next(depth + 1)
                    options = render_nullability(field) + render_comment(field)
                    self.column(field, ": ", options, depth + 1)
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
