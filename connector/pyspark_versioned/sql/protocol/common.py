"""Messages that requests share. See ``connector/PROTOCOL.md``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pyspark_versioned.sql.protocol.base import Request, Variant
from pyspark_versioned.sql.protocol.changes import Change, TypedValue


@dataclass(frozen=True, slots=True)
class Done:
    pass


@dataclass(frozen=True, slots=True)
class CatalogRef:
    name: str
    warehouse: str
    storage: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class HadoopFolder:
    url: str
    conf: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TableRef:
    location: str
    storage: Mapping[str, str]
    hadoop: HadoopFolder | None
    name: str
    uuid: str
    version: int
    pending: Sequence[Change]


@dataclass(frozen=True, slots=True)
class PredicateTerm(Variant):
    name: str
    children: Sequence[Term]


@dataclass(frozen=True, slots=True)
class ColumnTerm(Variant):
    path: Sequence[str]


@dataclass(frozen=True, slots=True)
class LiteralTerm(Variant):
    literal: TypedValue


@dataclass(frozen=True, slots=True)
class OtherTerm(Variant):
    pass


Term: TypeAlias = PredicateTerm | ColumnTerm | LiteralTerm | OtherTerm


@dataclass(frozen=True, slots=True)
class Handshake(Request[Done]):
    protocol: int
