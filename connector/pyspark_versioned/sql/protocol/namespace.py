"""Requests about namespaces, and their responses. See ``connector/PROTOCOL.md``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark_versioned.sql.protocol.base import CommittingRequest, Request
from pyspark_versioned.sql.protocol.common import CatalogRef, Done


@dataclass(frozen=True, slots=True)
class Names:
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class Namespaces:
    namespaces: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Properties:
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ListTables(Request[Names]):
    catalog: CatalogRef
    namespace: Sequence[str]


@dataclass(frozen=True, slots=True)
class ListNamespaces(Request[Namespaces]):
    catalog: CatalogRef
    namespace: Sequence[str]


@dataclass(frozen=True, slots=True)
class LoadNamespace(Request[Properties]):
    catalog: CatalogRef
    namespace: Sequence[str]


@dataclass(frozen=True, slots=True)
class CreateNamespace(CommittingRequest[Done]):
    catalog: CatalogRef
    namespace: Sequence[str]
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class AlterNamespace(CommittingRequest[Done]):
    catalog: CatalogRef
    namespace: Sequence[str]
    set: Mapping[str, str]
    unset: Sequence[str]


@dataclass(frozen=True, slots=True)
class DropNamespace(CommittingRequest[Done]):
    catalog: CatalogRef
    namespace: Sequence[str]
    cascade: bool
