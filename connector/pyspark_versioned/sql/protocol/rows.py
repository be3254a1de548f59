"""Requests about reads, writes and streams, and their responses. See ``connector/PROTOCOL.md``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from pyspark_versioned.sql.protocol.base import (
    Attachment,
    CommittingRequest,
    Int32,
    Message,
    Request,
    SparkStruct,
    SparkType,
    Variant,
)
from pyspark_versioned.sql.protocol.common import (
    CatalogRef,
    Done,
    TableRef,
    Term,
    TypedValue,
)
from pyspark_versioned.sql.protocol.table import (
    Declaration,
    Loaded,
    LoadedTable,
    PartitionTransform,
    VersionRange,
)


class ScanPlan(Message):
    groups: Sequence[ReadGroup]
    segments: Segments
    live: int
    layout: Sequence[str]
    merged_groups: int
    matching_rows: int
    grouping: Grouping | None
    ordering: Ordering | None
    merges: Sequence[SegmentMerge]
    key_groups: Sequence[NativeGroup]
    joint_groups: Sequence[NativeGroup]
    key_places: Sequence[Int32]
    lasting: bool


class Grouping(Message):
    fields: Sequence[PartitionTransform]
    types: Sequence[SparkType]
    values: Sequence[Sequence[str | None]]
    place: Sequence[Int32]


class Ordering(Message):
    columns: Sequence[str]
    rank: Sequence[Int32]
    whole: Int32
    grouped: Int32


class Segments(Message):
    group: Sequence[Int32]
    path: Sequence[str]
    schema_version: Sequence[Int32]
    rows: Sequence[int]
    bytes: Sequence[int]
    sequence: Sequence[int]
    commit_time: Sequence[int]
    row_sequence: Sequence[int | None]
    url: Sequence[str | None]
    constants: Sequence[Sequence[str | None]]
    marks: Sequence[InlineMark | FileMark | None]
    first_row_id: Sequence[int]
    row_updated: Sequence[int]
    row_ids_stored: Sequence[int | None]


class SegmentMerge(Message):
    segments: Sequence[Int32]
    key_groups: Sequence[Int32]
    joint_groups: Sequence[Int32]
    distinct: Sequence[bool]
    lower: Sequence[str | None]


class InlineMark(Variant):
    rows: int
    blob: Attachment


class FileMark(Variant):
    rows: int
    path: str
    offset: int
    bytes: Int32


class PythonGroup(Variant):
    tasks: Attachment


class NativeGroup(Variant):
    read_schema: SparkStruct
    row_position: bool
    constants: Sequence[ConstantColumn]
    order: Sequence[Int32]
    filters: Sequence[Int32]
    names: Sequence[PhysicalName]
    narrowed: Sequence[NarrowedColumn]
    is_foreign: bool
    row_ids: Sequence[RowIdColumn]


class RowIdColumn(Message):
    index: Int32
    stored: Int32 | None
    most: Int32 | None
    base: Int32
    position: Int32 | None


class NarrowedColumn(Message):
    index: Int32
    name: str
    stored: SparkType
    shown: SparkType


class ConstantColumn(Message):
    name: str
    type: SparkType
    member: str | None
    value: str | None
    place: Int32 | None


class PhysicalName(Message):
    column: Sequence[str]
    physical: Sequence[str]


class ColumnEstimates(Message):
    columns: Sequence[ColumnStatistics]


class ColumnStatistics(Message):
    name: str
    type: SparkType
    nulls: int | None
    distinct: int | None
    least: str | None
    greatest: str | None


class AggregateFunction(Message):
    function: str
    column: Sequence[str] | None


class Aggregates(Message):
    columns: Sequence[AggregateColumn] | None


class AggregateColumn(Message):
    type: SparkType
    values: Sequence[str | None]


class TopBound(Message):
    bound: TypedValue | None


Mark: TypeAlias = InlineMark | FileMark
ReadGroup: TypeAlias = PythonGroup | NativeGroup


class PlanScan(Request[ScanPlan]):
    table: TableRef
    schema: SparkStruct
    filters: Sequence[Term]
    limit: Int32 | None
    allow_native: bool
    whole: bool
    grouped: bool
    ordered: bool
    in_python: Sequence[str] | None


class PlanChanges(Request[ScanPlan]):
    table: TableRef
    changes: VersionRange
    schema: SparkStruct
    filters: Sequence[Term]
    allow_native: bool


class EstimateColumns(Request[ColumnEstimates]):
    table: TableRef
    schema: SparkStruct
    filters: Sequence[Term]


class Aggregate(Request[Aggregates]):
    table: TableRef
    functions: Sequence[AggregateFunction]
    by: Sequence[Sequence[str]]


class FindTop(Request[TopBound]):
    table: TableRef
    column: Sequence[str]
    descending: bool
    rows: Int32


class WritePlan(Message):
    is_native: bool
    prefix: str
    schema: SparkStruct
    ids: Mapping[str, Int32]
    footer: Mapping[str, str]
    target_bytes: int
    partitioning: Sequence[PartitionSource]
    distribution: Distribution
    rows: StoredRows | None
    numbered: Sequence[NumberedColumn]
    shreds: bool


class NumberedColumn(Message):
    index: Int32
    name: str
    always: bool


class TakenNumbers(Message):
    column_id: int
    first: int
    count: int
    step: int


class Taken(Message):
    numbers: Sequence[TakenNumbers]


class StoredRows(Message):
    schema: SparkStruct
    sources: Sequence[ColumnSource]


class GivenColumn(Variant):
    index: Int32
    carried: Int32 | None
    fields: Sequence[ColumnSource] | None


class NextVersion(Variant):
    carried: Int32


class UnseenColumn(Variant):
    carried: Int32 | None
    default_value: str | None


class DeltaPlan(Message):
    distribution: Distribution
    rows: StoredRows | None


class PartitionSource(Message):
    ordinals: Sequence[Int32]
    transform: str
    size: Int32 | None


class Distribution(Message):
    mode: str
    by: Sequence[SortKey]
    bytes: int
    order_by: Sequence[SortKey]


class TransformKey(Variant):
    by: PartitionTransform
    descending: bool
    nulls_first: bool


class HashKey(Variant):
    by: Sequence[PartitionTransform]


class WrittenSegment(Message):
    path: str
    rows: int
    bytes: int
    partition: Sequence[str | None]
    footer: Attachment


class MarkedRows(Message):
    path: str
    positions: Attachment


class Write(Message):
    table: TableRef
    mode: str
    operation: str
    filters: Sequence[Term]
    own_rows: bool
    removed: Sequence[str]
    batch: WriteBatch | None
    change_column: str | None
    checked: bool
    taken: Sequence[TakenNumbers]
    effect: Effect | None


class Effect(Message):
    condition: str | None
    inserted: int | None
    updated: int | None
    deleted: int | None
    milliseconds: int | None


class WriteBatch(Message):
    application: str | None
    number: str | None
    epoch: bool


class Committed(Message):
    version: int
    retries: int


class PythonCommit(Message):
    commit_id: str
    write: Write | None
    creation: Creation | None
    stored: bool
    by: Mapping[str, str]


class Whole(Message):
    whole: bool


class Staged(Message):
    table: LoadedTable
    placement: Placement
    plan: WritePlan
    warnings: Sequence[str]


class Placement(Message):
    mode: str
    folder: str
    table_uuid: str
    base_version: int
    first_column_id: int
    replaced_uuid: str | None


class Creation(Message):
    catalog: CatalogRef
    declaration: Declaration
    placement: Placement
    from_query: bool
    read_version: int | None


SortKey: TypeAlias = TransformKey | HashKey
ColumnSource: TypeAlias = GivenColumn | UnseenColumn | NextVersion


class LoadedTarget(Message):
    loaded: Loaded
    plan: WritePlan | None


class LoadToWrite(Request[LoadedTarget]):
    catalog: CatalogRef
    name: Sequence[str]
    schema_version: str | None
    overflow: str | None
    branch: str | None


class PlanWrite(Request[WritePlan]):
    table: TableRef
    creation: Creation | None
    schema: SparkStruct
    filters: Sequence[Term]
    options: Sequence[str]
    lengths_checked: bool
    distribution_mode: str | None
    carried: Sequence[str] | None
    change_column: str | None


class TakeNumbers(Request[Taken]):
    table: TableRef
    partitions: Int32


class GiveBackNumbers(Request[Done]):
    table: TableRef
    taken: Sequence[TakenNumbers]


class OpenSink(Request[LoadedTable]):
    options: Mapping[str, str]
    schema: SparkStruct


class Rebased(Message):
    table: TableRef


class RebaseStream(Request[Rebased]):
    table: TableRef
    seen: str | None
    options: Sequence[str]


class PlanDelta(Request[DeltaPlan]):
    table: TableRef
    carried: Sequence[str] | None


class CommitWrite(CommittingRequest[Committed]):
    write: Write
    segments: Sequence[WrittenSegment]
    by_python: Sequence[Attachment]
    marks: Sequence[MarkedRows]


class Truncate(CommittingRequest[Committed]):
    table: TableRef


class CanDelete(Request[Whole]):
    table: TableRef
    filters: Sequence[Term]


class Delete(CommittingRequest[Committed]):
    table: TableRef
    filters: Sequence[Term]


class Stage(Request[Staged]):
    catalog: CatalogRef
    declaration: Declaration
    mode: str


class CommitStage(CommittingRequest[Committed]):
    creation: Creation
    segments: Sequence[WrittenSegment]


class StreamRef(Message):
    table: TableRef
    options: Mapping[str, str]


class StreamPlace(Message):
    offset: str


class StreamLag(Message):
    versions: int
    segments: int
    rows: int
    bytes: int


class StreamAhead(Message):
    offset: str
    newest: str
    behind: StreamLag


class MicroBatch(Message):
    stream: StreamRef
    start: str
    end: str


class StreamStart(Request[StreamPlace]):
    stream: StreamRef


class StreamLatest(Request[StreamAhead]):
    stream: StreamRef
    start: str
    limited: bool
    until: str | None


class StreamNewest(Request[StreamPlace]):
    stream: StreamRef


class StreamBehind(Request[StreamLag]):
    stream: StreamRef
    offset: str


class StreamConsumed(Request[Done]):
    stream: StreamRef
    offset: str


class PlanMicroBatch(Request[ScanPlan]):
    batch: MicroBatch
    schema: SparkStruct
    allow_native: bool
