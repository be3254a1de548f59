"""Requests about namespaces, views and procedures; their responses. See ``connector/PROTOCOL.md``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from pyspark_versioned.sql.protocol.base import (
    Attachment,
    CommittingRequest,
    Message,
    Request,
    SparkStruct,
    SparkType,
    Value,
    Variant,
)
from pyspark_versioned.sql.protocol.common import CatalogRef, Done, TableRef
from pyspark_versioned.sql.protocol.table import Dropped, ViewDefinition


class Names(Message):
    names: Sequence[str]


class Namespaces(Message):
    namespaces: Sequence[Sequence[str]]


class Properties(Message):
    properties: Mapping[str, str]


class ParsedStatement(Message):
    table: Sequence[str] | None
    procedure: str
    arguments: Mapping[str, str]
    refused: str | None
    of_namespace: bool


class ParseStatement(Request[ParsedStatement]):
    text: str


class ListTables(Request[Names]):
    catalog: CatalogRef
    namespace: Sequence[str]


class ListNamespaces(Request[Namespaces]):
    catalog: CatalogRef
    namespace: Sequence[str]


class LoadNamespace(Request[Properties]):
    catalog: CatalogRef
    namespace: Sequence[str]


class CreateNamespace(CommittingRequest[Done]):
    catalog: CatalogRef
    namespace: Sequence[str]
    properties: Mapping[str, str]


class AlterNamespace(CommittingRequest[Done]):
    catalog: CatalogRef
    namespace: Sequence[str]
    set: Mapping[str, str]
    unset: Sequence[str]


class DropNamespace(CommittingRequest[Done]):
    catalog: CatalogRef
    namespace: Sequence[str]
    cascade: bool


class ViewReads(Message):
    tables: Sequence[ReadColumns]
    views: Sequence[Sequence[str]]


class ReadColumns(Message):
    table: TableRef
    columns: Sequence[Sequence[str]]


class ViewTables(Message):
    within: str
    tables: Sequence[TableRef]


class ListViews(Request[Names]):
    catalog: CatalogRef
    namespace: Sequence[str]


class PutView(CommittingRequest[Done]):
    catalog: CatalogRef
    name: Sequence[str]
    mode: str
    view: ViewDefinition
    reads: ViewReads | None


class CheckViews(Request[Done]):
    views: Sequence[ViewTables]


class DropView(CommittingRequest[Dropped]):
    catalog: CatalogRef
    name: Sequence[str]


class RenameView(CommittingRequest[Done]):
    catalog: CatalogRef
    name: Sequence[str]
    new_name: Sequence[str]


class Procedure(Message):
    name: str
    description: str
    parameters: Sequence[Parameter]
    result: SparkStruct


class Parameter(Message):
    name: str
    type: SparkType
    required: bool
    comment: str


class ProcedureJob(Variant):
    job: str
    schema: SparkStruct
    tasks: Attachment


class ProcedureRows(Variant):
    rows: Sequence[Sequence[Value]]
    table: Sequence[str] | None
    statement: str | None


CallResult: TypeAlias = ProcedureJob | ProcedureRows


class LoadProcedure(Request[Procedure]):
    catalog: CatalogRef
    name: Sequence[str]


class ListProcedures(Request[Names]):
    catalog: CatalogRef
    namespace: Sequence[str]


class NamedTable(Message):
    catalog: CatalogRef
    name: Sequence[str]


class SessionTable(Message):
    name: str
    provider: str
    serde: str | None
    location: str
    schema: SparkStruct
    partitioned_by: Sequence[str]
    partitions: Sequence[str] | None


class Call(CommittingRequest[CallResult]):
    catalog: CatalogRef
    name: Sequence[str]
    namespace: Sequence[str]
    arguments: Mapping[str, str | None]
    source: NamedTable | None
    session_table: SessionTable | None
    job: str | None
    results: Sequence[Sequence[str]]
