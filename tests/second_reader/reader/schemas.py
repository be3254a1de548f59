"""Schemas as JSON, and the kept list of them (FORMAT.md, sections 4.3, 4.4, 8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .documents import members
from .problems import Corrupt
from .types import Column, List, Map, Struct, Type, arrow_leaf, widens

Columns = tuple[Column, ...]


@dataclass(frozen=True)
class Schema:
    version: int
    columns: tuple[Column, ...]
    primary_key: tuple[int, ...]
    time_index: int | None

    @property
    def row_key(self) -> tuple[int, ...]:
        index = self.time_index
        return self.primary_key + (
            (index,) if index is not None and index not in self.primary_key else ()
        )


def parse_type(data: Any) -> Type:
    if isinstance(data, str):
        return parse_leaf(data)
    match data:
        case {"type": "struct", "fields": [*fields], **rest} if not rest:
            return Struct(tuple(parse_column(column) for column in fields))
        case {"type": "array", "element": element, **rest} if not rest:
            return List(parse_column(element))
        case {"type": "map", "key": key, "value": item, **rest} if not rest:
            return Map(parse_column(key), parse_column(item))
    raise Corrupt(f"the type {data}")


def parse_leaf(data: Any) -> str:
    if not isinstance(data, str):
        raise Corrupt(f"the type {data}")
    arrow_leaf(data)
    return data


def parse_column(data: Any) -> Column:
    optional = "physical read_default write_default comment hidden widest"
    column = members(data, "id name type nullable", optional, "a column")
    if "write_default" in column:
        default = members(
            column["write_default"], "", "value function expression", "a write default"
        )
        if len(default) != 1:
            raise Corrupt(f"the write default {default}")
    kind, widest = parse_type(column["type"]), column.get("widest")
    if widest is not None and not (
        isinstance(kind, str) and kind != widest and widens(kind, parse_leaf(widest))
    ):
        raise Corrupt(f"{kind} is not narrower than {widest}")
    return Column(
        column["id"],
        column["name"],
        column.get("physical", column["name"]),
        kind,
        column["nullable"],
        column.get("read_default"),
        column.get("hidden", False),
        widest,
    )


def parse_schema(data: Any) -> Schema:
    required = "schema_version columns primary_key time_index partitioning sort_by"
    schema = members(data, required, "", "a schema")
    for field in schema["partitioning"]:
        members(field, "source transform", "", "a partition field")
    for field in schema["sort_by"]:
        members(field, "source descending", "nulls", "a sort field")
    columns = tuple(parse_column(column) for column in schema["columns"])
    return Schema(
        schema["schema_version"], columns, tuple(schema["primary_key"]), schema["time_index"]
    )


def kept_schemas(schemas: list[Any], older: list[Any]) -> dict[int, Schema]:
    """The schemas of a checkpoint, of which the older ones may be deltas to the next one."""
    whole = list(schemas)
    for delta in older:
        columns: list[Any] = []
        for part in delta["columns"]:
            if isinstance(part, list):
                start, count = part
                if not 0 <= start <= start + count <= len(whole[0]["columns"]):
                    raise Corrupt(f"the schema delta {part}")
                columns += whole[0]["columns"][start : start + count]
            else:
                columns.append(part)
        whole.insert(0, {**delta, "columns": columns})
    parsed = [parse_schema(schema) for schema in whole]
    return {schema.version: schema for schema in parsed}


def columns_in_file(schema: Schema, id_map: dict[str, Any] | None) -> tuple[Column, ...]:
    """The columns that a segment holds, with their names, types and forms inside the file."""
    if id_map is None:
        return schema.columns
    mapped = {
        key: members(how, "", "name type form", "an ID map")
        for key, how in id_map.items()
        if key != "codec"
    }

    def inside(column: Column) -> Column:
        how = mapped.get(str(column.id), {})
        match column.type:
            case str():
                kind: Type = parse_type(how.get("type", column.type))
            case Struct(fields):
                kind = Struct(tuple(inside(field) for field in fields if str(field.id) in mapped))
            case List(element):
                kind = List(inside(element))
            case Map(key, item):
                kind = Map(inside(key), inside(item))
        return replace(
            column, physical=how.get("name", column.physical), type=kind, form=how.get("form")
        )

    return tuple(inside(column) for column in schema.columns if str(column.id) in mapped)


def map_types(columns: Columns, change: Callable[[Columns], Columns]) -> Columns:
    """The columns with ``change`` applied to those inside each of them."""

    def inside(of: Type) -> Type:
        match of:
            case Struct(fields):
                return Struct(change(fields))
            case List(element):
                return List(*change((element,)))
            case Map(key, item):
                return Map(*change((key, item)))
        return of

    return tuple(replace(column, type=inside(column.type)) for column in columns)


def by_physical_name(columns: Columns) -> Columns:
    """The columns under their physical names, of which no two are equal."""
    renamed = map_types(columns, by_physical_name)
    return tuple(replace(column, name=column.physical) for column in renamed)


def as_stored(columns: Columns) -> Columns:
    """The columns in the types that segments are read in, which is the widest of a narrowed one."""
    wide = map_types(columns, as_stored)
    return tuple(
        replace(column, type=column.widest or column.type, shown=narrow.type)
        for column, narrow in zip(wide, columns, strict=True)
    )


def visible(columns: Columns) -> Columns:
    """The columns that are not hidden, at every level."""
    return map_types(tuple(column for column in columns if not column.hidden), visible)
