"""Changes of a column's type and write default, which convert stored constants."""

from __future__ import annotations

import datetime as dt
import itertools
from dataclasses import dataclass, replace

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model import default_expressions
from versioned_catalog.model.ddl import render_type
from versioned_catalog.model.evolution import (
    ColumnChange,
    Evolution,
    Ref,
    Risk,
    edit_column,
    field_reference,
    find,
    locate,
    refer,
    value_text,
)
from versioned_catalog.model.hidden_columns import visible, with_hidden_defaults
from versioned_catalog.model.narrowing import narrowed_defaults, with_defaults
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.sql_literals import (
    constant,
    evaluated,
    rekey_constant,
    to_sql,
    widen,
)
from versioned_catalog.model.table_changes import check_arrangement
from versioned_catalog.model.type_text import render_path
from versioned_catalog.model.types import (
    UNASSIGNED,
    Column,
    Constant,
    DataType,
    Evaluated,
    Map,
    Now,
    WriteDefault,
    can_have_default,
    map_columns,
)
from versioned_catalog.model.widening import check_widens, narrows, type_name, widens


@dataclass(frozen=True, slots=True)
class ChangeType(ColumnChange[Ref]):
    """Widen a column's type, or narrow it.

    Args:
        narrows: whether the type may be narrower. The commit must then check the stored values (see
            ``bound_changes.newly_narrowed``).
    """

    type: DataType
    narrows: bool = False

    kind = "widen"

    def target(self, evolution: Evolution, time: dt.datetime) -> Ref:
        column = find(evolution.schema, self.path)
        return refer(evolution, column.id)

    def apply(self, target: Ref, evolution: Evolution) -> Evolution:
        schema, column_id = evolution.schema, locate(evolution, target)
        column = schema.column(column_id)
        if column.type == self.type:
            return evolution
        is_narrower = self.narrows and narrows(column.type, self.type)
        if is_narrower:
            _check_narrows(schema, column_id)
        else:
            check_widens(column.type, self.type, schema.path_text(column_id))
        widest = _widest(column, self.type, schema.path_text(column_id))
        if isinstance(column.write_default, Now | Evaluated):
            raise InvalidRequestError(
                f"the type of {schema.path_text(column_id)} can't be changed, since its default "
                f"{value_text(column.write_default)} is {type_name(column.type)}; drop the default "
                "first"
            )
        changed = schema.replace_column(
            column_id, lambda c: replace(c, type=self.type, widest=widest)
        )
        top = (*changed.ancestors(column_id), changed.column(column_id))[0]
        changed = changed.replace_column(
            top.id,
            lambda c: (
                narrowed_defaults(schema, c, self.type)
                if is_narrower
                else with_defaults(schema, c, widen)
            ),
        )
        check_arrangement(changed)
        return replace(evolution, schema=changed)

    def describe(self) -> str:
        return f"ALTER COLUMN {render_path(self.path)} TYPE {render_type(self.type)}"

    def detail(self, before: Evolution, after: Evolution) -> str:
        old = render_type(before.schema.get(self.path).type)
        return f"{render_path(self.path)} {old} -> {render_type(self.type)}"

    def risk(self, before: Evolution, after: Evolution) -> Risk:
        old = before.schema.get(self.path).type
        return Risk.STORED_VALUES if narrows(old, self.type) else Risk.NONE


def _widest(column: Column, new: DataType, where: str) -> DataType | None:
    """The widest type that segments may hold a column in, after it becomes ``new``.

    Raises:
        InvalidRequestError: they may hold a type that does not fit into the new one.
    """
    widest = column.type if column.widest is None else column.widest
    if widens(widest, new):
        return None
    if widens(new, widest):
        return widest
    raise InvalidRequestError(
        f"the column {where} can't change from {type_name(column.type)} to {type_name(new)}, since it "
        f"was narrowed from {type_name(widest)}, which segments may still hold; add a column, copy the "
        "values and drop the old column",
        condition="NOT_SUPPORTED",
    )


def _check_narrows(schema: Schema, column_id: int) -> None:
    """Refuse to narrow a column by which rows, files or values are found.

    Raises:
        InvalidRequestError: it is in the row key, the partitioning or the key of a map.
    """
    line = (*schema.ancestors(column_id), schema.column(column_id))
    if any(isinstance(a.type, Map) and a.type.key.id == b.id for a, b in itertools.pairwise(line)):
        raise InvalidRequestError(
            f"the column {schema.path_text(column_id)} can't be narrowed, since it is in the key of a "
            "map, which identifies its values; add a new map, copy the values and drop the old one",
            condition="NOT_SUPPORTED",
        )
    partitioned = [field.source for field in schema.partitioning]
    uses = ((schema.row_key, "in the row key"), (partitioned, "a source of the partitioning"))
    for ids, what in uses:
        if column_id in ids:
            raise InvalidRequestError(
                f"the column {schema.path_text(column_id)} can't be narrowed, since it is {what}, whose "
                "values identify rows and files; create another table and copy the rows",
                condition="NOT_SUPPORTED",
            )


