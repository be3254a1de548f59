"""Requests about views, and their responses. See ``connector/PROTOCOL.md``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark_versioned.sql.protocol.base import CommittingRequest, Request
from pyspark_versioned.sql.protocol.common import CatalogRef, Done, TableRef
from pyspark_versioned.sql.protocol.namespace import Names
from pyspark_versioned.sql.protocol.table import Dropped, ViewDefinition


@dataclass(frozen=True, slots=True)
class ViewReads:
    tables: Sequence[ReadColumns]
    views: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class ReadColumns:
    table: TableRef
    columns: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class ViewTables:
    within: str
    tables: Sequence[TableRef]


@dataclass(frozen=True, slots=True)
class ListViews(Request[Names]):
    catalog: CatalogRef
    namespace: Sequence[str]


@dataclass(frozen=True, slots=True)
class PutView(CommittingRequest[Done]):
    catalog: CatalogRef
    name: Sequence[str]
    mode: str
    view: ViewDefinition
    reads: ViewReads | None


@dataclass(frozen=True, slots=True)
class CheckViews(Request[Done]):
    views: Sequence[ViewTables]


@dataclass(frozen=True, slots=True)
class DropView(CommittingRequest[Dropped]):
    catalog: CatalogRef
    name: Sequence[str]


@dataclass(frozen=True, slots=True)
class RenameView(CommittingRequest[Done]):
    catalog: CatalogRef
    name: Sequence[str]
    new_name: Sequence[str]
