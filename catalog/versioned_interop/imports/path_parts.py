"""Parts of paths that are columns, as Hive writes them: ``year=2024/month=3/part-0.parquet``."""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Iterable
from urllib.parse import unquote

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.calendars import parse_date
from versioned_catalog.model.schema import name_key
from versioned_catalog.model.types import Atom, DataType, Family, family
from versioned_catalog.model.user_values import fit
from versioned_catalog.model.widening import type_name

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


def path_types(paths: Iterable[str]) -> dict[str, DataType]:
    """The types of the columns in relative paths, in the order of their first appearance.

    >>> types = path_types(["y=2023/d=2024-01-01/c=1/f", "Y=2024/d=2024-01-02/c=x/f"])
    >>> [(name, type_.value) for name, type_ in types.items()]
    [('y', 'int'), ('d', 'date'), ('c', 'string')]
    """
    names: dict[str, str] = {}
    texts: dict[str, set[str]] = {}
    for path in paths:
        for name, text in path_parts(path).items():
            key = name_key(name)
            names.setdefault(key, name)
            texts.setdefault(key, set()).update(() if text is None else (text,))
    return {name: type_of(texts[key]) for key, name in names.items()}


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
