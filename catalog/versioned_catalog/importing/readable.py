"""Whether a column of a file can be read as a type of ours, in place or in a copy."""

from __future__ import annotations

from versioned_catalog.importing.file_schema import FileColumn, Kind
from versioned_catalog.types.forms import Form, SeenAs
from versioned_catalog.types.leaves import Family
from versioned_catalog.types.types import (
    Atom,
    Column,
    DataType,
    DayTimeInterval,
    Struct,
    Time,
    children,
    family,
    is_nested,
)
from versioned_catalog.types.widening import widens

_NUMBERS = (Family.INTEGER, Family.FLOAT, Family.DECIMAL)
_INSTANTS = (Atom.DATE, Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ)

_REREAD: dict[tuple[DataType, Form | None, DataType], Form | None] = {
    (Atom.BINARY, None, Atom.STRING): Form.TEXT,
    (Atom.STRING, Form.TEXT, Atom.BINARY): None,
    (Atom.STRING, Form.UUID, Atom.BINARY): Form.FIXED,
    (Atom.TIMESTAMP_NTZ, None, Atom.TIMESTAMP): Form.LOCAL,
    (Atom.TIMESTAMP_NTZ, Form.MILLIS, Atom.TIMESTAMP): Form.LOCAL,
    (Atom.TIMESTAMP_NTZ, Form.NANOS, Atom.TIMESTAMP): Form.LOCAL,
    (Atom.TIMESTAMP, Form.INT96, Atom.TIMESTAMP_NTZ): Form.INT96,
}
"""The same bytes as another type: by type and form of the file, and the type wanted."""


def held_as(column: FileColumn, wanted: DataType) -> SeenAs | None:
    """How a leaf of a file holds values of a type in place: the type it widens from, and the form.

    None if the bytes must be converted.

    >>> held_as(FileColumn("b", Kind.LEAF, type=Atom.BINARY), Atom.STRING)
    SeenAs(type=<Atom.STRING: 'string'>, form=<Form.TEXT: 'text'>)
    >>> held_as(FileColumn("n", Kind.LEAF, type=Atom.INT), Atom.STRING) is None
    True
    """
    if is_nested(wanted):
        return None
    if column.kind is Kind.VOID:
        return SeenAs(wanted, Form.NULL)
    if column.kind is not Kind.LEAF or column.type is None:
        return None
    reread = (column.type, column.form, wanted)
    if reread in _REREAD:
        return SeenAs(wanted, _REREAD[reread])
    match column.type, wanted:
        case (Time(), Time()) | (DayTimeInterval(), DayTimeInterval()):
            return SeenAs(wanted, column.form)
        case _ if widens(column.type, wanted):
            return SeenAs(column.type, column.form)
    return None


def converts(column: FileColumn, wanted: DataType) -> bool:
    """Whether a copy can convert a leaf to a type; a value that does not fit is refused then."""
    if held_as(column, wanted) is not None:
        return True
    if column.kind is not Kind.LEAF or column.type is None or is_nested(wanted):
        return False
    old, new = family(column.type), family(wanted)
    is_interval = any(isinstance(one, DayTimeInterval) for one in (column.type, wanted))
    if Family.OPAQUE in (old, new) or is_interval:
        return False
    if Family.BINARY in (old, new):
        return Family.TEXT in (old, new)
    if Family.TEXT in (old, new) or (old in _NUMBERS and new in _NUMBERS):
        return True
    return column.type in _INSTANTS and wanted in _INSTANTS


def fits(column: FileColumn, wanted: DataType, *, copy: bool) -> bool:
    """Whether a column, with all inside it that the type names, can be read as a type."""
    match column.kind, wanted:
        case Kind.STRUCT, Struct(fields):
            return _struct_fits(column, fields, copy=copy)
        case ((Kind.ARRAY | Kind.MAP), _) if len(children(wanted)) == len(column.fields):
            is_same = not isinstance(wanted, Struct)
            pairs = zip(column.fields, children(wanted), strict=True)
            return is_same and all(fits(one, inner.type, copy=copy) for one, inner in pairs)
        case Kind.VOID, _:
            return True
        case Kind.LEAF, _:
            return converts(column, wanted) if copy else held_as(column, wanted) is not None
    return False


def _struct_fits(column: FileColumn, fields: tuple[Column, ...], *, copy: bool) -> bool:
    by_name = {field.name: field for field in column.fields}
    held = [(by_name[field.name], field.type) for field in fields if field.name in by_name]
    return all(fits(one, type_, copy=copy) for one, type_ in held)
