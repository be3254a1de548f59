"""Changes of a partitioning, and partition values across schema versions."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping

import numpy as np

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.model import transforms
from versioned_catalog.model.partition_names import field_names, shown_fields, split_name
from versioned_catalog.model.schema import Schema, name_key
from versioned_catalog.model.transforms import (
    Bucket,
    Days,
    Hours,
    Identity,
    Months,
    Transform,
    Truncate,
    Years,
    parse_partitioning,
    parse_transform,
    render,
    render_field,
)
from versioned_catalog.model.type_text import quote
from versioned_catalog.model.types import Atom, DataType, Family, family
from versioned_catalog.model.user_values import widen_text

_CHANGE = re.compile(
    r"\s*(?P<action>ADD|DROP)\s+PARTITION\s+FIELD\s+(?P<field>.+?)\s*"
    r"|\s*REPLACE\s+PARTITION\s+FIELD\s+(?P<old>.+?)\s+WITH\s+(?P<new>.+?)\s*",
    re.IGNORECASE | re.DOTALL,
)
_SINGULAR = re.compile(r"(year|month|day|hour)\s*\(", re.IGNORECASE)


def partition_fields(schema: Schema) -> list[str]:
    """The fields of a partitioning as a user writes them, such as ``days(ts)``."""
    return [
        render_field(schema.path(field.source), parse_transform(field.transform))
        for field in schema.partitioning
    ]


def changed_partitioning(
    schema: Schema, change: str, table: str, properties: Mapping[str, str]
) -> list[str]:
    """The fields of a partitioning after a change, those with new names with ``AS``.

    Args:
        change: ``ADD PARTITION FIELD f``, ``DROP PARTITION FIELD f`` or
            ``REPLACE PARTITION FIELD f WITH g``. A new field may have a name,
            ``f AS name``, and one that is there may be written as its name.

    Raises:
        InvalidRequestError: it does not parse, adds a field that exists, or drops one that does not.
        NotFoundError: a column does not exist.
    """
    match = _CHANGE.fullmatch(change)
    if match is None:
        raise InvalidRequestError(
            f"{table}: {change!r} is not a change of the partitioning; write ADD PARTITION FIELD f, "
            "DROP PARTITION FIELD f or REPLACE PARTITION FIELD f WITH g"
        )
    fields = partition_fields(schema)
    if match["old"] is not None:
        at = _index(schema, match["old"], fields, table, field_names(schema, properties))
        new, name = split_name(match["new"])
        if _key(schema, new) != _keys(schema)[at]:
            fields[at] = _new(schema, match["new"], table)
        elif name is not None:
            fields[at] += f" AS {quote(name)}"
    elif match["action"].upper() == "ADD":
        fields.append(_new(schema, match["field"], table))
    else:
        names = field_names(schema, properties)
        del fields[_index(schema, match["field"], fields, table, names)]
    return fields


def _new(schema: Schema, text: str, table: str) -> str:
    text, name = split_name(text)
    source, transform = _key(schema, text)
    field = render_field(schema.path(source), transform)
    if (source, transform) in _keys(schema):
        raise InvalidRequestError(f"{table} is partitioned by {field} already")
    return field if name is None else f"{field} AS {quote(name)}"


def _index(
    schema: Schema, text: str, fields: list[str], table: str, names: Mapping[int, str]
) -> int:
    has, name = _keys(schema), text.strip("` ")
    named = [at for at, given in names.items() if name_key(given) == name_key(name)] or [
        at
        for at, field in enumerate(has)
        if at not in names
        and schema.find((name,)) is None
        and name_key(name) in _iceberg_names(schema, *field)
    ]
    if len(named) > 1:
        raise InvalidRequestError(
            f"{table}: {text} may be {' or '.join(fields[at] for at in named)}; write one of them"
        )
    if named:
        return named[0]
    try:
        return has.index(_key(schema, text))
    except (ValueError, NotFoundError):
        shown = shown_fields(fields, names)
        raise InvalidRequestError(
            f"{table} is not partitioned by {text}; its fields are {', '.join(shown) or 'none'}"
        ) from None


def _iceberg_names(schema: Schema, source: int, transform: Transform) -> tuple[str, ...]:
    """The names that Iceberg gives to a field: by CREATE TABLE, and by ALTER TABLE."""
    column = ".".join(schema.path(source))
    names: tuple[str, ...]
    match transform:
        case Bucket(size):
            names = (f"{column}_bucket", f"{column}_bucket_{size}")
        case Truncate(size):
            names = (f"{column}_trunc", f"{column}_trunc_{size}")
        case Years() | Months() | Days() | Hours():
            names = (f"{column}_{render(transform).removesuffix('s')}",)
        case Identity():
            names = ()
    return tuple(map(name_key, names))


def _keys(schema: Schema) -> list[tuple[int, Transform]]:
    """The columns and the transforms of a partitioning."""
    return [(field.source, parse_transform(field.transform)) for field in schema.partitioning]


def _key(schema: Schema, text: str) -> tuple[int, Transform]:
    """The column and the transform of a field; ``day(ts)`` is ``days(ts)``."""
    [(path, transform)] = parse_partitioning([_SINGULAR.sub(r"\1s(", text)])
    return schema.get(path).id, transform


def split_fields(text: str, what: str = "fields") -> tuple[str, ...]:
    """The fields of a partitioning, separated by commas; none for an empty text."""
    return split_outside(text, what) if text.strip() else ()


def split_outside(text: str, what: str) -> tuple[str, ...]:
    """Split a text at commas outside backticks and parentheses; ``what`` is the option, for the error.

    Raises:
        InvalidRequestError: a part is empty, or a backtick or parenthesis is not closed.
    """
    parts: list[str] = []
    part, quoted, depth = "", False, 0
    for ch in text + ",":
        if ch == "`":
            quoted = not quoted
        depth += 0 if quoted else (ch == "(") - (ch == ")")
        if ch == "," and not quoted and not depth:
            parts.append(part.strip())
            part = ""
        else:
            part += ch
    if quoted or depth or not all(parts):
        raise InvalidRequestError(
            f"{what} is {text!r}; write names separated by commas", condition="INVALID_OPTION"
        )
    return tuple(parts)


PartitionKey = tuple[str | None, ...]
"""The value texts (FORMAT.md, section 4.2) of a partition's fields; None for null."""


