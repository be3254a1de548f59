"""Entries of a log, one a commit (FORMAT.md, section 5), their heads, and how a log holds them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Generic, Protocol, TypeVar

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import check_version
from versioned_catalog.log.bounded_files import dump_document
from versioned_catalog.log.branches import Branch, OnBranch
from versioned_catalog.log.decisions import Prepared, prepared_from_json, prepared_to_json
from versioned_catalog.log.features import (
    FORMAT,
    TRANSACTIONS,
    Features,
    features_from_json,
    features_to_json,
)
from versioned_catalog.log.ledger import ImportedFile, LedgerChange
from versioned_catalog.log.marks import Mark
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.times import UNIX_EPOCH, time_from_text, time_to_text
from versioned_catalog.model.pins import Pin
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.schema_json import Json, check_members, member, optional
from versioned_catalog.storage.store import Store

LONGEST = timedelta(days=36_500)
"""The longest time for which a consumer can keep versions."""


@dataclass(frozen=True, slots=True)
class Consumer:
    """The progress of a reader of a table. Paimon stores consumers, too, as files.

    Args:
        version: the last version read; expiry keeps it and all later versions.
        moved: when the version was set, by the store's clock.
        keep: how long replaced versions are kept for the consumer, in whole seconds.
    """

    version: int
    moved: datetime
    keep: timedelta


def consumers_to_json(consumers: Mapping[str, Consumer]) -> dict[str, Json]:
    """The JSON of consumers by name."""
    return {
        name: {
            "version": consumer.version,
            "moved": time_to_text(consumer.moved),
            "keep": int(consumer.keep.total_seconds()),
        }
        for name, consumer in consumers.items()
    }


def consumers_from_json(value: dict[str, Json], newest: int) -> dict[str, Consumer]:
    """Consumers by name.

    Raises:
        CorruptTableError: one is not as FORMAT.md says, or has read a version after ``newest``.
    """
    return {name: _from_json(name, member(value, name, dict), newest) for name in value}


_CONSUMER_MEMBERS = frozenset({"version", "moved", "keep"})


def _from_json(name: str, value: Json, newest: int) -> Consumer:
    check_members(value, _CONSUMER_MEMBERS)
    version, keep = member(value, "version", int), member(value, "keep", int)
    if not 0 <= version <= newest:
        raise CorruptTableError(
            f"the consumer {name[:100]!r} has read a version that does not exist"
        )
    if not 0 <= keep <= LONGEST.total_seconds():
        raise CorruptTableError(
            f"the consumer {name[:100]!r} keeps versions for an impossible time"
        )
    moved = time_from_text(member(value, "moved", str))
    return Consumer(version, moved, timedelta(seconds=keep))


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
        transaction: the transaction over several tables that it belongs to; None if it stands alone.
    """

    table_uuid: str
    version: int
    commit_id: str
    base_version: int
    time: datetime
    operation: str
    writer: str = ""
    features: Features = field(default_factory=Features)
    transaction: Prepared | None = None

    @property
    def aborted(self) -> Head:
        """The head of what remains of an entry whose transaction was aborted."""
        return replace(
            self, commit_id=f"aborted {self.commit_id}", operation=ABORT, transaction=None
        )


ABORT = "abort"
"""The operation of a version whose transaction was aborted, and of its copies in other logs."""

GUARD = "guard"
"""The operation of an entry that changes nothing: a transaction has read the table."""


@dataclass(frozen=True)
class Stub:
    """The remains of an expired entry; ``floor`` is the oldest retained version at that time."""

    version: int
    commit_id: str
    time: datetime
    floor: int

    @property
    def begins_at(self) -> int | None:
        """The version that the log begins at, if this one was before it; None for a commit."""
        match = _BEGINS.fullmatch(self.commit_id)
        return None if match is None else int(match[1])


_BEGINS = re.compile(r"begins at ([1-9][0-9]{0,15})")


def before_first(version: int, begins_at: int) -> Stub:
    """The stub of a version before the one that a log begins at (FORMAT.md, section 18)."""
    return Stub(version, f"begins at {begins_at}", UNIX_EPOCH, begins_at)


HEAD_MEMBERS = frozenset(
    {
        *("format", "features", "table_uuid", "version", "commit_id", "base_version", "time"),
        *("operation", "writer", "transaction"),
    }
)
"""The members of a head."""

_STUB_MEMBERS = frozenset({"format", "stub", "version", "commit_id", "time", "floor"})


