"""The operations that can be committed to a table, as values that are built when they are planned.

``matrix.propose`` checks an operation against a later state, and builds its entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from versioned_catalog.log.bitmaps import Positions
from versioned_catalog.log.entry import Batch, Consumer
from versioned_catalog.log.ledger import ImportedFile
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.model.evolution import BoundChange, Evolution
from versioned_catalog.model.identity import Taken
from versioned_catalog.model.keys import ANALYZED, BY_COLUMN
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import Column
from versioned_catalog.read.filters import BoundFilter


@dataclass(frozen=True)
class Base:
    """The snapshot that an operation was planned on.

    Args:
        created_uuid: the table UUID that the last ``create`` made.
        seen_as: the pin, or schema version, through which the table was seen.
        replanned: a later snapshot, on which the columns that the operation adds, and its segments,
            were planned again.
        computed: whether the writer has computed the generated columns of its rows.
        checked: whether the writer has checked its rows against the constraints of this snapshot.
        taken: numbers that were taken for its rows, of which those that no row holds are given back.
        row_ids: whether rows had IDs.
    """

    table_uuid: str
    version: int
    schema: Schema
    next_column_id: int
    segments: int
    created_uuid: str
    seen_as: str | None = None
    replanned: Base | None = None
    computed: bool = False
    checked: bool = False
    taken: tuple[Taken, ...] = ()
    row_ids: bool = False

    @property
    def of_segments(self) -> Base:
        """The snapshot that the segments were planned on."""
        return self.replanned or self

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
            None if state.lens is None else state.lens.label,
            row_ids=state.has_row_ids,
        )


@dataclass(frozen=True)
class Effect:
    """What a statement did to rows, as far as its writer knows, for the history.

    Args:
        condition: the condition of its rows, in SQL.
        inserted, updated, deleted: numbers of rows.
        milliseconds: how long it ran until its commit.
    """

    condition: str | None = None
    inserted: int | None = None
    updated: int | None = None
    deleted: int | None = None
    milliseconds: int | None = None


@dataclass(frozen=True)
class NewFiles:
    """Files of others that were in no ledger at a version, ``known_at``."""

    files: tuple[ImportedFile, ...]
    known_at: int


@dataclass(frozen=True)
class Write:
    """What the operations share that add segments to a table, or replace some.

    Args:
        changes: the columns that the segments bring along.
        removed: paths of the segments that leave; None for all segments of the base.
        roots: URLs of the external roots below which segments lie.
        copied: the files of others whose rows it brings, or that have none left.
        new_files: those of its files that no import may have taken in before.
        effect: what its statement did, which decides nothing.
    """

    base: Base
    records: tuple[SegmentRecord, ...]
    changes: tuple[BoundChange, ...] = ()
    removed: tuple[str, ...] | None = ()
    batch: Batch | None = None
    roots: Mapping[str, str] = field(default_factory=dict)
    copied: tuple[ImportedFile, ...] = ()
    new_files: NewFiles | None = None
    effect: Effect | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Append(Write):
    """Add segments."""


@dataclass(frozen=True)
class Overwrite(Write):
    """Replace segments, whatever rows they hold."""

    removed: tuple[str, ...] | None = None


@dataclass(frozen=True)
class KeyCheck:
    """The row keys that an operation read and writes, to be checked against concurrent commits.

    Args:
        since: the version that was read.
        records: the segments that hold the keys.
        meet: whether segments of others, in the newest state, hold one of the keys.
    """

    since: int
    records: tuple[SegmentRecord, ...]
    meet: Callable[[Sequence[SegmentRecord], TableState], bool] = field(compare=False)


@dataclass(frozen=True)
class Rewrite(Write):
    """Replace segments by others that were computed from their rows.

    Args:
        kind: ``delete``, ``update``, ``merge`` or ``overwrite``.
        reads: filter of the rows that it read, bound to the base's schema; None for every row.
        keys: the row keys to check, if the table has a primary key.
        marks: the rows that it marks as deleted, by the path of a segment of the base that stays; none
            of them is marked in the base.
    """

    kind: str = field(kw_only=True)
    reads: BoundFilter | None = field(kw_only=True)
    keys: KeyCheck | None = None
    marks: Mapping[str, Positions] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Import(Write):
    """Add the rows of files of others, adopted or copied, and record that the files are taken in.

    Args:
        files: the files; also those without rows.
        again: whether files may be adopted whose segments are live.
    """

    files: tuple[ImportedFile, ...] = ()
    again: bool = False


@dataclass(frozen=True)
class Compact(Write):
    """Replace segments by others with the same rows.

    Args:
        moved: the groups that were merged, in their order: how many of ``removed``, how many of
            ``records``, and whether rows are in the same order. Empty if that is not known.
    """

    moved: tuple[tuple[int, int, bool], ...] = ()


@dataclass(frozen=True)
class Resolve(Write):
    """Mark the hidden rows of overlapping segments of a table with a primary key.

    Args:
        hidden: the positions of the hidden rows of each segment of some groups, by path, as of the
            base; also of segments without any.
    """

    hidden: Mapping[str, Positions] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Rollback:
    """Restore the table as it was at a version, also of an earlier incarnation."""

    base: Base
    version: int


@dataclass(frozen=True)
class Tag:
    """Set a tag to a version, or drop it (None).

    Args:
        keep: how long after the commit of its version expiry drops it; None for never.
    """

    base: Base
    name: str
    version: int | None
    keep: timedelta | None = None


@dataclass(frozen=True)
class DropLapsedTags:
    """Drop tags that were not to be kept longer.

    Args:
        tags: the version that each named, and how long it was kept; a tag of the name with another
            version or time stays.
    """

    base: Base
    tags: Mapping[str, tuple[int, timedelta]]


@dataclass(frozen=True)
class MakeBranch:
    """Begin a branch at a version of the table.

    Args:
        keep: how long after its last commit expiry drops it; None for never.
        replaces: whether a branch of that name may be replaced.
    """

    base: Base
    name: str
    version: int
    keep: timedelta | None = None
    replaces: bool = False


@dataclass(frozen=True)
class DropBranches:
    """Drop branches.

    Args:
        branches: their IDs by name; a branch of the name with another ID stays.
    """

    base: Base
    branches: Mapping[str, str]


@dataclass(frozen=True)
class CloseBranch:
    """End the log of a branch, unless it has gone on since the base."""

    base: Base


@dataclass(frozen=True)
class MergeBranch:
    """Take over what a branch has changed since it began, or was merged last.

    Args:
        branch_id: its ID.
        version: the version of the branch.
        forward: whether the table must not have changed meanwhile.
        keep: how long after its last commit expiry drops the branch from now on; None for no change.
    """

    base: Base
    name: str
    branch_id: str
    version: int
    forward: bool = False
    keep: timedelta | None = None


@dataclass(frozen=True)
class Consume:
    """Set how far a consumer has read, or drop it (None)."""

    base: Base
    name: str
    consumer: Consumer | None


@dataclass(frozen=True)
class PlannedOn:
    """The schema and the properties that an ALTER was planned on, and must find unchanged.

    Args:
        table_uuid, version, schema_version: those of the table; None if it was to be created.
        ignored: names of properties that may have changed.
    """

    table_uuid: str | None
    version: int | None
    schema_version: int | None
    properties: Mapping[str, str]
    ignored: frozenset[str] = frozenset()

    @staticmethod
    def of(state: TableState) -> PlannedOn:
        """The schema and the properties of a state, apart from what changes no row and no column."""
        return PlannedOn(
            *(state.table_uuid, state.version, state.schema_version, state.properties),
            frozenset({ANALYZED}),
        )

    def compared(self, properties: Mapping[str, str]) -> dict[str, str]:
        """The properties that must not have changed; constraints have a rule of their own."""
        return {
            key: text
            for key, text in properties.items()
            if key not in self.ignored and not key.startswith(BY_COLUMN)
        }


@dataclass(frozen=True)
class Alter:
    """Change the schema or properties, by changes that are applied in order.

    Args:
        count_nulls: counts the values of a column that are null of themselves by reading the data of a
            state; called if statistics do not have them.
        planned_on: the schema and properties that must be unchanged; None if the changes are applied by
            column ID to whatever the table has become.
    """

    base: Base
    changes: tuple[BoundChange, ...]
    count_nulls: Callable[[TableState, Column], int] = field(compare=False)
    planned_on: PlannedOn | None = None


@dataclass(frozen=True)
class Create:
    """Create a table where there is none, or where one was dropped.

    Args:
        table_uuid: UUID of the new table.
        columns: its columns; their IDs count only if they are kept.
        arrange: adds keys, partitioning and sort order to the schema once it has IDs.
        properties, comment: properties and comment of the table.
        records: segments that the table begins with, written under its first schema.
        first_column_id: the first column ID that the segments were planned with; None without
            segments.
        keeps_ids: whether the columns keep their IDs, as those of a converted table, unless an earlier
            table in the same folder has used some of them.
    """

    table_uuid: str
    columns: tuple[Column, ...]
    arrange: Callable[[Evolution], Evolution] = field(compare=False)
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    records: tuple[SegmentRecord, ...] = ()
    first_column_id: int | None = None
    keeps_ids: bool = False


@dataclass(frozen=True)
class Replace:
    """Begin another incarnation of an existing table, which keeps its log and its name only.

    Args:
        base_version: the version that it was planned on.
        read_version: the version of the table that the new rows were computed from; None if they were
            not computed from its rows.
    """

    creation: Create
    created_uuid: str
    base_version: int
    read_version: int | None = None


@dataclass(frozen=True)
class Drop:
    """Drop the table."""

    base: Base


@dataclass(frozen=True)
class Undrop:
    """Make a dropped table exist again, if it is the one with a created UUID."""

    created_uuid: str


@dataclass(frozen=True)
class Purge:
    """Refuse to undrop a table from now on, so that its files can be deleted."""

    created_uuid: str


@dataclass(frozen=True)
class Fence:
    """Refuse segments that were planned on a version below the fence, from now on."""

    base: Base
    fence: int


@dataclass(frozen=True)
class Expire:
    """Expire the versions below ``floor``, apart from those whose states are in ``kept/``.

    Args:
        lapsed: the consumers that no longer keep what they have not read, and how far they had read.
        forget: applications whose last batch is of a version below this are forgotten, if the properties
            are still these.
    """

    base: Base
    floor: int
    kept: frozenset[int]
    lapsed: Mapping[str, int] = field(default_factory=dict)
    forget: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)


Operation = (
    Append
    | Overwrite
    | Rewrite
    | Import
    | Compact
    | Resolve
    | Rollback
    | Tag
    | MakeBranch
    | DropLapsedTags
    | DropBranches
    | CloseBranch
    | MergeBranch
    | Consume
    | Alter
    | Create
    | Replace
    | Drop
    | Undrop
    | Purge
    | Fence
    | Expire
)
