"""Schemas and names that users provide for files, after Apache Drill's.

- A name in ``exclude`` leaves the column out, with all inside it.
- An alias, by the dotted path in the file, gives the column's name. It is found exactly first, then
  regardless of case.
- Otherwise a column has the name that it has in the file. Two files that spell it differently in case
  mean the same column, which is spelled as in the provided schema or table, else as in the first file.
- Two columns of one file that have the same name then, regardless of case, clash: an alias settles it.

It is a list of columns in DDL, of which each may have NOT NULL, a DEFAULT and a FORMAT, with
properties::

    id BIGINT NOT NULL, day DATE FORMAT 'dd.MM.yyyy', address.zip STRING, unit STRING DEFAULT 'kWh'
    PROPERTIES ('strict' = 'true')

Columns that it does not name are taken as the files have them, unless ``strict`` is set. A column that
no file has is added, with its default.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from versioned_catalog.errors import InvalidRequestError, VersionedError
from versioned_catalog.model.ddl import take_options, take_path, take_properties
from versioned_catalog.model.schema import Schema, name_key
from versioned_catalog.model.tokens import Cursor, TokenKind
from versioned_catalog.model.type_text import ColumnPath, parse_path, render_path, take_type
from versioned_catalog.model.types import Atom, Column, Constant, DataType, Time, children
from versioned_catalog.model.widening import type_name
from versioned_catalog.storage.text import read_text
from versioned_interop.imports.text_formats import date_pattern

Key = tuple[str, ...]
"""A path whose names are compared regardless of case."""


def key_of(path: ColumnPath) -> Key:
    """The key of a path."""
    return tuple(map(name_key, path))


@dataclass(frozen=True)
class Names:
    """Aliases and left out columns.

    Args:
        aliases: the new name by the path in files.
        excluded: paths in files.
    """

    aliases: Mapping[ColumnPath, str] = field(default_factory=dict)
    excluded: frozenset[Key] = frozenset()

    @classmethod
    def of(cls, aliases: Mapping[str, str] | None, exclude: Iterable[str] = ()) -> Names:
        """The names that users give by dotted paths.

        Raises:
            InvalidRequestError: a path is invalid, or an alias moves a column into another struct.
        """
        renamed = {parse_path(old): _alias(old, new) for old, new in (aliases or {}).items()}
        if isinstance(exclude, str):
            raise InvalidRequestError(f"exclude must be a list of columns, got {exclude!r}")
        return cls(renamed, frozenset(key_of(parse_path(path)) for path in exclude))

    def name(self, path: ColumnPath, siblings: Collection[str] = ()) -> str | None:
        """The name of the column at a path of a file; None if it is left out.

        Args:
            siblings: the names beside it, any of which an alias may mean exactly.
        """
        key = key_of(path)
        if key in self.excluded:
            return None
        if path in self.aliases:
            return self.aliases[path]
        alike = (
            new
            for old, new in self.aliases.items()
            if key_of(old) == key and (old[-1] == path[-1] or old[-1] not in siblings)
        )
        return next(alike, path[-1])


def _alias(old: str, new: str) -> str:
    source, target = parse_path(old), parse_path(new)
    if len(target) > 1 and target[:-1] != source[:-1]:
        raise InvalidRequestError(
            f"the alias {render_path(source)} => {render_path(target)} would move the column into "
            "another struct; a column can only be renamed"
        )
    return target[-1]


SchemaSource = str | os.PathLike[str] | Schema | None
"""DDL, the path of a file that holds it, or a schema."""

_PROPERTIES = ("strict",)


@dataclass(frozen=True)
class ProvidedColumn:
    """A column of a provided schema.

    Args:
        path: its path, with the names that it shall have.
        column: its type, nullability, default and comment.
        format: how dates and times are written in text files: ``yyyy-MM-dd`` or ``%Y-%m-%d``.
    """

    path: ColumnPath
    column: Column
    format: str | None = None


@dataclass(frozen=True)
class Provided:
    """A provided schema.

    Args:
        columns: in order; those inside others may stand by themselves, with a dotted path.
        strict: whether other columns of files are ignored.
        positions: the names of the columns of files without a header, if they are not those of the
            columns.
    """

    columns: tuple[ProvidedColumn, ...] = ()
    strict: bool = False
    positions: tuple[str, ...] | None = None
    by_key: Mapping[Key, ProvidedColumn] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_key: dict[Key, ProvidedColumn] = {}
        for column in _with_children(self.columns):
            if by_key.setdefault(key_of(column.path), column) is not column:
                raise InvalidRequestError(
                    f"the provided schema names the column {render_path(column.path)} twice"
                )
        object.__setattr__(self, "by_key", by_key)

    def at(self, path: ColumnPath) -> ProvidedColumn | None:
        """The provided column at a path, if any."""
        return self.by_key.get(key_of(path))

    def inside(self, path: ColumnPath) -> list[str]:
        """The names of the columns that are provided directly inside a path, in order."""
        key, depth = key_of(path), len(path)
        names = {
            other[depth]: column.path[depth]
            for other, column in self.by_key.items()
            if other[:depth] == key and len(other) > depth
        }
        return list(names.values())

    def takes(self, path: ColumnPath) -> bool:
        """Whether a column of a file is taken: unless the schema is strict and does not name it."""
        if not self.strict or path[-1] in ("element", "key", "value"):
            return True
        key = key_of(path)
        above = self.by_key.get(key[:-1])
        if above is not None and not children(above.column.type):
            return True  # the type is to be found, fields and all
        return any(other[: len(key)] == key for other in self.by_key)

    @property
    def formats(self) -> dict[Key, str]:
        """Formats of columns, by the keys of their paths."""
        return {key_of(c.path): c.format for c in self.columns if c.format is not None}


def _with_children(columns: tuple[ProvidedColumn, ...]) -> Iterator[ProvidedColumn]:
    for column in columns:
        yield column
        inner = (ProvidedColumn((*column.path, c.name), c) for c in children(column.column.type))
        yield from _with_children(tuple(inner))


def provided_schema(source: SchemaSource, *, strict: bool | None = None) -> Provided:
    """The provided schema of an argument of users.

    Args:
        source: DDL, the path of a file with DDL (a ``Path``, or text ``*.sql``), a Schema or None.
        strict: overrides the property.

    Raises:
        InvalidRequestError: it can't be read or does not parse.
    """
    match source:
        case None:
            provided = Provided()
        case Schema():
            provided = Provided(
                tuple(ProvidedColumn((c.name,), c) for c in source.columns if not c.hidden)
            )
        case str() if not source.strip().lower().endswith(".sql"):
            provided = parse_provided(source)
        case str() | os.PathLike():
            provided = parse_provided(_read(source))
        case _:
            raise InvalidRequestError(
                "a provided schema must be DDL, the path of a file with DDL or a Schema, got "
                f"{type(source).__name__}"
            )
    if strict and not provided.columns:
        raise InvalidRequestError("strict needs a schema that names the columns to take")
    return provided if strict is None else replace(provided, strict=strict)


def _read(path: str | os.PathLike[str]) -> str:
    try:
        return read_text(Path(os.fspath(path)).expanduser(), "a schema file")
    except VersionedError as error:
        raise InvalidRequestError(f"the schema file {path} can't be read: {error}") from None


def parse_provided(ddl: str) -> Provided:
    """Parse a provided schema.

    Raises:
        InvalidRequestError: it does not parse, or has an unknown property.

    >>> parse_provided("n DOUBLE, day DATE FORMAT 'dd.MM.yyyy'").formats
    {('day',): 'dd.MM.yyyy'}
    """
    cursor = Cursor(ddl, "provided schema")
    in_parentheses = cursor.accept("(")
    columns = [_take_column(cursor)]
    while cursor.accept(","):
        columns.append(_take_column(cursor))
    if in_parentheses:
        cursor.expect(")")
    properties: Mapping[str, str] = {}
    if cursor.accept_word("PROPERTIES"):
        properties = take_properties(cursor)
    cursor.expect_end()
    return Provided(tuple(columns), _is_strict(properties))


def _is_strict(properties: Mapping[str, str]) -> bool:
    values = {key.removeprefix("drill.").lower(): value for key, value in properties.items()}
    if other := values.keys() - set(_PROPERTIES):
        raise InvalidRequestError(
            f"a provided schema has no property {min(other)}; known are {', '.join(_PROPERTIES)}",
            condition="INVALID_OPTION",
        )
    value = values.get("strict", "false").lower()
    if value not in ("true", "false"):
        raise InvalidRequestError(
            f"strict must be true or false, got {value!r}", condition="INVALID_OPTION"
        )
    return value == "true"


def _take_column(cursor: Cursor) -> ProvidedColumn:
    path = take_path(cursor)
    cursor.accept(":")
    type_ = take_type(cursor)
    column, format_ = take_options(cursor, path[-1], type_), None
    if cursor.accept_word("FORMAT"):
        format_ = cursor.string()
        _check_format(path, type_, format_)
        column = _joined(column, take_options(cursor, path[-1], type_))
    at_end = cursor.token.kind is TokenKind.END or cursor.at_symbol(",", ")")
    if not at_end and not cursor.at_word("PROPERTIES"):
        raise cursor.error("a comma, NOT NULL, DEFAULT, FORMAT or COMMENT was expected")
    _check_default(path, column)
    return ProvidedColumn(path, column, format_)


def _joined(column: Column, other: Column) -> Column:
    """The options before and after FORMAT together."""
    changes: dict[str, Any] = {}
    if not other.nullable:
        changes["nullable"] = False
    if other.write_default is not None:
        changes |= {"read_default": other.read_default, "write_default": other.write_default}
    if other.comment is not None:
        changes["comment"] = other.comment
    return replace(column, **changes)


def _check_format(path: ColumnPath, type_: DataType, format_: str) -> None:
    """Refuse a format that says too little or too much for its type, or of a type that has none."""
    if isinstance(type_, Time) or type_ in (Atom.DATE, Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ):
        date_pattern(format_, type_)
        return
    raise InvalidRequestError(
        f"{render_path(path)} is {type_name(type_)}, which has no FORMAT; dates, times and timestamps "
        "have one",
        condition="INVALID_OPTION",
    )


def _check_default(path: ColumnPath, column: Column) -> None:
    if column.write_default is not None and not isinstance(column.write_default, Constant):
        raise InvalidRequestError(
            f"the default of {render_path(path)} must be a constant: rows of files have no time of "
            "their own"
        )
    if column.write_default is not None and len(path) > 1:
        raise InvalidRequestError(
            f"{render_path(path)} is inside another column; give a DEFAULT to it by ALTER TABLE"
        )