def head_to_json(head: Head) -> dict[str, Json]:
    """The JSON members of a head."""
    members = {
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
    if head.transaction is not None:
        members["transaction"] = prepared_to_json(head.transaction)
    return members


def head_from_json(value: Json) -> Head:
    """The head of an entry.

    Raises:
        CorruptTableError: a member is missing, or has another type.
    """
    features = features_from_json({"features": member(value, "features", dict)})
    return Head(
        table_uuid=member(value, "table_uuid", str),
        version=check_version(member(value, "version", int)),
        commit_id=member(value, "commit_id", str),
        base_version=_base_version(value),
        time=time_from_text(member(value, "time", str)),
        operation=member(value, "operation", str),
        writer=member(value, "writer", str),
        features=features,
        transaction=_transaction(value, features),
    )


def _transaction(value: Json, features: Features) -> Prepared | None:
    transaction = optional(value, "transaction", dict)
    if transaction is None:
        return None
    if TRANSACTIONS not in features.read & features.write:
        raise CorruptTableError(f"the entry is one of a transaction without {TRANSACTIONS}")
    return prepared_from_json(transaction)


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
        # A reader would follow the stub back to itself forever.
        raise CorruptTableError(f"the stub of version {version} says that {floor} is retained")
    time = time_from_text(member(value, "time", str))
    return Stub(version, member(value, "commit_id", str), time, floor)


REWRITES = ("delete", "update", "merge", "overwrite")
"""Operations that replace segments."""

NEW_INCARNATION = frozenset({"create", "replace", "restore"})
"""Operations after which a table has another UUID, and only the segments that they add; a restore
resumes an earlier incarnation."""

ENDS = frozenset({"drop", "purge"})
"""Operations after which a table does not exist."""

OPERATIONS = NEW_INCARNATION | {
    "append",
    *REWRITES,
    "compact",
    "alter",
    "rollback",
    "tag",
    "branch",
    *ENDS,
    "undrop",
    "fence",
    "expire",
    ABORT,
    GUARD,
}
"""The operations of a table's log."""


@dataclass(frozen=True)
class Batch:
    """A batch of an exactly-once sink."""

    application: str
    id: int


@dataclass(frozen=True, slots=True)
class LastBatch:
    """The last batch of an application.

    Args:
        id: its number.
        version: the commit that wrote it; None in a table without the feature
            ``application-retention``.
    """

    id: int
    version: int | None = None


def applications_to_json(applications: Mapping[str, LastBatch]) -> dict[str, Json]:
    """The JSON of the last batches of applications, by name."""
    return {
        name: last.id if last.version is None else [last.id, last.version]
        for name, last in applications.items()
    }


def applications_from_json(
    value: dict[str, Json], newest: int, *, with_versions: bool
) -> dict[str, LastBatch]:
    """The last batches of applications, by name.

    Args:
        newest: the version of the state.
        with_versions: whether the table has the feature ``application-retention``.

    Raises:
        CorruptTableError: one is not as FORMAT.md says.
    """
    if not with_versions:
        return {name: LastBatch(batch_from_json(value, name)) for name in value}
    return {name: _last_batch(name, member(value, name, list), newest) for name in value}


def _last_batch(name: str, value: list[Json], newest: int) -> LastBatch:
    if len(value) != 2 or type(value[1]) is not int or not 0 <= value[1] <= newest:
        raise CorruptTableError(
            f"the application {name[:100]!r} is not a batch and a version that exists"
        )
    return LastBatch(batch_from_json({name: value[0]}, name), value[1])


def batch_from_json(value: Json, name: str) -> int:
    """The number of a batch, from a member of an object.

    Raises:
        CorruptTableError: it is not an integer of 64 bits.
    """
    number: int = member(value, name, int)
    if not -(2**63) <= number < 2**63:
        raise CorruptTableError(f"the batch {str(number)[:50]} is out of range")
    return number


@dataclass(frozen=True)
class Manifest:
    """The file that holds the last segment records of a commit.

    Args:
        path: its path in the table's folder.
        bytes, checksum: its size, and ``crc32:`` and 8 hex digits.
        records: number of records in it; 0 before it is read.
    """

    path: str
    bytes: int
    checksum: str
    records: int = 0


@dataclass(frozen=True)
class Commit:
    """One commit of a table. None and empty mean that the commit does not change the member.

    ``added`` includes the records of the manifest, once that is read. ``marked`` are the new marks of
    live segments by path; None for a segment that has no mark any more. ``roots`` are the URLs of
    external roots, as they were when segments below them were added. ``imported`` is the change of the
    ledger; files that were put in a page are in ``paged``, which is not stored. Applications whose last
    batch is of a version below ``forget`` are forgotten. A merge of a branch has further ``schemas``,
    before ``schema``, and ``batches``, the last batch of each application. ``branches`` are those of the
    table, and ``branch`` is in the first entry of a branch. ``first_schema_version``, in a restore, is
    that of the incarnation that it resumes. ``row_ids`` are the first row ID that it assigns, and the
    next free one after it.
    """

    head: Head
    next_column_id: int
    schema: Schema | None = None
    properties: Mapping[str, str] | None = None
    comment: str | None = None
    sets_comment: bool = False
    added: tuple[SegmentRecord, ...] = ()
    removed: tuple[str, ...] = ()
    marked: Mapping[str, Mark | None] = field(default_factory=dict)
    batch: Batch | None = None
    fence: int | None = None
    floor: int | None = None
    forget: int | None = None
    tags: Mapping[str, int] | None = None
    tags_kept: Mapping[str, timedelta] | None = None
    pins: Mapping[str, Pin] | None = None
    consumers: Mapping[str, Consumer] | None = None
    roots: Mapping[str, str] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    manifest: Manifest | None = None
    imported: LedgerChange | None = None
    paged: tuple[ImportedFile, ...] = field(default=(), compare=False, repr=False)
    schemas: tuple[Schema, ...] = ()
    batches: Mapping[str, int] = field(default_factory=dict)
    branches: Mapping[str, Branch] | None = None
    branch: OnBranch | None = None
    first_schema_version: int | None = None
    row_ids: tuple[int, int] | None = None

    @property
    def changes_segments(self) -> bool:
        """Whether it adds or removes segments, or marks rows of some."""
        return bool(self.added or self.removed or self.marked)

    @property
    def attached_bytes(self) -> int:
        """Size of the manifest, which is read with the entry; 0 without one."""
        return 0 if self.manifest is None else self.manifest.bytes


class Entry(Protocol):
    """An entry of any log."""

    @property
    def head(self) -> Head:
        """The members that every entry has."""
        ...

    @property
    def attached_bytes(self) -> int:
        """Size of the files that are read with the entry."""
        ...


class State(Protocol):
    """The state that any log adds up to."""

    @property
    def version(self) -> int:
        """Version of the last commit."""
        ...

    @property
    def time(self) -> datetime:
        """Time of the last commit."""
        ...


E = TypeVar("E", bound=Entry)
S = TypeVar("S", bound=State)


def unattached(entry: E, *_: object) -> E:
    """The entry of a log whose entries name no files."""
    return entry


@dataclass(frozen=True, eq=False)
class DeltaCodec(Generic[S]):
    """How one kind of log stores what changed since a checkpoint (FORMAT.md, section 8.2).

    Args:
        encode: the content of the delta of a state, the versions of the checkpoint and of the deltas
            that it refers to, and the same state as read from them; None if a checkpoint is due.
        precedes: whether a state was read from files that its next delta can refer to.
        decode: the state of a delta, by its path, the contents by path of it and of all files that it
            refers to, and the URL of the table.
    """

    encode: Callable[[S], tuple[bytes, Sequence[int], S] | None]
    precedes: Callable[[S], bool]
    decode: Callable[[str, Mapping[str, bytes | None], str], S]


@dataclass(eq=False)
class Codec(Generic[E, S]):
    """How one kind of log encodes, decodes and replays its entries.

    Args:
        suffix: file name extension of checkpoints.
        decode, encode: from and to the bytes of an entry; ``decode`` takes the name of the file, too.
        apply: the state after one more entry.
        decode_checkpoint, encode_checkpoint: from and to the bytes of a state.
        retained_checkpoints: the versions whose checkpoints stay, by the newest state that has one, and
            the sizes of all.
        read_attachment: completes an entry by the file that it names, if it names one.
        write_attachment: writes what does not fit an entry to a file that the entry names; the file of
            the entry of the attempt before may serve again.
        deltas: how checkpoints are continued; None if all are whole.
        aborted: what an entry means whose transaction was aborted.
    """

    suffix: str
    decode: Callable[[bytes, str], E | Stub]
    encode: Callable[[E], bytes]
    apply: Callable[[S | None, E], S]
    decode_checkpoint: Callable[[bytes, str], S]
    encode_checkpoint: Callable[[S], bytes]
    retained_checkpoints: Callable[[S, Mapping[int, int]], frozenset[int]]
    read_attachment: Callable[[E, Store], E] = unattached
    write_attachment: Callable[[E, E | None, Store], E] = unattached
    deltas: DeltaCodec[S] | None = None
    aborted: Callable[[E], E] = unattached
