"""The state of a table: the fold of its entries (FORMAT.md, section 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property

import numpy as np

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.log.branches import Branch, OnBranch
from versioned_catalog.log.entry import (
    ABORT,
    ENDS,
    NEW_INCARNATION,
    Commit,
    Consumer,
    LastBatch,
)
from versioned_catalog.log.features import (
    APPLICATION_RETENTION,
    CHECKSUMS,
    CLONES,
    EXTERNAL_ROOTS,
    IMPORTS,
    NARROWED,
    RESOLVED,
    TAG_RETENTION,
    UNDROP,
    WITH_TRANSACTIONS,
    Features,
)
from versioned_catalog.log.ledger import Ledger
from versioned_catalog.log.marks import Mark
from versioned_catalog.log.record import SegmentRecord, numbered
from versioned_catalog.log.schemas import Schemas
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.stored_segments import UNRESOLVED, Counts
from versioned_catalog.model.evolution import Evolution
from versioned_catalog.model.keys import ROW_IDS
from versioned_catalog.model.narrowing import held_beyond, held_schema, narrowed_columns
from versioned_catalog.model.pins import (
    HiddenColumn,
    Overflow,
    Pin,
    PinnedSchema,
    Seen,
    hidden_columns,
)
from versioned_catalog.model.schema import Schema
from versioned_catalog.storage.store import PREFIX


@dataclass(frozen=True)
class Lens:
    """A schema other than the current one in which a user sees a table.

    Args:
        label: label of the pin, or number of the schema version.
        seen: the columns that are seen.
        overflow: what is shown of a value that does not fit the type that is seen.
        null_after: segments of schema versions after this one show null, and no read default, in columns
            that they lack, since these were dropped; None if every segment shows the read default.
    """

    label: str
    seen: Seen
    overflow: Overflow = Overflow.ERROR
    null_after: int | None = None


@dataclass(frozen=True)
class TableState:
    """A table as of one commit.

    Args:
        table_uuid: UUID of this incarnation of the table.
        created_uuid: the table UUID that the last ``create`` made; a ``replace`` keeps it.
        version, commit_id, time: the last commit.
        created_version: version that began this incarnation, or resumed it.
        first_schema_version: schema version that it began with.
        dropped: whether the table does not exist; what it had is still in the state.
        properties, comment: for users.
        applications: the last batch of each exactly-once sink, until it is forgotten.
        tags: names of versions, of this incarnation and of those that it replaced.
        tags_kept: how long after the commit of its version expiry drops a tag; the others it keeps.
        pins: schema pins by label.
        consumers: readers whose unread versions expiry keeps, by name.
        branches: the branches by name.
        branch: the branch whose state it is; None for the table's own.
        roots: URLs of external roots, as they were when segments below them were added; for errors only.
        ledger: the files of others that were taken in.
        adoptions: how many segments below external roots were added, apart from those that a rollback
            made live again; -1 if the table had some before it had the feature ``imports``, or was
            restored to an earlier incarnation.
        next_row_id: the row ID that the next commit begins at, in a table with row IDs.
        fence: commits that add segments must have been planned on this version or later.
        floor: the oldest retained version, apart from tagged ones.
        features: features that the table needs of readers and writers.
        lens: the schema that the user of this state sees it through, and its label or version; None for
            the current schema. It is not stored.
    """

    table_uuid: str
    created_uuid: str
    version: int
    commit_id: str
    time: datetime
    created_version: int
    first_schema_version: int
    schemas: Schemas
    schema_version: int
    next_column_id: int
    next_row_id: int = 0
    dropped: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    segments: SegmentSet = field(default_factory=SegmentSet)
    applications: Mapping[str, LastBatch] = field(default_factory=dict)
    tags: Mapping[str, int] = field(default_factory=dict)
    tags_kept: Mapping[str, timedelta] = field(default_factory=dict)
    pins: Mapping[str, Pin] = field(default_factory=dict)
    consumers: Mapping[str, Consumer] = field(default_factory=dict)
    branches: Mapping[str, Branch] = field(default_factory=dict)
    branch: OnBranch | None = None
    roots: Mapping[str, str] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    adoptions: int = 0
    fence: int = 0
    floor: int = 0
    features: Features = field(default_factory=Features)
    lens: Lens | None = None

    @property
    def schema(self) -> Schema:
        """The current schema, under which segments are written; it may have hidden columns."""
        return self.schemas[self.schema_version]

    @property
    def seen(self) -> Seen:
        """The schema that the user of this state sees."""
        return self.lens.seen if self.lens else Seen(self.schema.visible, self.schema)

    @property
    def known(self) -> Schema:
        """The columns that a filter that may be named, in the types that segments may hold."""
        return self.reads.stored if self.lens is None else self.reads.wide

    @cached_property
    def reads(self) -> Seen:
        """The columns that are seen, over the types that live segments may hold them in."""
        if NARROWED not in self.features.read:
            return self.seen
        seen = self.seen
        return Seen(seen.schema, self._held(seen.stored))

    @property
    def converts(self) -> bool:
        """Whether columns may be seen in other types than segments hold them in."""
        return self.lens is not None or self.reads.stored is not self.schema

    def _held(self, schema: Schema) -> Schema:
        columns = narrowed_columns(schema)
        if not columns:
            return schema
        versions = self.segments.core["schema_version"].unique().to_pylist()
        written = [self.schemas[version] for version in versions]
        return held_schema(schema, [c.id for c in columns if held_beyond(c, written)])

    @property
    def pinned_schemas(self) -> dict[str, PinnedSchema]:
        """The pins with the columns that they need."""
        return {
            label: PinnedSchema(pin, self.schemas[pin.schema_version].visible)
            for label, pin in self.pins.items()
        }

    @property
    def hidden_columns(self) -> tuple[HiddenColumn, ...]:
        """The columns that were dropped and are kept for pins."""
        return hidden_columns(self.schema, self.pinned_schemas)

    @property
    def has_row_ids(self) -> bool:
        """Whether rows have IDs."""
        return self.properties.get(ROW_IDS) == "true"

    @property
    def purged(self) -> bool:
        """Whether the table was dropped, and its files may be deleted."""
        return self.dropped and self.created_version < self.floor == self.version - 1

    @property
    def can_be_undropped(self) -> bool:
        """Whether an ``undrop`` may follow (FORMAT.md, section 5)."""
        known = UNDROP in self.features.read & self.features.write
        return self.dropped and not self.purged and known and self.branch is None

    def keeps(self, version: int) -> bool:
        """Whether a version up to this one is retained (FORMAT.md, section 9)."""
        return version >= self.floor or version in self.tags.values()

    @property
    def evolution(self) -> Evolution:
        """The schema and properties, as changes apply to them."""
        used = self.schemas.used_names(self.first_schema_version)
        return Evolution(
            self.schema,
            self.next_column_id,
            self.properties,
            used,
            pins=self.pinned_schemas,
            names_with_ids=self.branch is not None,
            comment=self.comment,
        )

    def remembers(self, application: str) -> bool:
        """Whether a batch of an application would be known, if one had been committed."""
        return APPLICATION_RETENTION not in self.features.read or application in self.applications

    @property
    def own_schemas(self) -> list[Schema]:
        """The schemas of this incarnation, oldest first."""
        first = self.first_schema_version
        return [schema for version, schema in sorted(self.schemas.items()) if version >= first]


def properties_after(state: TableState | None, commit: Commit) -> Mapping[str, str]:
    """The properties of the table after one more commit."""
    if commit.properties is not None:
        return commit.properties
    if state is None or commit.head.operation in NEW_INCARNATION:
        return {}
    return state.properties


def apply(state: TableState | None, commit: Commit) -> TableState:
    """The state after one more commit.

    Raises:
        CorruptTableError: the commit can't follow the state.
    """
    if commit.head.operation == ABORT:
        return _after_abort(state, commit)
    _check_follows(state, commit)
    before = _new_incarnation(state, commit) if commit.head.operation in NEW_INCARNATION else state
    assert before is not None
    schemas = before.schemas
    for schema in _schemas_of(commit)[commit.head.operation in NEW_INCARNATION :]:
        schemas = schemas.grown(schema)
    _check_records(schemas, commit)
    segments = before.segments.remove(commit.removed)
    segments, added, next_row_id = _with_row_ids(before, segments, commit)
    current = commit.schema.version if commit.schema else before.schema_version
    segments = segments.add(added, commit.head.version, commit.head.time, schemas, current)
    segments = segments.marked(commit.marked)
    after = replace(
        before,
        version=commit.head.version,
        commit_id=commit.head.commit_id,
        time=commit.head.time,
        dropped=commit.head.operation in ENDS,
        schemas=schemas,
        schema_version=current,
        next_column_id=commit.next_column_id,
        next_row_id=next_row_id,
        properties=before.properties if commit.properties is None else commit.properties,
        comment=commit.comment if commit.sets_comment else before.comment,
        segments=segments,
        applications=_applications(before, commit),
        tags=before.tags if commit.tags is None else commit.tags,
        tags_kept=before.tags_kept if commit.tags_kept is None else commit.tags_kept,
        pins=before.pins if commit.pins is None else commit.pins,
        consumers=before.consumers if commit.consumers is None else commit.consumers,
        branches=before.branches if commit.branches is None else commit.branches,
        branch=commit.branch or before.branch,
        roots=before.roots if commit.roots is None else commit.roots,
        ledger=before.ledger if commit.imported is None else before.ledger.after(commit.imported),
        adoptions=_adoptions(before, commit),
        lens=None,
        fence=before.fence if commit.fence is None else max(before.fence, commit.fence),
        floor=before.floor if commit.floor is None else max(before.floor, commit.floor),
        features=before.features | commit.head.features,
    )
    if commit.pins is not None:
        check_pins(after)
    check_tags_kept(after)
    if commit.marked:
        _check_marks(after, commit.marked.values())
    return after


def _with_row_ids(
    before: TableState, segments: SegmentSet, commit: Commit
) -> tuple[SegmentSet, tuple[SegmentRecord, ...], int]:
    """Assign row IDs (FORMAT.md, section 4.11): to the live segments if the commit switches them on, and
    to those that it adds.

    Returns:
        The segments, the records to add, and the next free row ID.
    """
    properties = before.properties if commit.properties is None else commit.properties
    version = commit.head.version
    if properties.get(ROW_IDS) != "true":
        if commit.row_ids is not None:
            raise CorruptTableError(f"version {version} assigns row IDs, and its rows have none")
        return segments, commit.added, before.next_row_id
    first, end = commit.row_ids or (before.next_row_id, before.next_row_id)
    if first < before.next_row_id:
        raise CorruptTableError(f"version {version} assigns row IDs that are assigned already")
    following = first
    if not before.has_row_ids:
        segments, following = segments.with_row_ids(first)
    added, following = numbered(commit.added, following)
    if following > end:
        raise CorruptTableError(f"version {version} assigns more row IDs than it says")
    return segments, added, end


def _after_abort(state: TableState | None, commit: Commit) -> TableState:
    """The state after a version whose transaction was aborted: nothing but the version has changed."""
    head = commit.head
    if head.version != (0 if state is None else state.version + 1):
        raise CorruptTableError(f"the entry says version {head.version}, which does not follow")
    if state is None:
        # It would have created the table, so there is none.
        state = replace(_new_incarnation(None, commit), dropped=True, features=head.features)
    return replace(
        state,
        version=head.version,
        commit_id=head.commit_id,
        time=head.time,
        features=state.features | WITH_TRANSACTIONS,
        lens=None,
    )


def _applications(before: TableState, commit: Commit) -> Mapping[str, LastBatch]:
    """The last batch of each application after a commit, by name (FORMAT.md, section 9)."""
    applications, version = before.applications, commit.head.version
    knows_versions = APPLICATION_RETENTION in (before.features | commit.head.features).read
    if knows_versions and APPLICATION_RETENTION not in before.features.read:
        # Readers of a checkpoint do not know which commits wrote them.
        applications = {name: LastBatch(last.id, version) for name, last in applications.items()}
    return applications_after(applications, commit, version if knows_versions else None)


def applications_after(
    applications: Mapping[str, LastBatch], commit: Commit, version: int | None
) -> Mapping[str, LastBatch]:
    """The last batches of applications after a commit, which is of ``version`` if that is kept."""
    batches = dict(commit.batches)
    if commit.batch is not None:
        batches[commit.batch.application] = commit.batch.id
    if batches:
        newer = {name: LastBatch(number, version) for name, number in batches.items()}
        applications = {**applications, **newer}
    return applications if commit.forget is None else remembered(applications, commit.forget)


def remembered(applications: Mapping[str, LastBatch], since: int) -> Mapping[str, LastBatch]:
    """The applications that are left when those are forgotten whose last batch is below a version."""
    return {
        name: last
        for name, last in applications.items()
        if last.version is None or last.version >= since
    }


def _adoptions(before: TableState, commit: Commit) -> int:
    """Number of files of others adopted up to a commit; see ``TableState``."""
    if commit.head.operation == "restore":
        return -1  # the earlier versions of its incarnation may have used other paths
    if IMPORTS not in commit.head.features.write or before.adoptions < 0:
        return before.adoptions
    if IMPORTS not in before.features.write and EXTERNAL_ROOTS in before.features.read:
        return -1
    if commit.head.operation == "rollback":
        return before.adoptions
    return before.adoptions + sum(record.path.startswith(PREFIX) for record in commit.added)


def check_pins(state: TableState) -> None:
    """Refuse pins of schema versions that the incarnation does not have.

    Raises:
        CorruptTableError: naming the pin.
    """
    for label, pin in state.pins.items():
        version = pin.schema_version
        if version < state.first_schema_version or version not in state.schemas:
            raise CorruptTableError(
                f"the pin {label[:100]!r} has the schema version {version}, which does not exist"
            )


def check_tags_kept(state: TableState) -> None:
    """Refuse a time for a tag that is not there, and one without the feature.

    Raises:
        CorruptTableError: naming the tag.
    """
    if state.tags_kept and TAG_RETENTION not in state.features.read & state.features.write:
        raise CorruptTableError(f"tags are kept for a time without the feature {TAG_RETENTION}")
    for name in state.tags_kept.keys() - state.tags.keys():
        raise CorruptTableError(f"the tag {name[:100]!r} is kept for a time, but there is none")


def check_not_keyed(path: str, is_foreign: bool, schema: Schema | None) -> None:
    """Refuse a foreign segment in a table with a primary key: its rows can't be merged.

    Raises:
        CorruptTableError: naming the segment.
    """
    if is_foreign and schema is not None and schema.is_keyed:
        raise CorruptTableError(
            f"the segment {path} has an ID map, but the table has a primary key"
        )


def _check_marks(state: TableState, marks: Iterable[Mark | None]) -> None:
    """Refuse marks of another form than the table's. Raises CorruptTableError."""
    resolved = [UNRESOLVED if m.resolved is None else m.resolved for m in marks if m is not None]
    check_resolved(state, np.array(resolved, np.int64))


