"""The schema of a foreign file as a tree of its columns, in our types, and what can be read.

``model.parquet_forms`` lists the forms that a segment's ID map can name. This module adds what an
annotation of Parquet says and Arrow does not: that a binary is text (ENUM), that 16 bytes are a UUID,
that 12 bytes are an interval.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.limits import TYPE_DEPTH
from versioned_catalog.model.parquet_forms import Form, SeenAs, seen_as
from versioned_catalog.model.types import (
    Array,
    Atom,
    Column,
    DataType,
    DayTimeInterval,
    Family,
    Map,
    Struct,
    children,
    family,
    is_nested,
    is_stored_alike,
)
from versioned_catalog.model.widening import MOST_DIGITS, widens
from versioned_catalog.read.foreign_file import OpenedFile, is_list, leaf_count
from versioned_catalog.read.foreign_values import Julian
from versioned_catalog.read.shredding import shredded_form


@dataclass(frozen=True, slots=True)
class LeafRules:
    """Options for the types of leaves.

    Args:
        binary_as_string: binaries without annotation are UTF-8, as older writers meant them.
        truncate_nanoseconds: cut off digits below a microsecond, which are refused otherwise.
    """

    binary_as_string: bool = False
    truncate_nanoseconds: bool = False


_ANNOTATED: dict[str, SeenAs] = {
    "ENUM": SeenAs(Atom.STRING, Form.TEXT),
    "UUID": SeenAs(Atom.STRING, Form.UUID),
}
"""Leaves of which Arrow shows the bytes alone, by the logical type of Parquet."""


def leaf_of(arrow: pa.DataType, leaf: Any, rules: LeafRules) -> SeenAs:
    """The type and form of a leaf.

    Args:
        arrow: the type that PyArrow gives it.
        leaf: the ``ColumnSchema`` of PyArrow; None if the file is no Parquet file.

    Raises:
        InvalidRequestError: no column type can hold it; the message is the reason.

    A decimal of more than 38 digits is refused:

    >>> leaf_of(pa.decimal256(40, 2), None, LeafRules())
    Traceback (most recent call last):
    versioned_catalog.errors.InvalidRequestError: decimal256(40, 2) has more than 38 digits
    """
    if pa.types.is_decimal(arrow) and arrow.precision > MOST_DIGITS:
        raise InvalidRequestError(f"{arrow} has more than 38 digits")
    if pa.types.is_decimal(arrow) and not 0 <= arrow.scale <= arrow.precision:
        raise InvalidRequestError(
            f"{arrow} has a scale that is negative or larger than its precision"
        )
    if leaf is not None and leaf.converted_type == "INTERVAL":
        raise InvalidRequestError(
            f"{arrow} is an INTERVAL of months, days and milliseconds, which no column type holds"
        )
    annotation, physical = (
        ("", "") if leaf is None else (leaf.logical_type.type, leaf.physical_type)
    )
    if annotation in _ANNOTATED:
        return _ANNOTATED[annotation]
    if pa.types.is_dictionary(arrow):
        return leaf_of(arrow.value_type, leaf, rules)
    seen = seen_as(arrow, physical)
    if seen.form is Form.NANOS and rules.truncate_nanoseconds:
        return SeenAs(seen.type, Form.NANOS_CUT)
    if seen == SeenAs(Atom.BINARY) and annotation == "NONE" and rules.binary_as_string:
        return SeenAs(Atom.STRING, Form.TEXT)
    return seen


class Kind(enum.Enum):
    """The kind of a column of a file."""

    LEAF = "leaf"
    STRUCT = "struct"
    ARRAY = "array"
    MAP = "map"
    VOID = "void"
    """Only nulls: it fits every type."""
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column of a file, or a part of one.

    Args:
        name: inside its parent in the file; ``element``, ``key`` and ``value`` in lists and maps.
        kind: see ``Kind``.
        type: of a leaf.
        form: how a leaf or a list is stored, if not as FORMAT.md, section 4.1, says.
        fields: the columns inside.
        reason: why it is refused.
        candidates: of a column of text, all types that its values fit, the preferred one first.
        stored: the field of a Parquet file in its Arrow schema.
    """

    name: str
    kind: Kind
    type: DataType | None = None
    form: Form | None = None
    fields: tuple[FileColumn, ...] = ()
    reason: str = ""
    candidates: tuple[DataType, ...] = ()
    stored: Any = field(default=None, compare=False, repr=False)


