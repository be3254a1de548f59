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
from versioned_interop.imports import disagreements
from versioned_interop.imports.disagreements import Group, Report, Source
from versioned_interop.imports.file_schema import FileColumn, FileSchema, Kind, as_type, fits
from versioned_interop.imports.path_parts import PathColumn
from versioned_interop.imports.provided import Names, Provided


@dataclass(frozen=True)
class Wanted:
    """Constraints on the merged schema.

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
        in_paths = {} if path else {name_key(column.name): column for column in self.wanted.paths}
        sources = self._sources(path, parents, spelled)
        for key, path_column in in_paths.items():
            spelled.setdefault(key, path_column.name)
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
        """The columns of the files by case-insensitive name; add the names to ``spelled``."""
        by_name: dict[str, list[Source]] = {}
        for parent in parents:
            taken: dict[str, FileColumn] = {}
            beside = [column.name for column in parent.fields]
            for column in parent.fields:
                name = self.wanted.names.name((*parent.above, column.name), beside)
                if name is None or not self.wanted.provided.takes((*path, name)):
                    continue
                key = name_key(name)
                if key in taken:
                    self.report.add(disagreements.clash(path, (taken[key], column), parent.group))
                    continue
                taken[key] = column
                spelled.setdefault(key, name)
                source = Source(column, (*parent.above, column.name), parent.group)
                by_name.setdefault(key, []).append(source)
        return by_name

    def _path_column(
        self, path: ColumnPath, path_column: PathColumn, existing: Column | None
    ) -> Column | None:
        provided = self.wanted.provided.at(path)
        if existing is not None:
            return existing
        column = Column(0, path[-1], path_column.type) if provided is None else provided.column
        return self._new(path, replace(column, name=path[-1], id=0), [])

    def _column(
        self,
        path: ColumnPath,
        sources: list[Source],
        parents: Sequence[_Parent],
        existing: Column | None,
    ) -> Column | None:
        refused = [source for source in sources if source.column.kind is Kind.REFUSED]
        if refused:
            self.report.add(disagreements.refused(path, refused))
            return None
        provided = self.wanted.provided.at(path)
        named = provided.column.type if provided is not None else None
        if not sources and existing is not None:
            return existing
        type_ = self._type(path, sources, named, existing)
        if type_ is None:
            return None
        base = existing or (provided.column if provided is not None else Column(0, path[-1], type_))
        merged = replace(base, name=path[-1], type=type_)
        self._check_missing(merged, path, sources, parents)
        return merged if existing is not None else self._new(path, replace(merged, id=0), sources)

    def _new(self, path: ColumnPath, column: Column, sources: list[Source]) -> Column | None:
        """Check a column that the table does not have; report it if it can't be added."""
        try:
            check_new_name(column.name)
            if not column.name.strip():
                raise InvalidRequestError("the column name is empty; choose another name")
        except InvalidRequestError as error:
            self.report.add(disagreements.unnameable(path, sources, str(error)))
            return None
        if self.wanted.table is not None and not self.wanted.evolve:
            self.report.add(disagreements.unknown(path, sources))
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
        present = {id(source.group) for source in sources}
        lacking = [parent.group for parent in parents if id(parent.group) not in present]
        if lacking:
            self.report.add(disagreements.missing(path, column, lacking))

    def _type(
        self,
        path: ColumnPath,
        sources: list[Source],
        named: DataType | None,
        existing: Column | None,
    ) -> DataType | None:
        """The type of a column; report a disagreement and return None if there is none."""
        typed = [source for source in sources if source.column.kind is not Kind.VOID]
        if not typed:
            return existing.type if existing is not None else named or Atom.STRING
        kind, *others = dict.fromkeys(source.column.kind for source in typed)
        of_table = existing.type if existing is not None else None
        required = [type_ for type_ in (named, of_table) if type_ is not None]
        if others or not all(_is_kind(kind, type_) for type_ in required):
            self.report.add(
                disagreements.differ(path, typed, named, of_table, copy=self.wanted.copy)
            )
            return None
        if kind is Kind.LEAF:
            return self._leaf(path, typed, named, of_table)
        return self._nested(path, typed, of_table)

    def _leaf(
        self,
        path: ColumnPath,
        sources: list[Source],
        named: DataType | None,
        of_table: DataType | None,
    ) -> DataType | None:
        type_ = named or of_table
        if type_ is None:
            type_ = _merged_type([source.column for source in sources])
        elif not self._fit(sources, type_) and named is None and self.wanted.evolve:
            type_ = leaf_type([type_, *(as_type(source.column) for source in sources)])
        is_legal = type_ is not None and self._fit(sources, type_)
        if of_table is not None and type_ is not None and type_ != of_table:
            is_legal = is_legal and self.wanted.evolve and widens(of_table, type_)
        if not is_legal:
            self.report.add(
                disagreements.differ(path, sources, named, of_table, copy=self.wanted.copy)
            )
            return None
        return type_

    def _fit(self, sources: list[Source], wanted: DataType) -> bool:
        return all(fits(source.column, wanted, copy=self.wanted.copy) for source in sources)

    def _nested(
        self, path: ColumnPath, sources: list[Source], of_table: DataType | None
    ) -> DataType | None:
        """A nested type, merged from the nested columns of the files."""
        existing = children(of_table) if of_table is not None else ()
        kind = sources[0].column.kind
        if kind is Kind.STRUCT:
            parents = [
                _Parent(source.column.fields, source.path, source.group) for source in sources
            ]
            fields = tuple(self.columns(path, parents, existing))
            return Struct(fields) if fields else None
        inner = [
            self._inner(path, sources, at, existing) for at in range(len(sources[0].column.fields))
        ]
        whole = [column for column in inner if column is not None]
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
            Source(inner, (*source.path, inner.name), source.group)
            for source in sources
            for inner in (source.column.fields[at],)
        ]
        here = (*path, parts[0].column.name)
        refused = [part for part in parts if part.column.kind is Kind.REFUSED]
        if refused:
            self.report.add(disagreements.refused(path, refused))
            return None
        provided = self.wanted.provided.at(here)
        of_table = existing[at] if existing else None
        named = provided.column.type if provided is not None else None
        type_ = self._type(here, parts, named, of_table)
        if type_ is None:
            return None
        if of_table is not None:
            return replace(of_table, type=type_)
        nullable = provided.column.nullable if provided is not None else True
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
    if all(column.candidates for column in columns):
        fit = set(columns[0].candidates).intersection(*(column.candidates for column in columns))
        return next((candidate for candidate in columns[0].candidates if candidate in fit), None)
    return leaf_type([as_type(column) for column in columns])


