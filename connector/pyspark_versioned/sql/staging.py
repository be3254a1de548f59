"""Tables that are made or replaced together with their rows: planned, then committed at once.

The two questions are answered by different processes, so all that was decided at the first travels
in the jar's member ``creation``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from pyspark_versioned.sql.creating import Declaration, parse_declaration
from pyspark_versioned.sql.describing import describe_schema, reference
from pyspark_versioned.sql.snapshots import open_catalog
from pyspark_versioned.sql.written import parse_records
from versioned_catalog.catalog.locations import Placement
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.types.paths import render_path
from versioned_catalog.write.plan import WritePlan

Json = dict[str, Any]

_MODES = {
    "create": "create",
    "replace": "replace",
    "create_or_replace": "create or replace",
}
_TOLD = (
    "catalog",
    "name",
    "columns",
    "partitioning",
    "constraints",
    "properties",
    "default_provider",
)


def stage(request: Json) -> Json:
    """Decide where a table will be, and tell what it will look like; nothing is written."""
    # Whether a query gives the rows is not known yet; if one does, no default is meant.
    catalog, declared = open_catalog(request["catalog"]), parse_declaration(request, defaults=False)
    if not catalog.namespace_exists(declared.name[:-1]):
        return {"missing_namespace": True}
    there = catalog.table_exists(declared.name)
    if request["mode"] == "create" and catalog.view_exists(declared.name):
        return {"exists": True}
    if there and request["mode"] == "create":
        return {"exists": True}
    if not there and request["mode"] == "replace":
        return {"missing": True}
    placement = catalog.plan_creation(declared.name, _MODES[request["mode"]])  # type: ignore[arg-type]
    made = {member: request[member] for member in _TOLD}
    made |= {"placement": asdict(placement), "from_query": False}
    plan = plan_rows({**made, "from_query": True})
    return {
        "loaded": {
            "table": reference(
                plan.location.url,
                request["catalog"]["storage"],
                render_path((request["catalog"]["name"], *declared.name)),
                placement.table_uuid,
                max(placement.base_version, 0),
            ),
            **describe_schema(plan.spec.schema),
            "properties": dict(declared.properties),
            "comment": declared.comment,
            "creation": made,
        }
    }


def plan_rows(made: Json) -> WritePlan:
    """The plan of the rows of a table in the making."""
    declared, placement = _declared(made), Placement(**made["placement"])
    return open_catalog(made["catalog"]).plan_rows(declared.name, placement, declared.operation())


def commit_stage(request: Json) -> Json:
    """Make the table, with the segments that were written for it."""
    made = request["creation"]
    schema = plan_rows(made).spec.schema
    table = render_path((made["catalog"]["name"], *made["name"]))
    records = parse_records(request.get("segments", []), schema, table)
    return make(made, records, request["commit_id"])


def make(made: Json, records: Sequence[SegmentRecord], commit_id: str) -> Json:
    """Make the table with segments. Asked again with the same commit ID, it makes nothing twice.

    The jar adds ``read_version`` to ``made``: the version of the table that is replaced, where the rows
    were made of its own.
    """
    declared, placement = _declared(made), Placement(**made["placement"])
    placement = replace(placement, read_version=made.get("read_version"))
    operation = replace(declared.operation(), records=tuple(records))
    catalog = open_catalog(made["catalog"])
    done = catalog.commit_creation(declared.name, placement, operation, commit_id)
    return {"version": done.version}


def _declared(made: Json) -> Declaration:
    return parse_declaration(made, defaults=not made["from_query"])


QUESTIONS = {"stage": stage, "commit_stage": commit_stage}
