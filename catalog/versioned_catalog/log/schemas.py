"""Every schema that a table ever had, kept as what each one differs in from the one after it.

A thousand versions of a thousand columns are a million columns, and hardly anybody looks at one of them:
a schema is put together when it is asked for.
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
"""The columns of versions that this divides are remembered, so that others are near to one."""

REMEMBERED = 64
"""How many schemas that were put together are remembered."""


@dataclass(frozen=True, slots=True)
class Run:
    """Columns that stand in the next schema one after another: ``count`` from ``start`` on."""

    start: int
    count: int


@dataclass(frozen=True, slots=True)
class SchemaDelta:
    """A schema, told by the one after it.

    Args:
        version: its version.
        columns: its columns in order: those that the next schema has too, and its own.
        arrangement: what it says beside them.
    """

    version: int
    columns: tuple[Run | Column, ...]
    arrangement: Arrangement = field(default_factory=Arrangement)

    @property
    def width(self) -> int:
        """How many columns it has at the top."""
        return sum(part.count if isinstance(part, Run) else 1 for part in self.columns)

    @property
    def own(self) -> tuple[Column, ...]:
        """The columns that the next schema does not have as they are."""
        return tuple(part for part in self.columns if isinstance(part, Column))

    def applied(self, later: tuple[Column, ...]) -> tuple[Column, ...]:
        """Its columns.

        Args:
            later: those of the next schema.
        """
        found: list[Column] = []
        for part in self.columns:
            match part:
                case Run(start, count):
                    found += later[start : start + count]
                case Column():
                    found.append(part)
        return tuple(found)


def delta(older: Schema, newer: Schema) -> SchemaDelta:
    """An older schema, told by a newer one."""
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
    """The schemas of a table by version, oldest first; none of it ever changes.

    Args:
        newest: the last one.
        older: the others, by version, each told by the next.
    """

    def __init__(self, newest: Schema, older: dict[int, SchemaDelta]) -> None:
        self.newest = newest
        # Those that were grown from one another share this; see ``grown``.
        self._older = older
        self._made: dict[int, Schema] = {}
        self._columns: dict[int, tuple[Column, ...]] = {}
        self._used: tuple[int, UsedNames] | None = None

    @staticmethod
    def of(schemas: Iterable[Schema]) -> Schemas:
        """Whole schemas, in the order of their versions."""
        newest: Schema | None = None
        older: dict[int, SchemaDelta] = {}
        for schema in schemas:
            if newest is not None:
                older[newest.version] = delta(newest, schema)
            newest = schema
        if newest is None:
            raise CorruptTableError("a schema version is missing")
        return Schemas(newest, older)

    @property
    def oldest(self) -> Schema:
        """The first one."""
        return self[next(iter(self))]

    @property
    def width(self) -> int:
        """How many columns they have in all."""
        return len(self.newest.columns) + sum(told.width for told in self.deltas())

    @property
    def highest_id(self) -> int:
        """The highest ID of a column in any of them, 0 where there is none."""
        own = itertools.chain.from_iterable(told.own for told in self.deltas())
        return max((column.id for column, _ in walk((*self.newest.columns, *own))), default=0)

    def after(self, older: Iterable[SchemaDelta]) -> Schemas:
        """These and older ones, in the order of their versions, each told by the next."""
        return Schemas(self.newest, {told.version: told for told in (*older, *self.deltas())})

    def grown(self, schema: Schema) -> Schemas:
        """These and a newer one."""
        told = delta(self.newest, schema)
        older = self._older
        # Where another commit followed this state already, each goes on alone.
        if older.setdefault(told.version, told) is not told:
            older = {delta.version: delta for delta in self.deltas()} | {told.version: told}
        grown = Schemas(schema, older)
        grown._made = {**self._made, self.newest.version: self.newest}
        grown._forget_some()
        if self._used is not None:
            first, names = self._used
            new = sorted(schema.ids - self.newest.ids)
            made = ((schema.column(one), schema.ancestors(one)) for one in new)
            grown._used = (first, with_used(names, made))
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
        found = self._made.get(version)
        if found is None:
            found = self._made[version] = self._put_together(version)
            self._forget_some()
        return found

    def deltas(self) -> Iterator[SchemaDelta]:
        """The schemas but the newest, oldest first, each told by the next."""
        for version, told in list(self._older.items()):  # another thread may read newer commits
            if version >= self.newest.version:
                return
            yield told

    def used_names(self, first: int) -> UsedNames:
        """The physical names that the schemas from a version on ever used: ``used_physical_names``."""
        if self._used is None or self._used[0] != first:
            names = used_physical_names([self.newest])
            # A schema's columns are its own and such as a later one has.
            own = (delta.own for delta in self.deltas() if delta.version >= first)
            names = with_used(names, walk(tuple(itertools.chain.from_iterable(own))))
            self._used = (first, names)
        return self._used[1]

    def _put_together(self, version: int) -> Schema:
        return schema_of(self._columns_of(version), version, self._older[version].arrangement)

    def _columns_of(self, version: int) -> tuple[Column, ...]:
        """The columns of a version, from those of the nearest later one that is known."""
        versions = list(self._older)
        end = bisect_left(versions, self.newest.version)
        known, way = self.newest.columns, [version]
        for later in itertools.islice(versions, bisect_right(versions, version), end):
            remembered = self._remembered(later)
            if remembered is not None:
                known = remembered
                break
            way.append(later)
        for at in reversed(way):
            known = self._older[at].applied(known)
            if at % STRIDE == 0:
                self._columns[at] = known
        return known

    def _remembered(self, version: int) -> tuple[Column, ...] | None:
        made = self._made.get(version)
        return self._columns.get(version) if made is None else made.columns

    def _forget_some(self) -> None:
        for version in list(self._made)[:-REMEMBERED]:
            self._made.pop(version, None)  # another thread may have done so
