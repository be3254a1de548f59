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
from versioned_interop.imports.disagreements import Disagreement, Group, Source
from versioned_interop.imports.file_schema import FileColumn, FileSchema, Kind, as_type, fits
from versioned_interop.imports.options import ImportOptions


def merge(
    groups: Sequence[Group],
    options: ImportOptions,
    paths: Mapping[str, DataType],
    table: Schema | None,
    *,
    requested: frozenset[str] = frozenset(),
) -> tuple[tuple[Column, ...], list[Disagreement]]:
    """The columns of a table that holds all files, without IDs, and what can't be merged.

    Args:
        paths: columns that stand in the paths of the files; they win over columns in files.
        table: the schema of the table to import into, if it exists.
        requested: keys of the names of columns in paths that users asked for; files have no such column.
    """
    merger = _Merger(options, paths, table, requested)
    parents = [_Parent(group.schema, (), group) for group in groups]
    top = table.columns if table is not None else ()
    columns = tuple(merger.columns((), parents, tuple(c for c in top if not c.hidden)))
    return columns, merger.report


@dataclass(frozen=True)
class _Parent:
    """The siblings of one group of files, below a path in these files."""

    fields: tuple[FileColumn, ...]
    above: ColumnPath
    group: Group


@dataclass(frozen=True)
class _Merger:
    options: ImportOptions
    paths: Mapping[str, DataType]
    table: Schema | None
    requested: frozenset[str]
    report: list[Disagreement] = field(default_factory=list, init=False)

    def columns(
        self, path: ColumnPath, parents: Sequence[_Parent], existing: tuple[Column, ...]
    ) -> Iterator[Column]:
        """The merged siblings below a path: of the table, provided, of the files, of their paths."""
        spelled = {name_key(column.name): column.name for column in existing}
        for name in self.options.provided.inside(path):
            spelled.setdefault(name_key(name), name)
        in_paths = {} if path else {name_key(name): type_ for name, type_ in self.paths.items()}
        sources = self._sources(path, parents, spelled)
        for name in () if path else self.paths:
            spelled.setdefault(name_key(name), name)
        by_key = {name_key(column.name): column for column in existing}
        for key, name in spelled.items():
            here, of_table = (*path, name), by_key.get(key)
            if key in in_paths and key in self.requested and key in sources:
                self.report.append(disagreements.in_path_too(here, sources[key]))
                merged = None
            elif key in in_paths:
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
                name = self.options.names.name((*parent.above, column.name), beside)
                if name is None or not self.options.provided.takes((*path, name)):
                    continue
                key = name_key(name)
                if key in taken:
                    self.report.append(
                        disagreements.clash(path, (taken[key], column), parent.group)
                    )
                    continue
                taken[key] = column
                spelled.setdefault(key, name)
                source = Source(column, (*parent.above, column.name), parent.group)
                by_name.setdefault(key, []).append(source)
        return by_name

    def _path_column(
        self, path: ColumnPath, type_: DataType, existing: Column | None
    ) -> Column | None:
        if existing is not None:
            return existing
        provided = self.options.provided.at(path)
        column = Column(0, path[-1], type_) if provided is None else provided.column
        return self._new(path, replace(column, name=path[-1], id=0), [])

    def _column(
        self,
        path: ColumnPath,
        sources: list[Source],
        parents: Sequence[_Parent],
        existing: Column | None,
    ) -> Column | None:
        if not sources and existing is not None:
            return existing
        merged = self._merged(path, sources, existing)
        if merged is None:
            return None
        self._check_missing(merged, path, sources, parents)
        return merged if existing is not None else self._new(path, merged, sources)

    def _merged(
        self, path: ColumnPath, sources: list[Source], existing: Column | None
    ) -> Column | None:
        """The column of the table, or the provided one, or a new one, with the type of all files."""
        refused = [source for source in sources if source.column.kind is Kind.REFUSED]
        if refused:
            self.report.append(disagreements.refused(path, refused))
            return None
        provided = self.options.provided.at(path)
        named = provided.column.type if provided is not None else None
        type_ = self._type(path, sources, named, existing)
        if type_ is None:
            return None
        if existing is not None and provided is not None:
            self._check_declared(path, provided.column, existing)
        new = Column(0, path[-1], type_) if provided is None else replace(provided.column, id=0)
        return replace(existing or new, name=path[-1], type=type_)

    def _check_declared(self, path: ColumnPath, provided: Column, existing: Column) -> None:
        """Report what the provided schema says of a column of the table that is not so there."""
        if existing.nullable and not provided.nullable:
            self.report.append(disagreements.declared(path, "NOT NULL"))
        default = provided.write_default
        if default is not None and default != existing.write_default:
            self.report.append(disagreements.declared(path, "a DEFAULT"))

    def _new(self, path: ColumnPath, column: Column, sources: list[Source]) -> Column | None:
        """Check a column that the table does not have; report it if it can't be added."""
        try:
            check_new_name(column.name)
            if not column.name.strip():
                raise InvalidRequestError("the column name is empty; choose another name")
        except InvalidRequestError as error:
            self.report.append(disagreements.unnameable(path, sources, str(error)))
            return None
        if self.table is not None and not self.options.evolve:
            self.report.append(disagreements.unknown(path, sources))
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
            self.report.append(disagreements.missing(path, column, lacking))

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
            self.report.append(
                disagreements.differ(path, typed, named, of_table, copy=self.options.copy)
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
        elif not self._fit(sources, type_) and named is None and self.options.evolve:
            type_ = leaf_type([type_, *(as_type(source.column) for source in sources)])
        is_legal = type_ is not None and self._fit(sources, type_)
        if of_table is not None and type_ is not None and type_ != of_table:
            is_legal = is_legal and self.options.evolve and widens(of_table, type_)
        if not is_legal:
            self.report.append(
                disagreements.differ(path, sources, named, of_table, copy=self.options.copy)
            )
            return None
        return type_

    def _fit(self, sources: list[Source], wanted: DataType) -> bool:
        return all(fits(source.column, wanted, copy=self.options.copy) for source in sources)

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
        inner = []
        for at, part in enumerate(sources[0].column.fields):
            parts = [
                Source(source.column.fields[at], (*source.path, part.name), source.group)
                for source in sources
            ]
            of_part = existing[at] if existing else None
            inner.append(self._merged((*path, part.name), parts, of_part))
        whole = [column for column in inner if column is not None]
        if len(whole) < len(inner):
            return None
        if kind is Kind.ARRAY:
            return Array(whole[0])
        return Map(replace(whole[0], nullable=False), whole[1])


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


def names_by_position(options: ImportOptions, paths: Mapping[str, DataType]) -> tuple[str, ...]:
    """The names of the columns of CSV without a header: those of the provided schema, as in Drill.

    Columns that stand in paths are no columns of the files. If the schema, an alias or ``exclude`` uses
    ``f0``, ``f1``, … , these are the names.
    """
    in_paths = set(map(name_key, paths))
    positions = options.provided.positions
    names = options.provided.inside(()) if positions is None else positions
    provided = [name for name in names if name_key(name) not in in_paths]
    used = [*provided, *(path[0] for path in (*options.names.aliases, *options.names.excluded))]
    return () if any(map(_GENERATED.fullmatch, used)) else tuple(provided)


def by_position(schema: FileSchema, names: tuple[str, ...]) -> FileSchema:
    """The columns of a CSV file without a header, with the names of their positions."""
    named = (replace(column, name=name) for column, name in zip(schema, names, strict=False))
    return (*named, *schema[len(names) :])


def with_named_text(schema: FileSchema, options: ImportOptions, table: Schema | None) -> FileSchema:
    """The schema of a CSV file, with text where the provided schema or the table says the type."""
    columns = () if table is None else table.columns
    of_table = frozenset(name_key(column.name) for column in columns)
    beside = [column.name for column in schema]

    def named(column: FileColumn) -> FileColumn:
        name = options.names.name((column.name,), beside)
        if name is None or column.kind is not Kind.LEAF:
            return column
        is_known = name_key(name) in of_table or options.provided.at((name,)) is not None
        return replace(column, type=Atom.STRING, candidates=()) if is_known else column

    return tuple(map(named, schema))
