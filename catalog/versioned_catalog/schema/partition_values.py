"""Partition values across schema versions: which partitions are the same, and how they are shown."""

from __future__ import annotations

import base64
from collections.abc import Callable

import numpy as np

from versioned_catalog.schema import transforms
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.leaves import Family
from versioned_catalog.types.types import Atom, DataType, family
from versioned_catalog.values.fitting import widen_text

PartitionKey = tuple[str | None, ...]
"""The value texts (FORMAT.md, section 4.2) of a partition's fields; None for null."""


def key_reader(old: Schema, new: Schema) -> Callable[[PartitionKey], PartitionKey] | None:
    """How partition keys of one schema version translate to another.

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
    known = [reader for reader in readers if reader is not None]
    if len(known) < len(readers):
        return None
    return lambda key: tuple(read(text) for read, text in zip(known, key, strict=True))


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
    found = widen_text(text, old, new)
    assert found is None or isinstance(found, str)
    return found
