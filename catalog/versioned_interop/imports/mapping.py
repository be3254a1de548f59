"""ID maps of files, and the schema changes that an import needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.changes import UNSET, AddColumn, ChangeType
from versioned_catalog.model.id_map import Held, IdMap
from versioned_catalog.model.schema import name_key
from versioned_catalog.model.type_text import ColumnPath, render_path
from versioned_catalog.model.types import Column, Struct, children, is_nested
from versioned_catalog.model.widening import type_name
from versioned_interop.imports.disagreements import COPY_ROWS
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
    wanted = [c for c in columns if not c.hidden and name_key(c.name) not in elsewhere]
    return IdMap(_siblings(file, wanted, names, ()))


def by_name(
    fields: Sequence[FileColumn], names: Names, above: ColumnPath
) -> Mapping[str, FileColumn]:
    """Columns of a file by the key of their name in the table."""
    columns: dict[str, FileColumn] = {}
    beside = [column.name for column in fields]
    for column in fields:
        name = names.name((*above, column.name), beside)
        if name is not None:
            columns.setdefault(name_key(name), column)
    return columns


def _siblings(
    fields: Sequence[FileColumn], wanted: Sequence[Column], names: Names, above: ColumnPath
) -> dict[int, Held]:
    """The entries of columns and of all inside them."""
    columns, entries = by_name(fields, names, above), dict[int, Held]()
    for column in wanted:
        file = columns.get(name_key(column.name))
        if file is not None and file.kind is not Kind.REFUSED:
            stored = None if file.name == column.physical_name else file.name
            entries |= _column(file, column, names, stored, (*above, file.name))
    return entries


def _column(
    file: FileColumn, wanted: Column, names: Names, name: str | None, path: ColumnPath
) -> dict[int, Held]:
    """The entries of a column; empty if the file has no part of it."""
    inner = children(wanted.type)
    match file.kind, wanted.type:
        case Kind.STRUCT, Struct():
            below = _siblings(file.fields, inner, names, path)
            return {wanted.id: Held(name), **below} if below else {}
        case ((Kind.ARRAY | Kind.MAP), _) if len(inner) == len(file.fields):
            entries = {wanted.id: Held(name, form=file.form)}
            for part, column in zip(file.fields, inner, strict=True):
                below = _column(part, column, names, None, (*path, part.name))
                if not below:
                    return {}
                entries |= below
            return entries
        case Kind.VOID, type_ if is_nested(type_):
            return {}
    seen = held_as(file, wanted.type)
    if seen is None:
        raise InvalidRequestError(
            f"the column {render_path(path)} is {type_name(as_type(file))} in the file, which "
            f"can't be read as {type_name(wanted.type)} in place; {COPY_ROWS}"
        )
    return {wanted.id: Held(name, None if seen.type == wanted.type else seen.type, seen.form)}
