"""Changes to a table as Spark's ALTER TABLE hands them over, as changes of ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark_versioned.sql.creating import column_of, refuse_unknown
from pyspark_versioned.sql.values import parse_default, parse_type
from versioned_catalog import InvalidRequestError
from versioned_catalog.evolution.changes import (
    UNSET,
    AddColumn,
    Change,
    ChangeType,
    DropColumn,
    DropDefault,
    DropNotNull,
    MoveColumn,
    RenameColumn,
    SetComment,
    SetDefault,
    SetNotNull,
    SetProperty,
    UnsetProperty,
)
from versioned_catalog.schema.schema import Schema, name_key

_RESERVED = ("provider", "location", "owner", "external", "is_managed_location", "table_type")


def parse_changes(given: Sequence[dict[str, Any]], schema: Schema, table: str) -> list[Change]:
    """The changes of one ALTER TABLE.

    Args:
        given: what the jar sends, in order.
        schema: the table's, to find the types of columns.
        table: the table, for errors.

    Raises:
        InvalidRequestError: it is nothing that can be done.
    """
    _refuse_replacing(given, schema, table)
    _refuse_constraints(given, table)
    return [change for one in given for change in _parse(one, schema, table)]


def _refuse_replacing(given: Sequence[dict[str, Any]], schema: Schema, table: str) -> None:
    """REPLACE COLUMNS arrives as a drop of every column and new ones, whose values would be gone."""
    dropped = {name_key(one["path"][0]) for one in given if one["kind"] == "drop_column"}
    adds = any(one["kind"] == "add_column" for one in given)
    if adds and dropped >= {name_key(column.name) for column in schema.columns}:
        raise InvalidRequestError(
            f"{table}: REPLACE COLUMNS would drop every column with its values; use ALTER TABLE ... "
            "ADD COLUMN, DROP COLUMN, RENAME COLUMN and ALTER COLUMN for what should change, or "
            "CREATE OR REPLACE TABLE to begin anew",
            condition="NOT_SUPPORTED",
        )


def _refuse_constraints(given: Sequence[dict[str, Any]], table: str) -> None:
    for one in given:
        if one["kind"] == "add_constraint":
            refuse_unknown(one["constraint"], table)
        if one["kind"] in ("add_constraint", "drop_constraint"):
            raise InvalidRequestError(
                f"{table}: a primary key is set when a table is made, and stays; make another table "
                "with the PRIMARY KEY that you want, and write the rows of this one to it",
                condition="NOT_SUPPORTED",
            )


def _parse(one: dict[str, Any], schema: Schema, table: str) -> list[Change]:
    path = tuple(one.get("path", ()))
    match one["kind"]:
        case "add_column":
            return [_add(one, path, table)]
        case "drop_column":
            return [] if one["if_exists"] and schema.find(path) is None else [DropColumn(path)]
        case "rename_column":
            return [RenameColumn(path, one["new_name"])]
        case "change_type":
            return [ChangeType(path, parse_type(one["type"], path))]
        case "move_column":
            return [MoveColumn(path, one["first"], one.get("after"))]
        case "set_nullable":
            return [DropNotNull(path) if one["nullable"] else SetNotNull(path)]
        case "set_comment":
            return [SetComment(path, one["comment"])]
        case "set_default":
            column = schema.get(path)
            value = parse_default(one["default"], column.type, column_of(table, path))
            return [SetDefault(path, value)]
        case "drop_default":
            return [DropDefault(path)]
        case "set_property":
            return [SetProperty(_property(one["key"]), one["value"])]
        case "unset_property":
            return [UnsetProperty(_property(one["key"]))]
        case "ClusterBy":
            raise InvalidRequestError(
                "rows are clustered by a property; instead of CLUSTER BY, SET TBLPROPERTIES "
                "('sort_by' = 'a, b') for what is written from now on, and CALL system.compact for "
                "what is there"
            )
        case unknown:
            raise InvalidRequestError(
                f"{unknown} can't be done to a versioned table; the ALTERs that can be are in "
                "docs/sql.md",
                condition="NOT_SUPPORTED",
            )


def _add(one: dict[str, Any], path: tuple[str, ...], table: str) -> AddColumn:
    type_ = parse_type(one["type"], path)
    given = one.get("default")
    default = UNSET if given is None else parse_default(given, type_, column_of(table, path))
    return AddColumn(
        path,
        type_,
        default,
        one["nullable"],
        one.get("comment"),
        first=one.get("first", False),
        after=one.get("after"),
    )


def _property(key: str) -> str:
    if key in _RESERVED:
        raise InvalidRequestError(
            f"the property {key} is Spark's own and can't be changed here",
            condition="NOT_SUPPORTED",
        )
    return key
