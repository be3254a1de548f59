"""Requests about tables, and their responses. See ``connector/PROTOCOL.md``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from pyspark_versioned.sql.protocol.base import (
    CommittingRequest,
    Int32,
    Message,
    Request,
    SparkStruct,
    SparkType,
    Value,
    Variant,
)
from pyspark_versioned.sql.protocol.common import (
    CatalogRef,
    Change,
    Check,
    Constraint,
    Default,
    Done,
    TableRef,
)


class Loaded(Message):
    relation: Relation
    warnings: Sequence[str]
    past: bool


class LoadedTable(Variant):
    table: TableRef
    columns: Sequence[LoadedColumn]
    metadata_columns: Sequence[LoadedColumn]
    partitioning: Sequence[PartitionTransform]
    primary_key: PrimaryKey | None
    row_key: Sequence[str]
    properties: Mapping[str, str]
    comment: str | None
    unseen: Sequence[LoadedColumn]
    renewed: Sequence[str]
    rows: int
    checks: Sequence[Check]
    generated: Sequence[GeneratedColumn]
    identities: Sequence[IdentityColumn]
    external: bool


class GeneratedColumn(Message):
    column: str
    shown: str
    sql: str


class IdentityColumn(Message):
    column: str
    shown: str
    always: bool


class LoadedColumn(Message):
    id: int
    name: str
    type: SparkType
    nullable: bool
    comment: str | None
    default_value: str | None


class PartitionTransform(Message):
    column: Sequence[str]
    transform: str
    size: Int32 | None


class PrimaryKey(Message):
    name: str
    columns: Sequence[str]
    rely: bool


class LoadedMetadata(Variant):
    table: TableRef
    metadata: str
    schema: SparkStruct


class LoadedView(Variant):
    view: ViewDefinition
    within: str


class ViewDefinition(Message):
    sql: str
    columns: Sequence[ViewColumn]
    query_columns: Sequence[str]
    catalog: str | None
    namespace: Sequence[str]
    schema_mode: str
    comment: str | None
    properties: Mapping[str, str]
    settings: Mapping[str, str]


class ViewColumn(Message):
    name: str
    type: str
    nullable: bool
    comment: str | None


class Exists(Message):
    exists: bool


class Declaration(Message):
    name: Sequence[str]
    columns: Sequence[DeclaredColumn]
    partitioning: Sequence[str]
    constraints: Sequence[Constraint]
    properties: Mapping[str, str]
    default_provider: str


class DeclaredColumn(Message):
    name: str
    type: SparkType
    nullable: bool
    comment: str | None
    default_value: Default | None
    generation: Generation | None
    identity: IdentitySpec | None


class IdentitySpec(Message):
    always: bool
    start: int
    step: int


class Generation(Message):
    sql: str
    time_zone: str


class Like(Message):
    table: TableRef
    properties: Mapping[str, str]


class Altered(Message):
    table: LoadedTable
    warnings: Sequence[str]


class Needed(Message):
    needed: bool


class Accepted(Message):
    options: Mapping[str, str]


class Dropped(Message):
    dropped: bool


class Renamed(Message):
    warnings: Sequence[str]


class Partitions(Message):
    fields: Sequence[PartitionColumn]
    rows: Sequence[Sequence[str | None]]


class LoadedChanges(Message):
    columns: Sequence[LoadedColumn]
    changes: VersionRange


class ChangeRange(Message):
    start: str | None
    end: str | None
    start_time: int | None
    end_time: int | None
    start_inclusive: bool
    end_inclusive: bool
    net: bool
    carryovers: bool
    updates: bool


class VersionRange(Message):
    start: int
    end: int
    net: bool
    carryovers: bool
    updates: bool


class PartitionColumn(Message):
    name: str
    type: SparkType


class Rows(Message):
    rows: Sequence[Sequence[Value]]


class Applicability(Message):
    refusal: str | None


Relation: TypeAlias = LoadedTable | LoadedMetadata | LoadedView


class Load(Request[Loaded]):
    catalog: CatalogRef
    name: Sequence[str]
    version: str | None
    timestamp: int | None
    views: bool
    schema_version: str | None
    overflow: str | None
    branch: str | None


class LoadRelation(Request[Loaded]):
    catalog: CatalogRef
    name: Sequence[str]
    within: str | None


class LoadFormat(Request[LoadedTable]):
    options: Mapping[str, str]


class FormatExists(Request[Exists]):
    options: Mapping[str, str]


class Create(CommittingRequest[Altered]):
    catalog: CatalogRef
    declaration: Declaration
    like: Like | None


class Alter(CommittingRequest[Altered]):
    catalog: CatalogRef
    name: Sequence[str]
    changes: Sequence[Change]


class Evolve(Request[LoadedTable]):
    table: TableRef
    changes: Sequence[Change]


class RefuseRows(Request[Done]):
    table: TableRef
    schema: SparkStruct


class NeedsChange(Request[Needed]):
    table: TableRef
    change: Change


class Drop(CommittingRequest[Dropped]):
    catalog: CatalogRef
    name: Sequence[str]
    purge: bool


class Rename(CommittingRequest[Renamed]):
    catalog: CatalogRef
    name: Sequence[str]
    new_name: Sequence[str]


class ListPartitions(Request[Partitions]):
    table: TableRef


class LoadChanges(Request[LoadedChanges]):
    table: TableRef
    range: ChangeRange


class ReadMetadata(Request[Rows]):
    table: TableRef
    metadata: str
    first: int | None
    newest: int | None


class AcceptOptions(Request[Accepted]):
    table: str
    uses: Sequence[str]
    named: bool
    options: Mapping[str, str]


class CheckSave(Request[Done]):
    table: TableRef
    declaration: Declaration


class CheckTransform(Request[Applicability]):
    transform: str
    type: SparkType
