"""Every schema of a table, kept in memory and in checkpoints as differences.

A thousand versions of a thousand columns are a million columns, and most of them are never read: a
schema is built when it is first used.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.log.features import SCHEMA_DELTAS, Features
from versioned_catalog.model import schema_json
from versioned_catalog.model.evolution import UsedNames, used_physical_names, with_used
from versioned_catalog.model.schema import Arrangement, Schema
from versioned_catalog.model.schema_json import schema_of
from versioned_catalog.model.types import Column, walk

STRIDE = 32
"""Columns are cached at every version that STRIDE divides, so that no version is far from one."""

MOST_CACHED = 64
"""Number of schemas that are cached."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run of columns of the next schema: ``count`` columns from ``start`` on."""

    start: int
    count: int


@dataclass(frozen=True, slots=True)
class SchemaDelta:
    """A schema, described by the next one.

    Args:
        version: its version.
        columns: its columns in order; runs of columns are unchanged in the next schema.
        arrangement: keys, partitioning and sort order.
    """

    version: int
    columns: tuple[Run | Column, ...]
    arrangement: Arrangement = field(default_factory=Arrangement)

    @property
    def width(self) -> int:
        """Number of its top-level columns."""
        return sum(part.count if isinstance(part, Run) else 1 for part in self.columns)

    @property
    def own(self) -> tuple[Column, ...]:
        """The columns that the next schema does not have unchanged."""
        return tuple(part for part in self.columns if isinstance(part, Column))

    def applied(self, later: tuple[Column, ...]) -> tuple[Column, ...]:
        """The columns of the schema, from those of the next one."""
        columns: list[Column] = []
        for part in self.columns:
            match part:
                case Run(start, count):
                    columns += later[start : start + count]
                case Column():
                    columns.append(part)
        return tuple(columns)


def delta(older: Schema, newer: Schema) -> SchemaDelta:
    """Describe an older schema by a newer one."""
    places = {column.id: at for at, column in enumerate(newer.columns)}
    parts: list[Run | Column] = []
    for column in older.columns:
        at = places.get(column.id)
        last = parts[-1] if parts else None
        if at is None or (newer.columns[at] is not column and newer.columns[at] != column):
            parts.append(column)
        elif isinstance(last, Run) and last.start + last.count == at:
            parts[-1] = Run(last.start, last.count + 1)
        else:
            parts.append(Run(at, 1))
    return SchemaDelta(older.version, tuple(parts), older.arrangement)


class Schemas(Mapping[int, Schema]):
    """The schemas of a table by version, oldest first; the next one describes each older. Immutable."""

    def __init__(self, newest: Schema, older: dict[int, SchemaDelta]) -> None:
        self.newest = newest
        # Shared by the mappings that grew from one another; see ``grown``.
        self._older = older
        self._built: dict[int, Schema] = {}
        self._columns: dict[int, tuple[Column, ...]] = {}
        self._used: tuple[int, UsedNames] | None = None

    @staticmethod
    def of(schemas: Iterable[Schema]) -> Schemas:
        """Build the mapping from whole schemas, in the order of their versions."""
        newest: Schema | None = None
        older: dict[int, SchemaDelta] = {}
        for schema in schemas:
            if newest is not None:
                older[newest.version] = delta(newest, schema)
            newest = schema
        if newest is None:
            raise CorruptTableError("the table has no schema")
        return Schemas(newest, older)

    @property
    def oldest(self) -> Schema:
        """The first schema."""
        return self[next(iter(self))]

    @property
    def width(self) -> int:
        """Number of top-level columns of all schemas together."""
        return len(self.newest.columns) + sum(delta.width for delta in self.deltas())

    @property
    def highest_id(self) -> int:
        """The highest column ID in any schema; 0 without columns."""
        changed = itertools.chain.from_iterable(delta.own for delta in self.deltas())
        return max((column.id for column, _ in walk((*self.newest.columns, *changed))), default=0)

    def after(self, older: Iterable[SchemaDelta]) -> Schemas:
        """Add older schemas, in the order of their versions, each described by the next."""
        return Schemas(self.newest, {delta.version: delta for delta in (*older, *self.deltas())})

    def grown(self, schema: Schema) -> Schemas:
        """Add a newer schema."""
        previous = delta(self.newest, schema)
        older = self._older
        # If another commit followed this state already, copy the mapping.
        if older.setdefault(previous.version, previous) is not previous:
            older = {delta.version: delta for delta in self.deltas()} | {previous.version: previous}
        grown = Schemas(schema, older)
        grown._built = {**self._built, self.newest.version: self.newest}
        grown._evict()
        if self._used is not None:
            first, names = self._used
            new = sorted(schema.ids - self.newest.ids)
            columns = ((schema.column(column_id), schema.ancestors(column_id)) for column_id in new)
            grown._used = (first, with_used(names, columns))
        return grown

    def __len__(self) -> int:
        return 1 + sum(1 for _ in self.deltas())

    def __iter__(self) -> Iterator[int]:
        yield from (delta.version for delta in self.deltas())
        yield self.newest.version

    def __contains__(self, version: object) -> bool:
        if version == self.newest.version:
            return True
        return isinstance(version, int) and version < self.newest.version and version in self._older

    def __getitem__(self, version: int) -> Schema:
        if version == self.newest.version:
            return self.newest
        if version not in self:
            raise KeyError(version)
        schema = self._built.get(version)
        if schema is None:
            schema = self._built[version] = self._build(version)
            self._evict()
        return schema

    def deltas(self) -> Iterator[SchemaDelta]:
        """The schemas before the newest, oldest first, each described by the next."""
        for version, delta in list(self._older.items()):  # another thread may read newer commits
            if version >= self.newest.version:
                return
            yield delta

    def used_names(self, first: int) -> UsedNames:
        """The physical names in the schemas from a version on: see ``used_physical_names``."""
        if self._used is None or self._used[0] != first:
            names = used_physical_names([self.newest])
            # Every other column of a schema is in a later one, too.
            changed = (delta.own for delta in self.deltas() if delta.version >= first)
            names = with_used(names, walk(tuple(itertools.chain.from_iterable(changed))))
            self._used = (first, names)
        return self._used[1]

    def _build(self, version: int) -> Schema:
        return schema_of(self._columns_of(version), version, self._older[version].arrangement)

    def _columns_of(self, version: int) -> tuple[Column, ...]:
        """The columns of a version, from those of the nearest later version that is cached."""
        versions = list(self._older)
        end = bisect_left(versions, self.newest.version)
        columns, path = self.newest.columns, [version]
        for later in itertools.islice(versions, bisect_right(versions, version), end):
            cached = self._cached(later)
            if cached is not None:
                columns = cached
                break
            path.append(later)
        for at in reversed(path):
            columns = self._older[at].applied(columns)
            if at % STRIDE == 0:
                self._columns[at] = columns
        return columns

    def _cached(self, version: int) -> tuple[Column, ...] | None:
        built = self._built.get(version)
        return self._columns.get(version) if built is None else built.columns

    def _evict(self) -> None:
        for version in list(self._built)[:-MOST_CACHED]:
            self._built.pop(version, None)  # another thread may have done it


