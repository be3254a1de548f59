"""A table as CREATE TABLE declares it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.schema.partition_changes import partition_fields
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.paths import ColumnPath, parse_path, render_path

APPLIED_SCHEMA = "applied_schema"
"""The property that holds the schema version that the last ``apply`` of a schema file made."""


def is_folder(name: str) -> bool:
    """Whether what errors call a table is the URL or path of its folder, not its name."""
    return "/" in name and "`" not in name


def sql_name(name: str) -> ColumnPath:
    """The name of a table in SQL, from what errors call it: its name, or the URL of its folder."""
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

    @property
    def ignores_ids(self) -> bool:
        """Whether the comments give IDs of other tables only."""
        return bool(self.tables) and self.table_uuid not in self.tables

    def ids_of(self, column_id: int) -> tuple[int | None, ...]:
        """The IDs of a column in each of the tables, or in this one if it names none."""
        elsewhere = self.ids_elsewhere.get(column_id, {})
        if not self.tables:
            return (column_id,)
        own = column_id if column_id in self.given_ids else None
        return tuple(
            own if table == self.table_uuid else elsewhere.get(table) for table in self.tables
        )

    def creation_arguments(self) -> dict[str, Any]:
        """The keyword arguments of ``Catalog.create_table`` beside the name and the schema."""
        return {
            "partitioned_by": partition_fields(self.schema),
            "properties": dict(self.properties),
            "comment": self.comment,
        }
