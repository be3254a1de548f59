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
    known = {name_key(one.name): one for one in columns}
    for one in wanted:
        column, path = known.get(name_key(one.name)), (*above, one.name)
        if column is None:
            default = UNSET if one.write_default is None else one.write_default
            yield AddColumn(path, one.type, default, one.nullable, one.comment)
        elif is_nested(column.type):
            yield from changes_to(children(column.type), children(one.type), path)
        elif column.type != one.type:
            yield ChangeType(path, one.type)


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
    wanted = [one for one in columns if not one.hidden and name_key(one.name) not in elsewhere]
    return IdMap(dict(mapper.siblings(file, wanted, ())))


def by_name(
    fields: Sequence[FileColumn], names: Names, above: ColumnPath
) -> Mapping[str, FileColumn]:
    """Columns of a file by the key of the name that they stand for."""
    found: dict[str, FileColumn] = {}
    beside = [one.name for one in fields]
    for one in fields:
        name = names.name((*above, one.name), beside)
        if name is not None:
            found.setdefault(name_key(name), one)
    return found


@dataclass(frozen=True)
class _Mapper:
    names: Names
    held: dict[int, Held] = field(default_factory=dict)

    def siblings(
        self, fields: Sequence[FileColumn], wanted: Sequence[Column], above: ColumnPath
    ) -> dict[int, Held]:
        """The entries of columns and of all inside them."""
        known, found = by_name(fields, self.names, above), dict[int, Held]()
        for column in wanted:
            one = known.get(name_key(column.name))
            if one is not None and one.kind is not Kind.REFUSED:
                name = None if one.name == column.physical_name else one.name
                found |= self.column(one, column, name, (*above, one.name))
        return found

    def column(
        self, one: FileColumn, wanted: Column, name: str | None, path: ColumnPath
    ) -> dict[int, Held]:
        """The entries of one column; none if the file has nothing of it."""
        inner = children(wanted.type)
        match one.kind, wanted.type:
            case Kind.STRUCT, Struct():
                below = self.siblings(one.fields, inner, path)
                return {wanted.id: Held(name), **below} if below else {}
            case ((Kind.ARRAY | Kind.MAP), _) if len(inner) == len(one.fields):
                found = {wanted.id: Held(name, form=one.form)}
                for part, column in zip(one.fields, inner, strict=True):
                    below = self.column(part, column, None, (*path, part.name))
                    if not below:
                        return {}
                    found |= below
                return found
            case Kind.VOID, type_ if is_nested(type_):
                return {}
            case _:
                return {wanted.id: self._leaf(one, wanted.type, name, path)}

    def _leaf(self, one: FileColumn, wanted: DataType, name: str | None, path: ColumnPath) -> Held:
        seen = held_as(one, wanted)
        if seen is None:
            raise InvalidRequestError(
                f"the column {render_path(path)} is {type_name(as_type(one))} in the file, which "
                "can't be "
                f"read as {type_name(wanted)} in place; copy the rows (copy=True)"
            )
        type_ = None if seen.type == wanted else seen.type
        return Held(name, type_, seen.form)
