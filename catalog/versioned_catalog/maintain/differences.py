"""What differs between two versions of a table beside rows: columns, keys, properties, pins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from versioned_catalog.log.state import TableState
from versioned_catalog.model.checks import shown_checks
from versioned_catalog.model.ddl import render_columns
from versioned_catalog.model.identifiers import shown_properties
from versioned_catalog.model.keys import key_names, render_sort_by
from versioned_catalog.model.partitioning import partition_fields
from versioned_catalog.model.pins import with_pinned_names
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.type_text import quote, render_path
from versioned_catalog.model.types import Column, walk

Kind = Literal[
    "column",
    "order of columns",
    "primary key",
    "time index",
    "partitioning",
    "sort order",
    "constraint",
    "property",
    "comment",
    "pin",
    "incarnation",
]


@dataclass(frozen=True)
class Difference:
    """One thing that differs between two versions.

    Args:
        kind: what it is.
        name: of a column, constraint, property or pin, the name, of a column that in the first of the
            versions that has it; else empty.
        before, after: what it is in the first and in the second version; None if it is not there.

    >>> print(Difference("property", "owner", "ann", None))
    property owner is removed: ann
    """

    kind: Kind
    name: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        what = f"{self.kind} {self.name}".rstrip()
        if self.after is None:
            return f"{what} is removed: {self.before}"
        if self.before is None:
            return f"{what} is added: {self.after}"
        return f"{what}: {self.before} becomes {self.after}"


def differences(before: TableState, after: TableState) -> tuple[Difference, ...]:
    """What differs between two states beside rows; columns are matched by ID."""
    return tuple(_differences(before, after))


def _differences(before: TableState, after: TableState) -> Iterator[Difference]:
    if before.table_uuid != after.table_uuid:
        yield Difference("incarnation", "", before.table_uuid, after.table_uuid)
    yield from _columns(_named_by_pins(before), _named_by_pins(after))
    old, new = _arrangements(before.schema), _arrangements(after.schema)
    for kind, (ids, text) in old.items():
        if ids != new[kind][0]:
            yield Difference(kind, "", text, new[kind][1])
    yield from _named("constraint", _checks(before), _checks(after))
    old_properties, new_properties = (
        shown_properties(s.properties, s.schema) for s in (before, after)
    )
    yield from _named("property", old_properties, new_properties)
    if before.comment != after.comment:
        yield Difference("comment", "", before.comment, after.comment)
    yield from _named("pin", _pins(before), _pins(after))


def _named_by_pins(state: TableState) -> tuple[Column, ...]:
    return with_pinned_names(state.schema, state.pinned_schemas)


def _columns(before: Sequence[Column], after: Sequence[Column]) -> Iterator[Difference]:
    old = {column.id: column for column in before}
    new = {column.id: column for column in after}
    for column_id, column in old.items():
        now = new.get(column_id)
        if now is None or _identity(column) != _identity(now):
            text = None if now is None else _text(now)
            yield Difference("column", quote(column.name), _text(column), text)
    for column_id, column in new.items():
        if column_id not in old:
            yield Difference("column", quote(column.name), None, _text(column))
    orders = [
        [column.id for column in columns.values() if column.id in old.keys() & new.keys()]
        for columns in (old, new)
    ]
    if orders[0] != orders[1]:
        names = [", ".join(column.name for column in columns) for columns in (before, after)]
        yield Difference("order of columns", "", *names)


def _identity(column: Column) -> tuple[str, tuple[int, ...]]:
    """What makes a column the same: its definition, and the IDs inside it."""
    return _text(column), tuple(inner.id for inner, _ in walk((column,)))


def _text(column: Column) -> str:
    text = render_columns((column,))
    if column.hidden:
        return f"{text} (hidden, for a pin)"
    inner = [
        render_path((*(outer.name for outer in above), below.name))
        for below, above in walk((column,))
        if below.hidden
    ]
    return f"{text} (hidden, for a pin: {', '.join(inner)})" if inner else text


def _arrangements(schema: Schema) -> dict[Kind, tuple[object, str | None]]:
    """Keys and order by column ID, which a rename does not change, and as text."""
    key = key_names(schema)
    index = None if key.time_index is None else render_path(key.time_index)
    partitioning = ", ".join(partition_fields(schema)) or None
    return {
        "primary key": (schema.primary_key, ", ".join(map(render_path, key.primary_key)) or None),
        "time index": (schema.time_index, index),
        "partitioning": (schema.partitioning, partitioning),
        "sort order": (schema.sort_by, render_sort_by(schema) or None),
    }


def _checks(state: TableState) -> Mapping[str, str]:
    return shown_checks(state.properties, state.schema)


def _pins(state: TableState) -> Mapping[str, str]:
    return {label: f"schema version {pin.schema_version}" for label, pin in state.pins.items()}


def _named(kind: Kind, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Difference]:
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield Difference(kind, name, before.get(name), after.get(name))
