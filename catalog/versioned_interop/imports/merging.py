"""One schema for all files, before a row of any is read.

The type of a column is the narrowest that the types of all files widen to (``model.widening``), or the
one that is provided. All columns are nullable unless the provided schema says otherwise, since a file
promises nothing about the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.schema import Schema, check_new_name, name_key
from versioned_catalog.model.type_text import ColumnPath
from versioned_catalog.model.types import (
    Array,
    Atom,
    Column,
    DataType,
    Map,
    Struct,
    Time,
    children,
    is_nested,
)
from versioned_catalog.model.widening import common_type, widens
from versioned_interop.imports import disagreements as settling
from versioned_interop.imports.disagreements import Group, Report, Source
from versioned_interop.imports.file_schema import FileColumn, FileSchema, Kind, as_type, fits
from versioned_interop.imports.path_parts import PathColumn
from versioned_interop.imports.provided import Names, Provided


@dataclass(frozen=True)
class Wanted:
    """What the merged schema has to respect.

    Args:
        provided: the provided schema.
        names: aliases and left out columns.
        paths: columns that stand in the paths of the files; they win over columns in files.
        copy: whether values can be converted.
        table: the columns of the table to import into, if it exists.
        evolve: whether that table may get new columns and wider types.
    """

    provided: Provided = field(default_factory=Provided)
    names: Names = field(default_factory=Names)
    paths: tuple[PathColumn, ...] = ()
    copy: bool = False
    table: Schema | None = None
    evolve: bool = False


def merge(groups: Sequence[Group], wanted: Wanted, report: Report) -> tuple[Column, ...]:
    """The columns of a table that holds all files, without IDs.

    What can't be merged is reported and left out.
    """
    merger = _Merger(wanted, report)
    parents = [_Parent(group.schema, (), group) for group in groups]
    top = wanted.table.columns if wanted.table is not None else ()
    return tuple(merger.columns((), parents, tuple(c for c in top if not c.hidden)))


@dataclass(frozen=True)
class _Parent:
    """The siblings of one group of files, below a path in these files."""

    fields: tuple[FileColumn, ...]
    above: ColumnPath
    group: Group


@dataclass(frozen=True)
class _Merger:
    wanted: Wanted
    report: Report

    def columns(
        self, path: ColumnPath, parents: Sequence[_Parent], existing: tuple[Column, ...]
    ) -> Iterator[Column]:
        """The merged siblings below a path: of the table, provided, of the files, of their paths."""
        spelled = {name_key(column.name): column.name for column in existing}
        for name in self.wanted.provided.inside(path):
            spelled.setdefault(name_key(name), name)
        in_paths = {} if path else {name_key(one.name): one for one in self.wanted.paths}
        sources = self._sources(path, parents, spelled)
        for key, one in in_paths.items():
            spelled.setdefault(key, one.name)
        by_key = {name_key(column.name): column for column in existing}
        for key, name in spelled.items():
            here, of_table = (*path, name), by_key.get(key)
            if key in in_paths:
                merged = self._path_column(here, in_paths[key], of_table)
            else:
                merged = self._column(here, sources.get(key, []), parents, of_table)
            if merged is not None:
                yield merged

    def _sources(
        self, path: ColumnPath, parents: Sequence[_Parent], spelled: dict[str, str]
    ) -> Mapping[str, list[Source]]:
        """The columns of the files by their names regardless of case, which ``spelled`` gets, too."""
        found: dict[str, list[Source]] = {}
        for parent in parents:
            taken: dict[str, FileColumn] = {}
            beside = [one.name for one in parent.fields]
            for one in parent.fields:
                name = self.wanted.names.name((*parent.above, one.name), beside)
                if name is None or not self.wanted.provided.takes((*path, name)):
                    continue
                key = name_key(name)
                if key in taken:
                    self.report.add(settling.clash(path, (taken[key], one), parent.group))
                    continue
                taken[key] = one
                spelled.setdefault(key, name)
                source = Source(one, (*parent.above, one.name), parent.group)
                found.setdefault(key, []).append(source)
        return found

    def _path_column(
        self, path: ColumnPath, one: PathColumn, existing: Column | None
    ) -> Column | None:
        given = self.wanted.provided.at(path)
        if existing is not None:
            return existing
        column = Column(0, path[-1], one.type) if given is None else given.column
        return self._new(path, replace(column, name=path[-1], id=0), [])

    def _column(
        self,
        path: ColumnPath,
        sources: list[Source],
        parents: Sequence[_Parent],
        existing: Column | None,
    ) -> Column | None:
        refused = [one for one in sources if one.column.kind is Kind.REFUSED]
        if refused:
            self.report.add(settling.refused(path, refused))
            return None
        given = self.wanted.provided.at(path)
        named = given.column.type if given is not None else None
        if not sources and existing is not None:
            return existing
        type_ = self._type(path, sources, named, existing)
        if type_ is None:
            return None
        base = existing or (given.column if given is not None else Column(0, path[-1], type_))
        merged = replace(base, name=path[-1], type=type_)
        self._check_missing(merged, path, sources, parents)
        return merged if existing is not None else self._new(path, replace(merged, id=0), sources)

    def _new(self, path: ColumnPath, column: Column, sources: list[Source]) -> Column | None:
        """A column that the table does not have, if it may have it."""
        try:
            check_new_name(column.name)
            if not column.name.strip():
                raise InvalidRequestError("the column name is empty; choose another name")
        except InvalidRequestError as error:
            self.report.add(settling.unnameable(path, sources, str(error)))
            return None
        if self.wanted.table is not None and not self.wanted.evolve:
            self.report.add(settling.unknown(path, sources))
            return None
        return column

    def _check_missing(
        self,
        column: Column,
        path: ColumnPath,
        sources: list[Source],
        parents: Sequence[_Parent],
    ) -> None:
        """Report a NOT NULL column that some files do not have, and that has no default."""
        if column.nullable or column.read_default is not None:
            return
        held = {id(one.group) for one in sources}
        lacking = [one.group for one in parents if id(one.group) not in held]
        if lacking:
            self.report.add(settling.missing(path, column, lacking))

    def _type(
        self,
        path: ColumnPath,
        sources: list[Source],
        named: DataType | None,
        existing: Column | None,
    ) -> DataType | None:
        """The type of a column; None if there is none, which is reported."""
        known = [one for one in sources if one.column.kind is not Kind.VOID]
        if not known:
            return existing.type if existing is not None else named or Atom.STRING
        kind, *others = dict.fromkeys(one.column.kind for one in known)
        of_table = existing.type if existing is not None else None
        given = [type_ for type_ in (named, of_table) if type_ is not None]
        if others or not all(_is_kind(kind, type_) for type_ in given):
            self.report.add(settling.differ(path, known, named, of_table, copy=self.wanted.copy))
            return None
        if kind is Kind.LEAF:
            return self._leaf(path, known, named, of_table)
        return self._nested(path, known, of_table)

    def _leaf(
        self,
        path: ColumnPath,
        sources: list[Source],
        named: DataType | None,
        of_table: DataType | None,
    ) -> DataType | None:
        found = named or of_table
        if found is None:
            found = _merged_type([one.column for one in sources])
        elif not self._fit(sources, found) and named is None and self.wanted.evolve:
            found = leaf_type([found, *(as_type(one.column) for one in sources)])
        is_legal = found is not None and self._fit(sources, found)
        if of_table is not None and found is not None and found != of_table:
            is_legal = is_legal and self.wanted.evolve and widens(of_table, found)
        if not is_legal:
            self.report.add(settling.differ(path, sources, named, of_table, copy=self.wanted.copy))
            return None
        return found

    def _fit(self, sources: list[Source], wanted: DataType) -> bool:
        return all(fits(one.column, wanted, copy=self.wanted.copy) for one in sources)

    def _nested(
        self, path: ColumnPath, sources: list[Source], of_table: DataType | None
    ) -> DataType | None:
        """A nested type, from what the files have inside."""
        existing = children(of_table) if of_table is not None else ()
        kind = sources[0].column.kind
        if kind is Kind.STRUCT:
            parents = [_Parent(one.column.fields, one.path, one.group) for one in sources]
            fields = tuple(self.columns(path, parents, existing))
            return Struct(fields) if fields else None
        inner = [
            self._inner(path, sources, at, existing) for at in range(len(sources[0].column.fields))
        ]
        whole = [one for one in inner if one is not None]
        if len(whole) < len(inner):
            return None
        if kind is Kind.ARRAY:
            return Array(whole[0])
        return Map(replace(whole[0], nullable=False), whole[1])

    def _inner(
        self, path: ColumnPath, sources: list[Source], at: int, existing: tuple[Column, ...]
    ) -> Column | None:
        """The element, key or value of lists or maps."""
        parts = [
            Source(one.column.fields[at], (*one.path, one.column.fields[at].name), one.group)
            for one in sources
        ]
        here = (*path, parts[0].column.name)
        refused = [one for one in parts if one.column.kind is Kind.REFUSED]
        if refused:
            self.report.add(settling.refused(path, refused))
            return None
        given = self.wanted.provided.at(here)
        of_table = existing[at] if existing else None
        named = given.column.type if given is not None else None
        type_ = self._type(here, parts, named, of_table)
        if type_ is None:
            return None
        if of_table is not None:
            return replace(of_table, type=type_)
        nullable = given.column.nullable if given is not None else True
        return Column(0, here[-1], type_, nullable)


def _is_kind(kind: Kind, type_: DataType) -> bool:
    match kind:
        case Kind.STRUCT:
            return isinstance(type_, Struct)
        case Kind.ARRAY:
            return isinstance(type_, Array)
        case Kind.MAP:
            return isinstance(type_, Map)
        case _:
            return not is_nested(type_)


def _merged_type(columns: Sequence[FileColumn]) -> DataType | None:
    if all(one.candidates for one in columns):
        fit = set(columns[0].candidates).intersection(*(one.candidates for one in columns))
        return next((one for one in columns[0].candidates if one in fit), None)
    return leaf_type([as_type(one) for one in columns])


def leaf_type(types: Sequence[DataType]) -> DataType | None:
    """The type of a column that files hold in some types; None if they do not fit together."""
    if all(isinstance(one, Time) for one in types):
        return max((one for one in types if isinstance(one, Time)), key=lambda one: one.precision)
    return common_type(types)


_GENERATED = re.compile(r"f[0-9]+")
"""The names that PyArrow gives the columns of a file without a header."""


def names_by_position(wanted: Wanted) -> tuple[str, ...]:
    """The names of the columns of CSV without a header: those of the provided schema, as in Drill.

    Columns that stand in paths are no columns of the files. If the schema, an alias or ``exclude`` uses
    ``f0``, ``f1``, … , these are the names.
    """
    in_paths = {name_key(one.name) for one in wanted.paths}
    provided = [name for name in wanted.provided.inside(()) if name_key(name) not in in_paths]
    used = [*provided, *(path[0] for path in (*wanted.names.aliases, *wanted.names.excluded))]
    return () if any(map(_GENERATED.fullmatch, used)) else tuple(provided)


def by_position(schema: FileSchema, names: tuple[str, ...]) -> FileSchema:
    """The columns of a CSV file without a header, with the names of their positions."""
    named = (replace(one, name=name) for one, name in zip(schema, names, strict=False))
    return (*named, *schema[len(names) :])


def with_named_text(schema: FileSchema, wanted: Wanted) -> FileSchema:
    """The schema of a CSV file, with text where the provided schema or the table says the type."""
    table = () if wanted.table is None else wanted.table.columns
    of_table = frozenset(name_key(one.name) for one in table)

    beside = [one.name for one in schema]

    def named(one: FileColumn) -> FileColumn:
        name = wanted.names.name((one.name,), beside)
        if name is None or one.kind is not Kind.LEAF:
            return one
        is_known = name_key(name) in of_table or wanted.provided.at((name,)) is not None
        return replace(one, type=Atom.STRING, candidates=()) if is_known else one

    return tuple(map(named, schema))
