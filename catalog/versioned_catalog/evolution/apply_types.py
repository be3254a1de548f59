"""Bound changes of types and defaults.

A change that is not legal on the table raises InvalidRequestError.
"""

from __future__ import annotations

from dataclasses import replace

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.evolution import actions
from versioned_catalog.evolution.apply_arrangement import check_arrangement
from versioned_catalog.evolution.evolution import Evolution, locate
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.types import UNASSIGNED, Column, Constant, DataType, Now, map_columns
from versioned_catalog.types.widening import check_widens, type_name
from versioned_catalog.values.literals import rekey_constant, widen


def change_type(action: actions.Retype, evolution: Evolution) -> Schema:
    """Widen a column's type, and the defaults that hold its values."""
    schema, column_id = evolution.schema, locate(evolution, action.column)
    column = schema.column(column_id)
    if column.type == action.type:
        return schema
    check_widens(column.type, action.type, schema.path_text(column_id))
    if isinstance(column.write_default, Now):
        raise InvalidRequestError(
            f"the type of {schema.path_text(column_id)} can't be changed, since its default "
            f"{column.write_default.value} is {type_name(column.type)}; drop the default first"
        )
    changed = _widen_defaults(
        schema, schema.replace_column(column_id, lambda c: replace(c, type=action.type))
    )
    check_arrangement(changed)
    return changed


def _widen_defaults(old: Schema, new: Schema) -> Schema:
    """The new schema with the defaults of all columns whose type differs from the old one widened."""

    def widened(column: Column) -> Column:
        before, after = old.column(column.id).type, column.type
        if before == after:
            return column
        read, write = column.read_default, column.write_default
        return replace(
            column,
            read_default=None if read is None else widen(read, before, after),
            write_default=widen(write, before, after) if isinstance(write, Constant) else write,
        )

    return replace(new, columns=tuple(map_columns(column, widened) for column in new.columns))


def set_default(action: actions.Redefault, evolution: Evolution) -> Schema:
    """Set or drop a column's write default, which must fit its current type."""
    schema, column_id = evolution.schema, locate(evolution, action.column)
    type_ = schema.column(column_id).type
    default = action.default
    match default:
        case Constant():
            default = _rebased_constant(default, action, evolution, type_)
        case Now() if type_ != action.type:
            raise InvalidRequestError(
                f"the default {default.value} does not fit the column {schema.path_text(column_id)}, "
                f"which is {type_name(type_)} now"
            )
        case Now() | None:
            pass
    return schema.replace_column(column_id, lambda c: replace(c, write_default=default))


def _rebased_constant(
    default: Constant, action: actions.Redefault, evolution: Evolution, type_: DataType
) -> Constant:
    """A default of the column's type at planning, as one of its current type ``type_``."""
    shift = evolution.first_new_id - action.first_new_id

    def moved(column: Column) -> Column:
        own = column.id >= action.first_new_id
        return replace(column, id=column.id + shift) if own else column

    planned = map_columns(Column(UNASSIGNED, "planned", action.type), moved).type
    return widen(rekey_constant(default, action.type, planned), planned, type_)
