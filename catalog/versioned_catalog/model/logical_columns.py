"""Columns with a logical type: properties that hold the types by column ID (FORMAT.md, section 4.12)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from versioned_catalog.errors import CorruptTableError, InvalidRequestError, VersionedError
from versioned_catalog.model.arrow import nested_values
from versioned_catalog.model.constants import to_scalar
from versioned_catalog.model.keys import LOGICAL_PREFIX, LOGICAL_TYPE
from versioned_catalog.model.logical import (
    LogicalType,
    check_successor,
    logical_from_json,
    logical_to_json,
    parse_logical,
    render_logical,
)
from versioned_catalog.model.logical_bases import base_problem
from versioned_catalog.model.logical_values import requirement, unfit
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.tokens import clip_repr
from versioned_catalog.model.type_text import ColumnPath, parse_path
from versioned_catalog.model.types import Column, Constant, Map
from versioned_catalog.model.widening import type_name

_ID = re.compile(r"[1-9][0-9]{0,9}")


def logical_columns(properties: Mapping[str, str]) -> dict[int, LogicalType]:
    """The logical types of columns, by column ID.

    Raises:
        CorruptTableError: a property does not hold one.
    """
    return {
        _column_id(key): logical_from_json(text, key)
        for key, text in properties.items()
        if key.startswith(LOGICAL_PREFIX)
    }


def _column_id(key: str) -> int:
    digits = key.removeprefix(LOGICAL_PREFIX)
    if _ID.fullmatch(digits) is None:
        raise CorruptTableError(f"the property {key[:100]} does not name a column by its ID")
    return int(digits)


def logical_path(key: str) -> ColumnPath | None:
    """The column whose logical type a property of users says; None if it says none."""
    return parse_path(key.removeprefix(LOGICAL_TYPE)) if key.startswith(LOGICAL_TYPE) else None


def shown_logical(properties: Mapping[str, str], schema: Schema) -> dict[str, str]:
    """The logical types of the columns of a schema, by their current paths."""
    visible = schema.visible
    return {
        visible.path_text(column_id): render_logical(logical)
        for column_id, logical in logical_columns(properties).items()
        if column_id in visible.ids
    }


def logical_properties(properties: Mapping[str, str], schema: Schema) -> dict[str, str]:
    """The properties by which users set the logical types of a table."""
    shown = shown_logical(properties, schema)
    return {f"{LOGICAL_TYPE}{path}": text for path, text in shown.items()}


def canonical_properties(declared: Mapping[str, str], schema: Schema) -> dict[str, str]:
    """Declared properties in the form in which they are shown, as far as they are legal.

    Args:
        schema: a schema with the columns that they name.
    """
    return dict(_canonical(key, text, schema) for key, text in declared.items())


def _canonical(key: str, text: str, schema: Schema) -> tuple[str, str]:
    path = logical_path(key)
    column = None if path is None else schema.find(path)
    if column is None:
        return key, text
    try:
        shown = render_logical(parse_logical(text))
    except VersionedError:  # which setting it reports
        shown = text
    return f"{LOGICAL_TYPE}{schema.path_text(column.id)}", shown


def with_logical(
    properties: Mapping[str, str], column_id: int, logical: LogicalType | None
) -> dict[str, str]:
    """The properties once a column has a logical type, or none (None).

    Raises:
        InvalidRequestError: it is an enumeration in which an ordinal gets another label.
    """
    key = f"{LOGICAL_PREFIX}{column_id}"
    before = logical_columns(properties).get(column_id)
    kept = {other: text for other, text in properties.items() if other != key}
    if logical is None:
        return kept
    if before is not None:
        check_successor(before, logical)
    return {**kept, key: logical_to_json(logical)}


def without_dropped_logical(properties: Mapping[str, str], schema: Schema) -> dict[str, str]:
    """The properties without the logical types of columns that a schema does not have any more."""
    return {
        key: text
        for key, text in properties.items()
        if not key.startswith(LOGICAL_PREFIX) or _column_id(key) in schema.ids
    }


def check_logical(properties: Mapping[str, str], schema: Schema) -> None:
    """Check that columns with logical types are as FORMAT.md says.

    Raises:
        InvalidRequestError: naming the column.
    """
    for column_id, logical in logical_columns(properties).items():
        if column_id not in schema.ids:
            continue  # other software may leave it behind when it drops the column
        column, name = schema.column(column_id), schema.path_text(column_id)
        shown = render_logical(logical)
        line = (*schema.ancestors(column_id), column)
        if any(
            isinstance(up.type, Map) and up.type.key.id == down.id for up, down in pairwise(line)
        ):
            raise InvalidRequestError(
                f"the column {name} can't be {shown}, since it is in the key of a map; keys have no "
                "logical types, but values, elements and fields have: store a list of structs",
                condition="NOT_SUPPORTED",
            )
        base = base_problem(logical, column.type)
        if base is not None:
            raise InvalidRequestError(
                f"the column {name} can't be {shown} and {type_name(column.type)}: {shown} needs "
                f"{base}; change the type, or drop the logical type first "
                f"(alter().drop_logical({name!r}), or UNSET TBLPROPERTIES ('{LOGICAL_TYPE}{name}'))",
                condition="NOT_SUPPORTED",
            )
        for at in range(len(line)):
            _check_default(logical, line[at:], name)


def _check_default(logical: LogicalType, line: Sequence[Column], name: str) -> None:
    """Check what the default of the first column gives to the last one, which is inside it."""
    default = line[0].write_default
    if not isinstance(default, Constant):
        return
    whole = to_scalar(default, line[0].type)
    values = nested_values(pa.array([whole.as_py()], whole.type), line)
    bad = np.flatnonzero(unfit(logical, values))
    if len(bad):
        raise InvalidRequestError(
            f"the column {name} is {render_logical(logical)}, and its default "
            f"{clip_repr(values[int(bad[0])].as_py())} is none: it must be "
            f"{requirement(logical, values.type)}; set another default, or drop the logical type first",
            condition="INVALID_VALUE",
        )