FileSchema = tuple[FileColumn, ...]


def as_type(column: FileColumn) -> DataType:
    """The type of a column as ours, for messages; nulls are text."""
    match column.kind:
        case Kind.LEAF if column.type is not None:
            return column.type
        case Kind.STRUCT:
            return Struct(tuple(map(as_column, column.fields)))
        case Kind.ARRAY:
            return Array(as_column(column.fields[0]))
        case Kind.MAP:
            key, value = column.fields
            return Map(replace(as_column(key), nullable=False), as_column(value))
        case _:
            return Atom.STRING


def as_column(column: FileColumn) -> Column:
    """A column without ID; nullable, since a file promises nothing about the next one."""
    return Column(0, column.name, as_type(column), nullable=True)


def schema_of(file: OpenedFile, rules: LeafRules, julian: Julian) -> FileSchema:
    """The columns of a Parquet file; those that can't be imported are of the kind ``REFUSED``.

    Args:
        julian: the leaves of the Julian calendar.

    Raises:
        InvalidRequestError: the file is encrypted, or its codec is not known.
    """
    if file.footer.is_signed:
        raise InvalidRequestError("its columns are encrypted; decrypt the file first")
    if unknown := file.footer.codecs() & {"lzo", "unknown"}:
        raise InvalidRequestError(
            f"its pages are compressed with {min(unknown).upper()}, which can't be read; rewrite it"
        )
    parquet: Any = file.parquet
    schema = parquet.metadata.schema
    leaves = [schema.column(at) for at in range(len(schema))]
    reader = _Reader(leaves, _variants(str(schema)), rules, julian)
    return tuple(reader.columns(list(parquet.schema_arrow), (), 0))


def schema_of_arrow(schema: pa.Schema, rules: LeafRules) -> FileSchema:
    """The columns of rows that are no Parquet file: of ORC, and of text that was parsed."""
    return tuple(_Reader(None, frozenset(), rules, {}).columns(list(schema), (), 0))


def interning_key(file: OpenedFile) -> tuple[str, str, bool]:
    """A key that files with the same columns share."""
    _, _, parquet = str(file.parquet.metadata.schema).partition("\n")
    arrow = file.parquet.schema_arrow.to_string(
        show_field_metadata=False, show_schema_metadata=False
    )
    return parquet, arrow, file.footer.is_signed


_GROUP = re.compile(
    r"^( *)(?:required|optional|repeated) .*?field_id=-?\d+ (.*?)(?: \((.*)\))?( \{|;)$"
)


def _variants(parquet: str) -> frozenset[tuple[str, ...]]:
    """The paths of groups that are annotated as VARIANT, which Arrow's schema does not show."""
    if "(Variant(" not in parquet:
        return frozenset()
    variants, above = set(), list[str]()
    for line in parquet.splitlines()[2:]:
        match = _GROUP.match(line)
        if match is None:
            continue
        indent, name, annotation, _ = match.groups()
        depth = len(indent) // 2 - 1
        above = [*above[:depth], name]
        if annotation is not None and annotation.startswith("Variant"):
            variants.add(tuple(above))
    return frozenset(variants)