def key_reader(old: Schema, new: Schema) -> Callable[[PartitionKey], PartitionKey] | None:
    """The translation of partition keys from one schema version to another.

    Args:
        old: the schema that segments were written under.
        new: another schema of the same incarnation, whose column types are the same or wider.

    Returns:
        A function from a key under ``old`` to the key of the same rows under ``new``; None if the two
        partition differently, so that rows of one partition may belong to several.
    """
    if old.partitioning != new.partitioning:
        return None
    readers = [
        _value_reader(
            transforms.parse_transform(field.transform),
            old.column(field.source).type,
            new.column(field.source).type,
        )
        for field in new.partitioning
    ]
    usable = [reader for reader in readers if reader is not None]
    if len(usable) < len(readers):
        return None
    return lambda key: tuple(read(text) for read, text in zip(usable, key, strict=True))


def is_unreadable(transform: transforms.Transform, type_: DataType) -> bool:
    """Whether people can't read a transform's value texts of a type; see ``partition_text``."""
    return type_ is Atom.BINARY or isinstance(
        transform, transforms.Years | transforms.Months | transforms.Days | transforms.Hours
    )


def partition_text(transform: transforms.Transform, type_: DataType, text: str) -> str:
    """A partition's value text for people: ``2026-01-31`` for a day, hexadecimal for bytes.

    Readable value texts are returned as they are.
    """
    match transform:
        case transforms.Years():
            return f"{1970 + int(text):04}"
        case transforms.Months():
            return f"{1970 + int(text) // 12:04}-{int(text) % 12 + 1:02}"
        case transforms.Days():
            return _day(int(text))
        case transforms.Hours():
            return f"{_day(int(text) // 24)}-{int(text) % 24:02}"
        case _:
            return base64.b64decode(text).hex().upper() if type_ is Atom.BINARY else text


def _day(days: int) -> str:
    return str(np.datetime64(days, "D"))


def _value_reader(
    transform: transforms.Transform, old: DataType, new: DataType
) -> Callable[[str | None], str | None] | None:
    if old == new or _commutes(transform, old, new):
        return lambda text: text
    if isinstance(transform, transforms.Identity):
        return lambda text: _widened(text, old, new)
    return None


def _commutes(transform: transforms.Transform, old: DataType, new: DataType) -> bool:
    """Whether a value has the same partition value before and after it is widened."""
    match transform:
        case transforms.Bucket() | transforms.Truncate():
            return family(old) == family(new) and family(old) in (Family.INTEGER, Family.TEXT)
        case transforms.Years() | transforms.Months() | transforms.Days() | transforms.Hours():
            return True  # the only widening is from a date to its midnight
        case transforms.Identity():
            return False


def _widened(text: str | None, old: DataType, new: DataType) -> str | None:
    widened = widen_text(text, old, new)
    assert widened is None or isinstance(widened, str)
    return widened
