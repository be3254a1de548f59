"""Requests about tables, and their responses. See ``connector/PROTOCOL.md``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pyspark_versioned.sql.protocol.base import (
    CommittingRequest,
    Request,
    SparkType,
    Value,
    Variant,
)
from pyspark_versioned.sql.protocol.changes import Change, Constraint, Default
from pyspark_versioned.sql.protocol.common import CatalogRef, Done, TableRef


@dataclass(frozen=True, slots=True)
class Loaded:
    relation: Relation
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True)
class LoadedTable(Variant):
    table: TableRef
    columns: Sequence[LoadedColumn]
    metadata_columns: Sequence[LoadedColumn]
    partitioning: Sequence[PartitionTransform]
    primary_key: PrimaryKey | None
    row_key: Sequence[str]
    properties: Mapping[str, str]
    comment: str | None


@dataclass(frozen=True, slots=True)
class LoadedColumn:
    id: int
    name: str
    type: SparkType
    nullable: bool
    comment: str | None
    default_value: str | None


@dataclass(frozen=True, slots=True)
class PartitionTransform:
    column: Sequence[str]
    transform: str
    size: int | None


@dataclass(frozen=True, slots=True)
class PrimaryKey:
    name: str
    columns: Sequence[str]
    rely: bool


@dataclass(frozen=True, slots=True)
class LoadedMetadata(Variant):
    table: TableRef
    metadata: str
    schema: SparkType


@dataclass(frozen=True, slots=True)
class LoadedView(Variant):
    view: ViewDefinition
    within: str


@dataclass(frozen=True, slots=True)
class ViewDefinition:
    sql: str
    columns: Sequence[ViewColumn]
    query_columns: Sequence[str]
    catalog: str | None
    namespace: Sequence[str]
    schema_mode: str
    comment: str | None
    properties: Mapping[str, str]
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ViewColumn:
    name: str
    type: str
    nullable: bool
    comment: str | None


@dataclass(frozen=True, slots=True)
class Exists:
    exists: bool


@dataclass(frozen=True, slots=True)
class Declaration:
    name: Sequence[str]
    columns: Sequence[DeclaredColumn]
    partitioning: Sequence[str]
    constraints: Sequence[Constraint]
    properties: Mapping[str, str]
    default_provider: str


@dataclass(frozen=True, slots=True)
class DeclaredColumn:
    name: str
    type: SparkType
    nullable: bool
    comment: str | None
    default_value: Default | None


@dataclass(frozen=True, slots=True)
class Like:
    table: TableRef
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Altered:
    table: LoadedTable
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True)
class Needed:
    needed: bool


@dataclass(frozen=True, slots=True)
class Dropped:
    dropped: bool


@dataclass(frozen=True, slots=True)
class Renamed:
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True)
class Partitions:
    fields: Sequence[PartitionColumn]
    rows: Sequence[Sequence[str | None]]


@dataclass(frozen=True, slots=True)
class PartitionColumn:
    name: str
    type: SparkType


@dataclass(frozen=True, slots=True)
class Rows:
    rows: Sequence[Sequence[Value]]


@dataclass(frozen=True, slots=True)
class Applicability:
    refusal: str | None


Relation: TypeAlias = LoadedTable | LoadedMetadata | LoadedView


@dataclass(frozen=True, slots=True)
class Load(Request[Loaded]):
    catalog: CatalogRef
    name: Sequence[str]
    version: str | None
    timestamp: int | None
    views: bool
    writes: bool


@dataclass(frozen=True, slots=True)
class LoadRelation(Request[Loaded]):
    catalog: CatalogRef
    name: Sequence[str]
    within: str | None


@dataclass(frozen=True, slots=True)
class LoadFormat(Request[LoadedTable]):
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FormatExists(Request[Exists]):
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Create(CommittingRequest[LoadedTable]):
    catalog: CatalogRef
    declaration: Declaration
    like: Like | None


@dataclass(frozen=True, slots=True)
class Alter(CommittingRequest[Altered]):
    catalog: CatalogRef
    name: Sequence[str]
    changes: Sequence[Change]


@dataclass(frozen=True, slots=True)
class Evolve(Request[LoadedTable]):
    table: TableRef
    changes: Sequence[Change]


@dataclass(frozen=True, slots=True)
class NeedsChange(Request[Needed]):
    table: TableRef
    change: Change


@dataclass(frozen=True, slots=True)
class Drop(CommittingRequest[Dropped]):
    catalog: CatalogRef
    name: Sequence[str]


@dataclass(frozen=True, slots=True)
class Rename(CommittingRequest[Renamed]):
    catalog: CatalogRef
    name: Sequence[str]
    new_name: Sequence[str]


@dataclass(frozen=True, slots=True)
class ListPartitions(Request[Partitions]):
    table: TableRef


@dataclass(frozen=True, slots=True)
class ReadMetadata(Request[Rows]):
    table: TableRef
    metadata: str


@dataclass(frozen=True, slots=True)
class CheckOptions(Request[Done]):
    table: str
    options: Sequence[str]


@dataclass(frozen=True, slots=True)
class CheckTransform(Request[Applicability]):
    transform: str
    type: SparkType


@dataclass(frozen=True, slots=True)
class RefuseStream(Request[Done]):
    name: Sequence[str] | None
    path: str | None
