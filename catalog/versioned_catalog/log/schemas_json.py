"""The schemas of a checkpoint: all whole, or old ones as deltas (FORMAT.md, section 8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.log.entry import SCHEMA_DELTAS, Features
from versioned_catalog.log.schemas import Run, SchemaDelta, Schemas
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.wire import (
    Json,
    arrangement_from_json,
    arrangement_to_json,
    column_from_json,
    column_to_json,
    member,
    schema_from_json,
    schema_to_json,
    schema_version_from_json,
)
from versioned_catalog.types.types import Column

WHOLE = 20_000
"""Schemas that have more columns than that in all, counted in each version, are stored as deltas."""

_FEATURES = Features(frozenset({SCHEMA_DELTAS}), frozenset({SCHEMA_DELTAS}))


def checkpoint_features(schemas: Schemas) -> Features:
    """What a checkpoint needs of its readers for the form of its schemas."""
    return _FEATURES if schemas.width > WHOLE else Features()


def without_checkpoint_features(features: Features) -> Features:
    """The features of a table, of those of a checkpoint of it."""
    return Features(features.read - _FEATURES.read, features.write - _FEATURES.write)


def schemas_to_json(schemas: Schemas) -> dict[str, Json]:
    """The members of a checkpoint that hold the schemas."""
    if schemas.width <= WHOLE:
        return {"schemas": [schema_to_json(schema) for schema in schemas.values()]}
    older = [_delta_to_json(told) for told in schemas.deltas()]
    return {"schemas": [schema_to_json(schemas.newest)], "older_schemas": older[::-1]}


def _delta_to_json(told: SchemaDelta) -> Json:
    columns = [_part_to_json(part) for part in told.columns]
    arrangement = arrangement_to_json(told.arrangement)
    return {"schema_version": told.version, "columns": columns, **arrangement}


def _part_to_json(part: Run | Column) -> Json:
    match part:
        case Run(start, count):
            return [start, count]
        case Column():
            return column_to_json(part)


def schemas_from_json(value: Json, features: Features) -> Schemas:
    """The schemas of a checkpoint.

    Raises:
        CorruptTableError: they are not as FORMAT.md says.
    """
    schemas = Schemas.of(_whole(member(value, "schemas", list)))
    if SCHEMA_DELTAS not in features.read:
        return schemas
    oldest, older = schemas.oldest, list[SchemaDelta]()
    later, width = oldest.version, len(oldest.columns)
    for one in member(value, "older_schemas", list):
        older.append(_delta_from_json(one, later, width))
        later, width = older[-1].version, older[-1].width
    return schemas.after(reversed(older))


def _whole(values: list[Any]) -> Iterator[Schema]:
    """Whole schemas, in the order of their versions."""
    before = -1
    for value in values:
        schema = schema_from_json(value)
        if schema.version <= before:
            raise CorruptTableError("the versions of schemas do not rise")
        before = schema.version
        yield schema


def _delta_from_json(value: Json, later: int, width: int) -> SchemaDelta:
    """An older schema.

    Args:
        value: its JSON.
        later, width: the version of the next schema, and how many columns that has.

    Raises:
        CorruptTableError: it is none.
    """
    version = schema_version_from_json(value)
    if version >= later:
        raise CorruptTableError("the versions of schemas do not rise")
    parts = tuple(map(_part_from_json, member(value, "columns", list)))
    _check_runs(parts, width)
    return SchemaDelta(version, parts, arrangement_from_json(value))


def _part_from_json(value: Json) -> Run | Column:
    if not isinstance(value, list):
        return column_from_json(value)
    if len(value) != 2 or not all(type(number) is int and number >= 0 for number in value):
        raise CorruptTableError("a run of columns is where it begins and how many there are")
    return Run(*value)


def _check_runs(parts: tuple[Run | Column, ...], width: int) -> None:
    """Refuse runs of columns that are not there, or that would be there twice."""
    runs = sorted((part.start, part.count) for part in parts if isinstance(part, Run))
    end = 0
    for start, count in runs:
        if start < end or start + count > width:
            raise CorruptTableError("a run of columns is not of the next schema, or is there twice")
        end = start + count