def check_resolved(state: TableState, versions: Counts) -> None:
    """Refuse marks of deleted rows in a table with a primary key, and of hidden rows in another.

    Args:
        versions: the ``resolved`` of marks; ``UNRESOLVED`` for marks without.

    Raises:
        CorruptTableError: a mark is not one of such a table, names a version that its entry could not
            know, or lacks the feature.
    """
    is_keyed = state.schema.is_keyed
    if not len(versions):
        return
    if is_keyed and (versions == UNRESOLVED).any():
        raise CorruptTableError("rows of a table with a primary key are marked as deleted")
    if not is_keyed and (versions != UNRESOLVED).any():
        raise CorruptTableError("a mark of a table without a primary key has a member 'resolved'")
    if (versions >= state.version).any():
        raise CorruptTableError("a mark is resolved up to a version that is not before its entry")
    if is_keyed and RESOLVED not in state.features.read & state.features.write:
        raise CorruptTableError(f"rows of a table with a primary key are marked without {RESOLVED}")


def _new_incarnation(state: TableState | None, commit: Commit) -> TableState:
    """An empty table in the incarnation that a commit begins or resumes."""
    schema, replaces = commit.schema, commit.head.operation != "create"
    if schema is None:
        raise CorruptTableError("a commit that creates or replaces a table holds no schema")
    first = _schemas_of(commit)[0]
    begins = first.version if commit.first_schema_version is None else commit.first_schema_version
    if begins > schema.version:
        raise CorruptTableError("a commit restores an incarnation that had not begun")
    return TableState(
        table_uuid=commit.head.table_uuid,
        created_uuid=state.created_uuid if state and replaces else commit.head.table_uuid,
        version=commit.head.version,
        commit_id=commit.head.commit_id,
        time=commit.head.time,
        created_version=commit.head.version,
        first_schema_version=begins,
        schemas=state.schemas.grown(first) if state else Schemas(first, {}),
        schema_version=schema.version,
        next_column_id=commit.next_column_id,
        tags=state.tags if state and replaces else {},
        tags_kept=state.tags_kept if state and replaces else {},
        fence=state.fence if state else 0,
        floor=state.floor if state else commit.head.version,
    )