@dataclass(frozen=True)
class _Reader:
    """Walks an Arrow schema, and the leaves of its Parquet file, which are in the same order.

    Args:
        leaves: None if the file is no Parquet file.
    """

    leaves: Sequence[Any] | None
    variants: frozenset[tuple[str, ...]]
    rules: LeafRules
    julian: Julian

    def columns(
        self, fields: Sequence[pa.Field], above: tuple[str, ...], start: int
    ) -> Iterator[FileColumn]:
        """The columns of sibling fields, the first of whose leaves is the leaf ``start``."""
        at = start
        for stored in fields:
            yield self.column(stored, (*above, stored.name), at)
            at += leaf_count(stored.type)

    def column(self, stored: pa.Field, path: tuple[str, ...], at: int) -> FileColumn:
        """One column, whose first leaf is the leaf ``at``."""
        try:
            column = self._column(stored, path, at)
        except InvalidRequestError as error:
            column = FileColumn(stored.name, Kind.REFUSED, reason=str(error))
        return replace(column, stored=stored)

    def _column(self, stored: Any, path: tuple[str, ...], at: int) -> FileColumn:
        name, arrow = stored.name, plain(stored.type)
        if self.leaves is not None and len(path) > TYPE_DEPTH:
            raise InvalidRequestError(f"it is nested more than {TYPE_DEPTH} deep")
        if path in self.variants:
            return self._variant(name, arrow, at)
        if pa.types.is_null(arrow):
            return FileColumn(name, Kind.VOID)
        if pa.types.is_struct(arrow):
            inner = tuple(self.columns(list(arrow), path, at))
            if not inner:
                raise InvalidRequestError("it is a struct without fields")
            return FileColumn(name, Kind.STRUCT, fields=inner)
        if pa.types.is_map(arrow):
            return self._map(name, arrow, path, at)
        if is_list(arrow):
            element = self.column(arrow.value_field, (*path, "list", "element"), at)
            form = None if self._is_standard_list(path, at) else Form.LIST
            return FileColumn(
                name, Kind.ARRAY, form=form, fields=(replace(element, name="element"),)
            )
        seen = leaf_of(stored.type, None if self.leaves is None else self.leaves[at], self.rules)
        julian = self.julian.get(at)
        if isinstance(julian, str):
            raise InvalidRequestError(julian)
        return FileColumn(name, Kind.LEAF, seen.type, julian or seen.form)

    def _variant(self, name: str, arrow: Any, at: int) -> FileColumn:
        form = shredded_form(arrow)
        for place in range(at, at + leaf_count(arrow)):
            leaf = None if self.leaves is None else self.leaves[place]
            if leaf is not None and leaf.physical_type == "INT96":
                raise InvalidRequestError(
                    "it is a VARIANT shredded as INT96, which Parquet does not define"
                )
            if place in self.julian:
                raise InvalidRequestError(
                    "it is a shredded VARIANT with dates or timestamps of the Julian calendar, as "
                    "Spark 2 or the LEGACY mode wrote them; rewrite the file with Spark"
                )
        return FileColumn(name, Kind.LEAF, Atom.VARIANT, form)

    def _map(self, name: str, arrow: Any, path: tuple[str, ...], at: int) -> FileColumn:
        key = self.column(arrow.key_field, (*path, "key_value", "key"), at)
        after = at + leaf_count(arrow.key_type)
        value = self.column(arrow.item_field, (*path, "key_value", "value"), after)
        inner = (replace(key, name="key"), replace(value, name="value"))
        if key.kind is not Kind.LEAF and self.leaves is not None:
            reason = f"it is a map whose keys are {key.reason or 'nested'}, which can't be compared"
            return FileColumn(name, Kind.REFUSED, fields=inner, reason=reason)
        return FileColumn(name, Kind.MAP, fields=inner)

    def _is_standard_list(self, path: tuple[str, ...], at: int) -> bool:
        """Whether a list, and all lists around it, are a group ``list`` of ``element``."""
        if self.leaves is None:
            return True
        prefix = ".".join((*path, "list", "element"))
        leaf_path = self.leaves[at].path
        return bool(leaf_path == prefix or leaf_path.startswith(f"{prefix}."))


def plain(arrow: Any) -> Any:
    """The storage of an extension type."""
    return arrow.storage_type if isinstance(arrow, pa.BaseExtensionType) else arrow


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
    """The type and form in which a leaf of a file stores values of a type in place.

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
    if is_stored_alike(column.type, wanted):
        return SeenAs(wanted, column.form)
    return SeenAs(column.type, column.form) if widens(column.type, wanted) else None


def converts(column: FileColumn, wanted: DataType) -> bool:
    """Whether a copy can convert a leaf to a type; a value that does not fit is refused then."""
    if held_as(column, wanted) is not None:
        return True
    if column.kind is not Kind.LEAF or column.type is None or is_nested(wanted):
        return False
    old, new = family(column.type), family(wanted)
    is_interval = any(isinstance(type_, DayTimeInterval) for type_ in (column.type, wanted))
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
            return is_same and all(fits(part, inner.type, copy=copy) for part, inner in pairs)
        case Kind.VOID, _:
            return True
        case Kind.LEAF, _:
            return converts(column, wanted) if copy else held_as(column, wanted) is not None
    return False


def _struct_fits(column: FileColumn, fields: tuple[Column, ...], *, copy: bool) -> bool:
    by_name = {part.name: part for part in column.fields}
    pairs = [(by_name[inner.name], inner.type) for inner in fields if inner.name in by_name]
    return all(fits(part, type_, copy=copy) for part, type_ in pairs)
