"""How a file holds the columns of a table, and the changes after which the table holds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.changes import UNSET, AddColumn, ChangeType
from versioned_catalog.model.id_map import Held, IdMap
from versioned_catalog.model.schema import name_key
from versioned_catalog.model.type_text import ColumnPath, render_path
from versioned_catalog.model.types import Column, DataType, Struct, children, is_nested
from versioned_catalog.model.widening import type_name
from versioned_interop.imports.file_schema import FileColumn, FileSchema, Kind, as_type, held_as
from versioned_interop.imports.provided import Names


def changes_to(
    columns: Sequence[Column], wanted: Sequence[Column], above: ColumnPath = ()
) -> Iterator[AddColumn | ChangeType]:
    """The columns to add and the types to widen, at any depth."""
    by_key = {name_key(column.name): column for column in columns}
    for target in wanted:
        column, path = by_key.get(name_key(target.name)), (*above, target.name)
        if column is None:
            default = UNSET if target.write_default is None else target.write_default
            yield AddColumn(path, target.type, default, target.nullable, target.comment)
        elif is_nested(column.type):
            yield from changes_to(children(column.type), children(target.type), path)
        elif column.type != target.type:
            yield ChangeType(path, target.type)


def id_map_of(
    file: FileSchema, columns: Sequence[Column], names: Names, elsewhere: frozenset[str]
) -> IdMap:
    """The map of files with a schema.

    Args:
        columns: of the table.
        elsewhere: keys of the names of columns that are not read from files, as those in paths.

    Raises:
        InvalidRequestError: a column can't be read as the table's in place.
    """
    mapper = _Mapper(names)
    wanted = [c for c in columns if not c.hidden and name_key(c.name) not in elsewhere]
    return IdMap(dict(mapper.siblings(file, wanted, ())))


def by_name(
    fields: Sequence[FileColumn], names: Names, above: ColumnPath
) -> Mapping[str, FileColumn]:
    """Columns of a file by the key of the name that they stand for."""
    columns: dict[str, FileColumn] = {}
    beside = [column.name for column in fields]
    for column in fields:
        name = names.name((*above, column.name), beside)
        if name is not None:
            columns.setdefault(name_key(name), column)
    return columns


@dataclass(frozen=True)
class _Mapper:
    names: Names
    held: dict[int, Held] = field(default_factory=dict)

    def siblings(
        self, fields: Sequence[FileColumn], wanted: Sequence[Column], above: ColumnPath
    ) -> dict[int, Held]:
        """The entries of columns and of all inside them."""
        columns, entries = by_name(fields, self.names, above), dict[int, Held]()
        for column in wanted:
            source = columns.get(name_key(column.name))
            if source is not None and source.kind is not Kind.REFUSED:
                name = None if source.name == column.physical_name else source.name
                entries |= self.column(source, column, name, (*above, source.name))
        return entries

    def column(
        self, source: FileColumn, wanted: Column, name: str | None, path: ColumnPath
    ) -> dict[int, Held]:
        """The entries of one column; none if the file has nothing of it."""
        inner = children(wanted.type)
        match source.kind, wanted.type:
            case Kind.STRUCT, Struct():
                below = self.siblings(source.fields, inner, path)
                return {wanted.id: Held(name), **below} if below else {}
            case ((Kind.ARRAY | Kind.MAP), _) if len(inner) == len(source.fields):
                entries = {wanted.id: Held(name, form=source.form)}
                for part, column in zip(source.fields, inner, strict=True):
                    below = self.column(part, column, None, (*path, part.name))
                    if not below:
                        return {}
                    entries |= below
                return entries
            case Kind.VOID, type_ if is_nested(type_):
                return {}
            case _:
                return {wanted.id: self._leaf(source, wanted.type, name, path)}

    def _leaf(
        self, source: FileColumn, wanted: DataType, name: str | None, path: ColumnPath
    ) -> Held:
        seen = held_as(source, wanted)
        if seen is None:
            raise InvalidRequestError(
                f"the column {render_path(path)} is {type_name(as_type(source))} in the file, which "
                "can't be "
                f"read as {type_name(wanted)} in place; copy the rows (copy=True)"
            )
        type_ = None if seen.type == wanted else seen.type
        return Held(name, type_, seen.form)
