"""Schemas as Iceberg expresses them, and those that the property ``publish`` rules out.

docs/iceberg.md shows the same table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.iceberg_values import default_json
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.table_text import own_name
from versioned_catalog.model.type_text import parse_path
from versioned_catalog.model.types import (
    Array,
    Column,
    Constant,
    DataType,
    Decimal,
    LeafType,
    Map,
    NestedType,
    Struct,
    is_nested,
    walk,
)
from versioned_catalog.model.widening import type_name

Json = Any


def leaf_type(type_: LeafType) -> str | None:
    """Return the Iceberg type of a leaf type; None if there is none.

    >>> from versioned_catalog.model.types import Atom, Decimal
    >>> leaf_type(Atom.SHORT), leaf_type(Decimal(10, 2)), leaf_type(Atom.VARIANT)
    ('int', 'decimal(10, 2)', None)
    """
    name = type_.leaf.iceberg
    if isinstance(type_, Decimal):
        return f"{name}({type_.precision}, {type_.scale})"
    return name


def promotes(old: DataType, new: DataType) -> bool:
    """Whether every Iceberg reader shows values that were written as ``old`` right as ``new``.

    Both are leaf types, and ``new`` is a legal widening of ``old``. Iceberg also allows DATE to
    TIMESTAMP, which Spark's reader refuses.
    """
    if isinstance(old, NestedType) or isinstance(new, NestedType):
        return True
    before, after = leaf_type(old), leaf_type(new)
    if before == after or (before, after) in (("int", "long"), ("float", "double")):
        return True
    match old, new:
        case Decimal(scale=old_scale), Decimal(scale=new_scale):
            return old_scale == new_scale
    return False


def column_children(type_: NestedType) -> dict[str, Column]:
    """The columns inside a type, by the names that Iceberg's paths use."""
    match type_:
        case Struct(fields):
            return {field.name: field for field in fields}
        case Array(element):
            return {"element": element}
        case Map(key, value):
            return {"key": key, "value": value}


def schema_json(schema: Schema, format_version: int, identifiers: Sequence[int] = ()) -> Json:
    """Return a schema without its hidden columns. ``unsayable`` finds nothing in it.

    Args:
        identifiers: the columns that are declared to identify a row, in a table without a primary key.
    """
    shown = schema.visible
    out = {
        "type": "struct",
        "schema-id": schema.version,
        "fields": [_field(column, format_version) for column in shown.columns],
    }
    if shown.primary_key:
        out["identifier-field-ids"] = list(shown.row_key)
    elif identifiers:
        out["identifier-field-ids"] = list(identifiers)
    return out


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
            leaf = leaf_type(type_)
            assert leaf is not None, "unsayable() is asked first"
            return leaf


def unsayable_default(column: Column, default: Constant) -> str | None:
    """Return the reason why Iceberg's readers can't show a default; None if they can."""
    try:
        default_json(default, column.type)
    except ValueError as error:
        return str(error)
    return None


def unsayable(schema: Schema) -> Iterator[str]:
    """Yield the columns of a schema that Iceberg can't express, one sentence a column."""
    shown = schema.visible
    for column, _ in walk(shown.columns):
        type_ = column.type
        if column.widest is not None:
            yield (
                f"the column {shown.path_text(column.id)} was narrowed from {type_name(column.widest)} "
                f"to {type_name(type_)}, and older files hold values that no Iceberg reader narrows; "
                "add a column, copy the values and drop this one"
            )
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
    """Yield the errors of an Iceberg reader of ``wanted`` in a file written under ``written``."""
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
    reason = unsayable_default(column, column.read_default)
    if reason is not None:
        yield f"some segments lack the column {path}, and Iceberg can't say its default: {reason}"


def changes_unsayable(before: Schema, after: Schema) -> Iterator[str]:
    """Yield the parts of a schema change that Iceberg's readers would not follow."""
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
            reason = unsayable_default(column, column.read_default)
            if reason is not None:
                yield f"the column {path} can't have its default, which Iceberg can't say: {reason}"


PUBLISH = "publish"
ICEBERG = "iceberg"
PUBLISH_CATALOG = "publish.catalog"
"""The property with the name of a catalog of PyIceberg in which each publication is registered."""
PUBLISH_CATALOG_TABLE = "publish.catalog.table"
"""The property with the name of the table in that catalog."""

REGISTRATION = (PUBLISH_CATALOG, PUBLISH_CATALOG_TABLE)
"""The properties that say where a publication is registered."""

PUBLICATION = (PUBLISH, *REGISTRATION)
"""The properties of publishing, which are no part of a version."""


def publishes(properties: Mapping[str, str]) -> bool:
    """Whether each commit of a table is published.

    Raises:
        InvalidRequestError: the property has another value than ``iceberg``.
    """
    text = properties.get(PUBLISH)
    if text not in (None, ICEBERG):
        raise InvalidRequestError(
            f"the property {PUBLISH} must be {ICEBERG!r}, got {text!r}", condition="INVALID_OPTION"
        )
    return text is not None


def check_registration(properties: Mapping[str, str]) -> None:
    """Refuse names of a catalog, or of a table in it, that can't be registered.

    Raises:
        InvalidRequestError: there is a table without a catalog, a table without a namespace, or no name.
    """
    catalog, table = properties.get(PUBLISH_CATALOG), properties.get(PUBLISH_CATALOG_TABLE)
    if catalog is not None and not catalog.strip():
        raise InvalidRequestError(
            f"the property {PUBLISH_CATALOG} must be the name of a catalog, got {catalog!r}",
            condition="INVALID_OPTION",
        )
    if table is None:
        return
    if catalog is None:
        raise InvalidRequestError(
            f"the property {PUBLISH_CATALOG_TABLE} = {table!r} has no effect without {PUBLISH_CATALOG}; "
            "set both, or unset both",
            condition="INVALID_OPTION",
        )
    if len(parse_path(table)) < 2:
        raise InvalidRequestError(
            f"the property {PUBLISH_CATALOG_TABLE} must be a namespace and a name, such as 'lake.cpu', "
            f"got {table!r}",
            condition="INVALID_OPTION",
        )


def check_named(properties: Mapping[str, str], name: str) -> None:
    """Refuse to register a new table that has no name in the catalog.

    Raises:
        InvalidRequestError: it has none.
    """
    catalog = properties.get(PUBLISH_CATALOG)
    if catalog is not None and PUBLISH_CATALOG_TABLE not in properties and own_name(name) is None:
        raise nameless(name, catalog)


def nameless(table: str, catalog: str) -> InvalidRequestError:
    """The error about a table that has no name in a catalog."""
    return InvalidRequestError(
        f"{table}: the table has no name by which the catalog {catalog!r} could register it, since it "
        f"is known by its folder or has no namespace; set {PUBLISH_CATALOG_TABLE}, such as 'lake.cpu'",
        condition="INVALID_OPTION",
    )


def check_publishable(properties: Mapping[str, str], before: Schema, after: Schema) -> None:
    """Refuse a schema that a published table cannot have.

    Raises:
        InvalidRequestError: it can't be published; the message names the column and a remedy.
    """
    if not publishes(properties):
        return
    for sentence in unsayable(after):
        raise InvalidRequestError(
            f"{sentence}, or leave out the property {PUBLISH} = '{ICEBERG}'",
            condition="NOT_SUPPORTED",
        )
    for sentence in changes_unsayable(before, after):
        raise InvalidRequestError(
            f"{sentence} (the property {PUBLISH} = '{ICEBERG}'). Add another column instead; or unset "
            "the property, make the change, compact with the strategy full, and set it again",
            condition="NOT_SUPPORTED",
        )
