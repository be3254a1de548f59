"""Requests about writes, and their responses. See ``connector/PROTOCOL.md``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pyspark_versioned.sql.protocol.base import (
    Base64,
    CommittingRequest,
    Request,
    SparkType,
    Variant,
)
from pyspark_versioned.sql.protocol.common import CatalogRef, TableRef, Term
from pyspark_versioned.sql.protocol.table import Declaration, LoadedTable, PartitionTransform


@dataclass(frozen=True, slots=True)
class WritePlan:
    is_native: bool
    prefix: str
    schema: SparkType
    ids: Mapping[str, int]
    footer: Mapping[str, str]
    target_bytes: int
    partitioning: Sequence[PartitionSource]
    distribution: Distribution


@dataclass(frozen=True, slots=True)
class PartitionSource:
    ordinals: Sequence[int]
    transform: str
    size: int | None


@dataclass(frozen=True, slots=True)
class Distribution:
    mode: str
    by: Sequence[SortKey]
    bytes: int
    order_by: Sequence[SortKey]


@dataclass(frozen=True, slots=True)
class TransformKey(Variant):
    by: PartitionTransform
    descending: bool


@dataclass(frozen=True, slots=True)
class HashKey(Variant):
    by: Sequence[PartitionTransform]


@dataclass(frozen=True, slots=True)
class WrittenSegment:
    path: str
    rows: int
    bytes: int
    partition: Sequence[str | None]
    footer: Base64


@dataclass(frozen=True, slots=True)
class Write:
    table: TableRef
    mode: str
    operation: str
    filters: Sequence[Term]
    own_rows: bool
    removed: Sequence[str]


@dataclass(frozen=True, slots=True)
class Committed:
    version: int


@dataclass(frozen=True, slots=True)
class PythonCommit:
    commit_id: str
    write: Write | None
    creation: Creation | None


@dataclass(frozen=True, slots=True)
class Whole:
    whole: bool


@dataclass(frozen=True, slots=True)
class Staged:
    table: LoadedTable
    placement: Placement


@dataclass(frozen=True, slots=True)
class Placement:
    mode: str
    folder: str
    table_uuid: str
    base_version: int
    first_column_id: int
    replaced_uuid: str | None


@dataclass(frozen=True, slots=True)
class Creation:
    catalog: CatalogRef
    declaration: Declaration
    placement: Placement
    from_query: bool
    read_version: int | None


SortKey: TypeAlias = TransformKey | HashKey


@dataclass(frozen=True, slots=True)
class PlanWrite(Request[WritePlan]):
    table: TableRef
    creation: Creation | None
    schema: SparkType
    filters: Sequence[Term]
    options: Sequence[str]
    lengths_checked: bool
    distribution_mode: str | None


@dataclass(frozen=True, slots=True)
class PlanDelta(Request[Distribution]):
    table: TableRef


@dataclass(frozen=True, slots=True)
class CommitWrite(CommittingRequest[Committed]):
    write: Write
    segments: Sequence[WrittenSegment]


@dataclass(frozen=True, slots=True)
class Truncate(CommittingRequest[Committed]):
    table: TableRef


@dataclass(frozen=True, slots=True)
class CanDelete(Request[Whole]):
    table: TableRef
    filters: Sequence[Term]


@dataclass(frozen=True, slots=True)
class Delete(CommittingRequest[Committed]):
    table: TableRef
    filters: Sequence[Term]


@dataclass(frozen=True, slots=True)
class Stage(Request[Staged]):
    catalog: CatalogRef
    declaration: Declaration
    mode: str


@dataclass(frozen=True, slots=True)
class CommitStage(CommittingRequest[Committed]):
    creation: Creation
    segments: Sequence[WrittenSegment]
