"""Requests for tables that are created or replaced together with their rows, in one commit.

Different processes may serve the two requests, so everything that the first decides travels in a
``Creation``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import cast

from pyspark_versioned.hadoop import hadoop_folder
from pyspark_versioned.sql.declarations import parse_declaration
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.protocol.base import Commit, Refused
from pyspark_versioned.sql.snapshots import open_catalog
from pyspark_versioned.sql.table_description import describe_schema
from pyspark_versioned.sql.view_errors import full_name
from pyspark_versioned.sql.write_plans import (
    declared_of,
    describe_plan,
    placement_of,
    plan_creation,
)
from pyspark_versioned.sql.written_segments import parse_records
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.names.folders import Mode, Placement


def stage(request: messages.Stage) -> messages.Staged:
    """Choose the location of a new table and describe it; nothing is written."""
    # Whether a query yields the rows is not known yet; if one does, its columns have no defaults.
    catalog = open_catalog(request.catalog)
    declared = parse_declaration(request.declaration, defaults=False)
    if not catalog.namespace_exists(declared.name[:-1]):
        raise Refused("missing_namespace")
    exists = catalog.table_exists(declared.name)
    if request.mode == "create" and (exists or catalog.view_exists(declared.name)):
        raise Refused("exists")
    if request.mode == "replace" and not exists:
        raise Refused("missing")
    placement = _sent(catalog.plan_creation(declared.name, cast(Mode, request.mode)))
    creation = messages.Creation(request.catalog, request.declaration, placement, True, None)
    plan = plan_creation(creation)
    location, storage = plan.location.url, request.catalog.storage
    table = messages.TableRef(
        location,
        storage,
        hadoop_folder(location, storage),
        full_name(request.catalog, declared.name),
        placement.table_uuid,
        max(placement.base_version, 0),
        schema_version=0,
        pending=(),
        seen=None,
        overflow="error",
        written_as=None,
    )
    schema = plan.spec.schema
    described = describe_schema(table, schema, dict(declared.properties), declared.comment)
    plan_of_rows = describe_plan(plan, request.declaration.properties)
    return messages.Staged(described, placement, plan_of_rows)


def commit_stage(request: messages.CommitStage, commit: Commit) -> messages.Committed:
    """Create a table with the segments that the jar wrote for it."""
    creation = request.creation
    schema = plan_creation(creation).spec.schema
    table = full_name(creation.catalog, creation.declaration.name)
    records = parse_records(request.segments, schema, table)
    return messages.Committed(create_staged(creation, records, commit.id))


def create_staged(
    creation: messages.Creation, records: Sequence[SegmentRecord], commit_id: str
) -> int:
    """Create a table with segments; idempotent for a commit ID.

    Returns:
        The version of the commit.
    """
    declared = declared_of(creation)
    operation = replace(declared.operation(), records=tuple(records))
    catalog = open_catalog(creation.catalog)
    return catalog.commit_creation(
        declared.name, placement_of(creation), operation, commit_id
    ).version


def _sent(placement: Placement) -> messages.Placement:
    members = asdict(placement)
    del members["read_version"]
    return messages.Placement(**members)


HANDLERS = (stage, commit_stage)
