"""Requests about reads, and their responses. See ``connector/PROTOCOL.md``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pyspark_versioned.sql.protocol.base import Request, SparkType, Variant
from pyspark_versioned.sql.protocol.changes import TypedValue
from pyspark_versioned.sql.protocol.common import TableRef, Term


@dataclass(frozen=True, slots=True)
class ScanPlan:
    groups: Sequence[ReadGroup]
    segments: Segments
    live: int
    layout: Sequence[str]


@dataclass(frozen=True, slots=True)
class Segments:
    group: Sequence[int]
    path: Sequence[str]
    schema_version: Sequence[int]
    rows: Sequence[int]
    bytes: Sequence[int]
    sequence: Sequence[int]
    commit_time: Sequence[int]
    row_sequence: Sequence[int | None]


@dataclass(frozen=True, slots=True)
class PythonGroup(Variant):
    pass


@dataclass(frozen=True, slots=True)
class NativeGroup(Variant):
    read_schema: SparkType
    row_position: bool
    constants: Sequence[ConstantColumn]
    order: Sequence[int]
    filters: Sequence[int]
    names: Sequence[PhysicalName]


@dataclass(frozen=True, slots=True)
class ConstantColumn:
    name: str
    type: SparkType
    member: str | None
    value: str | None


@dataclass(frozen=True, slots=True)
class PhysicalName:
    column: Sequence[str]
    physical: Sequence[str]


@dataclass(frozen=True, slots=True)
class ColumnEstimates:
    columns: Sequence[ColumnStatistics]


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    name: str
    type: SparkType
    nulls: int | None
    distinct: int | None
    least: str | None
    greatest: str | None


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    function: str
    column: Sequence[str] | None


@dataclass(frozen=True, slots=True)
class Aggregates:
    values: Sequence[TypedValue] | None


ReadGroup: TypeAlias = PythonGroup | NativeGroup


@dataclass(frozen=True, slots=True)
class PlanScan(Request[ScanPlan]):
    table: TableRef
    schema: SparkType
    filters: Sequence[Term]
    limit: int | None
    allow_native: bool


@dataclass(frozen=True, slots=True)
class EstimateColumns(Request[ColumnEstimates]):
    table: TableRef
    schema: SparkType
    filters: Sequence[Term]


@dataclass(frozen=True, slots=True)
class Aggregate(Request[Aggregates]):
    table: TableRef
    functions: Sequence[AggregateFunction]
