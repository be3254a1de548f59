"""Columns that stand in no file: in its path, and what the storage knows of it.

Folders may be named as Hive writes them, ``year=2024/month=3/part-0.parquet``. Folders without a name
are columns on request, by their depth, as in Drill; and so are a file's name, path, time and size.
"""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC
from itertools import starmap
from urllib.parse import unquote

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.times import UNIX_EPOCH
from versioned_catalog.model.calendars import parse_date
from versioned_catalog.model.schema import name_key
from versioned_catalog.model.types import Atom, DataType, Family, family
from versioned_catalog.model.user_values import fit
from versioned_catalog.model.widening import type_name
from versioned_catalog.storage.secrets import without_credentials
from versioned_catalog.storage.store import StoredFile
from versioned_interop.imports.provided import Names

NULL = "__HIVE_DEFAULT_PARTITION__"
"""The value of a part that stands for null."""

_PART = re.compile(r"([^=/]+)=(.*)")
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
_INT, _LONG = 2**31, 2**63


def path_parts(path: str) -> dict[str, str | None]:
    """The columns in the folders of a relative path, by name, with their texts; None is null.

    >>> path_parts("year=2024/city=New%20York/zip=__HIVE_DEFAULT_PARTITION__/part-0.parquet")
    {'year': '2024', 'city': 'New York', 'zip': None}
    """
    parts: dict[str, str | None] = {}
    for folder in path.split("/")[:-1]:
        match = _PART.fullmatch(folder)
        if match is not None:
            name, value = match.groups()
            parts[unquote(name)] = None if value == NULL else unquote(value)
    return parts


FILE_FACTS: Mapping[str, DataType] = {
    "file_name": Atom.STRING,
    "file_path": Atom.STRING,
    "file_modification_time": Atom.TIMESTAMP,
    "file_size": Atom.LONG,
}
"""What can be a column of the rows of a file, by the names of Spark's ``_metadata``."""


@dataclass(frozen=True)
class PathValue:
    """A value that stands in the path of a file, or that the storage knows.

    Args:
        name: of the column.
        text: the value; None is null.
        type: of the column; None if all texts decide it.
        requested: whether users asked for the column, which the path does not name.
    """

    name: str
    text: str | None
    type: DataType | None = None
    requested: bool = False


@dataclass(frozen=True)
class PathColumns:
    """The columns that stand in no file.

    Args:
        named: whether folders with ``name=value`` are columns.
        folders: the names of columns for other folders, from the outermost on; empty for ``dir0``,
            ``dir1``, …; None if these folders are no columns.
        file: the names of columns by what they hold, which is in ``FILE_FACTS``.
    """

    named: bool = True
    folders: tuple[str, ...] | None = None
    file: Mapping[str, str] = field(default_factory=dict)

    def values(
        self, names: Names, below: str, identity: str, file: StoredFile
    ) -> dict[str, PathValue]:
        """The values of a file, by the keys of the columns' names.

        Args:
            names: aliases and left out columns.
            below: the path below the folder that is imported.
            identity: the path or URL by which the table knows the file.

        Raises:
            InvalidRequestError: two of them have the same name.
        """
        values = list(self._values(below, identity, file))
        beside = [value.name for value in values]
        by_key: dict[str, PathValue] = {}
        for value in values:
            name = names.name((value.name,), beside)
            if name is None:
                continue
            earlier = by_key.get(name_key(name))
            if earlier is not None and (earlier.requested or value.requested):
                raise InvalidRequestError(
                    f"{below}: the path has two columns {name}; choose another name for one of them "
                    "with aliases, dir_columns or file_columns",
                    condition="INVALID_OPTION",
                )
            by_key[name_key(name)] = replace(value, name=name)
        return by_key

    def _values(self, below: str, identity: str, file: StoredFile) -> Iterator[PathValue]:
        if self.named:
            yield from starmap(PathValue, path_parts(below).items())
        if self.folders is not None:
            folders = [
                folder
                for folder in below.split("/")[:-1]
                if not (self.named and _PART.fullmatch(folder))
            ]
            names = self.folders or [f"dir{depth}" for depth in range(len(folders))]
            for name, folder in zip(names, folders, strict=False):
                yield PathValue(name, folder, requested=True)
        for what, name in self.file.items():
            yield PathValue(name, _fact(what, identity, file), FILE_FACTS[what], requested=True)


def _fact(what: str, identity: str, file: StoredFile) -> str | None:
    match what:
        case "file_name":
            return file.name.rpartition("/")[2]
        case "file_path":
            return without_credentials(identity)
        case "file_size":
            return str(file.bytes)
        case _:
            known = file.modified > UNIX_EPOCH
            return file.modified.astimezone(UTC).isoformat() if known else None


def types_of(files: Iterable[Mapping[str, PathValue]]) -> dict[str, DataType]:
    """The types of the columns in the paths of files, in the order of their first appearance."""
    names: dict[str, str] = {}
    texts: dict[str, set[str]] = {}
    fixed: dict[str, DataType] = {}
    for values in files:
        for key, value in values.items():
            names.setdefault(key, value.name)
            texts.setdefault(key, set()).update(() if value.text is None else (value.text,))
            if value.type is not None:
                fixed[key] = value.type
    return {name: fixed.get(key) or type_of(texts[key]) for key, name in names.items()}


def type_of(texts: Iterable[str]) -> DataType:
    """INT or BIGINT if all texts are whole numbers, else DATE if all are dates, else STRING."""
    values = list(texts)
    if not values:
        return Atom.STRING
    if all(_INTEGER.fullmatch(text) for text in values):
        numbers = [int(text) for text in values]
        if all(-_INT <= number < _INT for number in numbers):
            return Atom.INT
        if all(-_LONG <= number < _LONG for number in numbers):
            return Atom.LONG
    return Atom.DATE if all(map(_is_date, values)) else Atom.STRING


def _is_date(text: str) -> bool:
    try:
        parse_date(text)
    except ValueError:
        return False
    return re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) is not None


def value_text(text: str | None, type_: DataType, name: str) -> str | None:
    """The value text (FORMAT.md, section 4.2) of a part, for a column of a leaf type.

    Raises:
        InvalidRequestError: the text is no value of the type.

    >>> value_text("007", Atom.INT, "n"), value_text("2024-01-02", Atom.DATE, "d")
    ('7', '19724')
    """
    if text is None:
        return None
    try:
        fitted = fit(_value(text, type_), type_)
    except (InvalidRequestError, ValueError, ArithmeticError, KeyError):
        raise InvalidRequestError(
            f"the part {name}={text} of a path is no {type_name(type_)}; give the column a type "
            "that holds it, such as STRING",
            condition="INVALID_VALUE",
        ) from None
    return fitted if isinstance(fitted, str) else None


def _value(text: str, type_: DataType) -> object:
    """A text as the Python value that ``fit`` takes for a type; texts are texts, dates and times."""
    match family(type_):
        case Family.INTEGER if _INTEGER.fullmatch(text):
            return int(text)
        case Family.DECIMAL if _NUMBER.fullmatch(text):
            return decimal.Decimal(text)
        case Family.FLOAT if _NUMBER.fullmatch(text) and math.isfinite(float(text)):
            return float(text)
        case Family.FLOAT if text in _NOT_FINITE:
            return float(text)
        case Family.INTEGER | Family.DECIMAL | Family.FLOAT:
            raise ValueError("not a number; Python's own parsers would take 1_000 and １２ for one")
        case Family.BOOLEAN:
            return {"true": True, "false": False}[text.lower()]
        case _:
            return text
