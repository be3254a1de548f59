"""Schemas in Iceberg's JSON, and what of a schema Iceberg cannot say."""

from __future__ import annotations

from collections.abc import Iterator

from versioned_catalog.iceberg.types import Json, column_children, leaf_type, promotes
from versioned_catalog.iceberg.values import default_json
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.types import (
    Array,
    Column,
    Constant,
    DataType,
    Map,
    NestedType,
    Struct,
    is_nested,
    walk,
)
from versioned_catalog.types.widening import type_name


def schema_json(schema: Schema, format_version: int) -> Json:
    """Return a schema without its hidden columns. ``unsayable`` finds nothing in it."""
    shown = schema.visible
    found = {
        "type": "struct",
        "schema-id": schema.version,
        "fields": [_field(column, format_version) for column in shown.columns],
    }
    if shown.primary_key:
        found["identifier-field-ids"] = list(shown.row_key)
    return found


def _field(column: Column, format_version: int) -> Json:
    out = {
        "id": column.id,
        "name": column.name,
        "required": not column.nullable,
        "type": _type(column.type, format_version),
    }
    if column.comment:
        out["doc"] = column.comment
    if format_version >= 3:
        defaults = {"initial-default": column.read_default, "write-default": column.write_default}
        for name, default in defaults.items():
            if isinstance(default, Constant) and unsayable_default(column, default) is None:
                out[name] = default_json(default, column.type)
    return out


def _type(type_: DataType, format_version: int) -> Json:
    match type_:
        case Struct(fields):
            inner = [_field(field, format_version) for field in fields]
            return {"type": "struct", "fields": inner}
        case Array(element):
            return {
                "type": "list",
                "element-id": element.id,
                "element": _type(element.type, format_version),
                "element-required": not element.nullable,
            }
        case Map(key, value):
            return {
                "type": "map",
                "key-id": key.id,
                "key": _type(key.type, format_version),
                "value-id": value.id,
                "value": _type(value.type, format_version),
                "value-required": not value.nullable,
            }
        case _:
            found = leaf_type(type_)
            assert found is not None, "unsayable() is asked first"
            return found


def unsayable_default(column: Column, default: Constant) -> str | None:
    """Return why Iceberg's readers cannot show a default; None if they can."""
    try:
        default_json(default, column.type)
    except ValueError as error:
        return str(error)
    return None


def unsayable(schema: Schema) -> Iterator[str]:
    """Yield what of a schema Iceberg has no form for, one sentence a column."""
    shown = schema.visible
    for column, _ in walk(shown.columns):
        type_ = column.type
        if not isinstance(type_, NestedType) and leaf_type(type_) is None:
            yield (
                f"the column {shown.path_text(column.id)} is {type_name(type_)}, whose files no Iceberg "
                "reader understands; drop it, or store it in another type, such as STRING or BINARY"
            )
    paths: dict[str, Column] = {}
    for path, column in _dotted({column.name: column for column in shown.columns}, ""):
        other = paths.setdefault(path, column)
        if other is not column:
            yield (
                f"two columns are called {path} in Iceberg, {shown.path_text(other.id)} and "
                f"{shown.path_text(column.id)}; rename one of them"
            )


def _dotted(columns: dict[str, Column], above: str) -> Iterator[tuple[str, Column]]:
    """Every column by its path as Iceberg writes it, without any quoting."""
    for name, column in columns.items():
        yield above + name, column
        if isinstance(column.type, NestedType):
            yield from _dotted(column_children(column.type), f"{above}{name}.")


def unreadable(written: Schema, wanted: Schema, format_version: int) -> Iterator[str]:
    """Yield what an Iceberg reader of ``wanted`` would get wrong in a file written under ``written``."""
    for column, _ in walk(written.columns):
        if not isinstance(column.type, NestedType) and leaf_type(column.type) is None:
            # Groups inside such a column have no field IDs, and PyIceberg 0.12 refuses the whole file.
            yield (
                f"some segments hold the dropped column {written.path_text(column.id)}, which is "
                f"{type_name(column.type)}"
            )
    missing = set[int]()
    for column, above in walk(wanted.visible.columns):
        path = wanted.path_text(column.id)
        if above and above[-1].id in missing:
            missing.add(column.id)  # the parent's default decides
        elif column.id not in written.ids:
            missing.add(column.id)
            yield from _lost_default(column, path, format_version)
        else:
            old = written.column(column.id).type
            if not promotes(old, column.type):
                yield (
                    f"some segments hold the column {path} as {type_name(old)}, which Iceberg's readers "
                    f"can't widen to {type_name(column.type)}"
                )


def _lost_default(column: Column, path: str, format_version: int) -> Iterator[str]:
    if column.read_default is None:
        return
    if format_version < 3:
        yield (
            f"some segments lack the column {path}, and readers of Iceberg v2 would show null instead "
            "of its default"
        )
        return
    why = unsayable_default(column, column.read_default)
    if why is not None:
        yield f"some segments lack the column {path}, and Iceberg can't say its default: {why}"


def changes_unsayable(before: Schema, after: Schema) -> Iterator[str]:
    """Yield what of a schema change Iceberg's readers would not follow."""
    for column, _ in walk(after.visible.columns):
        path = after.path_text(column.id)
        if column.id in before.ids:
            old = before.column(column.id).type
            if not is_nested(old) and not promotes(old, column.type):
                yield (
                    f"the column {path} can't change from {type_name(old)} to "
                    f"{type_name(column.type)}, which Iceberg's readers don't follow"
                )
        elif column.read_default is not None:
            why = unsayable_default(column, column.read_default)
            if why is not None:
                yield f"the column {path} can't have its default, which Iceberg can't say: {why}"
