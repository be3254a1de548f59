"""The JSON of the schemas of a checkpoint: whole, or old ones as deltas (FORMAT.md, section 8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.log.features import SCHEMA_DELTAS, Features
from versioned_catalog.log.schemas import Run, SchemaDelta, Schemas
from versioned_catalog.schema import wire
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.types import Column

MOST_WHOLE = 20_000
"""Top-level columns of all versions together up to which schemas are stored whole."""

_FEATURES = Features(frozenset({SCHEMA_DELTAS}), frozenset({SCHEMA_DELTAS}))


def checkpoint_features(schemas: Schemas) -> Features:
    """The features that the form of its schemas needs of a checkpoint's readers."""
    return _FEATURES if schemas.width > MOST_WHOLE else Features()


def without_checkpoint_features(features: Features) -> Features:
    """The features of a table, from those of its checkpoint."""
    return Features(features.read - _FEATURES.read, features.write - _FEATURES.write)


def schemas_to_json(schemas: Schemas) -> dict[str, wire.Json]:
    """The JSON members that hold the schemas."""
    if schemas.width <= MOST_WHOLE:
        return {"schemas": [wire.schema_to_json(schema) for schema in schemas.values()]}
    older = [_delta_to_json(one) for one in schemas.deltas()]
    return {"schemas": [wire.schema_to_json(schemas.newest)], "older_schemas": older[::-1]}


def _delta_to_json(delta: SchemaDelta) -> wire.Json:
    columns = [_part_to_json(part) for part in delta.columns]
    arrangement = wire.arrangement_to_json(delta.arrangement)
    return {"schema_version": delta.version, "columns": columns, **arrangement}


def _part_to_json(part: Run | Column) -> wire.Json:
    match part:
        case Run(start, count):
            return [start, count]
        case Column():
            return wire.column_to_json(part)


def schemas_from_json(value: wire.Json, features: Features) -> Schemas:
    """The schemas of a checkpoint. Raises CorruptTableError if they are not as FORMAT.md says."""
    schemas = Schemas.of(_whole(wire.member(value, "schemas", list)))
    if SCHEMA_DELTAS not in features.read:
        return schemas
    oldest, older = schemas.oldest, list[SchemaDelta]()
    later, width = oldest.version, len(oldest.columns)
    for one in wire.member(value, "older_schemas", list):
        older.append(_delta_from_json(one, later, width))
        later, width = older[-1].version, older[-1].width
    return schemas.after(reversed(older))


def _whole(values: list[Any]) -> Iterator[Schema]:
    """Whole schemas, whose versions must rise."""
    before = -1
    for value in values:
        schema = wire.schema_from_json(value)
        if schema.version <= before:
            raise CorruptTableError("the schema versions do not rise")
        before = schema.version
        yield schema


def _delta_from_json(value: wire.Json, later: int, width: int) -> SchemaDelta:
    """An older schema; the next one has version ``later`` and ``width`` top-level columns.

    Raises:
        CorruptTableError: it is not as FORMAT.md says.
    """
    version = wire.schema_version_from_json(value)
    if version >= later:
        raise CorruptTableError("the schema versions do not rise")
    parts = tuple(map(_part_from_json, wire.member(value, "columns", list)))
    _check_runs(parts, width)
    return SchemaDelta(version, parts, wire.arrangement_from_json(value))


def _part_from_json(value: wire.Json) -> Run | Column:
    if not isinstance(value, list):
        return wire.column_from_json(value)
    if len(value) != 2 or not all(type(number) is int and number >= 0 for number in value):
        raise CorruptTableError("a run of columns is not a start and a count")
    return Run(*value)


def _check_runs(parts: tuple[Run | Column, ...], width: int) -> None:
    """Refuse runs that go beyond the next schema, or take a column twice."""
    runs = sorted((part.start, part.count) for part in parts if isinstance(part, Run))
    end = 0
    for start, count in runs:
        if start < end or start + count > width:
            raise CorruptTableError("a run goes beyond the next schema, or takes a column twice")
        end = start + count
