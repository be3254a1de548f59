"""Schema pins, and the columns that are hidden for them (FORMAT.md, section 4.6).

A change that is not legal on the table raises InvalidRequestError.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import replace

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.evolution import Evolution
from versioned_catalog.model.hidden_columns import hidden_name
from versioned_catalog.model.pins import PinnedSchema, PinnedSchemas, breaks, pins_on, seen_through
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import Column, children, is_nested, walk, with_children
from versioned_catalog.spelling import one_of

PINS = "pins"
"""The table property that says whether an ALTER may make a pinned job fail."""


class Breaks(enum.Enum):
    """The handling of a change after which a pinned job may fail."""

    ALLOW = "allow"
    """The change is made."""
    REFUSE = "refuse"
    """The change is refused."""


def refuses_breaks(properties: Mapping[str, str]) -> bool:
    """Whether a change after which a pinned job may fail is refused.

    Raises:
        InvalidRequestError: the property has another value.
    """
    text = properties.get(PINS, Breaks.ALLOW.value)
    return one_of(Breaks, text, f"the property {PINS}") is Breaks.REFUSE


def hide_or_remove(column_id: int, evolution: Evolution) -> Schema:
    """Remove a column; hide it if a pin needs it."""
    schema = evolution.schema
    column = schema.column(column_id)
    if not _labels_on(column, evolution.pins):
        return schema.edit_siblings(
            column_id, lambda siblings: tuple(c for c in siblings if c.id != column_id)
        )
    hidden = _hidden(column, schema, evolution.pins)
    return schema.replace_column(column_id, lambda _: hidden)


def _labels_on(column: Column, pins: PinnedSchemas) -> list[str]:
    """The labels of the pins that need a column, or one inside it."""
    return pins_on(pins, frozenset(inner.id for inner, _ in walk((column,))))


def _hidden(column: Column, schema: Schema, pins: PinnedSchemas) -> Column:
    """A column of a schema, hidden for the pins that need it."""
    if not column.nullable and column.write_default is None:
        where, label = schema.path_text(column.id), _labels_on(column, pins)[0]
        raise InvalidRequestError(
            f"{where} can't be dropped, since the schema pin {label!r} needs it and it is NOT NULL "
            "without a default, so writers that do not see it could not fill it; set a default, make "
            f"{where} nullable, or retire the pin with retire_schema({label!r})",
            condition="NOT_SUPPORTED",
        )
    return replace(column, name=hidden_name(column.id), hidden=True)


def rolled_back(then: Schema, now: Schema, pins: PinnedSchemas) -> Schema:
    """The schema that a rollback restores: hidden columns are those that a pin needs now.

    Columns that were added since then are hidden if a pin needs them, as a DROP hides them.

    Args:
        then: the schema of the version that is restored.
        now: the current schema.

    Raises:
        InvalidRequestError: such a column can't be hidden.
    """

    def restored(old: tuple[Column, ...], new: tuple[Column, ...]) -> tuple[Column, ...]:
        current = {column.id: column for column in new}
        old_ids = {column.id for column in old}
        kept = tuple(_with_below(c, current[c.id]) if c.id in current else c for c in old)
        added = (column for column in new if column.id not in old_ids and _labels_on(column, pins))
        return kept + tuple(c if c.hidden else _hidden(c, now, pins) for c in added)

    def _with_below(old: Column, new: Column) -> Column:
        if not (is_nested(old.type) and is_nested(new.type)):
            return old
        below = restored(children(old.type), children(new.type))
        return replace(old, type=with_children(old.type, below))

    columns = restored(then.columns, now.columns)
    return without_unneeded(replace(then, columns=columns), pins.values())


def without_unneeded(schema: Schema, pins: Iterable[PinnedSchema]) -> Schema:
    """A schema without the hidden columns that no pin needs."""
    needed = frozenset[int]().union(*(pin.schema.ids for pin in pins))

    def kept(columns: tuple[Column, ...]) -> tuple[Column, ...]:
        return tuple(
            replace(column, type=with_children(column.type, kept(children(column.type))))
            if is_nested(column.type)
            else column
            for column in columns
            if not column.hidden or any(inner.id in needed for inner, _ in walk((column,)))
        )

    columns = kept(schema.columns)
    return schema if columns == schema.columns else replace(schema, columns=columns)


def check_pins(before: Evolution, after: Evolution) -> None:
    """Check that every pinned job can still use the table after an ALTER."""
    refuses = refuses_breaks(after.properties)
    if after.schema is before.schema and not refuses:
        return
    for label, pinned in after.pins.items():
        # A rollback may have removed columns that a pin needs; other changes stay possible.
        if (
            label in before.pins
            and not _is_seen(pinned, after.schema)
            and _is_seen(pinned, before.schema)
        ):
            check_seen(label, pinned, after.schema)
    if refuses:
        check_no_breaks(after.pins, before.schema, after.schema)


def check_no_breaks(pins: PinnedSchemas, before: Schema, after: Schema) -> None:
    """Refuse a schema that gives a pinned job a new reason to fail."""
    for label, pinned in pins.items():
        earlier_reasons = set(breaks(pinned.schema, before))
        for reason in breaks(pinned.schema, after):
            if reason not in earlier_reasons:
                raise InvalidRequestError(
                    f"after this change, a job that uses the schema pin {label!r} (schema "
                    f"{pinned.pin.schema_version}{_owned(pinned)}) may fail: {reason}. The table "
                    f"property {PINS} is 'refuse'; retire the pin with retire_schema({label!r}), or "
                    f"set the property to 'allow'",
                    condition="NOT_SUPPORTED",
                )


def _owned(pinned: PinnedSchema) -> str:
    return "" if pinned.pin.owner is None else f", owner {pinned.pin.owner}"


def _is_seen(pinned: PinnedSchema, schema: Schema) -> bool:
    try:
        seen_through(pinned.schema, schema)
    except InvalidRequestError:
        return False
    return True


def check_seen(label: str, pinned: PinnedSchema, schema: Schema) -> None:
    """Check that a schema has the columns that a pin needs.

    Raises:
        InvalidRequestError: ``seen_through`` refuses the schema; the message names the pin.
    """
    try:
        seen_through(pinned.schema, schema)
    except InvalidRequestError as error:
        raise InvalidRequestError(
            f"the schema pin {label!r} (schema {pinned.pin.schema_version}) can't be had: {error}; pin "
            f"a later schema version, or, if it is in force, retire it with retire_schema({label!r})",
            condition="NOT_SUPPORTED",
        ) from None