def _schemas_of(commit: Commit) -> tuple[Schema, ...]:
    """The schemas that a commit adds, in the order of their versions."""
    return commit.schemas if commit.schema is None else (*commit.schemas, commit.schema)


def _check_follows(state: TableState | None, commit: Commit) -> None:
    head = commit.head
    expected = 0 if state is None else state.version + 1
    begins_late = state is None and CLONES in head.features.read & head.features.write
    if head.version != expected and not begins_late:
        raise CorruptTableError(f"the entry of version {expected} says version {head.version}")
    begins = head.operation in NEW_INCARNATION
    schemas = _schemas_of(commit)
    if any(max(schema.ids, default=0) >= commit.next_column_id for schema in schemas):
        raise CorruptTableError(f"version {head.version} has column IDs above its next column ID")
    if state is None:
        if head.operation != "create":
            raise CorruptTableError("the log does not begin with a create")
        if [schema.version - schemas[0].version for schema in schemas] != [*range(len(schemas))]:
            raise CorruptTableError(f"version {head.version} skips or repeats a schema version")
        return
    _check_dropped(state, commit)
    if begins == (head.table_uuid == state.table_uuid):
        problem = "does not begin an incarnation of its own" if begins else "is of another table"
        raise CorruptTableError(f"version {head.version} {problem}")
    if not begins and not head.features.write >= state.features.write & {CHECKSUMS}:
        raise CorruptTableError(f"version {head.version} lacks the feature {CHECKSUMS}")
    if head.operation == "create" and not state.dropped:
        raise CorruptTableError(f"version {head.version} creates a table that exists")
    if commit.next_column_id < state.next_column_id:
        raise CorruptTableError(f"version {head.version} has a smaller next column ID than before")
    for number, schema in enumerate(schemas, state.schemas.newest.version + 1):
        if schema.version != number:
            raise CorruptTableError(f"version {head.version} skips or repeats a schema version")
    for name, branch in (commit.branches or {}).items():
        earlier = state.branches.get(name)
        if (
            earlier is not None
            and earlier.id == branch.id
            and branch.merge_base < earlier.merge_base
        ):
            raise CorruptTableError(f"version {head.version} takes back a merge of {name[:100]!r}")
    if state.branch is not None and commit.next_column_id > state.branch.end_id:
        raise CorruptTableError(f"version {head.version} has a column ID that is not of its branch")


