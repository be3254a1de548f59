"""Requests about procedures, and their responses. See ``connector/PROTOCOL.md``."""

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
from pyspark_versioned.sql.protocol.common import CatalogRef
from pyspark_versioned.sql.protocol.namespace import Names


@dataclass(frozen=True, slots=True)
class Procedure:
    name: str
    description: str
    parameters: Sequence[Parameter]
    result: SparkType


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: SparkType
    required: bool
    comment: str


@dataclass(frozen=True, slots=True)
class ProcedureJob(Variant):
    path: str
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ProcedureRows(Variant):
    rows: Sequence[Sequence[Value]]
    table: Sequence[str] | None


CallResult: TypeAlias = ProcedureJob | ProcedureRows


@dataclass(frozen=True, slots=True)
class LoadProcedure(Request[Procedure]):
    catalog: CatalogRef
    name: Sequence[str]


@dataclass(frozen=True, slots=True)
class ListProcedures(Request[Names]):
    catalog: CatalogRef
    namespace: Sequence[str]


@dataclass(frozen=True, slots=True)
class Call(CommittingRequest[CallResult]):
    catalog: CatalogRef
    name: Sequence[str]
    arguments: Mapping[str, str | None]
    job: ProcedureJob | None
    results: Sequence[Sequence[str]]
