"""Carrying out a plan: one commit, refused if the table is not what the plan was made on."""

from __future__ import annotations

import json

from versioned_catalog.alteration import Alteration
from versioned_catalog.errors import CommitConflictError
from versioned_catalog.evolution.alter_parser import parse_alter
from versioned_catalog.evolution.changes import SetProperty
from versioned_catalog.handle import TableHandle
from versioned_catalog.log.state import TableState
from versioned_catalog.migration.drift import declared_properties
from versioned_catalog.migration.schema_plan import SchemaPlan, committed
from versioned_catalog.schema.definition import APPLIED_SCHEMA
from versioned_catalog.schema.maintained import APPLIED_PROPERTIES


def apply_plan(handle: TableHandle, plan: SchemaPlan, commit_id: str | None = None) -> SchemaPlan:
    """Make all changes of a plan in one commit, which also records the schema version as applied.

    Args:
        handle: the table that the plan was made on.
        plan: the plan.
        commit_id: idempotency key of the commit; generated if omitted.

    Returns:
        The plan with the version of its commit.

    Raises:
        InvalidRequestError: a drop is not allowed, or a change is not legal.
        CommitConflictError: the schema or the properties were changed since the plan was made.
    """
    plan.check_allowed()
    state = handle.state
    check_planned_on(plan, state)
    if not plan.changes:
        return committed(plan, state.version)
    alteration = Alteration(handle).add_all(parse_alter("; ".join(plan.sql), state.evolution))
    alteration.add_all(
        [
            SetProperty(APPLIED_SCHEMA, str(plan.new_schema_version)),
            SetProperty(APPLIED_PROPERTIES, json.dumps(plan.new_properties, sort_keys=True)),
        ]
    )
    done = alteration.commit_if(lambda now: check_planned_on(plan, now), commit_id)
    return committed(plan, done)


def check_planned_on(plan: SchemaPlan, state: TableState) -> None:
    """Check that the schema and the properties are those that a plan was made on.

    Raises:
        CommitConflictError: it is not.
    """
    if state.table_uuid != plan.table_uuid:
        raise _changed(plan, "the table was replaced")
    if state.schema_version != plan.schema_version:
        raise _changed(plan, f"schema {plan.schema_version} became schema {state.schema_version}")
    if declared_properties(state.properties) != plan.properties:
        raise _changed(plan, "its properties were changed")


def _changed(plan: SchemaPlan, what: str) -> CommitConflictError:
    return CommitConflictError(
        f"{plan.table}: the plan was made on version {plan.version}, and since then {what}; nothing was "
        "changed; make the plan again"
    )
