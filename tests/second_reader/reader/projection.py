"""Projecting columns of a segment to a wanted schema, by column ID (FORMAT.md, sections 4.3, 6)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .problems import Corrupt, Unsupported
from .types import Column, List, Map, Struct, arrow_type, constant, widen

Leaf = Callable[[pa.Array, Column, Column], pa.Array]
FORMS = {
    *(
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "int96",
        "millis",
        "nanos",
        "nanos_cut",
        "local",
    ),
    *("fixed", "text", "uuid", "null", "list"),
}


def leaf(array: pa.Array, stored: Column, wanted: Column) -> pa.Array:
    """A leaf of a file in the wanted type."""
    assert isinstance(stored.type, str)
    assert isinstance(wanted.type, str)
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if stored.form is not None:
        array = from_form(array, stored.form, stored.type)
    try:
        array = array.cast(arrow_type(stored.type))
    except pa.ArrowException as error:
        raise Corrupt(
            f"{stored.physical} holds {array.type}, not {stored.type}: {error}"
        ) from error
    return widen(array, stored.type, wanted.type)


def project_columns(
    table: pa.Table,
    stored: Sequence[Column],
    wanted: Sequence[Column],
    leaf: Leaf = leaf,
) -> dict[int, pa.Array]:
    """The wanted columns by ID. What is not stored shows its read default."""
    arrays = {}
    for column in stored:
        if table.schema.names.count(column.physical) != 1:
            raise Corrupt(f"no column {column.physical}, or several")
        arrays[column.physical] = table.column(column.physical).combine_chunks()
    shown = project_all(arrays, stored, wanted, table.num_rows, leaf)
    return {column.id: array for column, array in zip(wanted, shown, strict=True)}


def project_all(
    arrays: Mapping[str, pa.Array],
    stored: Sequence[Column],
    wanted: Sequence[Column],
    rows: int,
    leaf: Leaf,
) -> list[pa.Array]:
    """The wanted columns, or fields of a struct, out of the arrays by physical name."""
    by_id = {column.id: column for column in stored}
    return [
        project(arrays[by_id[column.id].physical], by_id[column.id], column, leaf)
        if column.id in by_id
        else absent(column, rows)
        for column in wanted
    ]


def absent(column: Column, rows: int) -> pa.Array:
    """The read default of a column, which is stated in the type that is shown."""
    stated = column.type if column.shown is None else column.shown
    array = constant(stated, column.read_default, rows)
    return project(array, replace(column, type=stated, form=None), column, leaf)


def project(
    array: pa.Array,
    stored: Column,
    wanted: Column,
    leaf: Leaf,
) -> pa.Array:
    kind, mask = arrow_type(wanted.type), array.is_null()
    match stored.type, wanted.type:
        case str(), str():
            return leaf(array, stored, wanted)
        case Struct(fields), Struct(wanted_fields):
            names = [field.name for field in array.type]
            if not {column.physical for column in fields} <= set(names) or len(set(names)) < len(
                names
            ):
                raise Corrupt(f"a struct with the fields {names}")
            children = dict(zip(names, array.flatten(), strict=True))
            parts = project_all(children, fields, wanted_fields, len(array), leaf)
            return pa.StructArray.from_arrays(parts, fields=list(kind), mask=mask)
        case List(element), List(wanted_element):
            items = project(array.values, same_id(element, wanted_element), wanted_element, leaf)
            return pa.ListArray.from_arrays(
                array.offsets.cast(pa.int32()), items, type=kind, mask=mask
            )
        case Map(key, item), Map(wanted_key, wanted_item):
            keys = project(array.keys, same_id(key, wanted_key), wanted_key, leaf)
            items = project(array.items, same_id(item, wanted_item), wanted_item, leaf)
            return pa.MapArray.from_arrays(array.offsets, keys, items, type=kind, mask=mask)
    raise Corrupt(f"{stored.name} is nested otherwise than {wanted.name}")


def same_id(stored: Column, wanted: Column) -> Column:
    if stored.id != wanted.id:
        raise Corrupt(f"the column {wanted.id} is stored as {stored.id}")
    return stored


def from_form(array: pa.Array, form: str, kind: str) -> pa.Array:
    """The values of a column of others in the Arrow type of ``kind`` (section 6.2)."""
    if form not in FORMS:
        raise Unsupported(f"the form {form}")
    target: Any = arrow_type(kind)
    if form == "null":
        return pa.nulls(len(array), target)
    if form == "uuid":
        texts = [None if item is None else str(uuid.UUID(bytes=item)) for item in array.to_pylist()]
        return pa.array(texts, pa.string())
    if form == "nanos_cut":
        ticks = array.cast(pa.int64())
        floors = pc.divide(
            pc.subtract(ticks, pc.bit_wise_and(pc.shift_right(ticks, 63), 999)), 1000
        )
        return floors.cast(target)
    return array.cast(target)  # safe: digits below a microsecond are refused