@dataclass(frozen=True, slots=True)
class Default:
    """A write default bound to its column.

    Args:
        column: the column.
        value: the default, of ``type``.
        type: the column's type when the change was planned.
        first_new_id: the first ID that the ALTER assigned at planning; IDs in ``type`` and
            ``value`` from there on are of its new columns.
    """

    column: Ref
    value: WriteDefault | None
    type: DataType
    first_new_id: int


@dataclass(frozen=True, slots=True)
class SetDefault(ColumnChange[Default]):
    """Set the write default: a Python value, a Constant of the column's type, or Now."""

    value: object

    kind = "default"

    def target(self, evolution: Evolution, time: dt.datetime) -> Default:
        ref = field_reference(evolution, self.path, "given a default")
        column = find(evolution.schema, self.path)
        (shown,) = visible((column,))
        default = stored_default(self.value, shown.type, render_path(self.path))
        if isinstance(default, Constant) and shown != column:
            default = with_hidden_defaults(default, column.type)
        if default is None and not column.nullable:
            raise InvalidRequestError(
                f"the default of {render_path(self.path)} can't be NULL, since the column is NOT "
                "NULL; drop its default instead, so that every write must give a value"
            )
        return Default(ref, default, column.type, evolution.first_new_id)

    def apply(self, target: Default, evolution: Evolution) -> Evolution:
        schema, column_id = evolution.schema, locate(evolution, target.column)
        type_ = schema.column(column_id).type
        default = target.value
        match default:
            case Constant():
                default = _rebased_constant(default, target, evolution, type_)
            case Now() | Evaluated() if type_ != target.type:
                raise InvalidRequestError(
                    f"the default {value_text(default)} does not fit the column "
                    f"{schema.path_text(column_id)}, which is {type_name(type_)} now"
                )
            case Now() | Evaluated() | None:
                pass
        return edit_column(evolution, target.column, write_default=default)

    def describe(self) -> str:
        return f"ALTER COLUMN {render_path(self.path)} SET DEFAULT {value_text(self.value)}"

    def clauses(self, before: Evolution, after: Evolution) -> list[str]:
        default = default_text(after.schema.get(self.path))
        action = "DROP DEFAULT" if default is None else f"SET DEFAULT {default}"
        return [f"ALTER COLUMN {render_path(self.path)} {action}"]

    def detail(self, before: Evolution, after: Evolution) -> str:
        return _default_change(self, before, after)


def _rebased_constant(
    default: Constant, target: Default, evolution: Evolution, type_: DataType
) -> Constant:
    """A default of the column's type at planning, as one of its current type ``type_``."""
    shift = evolution.first_new_id - target.first_new_id

    def moved(column: Column) -> Column:
        is_new = column.id >= target.first_new_id
        return replace(column, id=column.id + shift) if is_new else column

    planned = map_columns(Column(UNASSIGNED, "planned", target.type), moved).type
    return widen(rekey_constant(default, target.type, planned), planned, type_)


@dataclass(frozen=True, slots=True)
class DropDefault(ColumnChange[Ref]):
    """Drop the write default."""

    kind = "default"

    def target(self, evolution: Evolution, time: dt.datetime) -> Ref:
        return field_reference(evolution, self.path, "given a default")

    def apply(self, target: Ref, evolution: Evolution) -> Evolution:
        return edit_column(evolution, target, write_default=None)

    def describe(self) -> str:
        return f"ALTER COLUMN {render_path(self.path)} DROP DEFAULT"

    def detail(self, before: Evolution, after: Evolution) -> str:
        return _default_change(self, before, after)


def _default_change(change: SetDefault | DropDefault, before: Evolution, after: Evolution) -> str:
    old, new = (
        default_text(evolution.schema.get(change.path)) or "none" for evolution in (before, after)
    )
    return f"{render_path(change.path)} {old} -> {new}"


def default_text(column: Column) -> str | None:
    """The write default of a column as SQL."""
    default = column.write_default
    return None if default is None else to_sql(default, column.type)


def stored_default(value: object, type_: DataType, where: str) -> WriteDefault | None:
    """The stored form of a default that fits the type; ``where`` is the column, for errors."""
    if value is not None and not can_have_default(type_):
        raise InvalidRequestError(
            f"the column {where} is {type_name(type_)}, which can't have a default; leave it out"
        )
    if isinstance(value, Now):
        if value.type is not type_:
            raise InvalidRequestError(
                f"the column {where} is {type_name(type_)}, but {value.value} is "
                f"{type_name(value.type)}; give a constant"
            )
        return value
    if isinstance(value, Evaluated):
        return evaluated(default_expressions.parsed(value.sql), type_)
    if isinstance(value, Constant):
        return value
    try:
        return constant(value, type_)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"column {where}: {error}", condition="INVALID_VALUE") from None


def value_at(default: Now | Evaluated, type_: DataType, time: dt.datetime) -> Constant | None:
    """The value of a default at a time, in UTC.

    Raises:
        InvalidRequestError: it is out of range.
    """
    if isinstance(default, Evaluated):
        value = default_expressions.evaluate(default_expressions.parsed(default.sql), time)
        return constant(value, type_)
    now, moment = default, time.astimezone(dt.UTC)
    return constant(moment.date() if now is Now.DATE else moment, type_)
