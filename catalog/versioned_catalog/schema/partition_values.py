"""Partition values of two schema versions: whether they mean the same partitions, and how."""

from __future__ import annotations

import base64
from collections.abc import Callable

import numpy as np

from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.transforms import (
    Bucket,
    Days,
    Hours,
    Identity,
    Months,
    Transform,
    Truncate,
    Years,
    parse_transform,
)
from versioned_catalog.types.types import Atom, DataType, is_text
from versioned_catalog.values.fitting import widen_text

PartitionKey = tuple[str | None, ...]
"""The value texts (FORMAT.md, section 4.2) of a partition; None for null."""

_INTEGERS = (Atom.BYTE, Atom.SHORT, Atom.INT, Atom.LONG)


def key_reader(old: Schema, new: Schema) -> Callable[[PartitionKey], PartitionKey] | None:
    """How partitions of segments of one schema are called under another.

    Args:
        old: what the segments were written under.
        new: another schema of the same life of the table, with columns no narrower.

    Returns:
        From a key to the key that the same rows would have now; None where the two schemas do not
        partition alike, so that one partition may be spread over several.
    """
    if old.partitioning != new.partitioning:
        return None
    readers = [
        _value_reader(
            parse_transform(field.transform),
            old.column(field.source).type,
            new.column(field.source).type,
        )
        for field in new.partitioning
    ]
    known = [reader for reader in readers if reader is not None]
    if len(known) < len(readers):
        return None
    return lambda key: tuple(read(text) for read, text in zip(known, key, strict=True))


def is_unreadable(transform: Transform, type_: DataType) -> bool:
    """Whether the values of a transform are shown as a text of their own.

    Args:
        transform: what is partitioned by.
        type_: the type of its values.
    """
    return type_ is Atom.BINARY or isinstance(transform, Years | Months | Days | Hours)


def partition_text(transform: Transform, type_: DataType, text: str) -> str:
    """A partition's value text as people read it: ``2026-01-31`` of a day, hexadecimal of bytes.

    Args:
        transform, type_: as for ``is_unreadable``; other values stay as they are.
        text: the value text.
    """
    match transform:
        case Years():
            return f"{1970 + int(text):04}"
        case Months():
            return f"{1970 + int(text) // 12:04}-{int(text) % 12 + 1:02}"
        case Days():
            return _day(int(text))
        case Hours():
            return f"{_day(int(text) // 24)}-{int(text) % 24:02}"
        case _:
            return base64.b64decode(text).hex().upper() if type_ is Atom.BINARY else text


def _day(days: int) -> str:
    return str(np.datetime64(days, "D"))


def _value_reader(
    transform: Transform, old: DataType, new: DataType
) -> Callable[[str | None], str | None] | None:
    if old == new or _commutes(transform, old, new):
        return lambda text: text
    if isinstance(transform, Identity):
        return lambda text: _widened(text, old, new)
    return None


def _commutes(transform: Transform, old: DataType, new: DataType) -> bool:
    """Whether a value and the same, widened, are in partitions of the same value text."""
    match transform:
        case Bucket() | Truncate():
            return (old in _INTEGERS and new in _INTEGERS) or (is_text(old) and is_text(new))
        case Years() | Months() | Days() | Hours():
            return True  # the one widening there is: the midnight that a date begins with
        case Identity():
            return False


def _widened(text: str | None, old: DataType, new: DataType) -> str | None:
    found = widen_text(text, old, new)
    assert found is None or isinstance(found, str)
    return found