MOST_WHOLE = 20_000
"""Top-level columns of all versions together up to which schemas are stored whole."""

_FEATURES = Features(frozenset({SCHEMA_DELTAS}), frozenset({SCHEMA_DELTAS}))


def checkpoint_features(schemas: Schemas) -> Features:
    """The features that the form of its schemas needs of a checkpoint's readers."""
    return _FEATURES if schemas.width > MOST_WHOLE else Features()


def without_checkpoint_features(features: Features) -> Features:
    """The features of a table, from those of its checkpoint."""
    return Features(features.read - _FEATURES.read, features.write - _FEATURES.write)


def schemas_to_json(schemas: Schemas) -> dict[str, schema_json.Json]:
    """The JSON members that hold the schemas."""
    if schemas.width <= MOST_WHOLE:
        return {"schemas": [schema_json.schema_to_json(schema) for schema in schemas.values()]}
    older = [_delta_to_json(delta) for delta in schemas.deltas()]
    return {"schemas": [schema_json.schema_to_json(schemas.newest)], "older_schemas": older[::-1]}


def _delta_to_json(delta: SchemaDelta) -> schema_json.Json:
    columns = [_part_to_json(part) for part in delta.columns]
    arrangement = schema_json.arrangement_to_json(delta.arrangement)
    return {"schema_version": delta.version, "columns": columns, **arrangement}


def _part_to_json(part: Run | Column) -> schema_json.Json:
    match part:
        case Run(start, count):
            return [start, count]
        case Column():
            return schema_json.column_to_json(part)


def schemas_from_json(value: schema_json.Json, features: Features) -> Schemas:
    """The schemas of a checkpoint. Raises CorruptTableError if they are not as FORMAT.md says."""
    schemas = Schemas.of(_whole(schema_json.member(value, "schemas", list)))
    if SCHEMA_DELTAS not in features.read:
        return schemas
    oldest, older = schemas.oldest, list[SchemaDelta]()
    later, width = oldest.version, len(oldest.columns)
    for delta_json in schema_json.member(value, "older_schemas", list):
        older.append(_delta_from_json(delta_json, later, width))
        later, width = older[-1].version, older[-1].width
    return schemas.after(reversed(older))


def _whole(values: list[Any]) -> Iterator[Schema]:
    """Whole schemas, whose versions must rise."""
    before = -1
    for value in values:
        schema = schema_json.schema_from_json(value)
        if schema.version <= before:
            raise CorruptTableError("the schema versions do not rise")
        before = schema.version
        yield schema


def _delta_from_json(value: schema_json.Json, later: int, width: int) -> SchemaDelta:
    """An older schema; the next one has version ``later`` and ``width`` top-level columns.

    Raises:
        CorruptTableError: it is not as FORMAT.md says.
    """
    schema_json.check_members(value, schema_json.SCHEMA_MEMBERS)
    version = schema_json.schema_version_from_json(value)
    if version >= later:
        raise CorruptTableError("the schema versions do not rise")
    parts = tuple(map(_part_from_json, schema_json.member(value, "columns", list)))
    _check_runs(parts, width)
    return SchemaDelta(version, parts, schema_json.arrangement_from_json(value))


def _part_from_json(value: schema_json.Json) -> Run | Column:
    if not isinstance(value, list):
        return schema_json.column_from_json(value)
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
