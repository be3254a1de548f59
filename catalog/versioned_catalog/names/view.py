"""Views, as a warehouse's log stores them (FORMAT.md, section 12.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.model.schema_json import (
    Json,
    check_members,
    member,
    optional,
    text_list,
    texts,
)

Parts = tuple[str, ...]
"""The parts of a name."""

COMPENSATION = "COMPENSATION"
EVOLUTION = "EVOLUTION"
"""The schema mode under which a view has whatever columns its query has."""

EVOLVING_MODES = frozenset({EVOLUTION, "TYPE EVOLUTION"})
"""Schema modes under which the columns of a view have whatever types its query gives them."""


@dataclass(frozen=True)
class ViewColumn:
    """A column of a view; ``type`` is as Spark's SQL writes it."""

    name: str
    type: str
    nullable: bool = True
    comment: str | None = None


@dataclass(frozen=True)
class ReadColumn:
    """A column of a table that a view reads.

    Args:
        path: path of names by which the view's query refers to it.
        below: IDs inside it in pre-order, if it is nested and read whole.
    """

    id: int
    path: Parts
    below: tuple[int, ...] = ()


@dataclass(frozen=True)
class ReadTable:
    """A table of the same warehouse that a view reads.

    Args:
        name: its name when the view was created.
        table_uuid: table UUID, which differs by incarnation.
    """

    name: Parts
    created_uuid: str
    table_uuid: str
    columns: tuple[ReadColumn, ...]


@dataclass(frozen=True)
class View:
    """A named query.

    Args:
        name: the parts of its namespace, then its own name.
        sql: the query, in Spark's SQL.
        query_columns: names of the query's columns, in the order of ``columns``.
        catalog: where Spark looks up names without a catalog; None for the warehouse's own.
        namespace: where names without a namespace are looked up.
        schema_mode: what Spark does when the types of the query's columns change.
        settings: settings of Spark's SQL under which the query was written.
    """

    name: Parts
    sql: str
    columns: tuple[ViewColumn, ...]
    query_columns: tuple[str, ...] = ()
    catalog: str | None = None
    namespace: Parts = ()
    schema_mode: str = COMPENSATION
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    reads: tuple[ReadTable, ...] = ()
    reads_views: tuple[Parts, ...] = ()


def view_to_json(view: View) -> Json:
    """The JSON of a view in entries and checkpoints, without absent comments and empty ``below``."""

    def members(pairs: list[tuple[str, Any]]) -> Json:
        return {k: v for k, v in pairs if (k, v) not in (("comment", None), ("below", ()))}

    return asdict(view, dict_factory=members)


_MEMBERS = frozenset(
    {
        *("name", "sql", "columns", "query_columns", "catalog", "namespace", "schema_mode"),
        *("properties", "settings", "reads", "reads_views", "comment"),
    }
)


def view_from_json(value: Json) -> View:
    """A view from an entry or a checkpoint.

    Raises:
        CorruptTableError: it is not as FORMAT.md says.
    """
    check_members(value, _MEMBERS)
    return View(
        name_from_json(member(value, "name", list)),
        member(value, "sql", str),
        tuple(map(_column_from_json, member(value, "columns", list))),
        tuple(text_list(value, "query_columns")),
        optional(value, "catalog", str),
        tuple(text_list(value, "namespace")),
        optional(value, "schema_mode", str) or COMPENSATION,
        optional(value, "comment", str),
        texts(optional(value, "properties", dict) or {}),
        texts(optional(value, "settings", dict) or {}),
        tuple(map(_table_from_json, optional(value, "reads", list) or [])),
        tuple(map(name_from_json, optional(value, "reads_views", list) or [])),
    )


def name_from_json(value: Json) -> Parts:
    """A name of at least one part.

    Raises:
        CorruptTableError: it is not a list of text, or is empty.
    """
    if not isinstance(value, list) or not value or not all(isinstance(p, str) for p in value):
        raise CorruptTableError("a name is not a list of text")
    return tuple(value)


_COLUMN_MEMBERS = frozenset({"name", "type", "nullable", "comment"})
_TABLE_MEMBERS = frozenset({"name", "created_uuid", "table_uuid", "columns"})
_READ_MEMBERS = frozenset({"id", "path", "below"})


def _column_from_json(value: Json) -> ViewColumn:
    check_members(value, _COLUMN_MEMBERS)
    nullable = optional(value, "nullable", bool)
    return ViewColumn(
        member(value, "name", str),
        member(value, "type", str),
        True if nullable is None else nullable,
        optional(value, "comment", str),
    )


def _table_from_json(value: Json) -> ReadTable:
    check_members(value, _TABLE_MEMBERS)
    return ReadTable(
        name_from_json(member(value, "name", list)),
        member(value, "created_uuid", str),
        member(value, "table_uuid", str),
        tuple(map(_read_from_json, member(value, "columns", list))),
    )


def _read_from_json(value: Json) -> ReadColumn:
    check_members(value, _READ_MEMBERS)
    below = optional(value, "below", list) or []
    if not all(type(column_id) is int for column_id in below):
        raise CorruptTableError("the member 'below' of a view holds something else than IDs")
    return ReadColumn(
        member(value, "id", int), name_from_json(member(value, "path", list)), tuple(below)
    )
