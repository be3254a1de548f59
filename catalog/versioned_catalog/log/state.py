"""The state of a table: what its log adds up to (FORMAT.md, section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.evolution.evolution import Evolution
from versioned_catalog.log.entry import NEW_LIFE, Commit, Features
from versioned_catalog.log.schemas import Schemas
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.schema.schema import Schema


@dataclass(frozen=True)
class TableState:
    """A table as of one commit.

    Args:
        table_uuid: which life of the table this is.
        created_uuid: the UUID that its ``create`` gave it, before it was replaced, if it was.
        version, commit_id, time: the last commit.
        created_version: the commit that began this life.
        first_schema_version: the schema it began with.
        dropped: whether that life is over.
        schemas: every schema the table ever had, by version.
        schema_version: the current one.
        properties, comment: for users.
        next_column_id: the next ID that is free.
        segments: what is live.
        applications: the last batch of each exactly-once sink.
        tags: names of versions, of this life and of those that it replaced.
        fence: commits that add segments must be planned on this version or later.
        floor: versions below are expired, but for those that a tag names.
        features: what the table needs of readers and writers.
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
    dropped: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    segments: SegmentSet = field(default_factory=SegmentSet)
    applications: Mapping[str, int] = field(default_factory=dict)
    tags: Mapping[str, int] = field(default_factory=dict)
    fence: int = 0
    floor: int = 0
    features: Features = field(default_factory=Features)

    @property
    def schema(self) -> Schema:
        """The current schema."""
        return self.schemas[self.schema_version]

    def keeps(self, version: int) -> bool:
        """Whether a version up to this one can be read: it is not expired (FORMAT.md, section 9)."""
        return version >= self.floor or version in self.tags.values()

    @property
    def evolution(self) -> Evolution:
        """The schema and properties, as changes apply to them."""
        used = self.schemas.used_names(self.first_schema_version)
        return Evolution(self.schema, self.next_column_id, self.properties, used)

    @property
    def own_schemas(self) -> list[Schema]:
        """The schemas of this life, oldest first."""
        first = self.first_schema_version
        return [schema for version, schema in sorted(self.schemas.items()) if version >= first]


def apply(state: TableState | None, commit: Commit) -> TableState:
    """The state after one more commit.

    Raises:
        CorruptTableError: the commit can't follow that state.
    """
    _check_follows(state, commit)
    begun = _begin(state, commit) if commit.head.operation in NEW_LIFE else state
    assert begun is not None
    schemas = begun.schemas
    if commit.schema is not None and commit.head.operation not in NEW_LIFE:
        schemas = schemas.grown(commit.schema)
    _check_records(schemas, commit)
    segments = begun.segments.remove(commit.removed)
    segments = segments.add(commit.added, commit.head.version, commit.head.time, schemas)
    applications = begun.applications
    if commit.batch is not None:
        applications = {**applications, commit.batch.application: commit.batch.id}
    return replace(
        begun,
        version=commit.head.version,
        commit_id=commit.head.commit_id,
        time=commit.head.time,
        dropped=commit.head.operation == "drop",
        schemas=schemas,
        schema_version=commit.schema.version if commit.schema else begun.schema_version,
        next_column_id=commit.next_column_id,
        properties=begun.properties if commit.properties is None else commit.properties,
        comment=commit.comment if commit.sets_comment else begun.comment,
        segments=segments,
        applications=applications,
        tags=begun.tags if commit.tags is None else commit.tags,
        fence=begun.fence if commit.fence is None else max(begun.fence, commit.fence),
        floor=begun.floor if commit.floor is None else max(begun.floor, commit.floor),
        features=begun.features | commit.head.features,
    )


def _begin(state: TableState | None, commit: Commit) -> TableState:
    """An empty table in the life that the commit begins."""
    schema, replaces = commit.schema, commit.head.operation == "replace"
    if schema is None:
        raise CorruptTableError("a commit that makes a table holds no schema")
    return TableState(
        table_uuid=commit.head.table_uuid,
        created_uuid=state.created_uuid if state and replaces else commit.head.table_uuid,
        version=commit.head.version,
        commit_id=commit.head.commit_id,
        time=commit.head.time,
        created_version=commit.head.version,
        first_schema_version=schema.version,
        schemas=state.schemas.grown(schema) if state else Schemas(schema, {}),
        schema_version=schema.version,
        next_column_id=commit.next_column_id,
        tags=state.tags if state and replaces else {},
        fence=state.fence if state else 0,
        floor=state.floor if state else 0,
    )


def _check_follows(state: TableState | None, commit: Commit) -> None:
    head = commit.head
    expected = 0 if state is None else state.version + 1
    if head.version != expected:
        raise CorruptTableError(f"the entry for version {expected} calls itself {head.version}")
    begins = head.operation in NEW_LIFE
    if commit.schema is not None and max(commit.schema.ids, default=0) >= commit.next_column_id:
        raise CorruptTableError(f"version {head.version} would give column IDs again")
    if state is None:
        if head.operation != "create":
            raise CorruptTableError("the log does not begin with the making of a table")
        return
    if state.dropped and head.operation != "create":
        raise CorruptTableError(f"version {head.version} follows the drop of the table")
    if begins == (head.table_uuid == state.table_uuid):
        what = "begins no life of its own" if begins else "is of another table"
        raise CorruptTableError(f"version {head.version} {what}")
    if head.operation == "create" and not state.dropped:
        raise CorruptTableError(f"version {head.version} makes a table that is there")
    if commit.next_column_id < state.next_column_id:
        raise CorruptTableError(f"version {head.version} gives column IDs again")
    if commit.schema is not None and commit.schema.version != state.schemas.newest.version + 1:
        raise CorruptTableError(f"version {head.version} skips or repeats a schema version")


def _check_records(schemas: Mapping[int, Schema], commit: Commit) -> None:
    for record in commit.added:
        if record.schema_version not in schemas:
            raise CorruptTableError(
                f"{record.path} says schema version {record.schema_version}, which is not there"
            )
        if len(record.partition) != len(schemas[record.schema_version].partitioning):
            raise CorruptTableError(f"{record.path} has not the partition values of its schema")