def _check_dropped(state: TableState, commit: Commit) -> None:
    """Refuse an entry after a drop that can't follow it, and one that only a drop can precede."""
    operation, version = commit.head.operation, commit.head.version
    if operation in ("undrop", "purge") and not state.dropped:
        raise CorruptTableError(f"version {version} ({operation}) does not follow a drop")
    if operation == "undrop" and not state.can_be_undropped:
        raise CorruptTableError(f"version {version} undrops a table that can't be undropped")
    if operation == "purge" and (state.purged or commit.floor != state.version):
        raise CorruptTableError(f"version {version} is no purge of version {state.version}")
    if operation == "purge" and UNDROP not in commit.head.features.read:
        raise CorruptTableError(f"version {version} purges a table without the feature {UNDROP}")
    if state.dropped and operation not in ("create", "undrop", "purge"):
        raise CorruptTableError(f"version {version} follows the drop of the table")


def _check_records(schemas: Mapping[int, Schema], commit: Commit) -> None:
    for record in commit.added:
        check_not_keyed(record.path, record.id_map is not None, schemas.get(record.schema_version))
        if record.schema_version not in schemas:
            raise CorruptTableError(
                f"the segment {record.path} has schema version {record.schema_version}, and the log "
                "defines no such schema"
            )
        if len(record.partition) != len(schemas[record.schema_version].partitioning):
            raise CorruptTableError(
                f"the segment {record.path} has {len(record.partition)} partition values, and its "
                "schema has another number of partition fields"
            )
