"""Schema pins, and a table in the earlier schema that a pin names.

Columns are matched by ID (FORMAT.md, section 4.6). Readers and writers share one mapping; pgroll has a
view for each schema version, and Iceberg has neither.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.model.constants import narrow, widen
from versioned_catalog.model.ddl import render_type
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.type_text import ColumnPath, has_control_characters, render_path
from versioned_catalog.model.types import (
    UNASSIGNED,
    Column,
    Constant,
    WriteDefault,
    children,
    is_nested,
    map_columns,
    walk,
    with_children,
)
from versioned_catalog.model.widening import widens
from versioned_catalog.spelling import listed


@dataclass(frozen=True, slots=True)
class Pin:
    """A declaration that some job reads and writes a table in a schema version.

    Args:
        schema_version: the schema version that the job was written for.
        owner: who to ask about the job.
        until: when the job will follow the current schema, for people: a pin stays until it is retired.
    """

    schema_version: int
    owner: str | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class PinnedSchema:
    """A pin, and the columns that it needs: those of its schema version that are not hidden."""

    pin: Pin
    schema: Schema


PinnedSchemas = Mapping[str, PinnedSchema]
"""Pins by label."""


def check_label(label: object) -> str:
    """The label of a pin.

    Raises:
        InvalidRequestError: it is empty, digits alone, or holds control characters.
    """
    if not isinstance(label, str) or not label:
        raise InvalidRequestError(
            f"the label of a pin must be text that is not empty, got {label!r}"
        )
    if label.isdigit():
        raise InvalidRequestError(
            f"a pin can't be called {label!r}, since digits alone are a schema version; call it "
            f"'v{label}'"
        )
    if has_control_characters(label):
        raise InvalidRequestError(
            f"the pin {label!r} holds control characters; choose another label"
        )
    return label


def check_pinned(pins: Mapping[str, object], label: str) -> None:
    """Check that there is a pin of this label.

    Raises:
        NotFoundError: there is none; the message lists the pins.
    """
    if label not in pins:
        labels = listed(label, sorted(pins), none="none so far")
        raise NotFoundError(
            f"there is no schema pin {label!r} (the pins: {labels}); declare it with "
            f"pin_schema({label!r}, schema_version)"
        )


def pins_on(pins: PinnedSchemas, ids: frozenset[int]) -> list[str]:
    """The labels of the pins that need one of some columns, sorted."""
    return sorted(label for label, pinned in pins.items() if not ids.isdisjoint(pinned.schema.ids))


@dataclass(frozen=True, slots=True)
class HiddenColumn:
    """A column that was dropped and is kept for pins.

    Args:
        path: its path in the schema of the first pin.
        column_id: its ID.
        pins: the pins that need it, by their labels.
    """

    path: ColumnPath
    column_id: int
    pins: Mapping[str, Pin]

    @property
    def needed_by(self) -> str:
        """The pins for errors: ``the schema pin app1 (until 2027-03-31)``."""
        shown = [
            label if pin.until is None else f"{label} (until {pin.until:%Y-%m-%d})"
            for label, pin in self.pins.items()
        ]
        return f"the schema pin{'' if len(shown) == 1 else 's'} {' and '.join(shown)}"

    @property
    def reason(self) -> str:
        """Why it is there, for people: ``is hidden, since the schema pin app1 needs it``."""
        return f"is hidden, since {self.needed_by} need{'s' if len(self.pins) == 1 else ''} it"

    @property
    def text(self) -> str:
        """The column and why it is there."""
        return f"{render_path(self.path)} {self.reason}"


def hidden_columns(schema: Schema, pins: PinnedSchemas) -> tuple[HiddenColumn, ...]:
    """The hidden columns of a schema, without those inside another hidden one."""
    hidden = []
    for column, above in walk(schema.columns):
        if column.hidden and not any(outer.hidden for outer in above):
            labels = pins_on(pins, frozenset(inner.id for inner, _ in walk((column,))))
            needed = {label: pins[label].pin for label in labels}
            path = pinned_path(schema, pins, column.id)
            hidden.append(HiddenColumn(path, column.id, needed))
    return tuple(hidden)


def pinned_path(schema: Schema, pins: PinnedSchemas, column_id: int) -> ColumnPath:
    """The path by which somebody sees a column, be it through a pin; another one may have the same."""
    line = (*schema.ancestors(column_id), schema.column(column_id))
    return tuple(_pinned_name(one, pins) if one.hidden else one.name for one in line)


def with_pinned_names(schema: Schema, pins: PinnedSchemas) -> tuple[Column, ...]:
    """The columns of a schema for people: hidden ones have the names that pins show, as others may."""

    def named(columns: tuple[Column, ...]) -> tuple[Column, ...]:
        return tuple(
            replace(
                column,
                name=_pinned_name(column, pins) if column.hidden else column.name,
                type=with_children(column.type, named(children(column.type)))
                if is_nested(column.type)
                else column.type,
            )
            for column in columns
        )

    return named(schema.columns)


def _pinned_name(column: Column, pins: PinnedSchemas) -> str:
    names = (
        pins[label].schema.column(column.id).name for label in pins_on(pins, frozenset({column.id}))
    )
    return next(names, column.name)


class Overflow(enum.Enum):
    """What is shown for a value that does not fit the seen type."""

    ERROR = "error"
    NULL = "null"


@dataclass(frozen=True)
class Seen:
    """What a user sees of a table.

    Args:
        schema: the columns as the user reads and writes them, with the user's names, order and types.
        stored: the schema that segments are written under, hidden columns included.
    """

    schema: Schema
    stored: Schema

    @property
    def is_whole(self) -> bool:
        """Whether the table is seen as it is stored."""
        return self.schema is self.stored

    @cached_property
    def wide(self) -> Schema:
        """The seen columns in the types that are stored now, in which filters are evaluated."""
        if self.is_whole or all(
            column.id in self.stored.ids and self.stored.column(column.id).type == column.type
            for column, _ in walk(self.schema.columns)
            if not is_nested(column.type)
        ):
            return self.schema
        return replace(self.schema, columns=tuple(map(self.widened, self.schema.columns)))

    def widened(self, column: Column) -> Column:
        """A seen column, or a part of one, in the types that are stored now."""
        if column.id not in self.stored.ids:
            return column
        stored = self.stored.column(column.id)
        if is_nested(column.type):
            type_ = with_children(column.type, tuple(map(self.widened, children(column.type))))
            default = column.read_default
            wide = None if default is None else widen(default, column.type, type_)
            return replace(column, type=type_, read_default=wide)
        if column.type == stored.type or not widens(column.type, stored.type):
            return column
        return replace(column, type=stored.type, read_default=stored.read_default)


def loosened(seen: Seen) -> Seen:
    """The same columns, nullable where null is shown for values that do not fit.

    Those of the row key stay NOT NULL, as a schema requires; ``loosened_column`` has their nulls.
    """
    if seen.is_whole:
        return seen
    key = seen.schema.row_key
    columns = tuple(
        column if column.id in key else loosened_column(column, seen)
        for column in seen.schema.columns
    )
    return Seen(replace(seen.schema, columns=columns), seen.stored)


def loosened_column(column: Column, seen: Seen) -> Column:
    """A seen column, nullable if null is shown for its values that do not fit; its parts, too."""
    inner = tuple(loosened_column(child, seen) for child in children(column.type))
    narrowed = not inner and seen.widened(column).type != column.type
    return replace(
        column,
        nullable=column.nullable or narrowed,
        type=with_children(column.type, inner) if inner else column.type,
    )


def seen_through(pinned: Schema, stored: Schema, *, newest: bool = True) -> Seen:
    """See a stored schema through an earlier one, without the earlier one's hidden columns.

    Args:
        newest: whether ``stored`` is of the version of ``pinned`` or a later one; else columns that it
            lacks were added later, and show their read default.

    Raises:
        InvalidRequestError: a column was dropped for good, changed its kind, or has a write default that
            does not fit the earlier type.
    """
    earlier = pinned.visible
    columns = tuple(_seen(column, (column.name,), stored, newest) for column in earlier.columns)
    return Seen(stored, stored) if columns == stored.columns else _arranged(columns, pinned, stored)


def _arranged(columns: tuple[Column, ...], earlier: Schema, stored: Schema) -> Seen:
    """These columns, of an earlier schema, in the arrangement of the stored one as far as they go."""
    ids = {column.id for column, _ in walk(columns)}
    partitioning = tuple(field for field in stored.partitioning if field.source in ids)
    sort_by = () if stored.row_key else tuple(f for f in stored.sort_by if f.source in ids)
    key = stored.primary_key, stored.time_index
    return Seen(Schema(columns, earlier.version, partitioning, sort_by, *key), stored)


def _seen(column: Column, path: ColumnPath, stored: Schema, newest: bool) -> Column:
    if column.id not in stored.ids:
        if newest:
            raise InvalidRequestError(
                f"the column {render_path(path)} (ID {column.id}) was dropped for good",
                condition="COLUMN_NOT_FOUND",
            )
        return column
    current = stored.column(column.id)
    if column == current:
        return column
    inner = tuple(
        _seen(child, (*path, child.name), stored, newest) for child in children(column.type)
    )
    return replace(
        column,
        type=with_children(column.type, inner),
        nullable=column.nullable or current.nullable,
        write_default=_write_default(column, current, path),
    )


def _write_default(column: Column, current: Column, path: ColumnPath) -> WriteDefault | None:
    """The current write default, in the seen type."""
    default = current.write_default
    if not isinstance(default, Constant) or column.type == current.type:
        return default
    narrowed = narrow(default, current.type, column.type)
    if narrowed is None:
        raise InvalidRequestError(
            f"the default of {render_path(path)} does not fit its earlier type "
            f"{render_type(column.type)}",
            condition="INVALID_VALUE",
        )
    return narrowed


def seen_by_rows(earlier: Schema, stored: Schema) -> Seen:
    """See a stored schema as rows to write do, whose columns have the names of an earlier schema.

    Columns have the earlier names and order, and the current types and defaults, since rows carry their
    own types. Values of columns that are dropped or hidden now are discarded.
    """
    live = stored.visible.ids
    columns = tuple(_named(column, stored, live) for column in earlier.visible.columns)
    return _arranged(columns, earlier, stored)


def _named(column: Column, stored: Schema, live: Collection[int]) -> Column:
    """A column as it is stored now, with its earlier name and fields."""
    if column.id not in live:
        dropped = map_columns(column, lambda c: replace(c, id=UNASSIGNED, write_default=None))
        return replace(dropped, nullable=True)
    current = stored.column(column.id)
    inner = tuple(_named(child, stored, live) for child in children(column.type))
    kind = with_children(column.type, inner) if inner else current.type
    return replace(current, name=column.name, type=kind)


def breaks(pinned: Schema, stored: Schema) -> Iterator[str]:
    """Reasons why a job that uses an earlier schema may fail to read or write the stored one."""
    for column, above in walk(pinned.visible.columns):
        path = render_path((*(c.name for c in above), column.name))
        if column.id not in stored.ids:
            yield f"{path} was dropped for good"
            continue
        current = stored.column(column.id)
        if not is_nested(column.type) and not widens(column.type, current.type):
            yield (
                f"{path} is {render_type(current.type)} since a rollback or a narrowing, and rows can't "
                f"be written as {render_type(column.type)}"
            )
        elif not is_nested(column.type) and not widens(current.type, column.type):
            yield (
                f"{path} is {render_type(current.type)}, and a value that does not fit "
                f"{render_type(column.type)} can't be read"
            )
        if column.nullable and not current.nullable:
            yield f"{path} is NOT NULL, and a null can't be written"
        if not column.nullable and current.nullable:
            yield f"{path} is no longer NOT NULL, and a null may be read"
    for column, above in walk(stored.columns):
        is_new = column.id not in pinned.ids and (not above or above[-1].id in pinned.ids)
        if is_new and not column.nullable and column.write_default is None:
            name = stored.path_text(column.id)
            yield f"{name} is NOT NULL without a default, so rows without it can't be written"


def without_dropped(columns: tuple[Column, ...], present_ids: Container[int]) -> tuple[Column, ...]:
    """Columns for newer rows: those that were dropped since are null, not filled.

    A column without an ID is no column of the table, and keeps its default.
    """
    return tuple(
        replace(
            column,
            type=with_children(column.type, without_dropped(children(column.type), present_ids))
            if is_nested(column.type)
            else column.type,
            read_default=column.read_default if _is_kept(column, present_ids) else None,
        )
        for column in columns
    )


def _is_kept(column: Column, present_ids: Container[int]) -> bool:
    return column.id in present_ids or column.id == UNASSIGNED
