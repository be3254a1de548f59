"""Schema changes. See ``connector/PROTOCOL.md``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pyspark_versioned.sql.protocol.base import SparkType, Value, Variant


@dataclass(frozen=True, slots=True)
class TypedValue:
    type: SparkType
    value: Value


@dataclass(frozen=True, slots=True)
class Default:
    sql: str
    changing: Sequence[str]
    one_function: bool
    literal: TypedValue | None


@dataclass(frozen=True, slots=True)
class Constraint:
    ddl: str
    primary_key: Sequence[Sequence[str]] | None


@dataclass(frozen=True, slots=True)
class AddColumn(Variant):
    path: Sequence[str]
    type: SparkType
    nullable: bool
    comment: str | None
    default_value: Default | None
    first: bool
    after: str | None


@dataclass(frozen=True, slots=True)
class DropColumn(Variant):
    path: Sequence[str]
    if_exists: bool


@dataclass(frozen=True, slots=True)
class RenameColumn(Variant):
    path: Sequence[str]
    new_name: str


@dataclass(frozen=True, slots=True)
class ChangeType(Variant):
    path: Sequence[str]
    type: SparkType


@dataclass(frozen=True, slots=True)
class MoveColumn(Variant):
    path: Sequence[str]
    first: bool
    after: str | None


@dataclass(frozen=True, slots=True)
class SetNullable(Variant):
    path: Sequence[str]
    nullable: bool


@dataclass(frozen=True, slots=True)
class SetComment(Variant):
    path: Sequence[str]
    comment: str | None


@dataclass(frozen=True, slots=True)
class SetDefault(Variant):
    path: Sequence[str]
    default_value: Default


@dataclass(frozen=True, slots=True)
class DropDefault(Variant):
    path: Sequence[str]


@dataclass(frozen=True, slots=True)
class SetProperty(Variant):
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class UnsetProperty(Variant):
    key: str


@dataclass(frozen=True, slots=True)
class AddConstraint(Variant):
    constraint: Constraint


@dataclass(frozen=True, slots=True)
class DropConstraint(Variant):
    name: str


@dataclass(frozen=True, slots=True)
class OtherChange(Variant):
    name: str


Change: TypeAlias = (
    AddColumn
    | DropColumn
    | RenameColumn
    | ChangeType
    | MoveColumn
    | SetNullable
    | SetComment
    | SetDefault
    | DropDefault
    | SetProperty
    | UnsetProperty
    | AddConstraint
    | DropConstraint
    | OtherChange
)
