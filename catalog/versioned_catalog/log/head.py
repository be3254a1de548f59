"""The members that entries of every log have, and stubs (FORMAT.md, sections 5 and 9)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import check_version
from versioned_catalog.log.document import dump_document
from versioned_catalog.log.features import FORMAT, Features, features_from_json, features_to_json
from versioned_catalog.log.times import time_from_text, time_to_text
from versioned_catalog.schema.wire import Json, check_members, member

WRITER = "versioned/0.1.0"
"""The member ``writer`` of the entries that this library writes."""


@dataclass(frozen=True)
class Head:
    """The members that every entry has.

    Args:
        table_uuid: the table UUID, or that of a warehouse.
        version: version of the commit.
        commit_id: ID of the commit, generated before the first attempt.
        base_version: the version that the operation was planned on; -1 for a first commit.
        time: time of the commit, in UTC.
        operation: name of the operation.
        writer: the library that wrote the entry.
        features: what the table needs of readers and writers as of this commit.
    """

    table_uuid: str
    version: int
    commit_id: str
    base_version: int
    time: datetime
    operation: str
    writer: str = ""
    features: Features = field(default_factory=Features)


@dataclass(frozen=True)
class Stub:
    """What expiry leaves of an old entry; ``floor`` is the oldest retained version at that time."""

    version: int
    commit_id: str
    time: datetime
    floor: int


HEAD_MEMBERS = frozenset(
    {
        *("format", "features", "table_uuid", "version", "commit_id", "base_version", "time"),
        *("operation", "writer"),
    }
)
"""The members of a head."""

_STUB_MEMBERS = frozenset({"format", "stub", "version", "commit_id", "time", "floor"})


def head_to_json(head: Head) -> dict[str, Json]:
    """The JSON members of a head."""
    return {
        "format": FORMAT,
        "features": features_to_json(head.features),
        "table_uuid": head.table_uuid,
        "version": head.version,
        "commit_id": head.commit_id,
        "base_version": head.base_version,
        "time": time_to_text(head.time),
        "operation": head.operation,
        "writer": head.writer,
    }


def head_from_json(value: Json) -> Head:
    """The head of an entry.

    Raises:
        CorruptTableError: a member is missing, or has another type.
    """
    return Head(
        table_uuid=member(value, "table_uuid", str),
        version=check_version(member(value, "version", int)),
        commit_id=member(value, "commit_id", str),
        base_version=_base_version(value),
        time=time_from_text(member(value, "time", str)),
        operation=member(value, "operation", str),
        writer=member(value, "writer", str),
        features=features_from_json({"features": member(value, "features", dict)}),
    )


def _base_version(value: Json) -> int:
    base = member(value, "base_version", int)
    if not -1 <= base < member(value, "version", int):
        raise CorruptTableError(f"the base version {str(base)[:50]} is not one before the commit")
    return base


def is_one_of(value: Json, operations: Collection[str]) -> bool:
    """Whether an entry, of whatever log, has one of some operations."""
    operation = value.get("operation")
    return isinstance(operation, str) and operation in operations


def stub_to_bytes(stub: Stub) -> bytes:
    """The file that replaces an expired entry."""
    return dump_document(
        {
            "format": FORMAT,
            "stub": True,
            "version": stub.version,
            "commit_id": stub.commit_id,
            "time": time_to_text(stub.time),
            "floor": stub.floor,
        }
    )


def stub_from_json(value: Json) -> Stub:
    """The stub that expiry left. Raises CorruptTableError if a member is missing or wrong."""
    check_members(value, _STUB_MEMBERS)
    version = check_version(member(value, "version", int))
    floor = check_version(member(value, "floor", int), "floor")
    if floor <= version:
        # A reader would follow it back to itself for ever.
        raise CorruptTableError(f"the stub of version {version} says that {floor} is retained")
    time = time_from_text(member(value, "time", str))
    return Stub(version, member(value, "commit_id", str), time, floor)
