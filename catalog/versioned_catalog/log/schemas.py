"""Every schema of a table, stored as the differences of each version from the next.

A thousand versions of a thousand columns are a million columns, most of which nobody reads: a schema is
built when it is first used.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.evolution.evolution import UsedNames, used_physical_names, with_used
from versioned_catalog.schema.schema import Arrangement, Schema
from versioned_catalog.schema.wire import schema_of
from versioned_catalog.types.types import Column, walk

STRIDE = 32
"""The columns of every version that this divides are cached, so that any version is near to one."""

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
        columns: its columns in order: runs that the next schema has, too, and others.
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
        """The columns of the schema, by those of the next one."""
        found: list[Column] = []
        for part in self.columns:
            match part:
                case Run(start, count):
                    found += later[start : start + count]
                case Column():
                    found.append(part)
        return tuple(found)


def delta(older: Schema, newer: Schema) -> SchemaDelta:
    """Describe an older schema by a newer one."""
    places = {column.id: at for at, column in enumerate(newer.columns)}
    parts: list[Run | Column] = []
    for column in older.columns:
        at = places.get(column.id)
        last = parts[-1] if parts else None
        if at is None or newer.columns[at] != column:
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
        return len(self.newest.columns) + sum(one.width for one in self.deltas())

    @property
    def highest_id(self) -> int:
        """The highest column ID in any schema; 0 without columns."""
        own = itertools.chain.from_iterable(one.own for one in self.deltas())
        return max((column.id for column, _ in walk((*self.newest.columns, *own))), default=0)

    def after(self, older: Iterable[SchemaDelta]) -> Schemas:
        """Add older schemas, in the order of their versions, each described by the next."""
        return Schemas(self.newest, {one.version: one for one in (*older, *self.deltas())})

    def grown(self, schema: Schema) -> Schemas:
        """Add a newer schema."""
        previous = delta(self.newest, schema)
        older = self._older
        # If another commit followed this state already, the two no longer share.
        if older.setdefault(previous.version, previous) is not previous:
            older = {delta.version: delta for delta in self.deltas()} | {previous.version: previous}
        grown = Schemas(schema, older)
        grown._built = {**self._built, self.newest.version: self.newest}
        grown._evict()
        if self._used is not None:
            first, names = self._used
            new = sorted(schema.ids - self.newest.ids)
            columns = ((schema.column(one), schema.ancestors(one)) for one in new)
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
        found = self._built.get(version)
        if found is None:
            found = self._built[version] = self._build(version)
            self._evict()
        return found

    def deltas(self) -> Iterator[SchemaDelta]:
        """The schemas but the newest, oldest first, each described by the next."""
        for version, one in list(self._older.items()):  # another thread may read newer commits
            if version >= self.newest.version:
                return
            yield one

    def used_names(self, first: int) -> UsedNames:
        """The physical names in the schemas from a version on: see ``used_physical_names``."""
        if self._used is None or self._used[0] != first:
            names = used_physical_names([self.newest])
            # Every other column of a schema is in a later one, too.
            own = (delta.own for delta in self.deltas() if delta.version >= first)
            names = with_used(names, walk(tuple(itertools.chain.from_iterable(own))))
            self._used = (first, names)
        return self._used[1]

    def _build(self, version: int) -> Schema:
        return schema_of(self._columns_of(version), version, self._older[version].arrangement)

    def _columns_of(self, version: int) -> tuple[Column, ...]:
        """The columns of a version, from those of the nearest later version that is cached."""
        versions = list(self._older)
        end = bisect_left(versions, self.newest.version)
        known, path = self.newest.columns, [version]
        for later in itertools.islice(versions, bisect_right(versions, version), end):
            cached = self._cached(later)
            if cached is not None:
                known = cached
                break
            path.append(later)
        for at in reversed(path):
            known = self._older[at].applied(known)
            if at % STRIDE == 0:
                self._columns[at] = known
        return known

    def _cached(self, version: int) -> tuple[Column, ...] | None:
        built = self._built.get(version)
        return self._columns.get(version) if built is None else built.columns

    def _evict(self) -> None:
        for version in list(self._built)[:-MOST_CACHED]:
            self._built.pop(version, None)  # another thread may have done it