def leaf_type(types: Sequence[DataType]) -> DataType | None:
    """The type of a column that files hold in some types; None if they do not fit together."""
    if all(isinstance(t, Time) for t in types):
        return max((t for t in types if isinstance(t, Time)), key=lambda t: t.precision)
    return common_type(types)


_GENERATED = re.compile(r"f[0-9]+")
"""The names that PyArrow gives the columns of a file without a header."""


def names_by_position(wanted: Wanted) -> tuple[str, ...]:
    """The names of the columns of CSV without a header: those of the provided schema, as in Drill.

    Columns that stand in paths are no columns of the files. If the schema, an alias or ``exclude`` uses
    ``f0``, ``f1``, … , these are the names.
    """
    in_paths = {name_key(column.name) for column in wanted.paths}
    provided = [name for name in wanted.provided.inside(()) if name_key(name) not in in_paths]
    used = [*provided, *(path[0] for path in (*wanted.names.aliases, *wanted.names.excluded))]
    return () if any(map(_GENERATED.fullmatch, used)) else tuple(provided)


def by_position(schema: FileSchema, names: tuple[str, ...]) -> FileSchema:
    """The columns of a CSV file without a header, with the names of their positions."""
    named = (replace(column, name=name) for column, name in zip(schema, names, strict=False))
    return (*named, *schema[len(names) :])


def with_named_text(schema: FileSchema, wanted: Wanted) -> FileSchema:
    """The schema of a CSV file, with text where the provided schema or the table says the type."""
    table = () if wanted.table is None else wanted.table.columns
    of_table = frozenset(name_key(column.name) for column in table)
    beside = [column.name for column in schema]

    def named(column: FileColumn) -> FileColumn:
        name = wanted.names.name((column.name,), beside)
        if name is None or column.kind is not Kind.LEAF:
            return column
        is_known = name_key(name) in of_table or wanted.provided.at((name,)) is not None
        return replace(column, type=Atom.STRING, candidates=()) if is_known else column

    return tuple(map(named, schema))
