"""What can be committed to a table: an operation is a value, made when it is planned.

``proposing.propose`` makes the entry that carries it out after a given state, or refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from versioned_catalog.evolution.evolution import BoundChange, Evolution
from versioned_catalog.expressions.filters import BoundFilter
from versioned_catalog.log.entry import Batch
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.types import Column


@dataclass(frozen=True)
class Base:
    """The snapshot that an operation was planned on.

    Args:
        table_uuid, version: which one.
        schema: its schema.
        next_column_id: the ID that the next new column would have had.
        segments: how many were live.
        created_uuid: the table UUID that the last ``create`` made.
    """

    table_uuid: str
    version: int
    schema: Schema
    next_column_id: int
    segments: int
    created_uuid: str

    @staticmethod
    def of(state: TableState) -> Base:
        """The snapshot of a state."""
        return Base(
            state.table_uuid,
            state.version,
            state.schema,
            state.next_column_id,
            state.segments.count,
            state.created_uuid,
        )


@dataclass(frozen=True)
class Append:
    """Add segments, and before them the columns that they brought along."""

    base: Base
    records: tuple[SegmentRecord, ...]
    changes: tuple[BoundChange, ...] = ()
    batch: Batch | None = None


@dataclass(frozen=True)
class Overwrite:
    """Put segments in the place of others.

    Args:
        base: the snapshot that it was planned on.
        records: the new ones.
        changes: the columns that they brought along.
        removed: the paths of the old ones; None for all those of the base.
    """

    base: Base
    records: tuple[SegmentRecord, ...]
    changes: tuple[BoundChange, ...] = ()
    removed: tuple[str, ...] | None = None


@dataclass(frozen=True)
class KeyCheck:
    """How the row keys of what was read and is written are held against those of others.

    Args:
        since: the version that was read.
        records: the segments that hold these keys.
        meet: whether segments that others added hold one of these keys: the segments, and the newest
            state.
    """

    since: int
    records: tuple[SegmentRecord, ...]
    meet: Callable[[Sequence[SegmentRecord], TableState], bool] = field(compare=False)


@dataclass(frozen=True)
class Rewrite:
    """Put segments in the place of those that were read to make them.

    Args:
        base: the snapshot that it was planned on.
        kind: ``delete``, ``update``, ``merge`` or ``overwrite``.
        records: the new segments.
        removed: the paths of the old ones.
        reads: which rows of the base it looked at, bound to the base's schema; None for every row.
        changes: the columns that the new segments brought along.
        keys: of a table with a primary key, how the row keys that are written are held against those
            that others wrote.
    """

    base: Base
    kind: str
    records: tuple[SegmentRecord, ...]
    removed: tuple[str, ...]
    reads: BoundFilter | None
    changes: tuple[BoundChange, ...] = ()
    keys: KeyCheck | None = None


@dataclass(frozen=True)
class Compact:
    """Put segments in the place of others that hold the same rows.

    Args:
        base: the snapshot that it was planned on.
        records: the new segments.
        removed: the paths of the old ones.
    """

    base: Base
    records: tuple[SegmentRecord, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True)
class Rollback:
    """Make the table what it was at a version.

    Args:
        base: the newest snapshot when that was asked for.
        version: which one, of the same life.
    """

    base: Base
    version: int


@dataclass(frozen=True)
class Tag:
    """Give a version a name, or take a name away.

    Args:
        base: the newest snapshot when that was asked for.
        name: the tag.
        version: the version; None takes the tag away.
    """

    base: Base
    name: str
    version: int | None


@dataclass(frozen=True)
class Alter:
    """Change the schema or properties. ``null_counts`` tells how often a column is null of itself.

    Args:
        base: what the changes were bound on.
        changes: in order.
        count_nulls: looks into the data of a state for a column's nulls, where statistics don't say.
    """

    base: Base
    changes: tuple[BoundChange, ...]
    count_nulls: Callable[[TableState, Column], int] = field(compare=False)


@dataclass(frozen=True)
class Create:
    """Begin a table where there is none, or where one was dropped.

    Args:
        table_uuid: who the new table is.
        columns: its columns, without IDs.
        arrange: makes partitioning, sort order and the like of the schema with IDs.
        properties, comment: for users.
        records: rows that the table is made with; their segments say the schema that it begins with.
        first_column_id: the first ID of that schema when the segments were planned; None where
            there are none.
    """

    table_uuid: str
    columns: tuple[Column, ...]
    arrange: Callable[[Evolution], Evolution] = field(compare=False)
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    records: tuple[SegmentRecord, ...] = ()
    first_column_id: int | None = None


@dataclass(frozen=True)
class Replace:
    """Begin another life of a table that is there: its log goes on, and nothing else of it.

    Args:
        creation: what it becomes.
        created_uuid: which table: the UUID that its ``create`` gave it.
        base_version: the version it was planned on.
        read_version: the version whose rows the new ones were made of; None where they were made of
            others.
    """

    creation: Create
    created_uuid: str
    base_version: int
    read_version: int | None = None


@dataclass(frozen=True)
class Drop:
    """End the table."""

    base: Base


@dataclass(frozen=True)
class Fence:
    """Keep out segments that were planned on a version below this one."""

    base: Base
    fence: int


@dataclass(frozen=True)
class Expire:
    """Give up the versions below a floor, but for those that a tag names.

    Args:
        base: the newest snapshot when that was asked for.
        floor: the first version that is kept.
        kept: the versions below whose states are kept on storage.
    """

    base: Base
    floor: int
    kept: frozenset[int]


Operation = (
    Append
    | Overwrite
    | Rewrite
    | Compact
    | Rollback
    | Tag
    | Alter
    | Create
    | Replace
    | Drop
    | Fence
    | Expire
)
