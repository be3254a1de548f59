"""What others altered since a plan was last applied."""

from __future__ import annotations

import json
from collections.abc import Mapping

from versioned_catalog.errors import VersionedError
from versioned_catalog.evolution.diff import difference_by_id
from versioned_catalog.evolution.evolution import Evolution
from versioned_catalog.evolution.to_sql import statements
from versioned_catalog.log.state import TableState
from versioned_catalog.schema.definition import APPLIED_SCHEMA
from versioned_catalog.schema.maintained import APPLIED_PROPERTIES
from versioned_catalog.schema.ttl import user_properties
from versioned_catalog.types.tokens import sql_string


def drift(state: TableState, table: str) -> list[str]:
    """What was altered since a plan was last applied, as SQL; nothing if none ever was."""
    if APPLIED_SCHEMA not in state.properties:
        return []
    return [*_schema_drift(state, table), *_property_drift(state, table)]


def declared_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Those of the properties of a table that a CREATE TABLE statement declares."""
    shown = user_properties(properties)
    return {key: text for key, text in shown.items() if key != APPLIED_SCHEMA}


def _schema_drift(state: TableState, table: str) -> list[str]:
    applied = state.properties[APPLIED_SCHEMA]
    version = int(applied) if applied.isdecimal() and len(applied) < 10 else state.schema_version
    if version == state.schema_version or version not in state.schemas:
        return []
    then, now = state.schemas[version].visible, state.schema.visible
    try:
        steps = difference_by_id(Evolution(then, state.next_column_id), now)
    except VersionedError:  # a rollback, say, which no ALTER undoes
        return [f"schema {version} became schema {state.schema_version}"]
    return [sql for one in steps for sql in statements(one.bound, one.before, one.after, table)]


def _property_drift(state: TableState, table: str) -> list[str]:
    try:
        then = dict(json.loads(state.properties[APPLIED_PROPERTIES]))
    except (KeyError, TypeError, ValueError):  # applied by an earlier release
        return []
    now, alter = declared_properties(state.properties), f"ALTER TABLE {table}"
    return [
        f"{alter} SET TBLPROPERTIES ({sql_string(key)} = {sql_string(now[key])})"
        if key in now
        else f"{alter} UNSET TBLPROPERTIES ({sql_string(str(key))})"
        for key in sorted({*then, *now})
        if then.get(key) != now.get(key)
    ]
