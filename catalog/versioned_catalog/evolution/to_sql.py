"""Changes as ALTER TABLE statements of Spark, which ``alter_parser`` reads back."""

from __future__ import annotations

from collections.abc import Iterable

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.evolution import actions, changes
from versioned_catalog.evolution.apply import apply
from versioned_catalog.evolution.bind import bind, utc_now
from versioned_catalog.evolution.evolution import BoundChange, Evolution
from versioned_catalog.schema.ddl import render_options, render_type
from versioned_catalog.schema.partition_changes import partition_fields
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.table_text import render_rest
from versioned_catalog.types.paths import quote, render_path
from versioned_catalog.types.tokens import sql_string
from versioned_catalog.types.types import Column
from versioned_catalog.values.literals import to_sql


def render_changes(
    requests: Iterable[changes.Change], evolution: Evolution, table: str
) -> list[str]:
    """The statements that make the same changes, one after the other.

    Args:
        requests: the changes.
        evolution: the table before them.
        table: the table's name as SQL.

    Raises:
        InvalidRequestError: a change is not legal.
        NotFoundError: a named column does not exist.
    """
    current, time = evolution.begin(), utc_now()
    found: list[str] = []
    for request in requests:
        bound = bind(request, current, time)
        after = apply(bound, current)
        found += statements(bound, current, after, table)
        current = after
    return found


def statements(bound: BoundChange, before: Evolution, after: Evolution, table: str) -> list[str]:
    """The statements of one change, given the table around it."""
    alter = f"ALTER TABLE {table}"
    return [
        *(f"{alter} {clause}" for clause in _clauses(bound, before, after)),
        *_rest(bound, after, table),
    ]


def _clauses(bound: BoundChange, before: Evolution, after: Evolution) -> list[str]:
    match bound.request:
        case changes.AddColumn() as add:
            return [_add(add, bound.action)]
        case changes.DropColumn(path):
            return [f"DROP COLUMN {render_path(path)}"]
        case changes.RenameColumn(path, new_name):
            return [f"RENAME COLUMN {render_path(path)} TO {quote(new_name)}"]
        case changes.SetProperty(key, value):
            return [f"SET TBLPROPERTIES ({sql_string(key)} = {sql_string(value)})"]
        case changes.UnsetProperty(key):
            return [f"UNSET TBLPROPERTIES IF EXISTS ({sql_string(key)})"]
        case changes.SetPartitioning():
            return _partitioning(before.schema, after.schema)
        case changes.PinSchema() | changes.RetirePin():
            raise InvalidRequestError(
                "a schema pin has no ALTER TABLE statement; use the procedures pin_schema and "
                "retire_schema",
                condition="NOT_SUPPORTED",
            )
        case changes.MoveColumn(_, first, other):
            what = position_sql(first=first, after=other).strip()
        case changes.ChangeType(_, type_):
            what = f"TYPE {render_type(type_)}"
        case changes.SetDefault():
            assert isinstance(bound.action, actions.Redefault)
            default, type_ = bound.action.default, bound.action.type
            what = "DROP DEFAULT" if default is None else f"SET DEFAULT {to_sql(default, type_)}"
        case changes.DropDefault():
            what = "DROP DEFAULT"
        case changes.SetNotNull():
            what = "SET NOT NULL"
        case changes.DropNotNull():
            what = "DROP NOT NULL"
        case changes.SetComment(_, text):
            what = f"COMMENT {sql_string(text or '')}"
    return [f"ALTER COLUMN {render_path(bound.request.path)} {what}"]


def _add(request: changes.AddColumn, action: actions.Action) -> str:
    assert isinstance(action, actions.Add)
    column = action.column
    place = position_sql(first=request.first, after=request.after)
    return (
        f"ADD COLUMN {render_path(request.path)} {render_type(column.type)}"
        f"{render_options(column)}{place}"
    )


def position_sql(*, first: bool, after: str | None) -> str:
    """``FIRST`` or ``AFTER name``, after a space; empty for neither."""
    if first:
        return " FIRST"
    return "" if after is None else f" AFTER {quote(after)}"


def _rest(bound: BoundChange, after: Evolution, table: str) -> list[str]:
    """What ADD COLUMN can't say of a nested type."""
    if not isinstance(bound.request, changes.AddColumn):
        return []
    added: Column = after.schema.get(bound.request.path)
    above = after.schema.ancestors(added.id)
    return list(render_rest(table, (added,), above))


def _partitioning(before: Schema, after: Schema) -> list[str]:
    old, new = partition_fields(before), partition_fields(after)
    kept: list[str] = []
    for field in old:
        if len(kept) < len(new) and new[len(kept)] == field:
            kept.append(field)
    dropped = [field for field in old if field not in kept]
    return [f"DROP PARTITION FIELD {field}" for field in dropped] + [
        f"ADD PARTITION FIELD {field}" for field in new[len(kept) :]
    ]
