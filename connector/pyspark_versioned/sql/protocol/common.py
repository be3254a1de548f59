"""Schema changes, and messages that requests share. See ``connector/PROTOCOL.md``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from pyspark_versioned.sql.protocol.base import Int32, Message, Request, SparkType, Value, Variant


class TypedValue(Message):
    type: SparkType
    value: Value


class Default(Message):
    sql: str
    changing: Sequence[str]
    one_function: bool
    literal: TypedValue | None


class Check(Message):
    name: str
    condition: str
    enforced: bool


class Constraint(Message):
    ddl: str
    primary_key: Sequence[Sequence[str]] | None
    check: Check | None
    time_zone: str


class AddColumn(Variant):
    path: Sequence[str]
    type: SparkType
    nullable: bool
    comment: str | None
    default_value: Default | None
    first: bool
    after: str | None


class DropColumn(Variant):
    path: Sequence[str]
    if_exists: bool


class RenameColumn(Variant):
    path: Sequence[str]
    new_name: str


class ChangeType(Variant):
    path: Sequence[str]
    type: SparkType


class MoveColumn(Variant):
    path: Sequence[str]
    first: bool
    after: str | None


class SetNullable(Variant):
    path: Sequence[str]
    nullable: bool


class SetComment(Variant):
    path: Sequence[str]
    comment: str | None


class SetDefault(Variant):
    path: Sequence[str]
    default_value: Default


class DropDefault(Variant):
    path: Sequence[str]


class SetProperty(Variant):
    key: str
    value: str


class UnsetProperty(Variant):
    key: str


class AddConstraint(Variant):
    constraint: Constraint


class DropConstraint(Variant):
    name: str
    if_exists: bool


class ClusterBy(Variant):
    columns: Sequence[Sequence[str]]


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
    | ClusterBy
    | OtherChange
)


class Done(Message):
    pass


class CatalogRef(Message):
    name: str
    warehouse: str
    storage: Mapping[str, str]
    schema_label: str | None
    wap_branch: str | None
    wap_id: str | None


class HadoopFolder(Message):
    url: str
    conf: Mapping[str, str]


class TableRef(Message):
    location: str
    storage: Mapping[str, str]
    hadoop: HadoopFolder | None
    name: str
    uuid: str
    version: int
    schema_version: Int32
    pending: Sequence[Change]
    seen: str | None
    overflow: str
    written_as: Int32 | None
    branch: str | None


class PredicateTerm(Variant):
    name: str
    children: Sequence[Term]


class ColumnTerm(Variant):
    path: Sequence[str]


class LiteralTerm(Variant):
    literal: TypedValue


class OtherTerm(Variant):
    pass


Term: TypeAlias = PredicateTerm | ColumnTerm | LiteralTerm | OtherTerm


class Handshake(Request[Done]):
    protocol: int
