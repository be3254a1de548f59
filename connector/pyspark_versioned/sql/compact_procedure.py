"""``CALL <catalog>.system.compact``: planned here, carried out by a Spark job, committed here."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pyspark_versioned.compacting import DONE, CompactingReader, Work, planned
from pyspark_versioned.reader import planned_read
from pyspark_versioned.sql.procedure import TABLE, Invocation, Parameter, Procedure, Row
from pyspark_versioned.sql.protocol.base import SparkType
from pyspark_versioned.sql.protocol.names import ProcedureJob
from versioned_catalog.log.record import record_from_json


def _request(call: Invocation, version: int) -> dict[str, Any]:
    """The request of the job."""
    arguments = call.arguments
    return {
        "version": version,
        "where": arguments["where"],
        "strategy": arguments["strategy"] or "auto",
        "zorder": arguments["zorder"],
    }


def _job(call: Invocation) -> ProcedureJob | None:
    table = call.table
    if call.flag("dry_run", False) or call.landed(table) is not None:
        return None
    request = _request(call, table.version)
    tasks = planned(table, request)
    if not tasks:
        return None
    read = planned_read(CompactingReader(table.store.location), list(map(Work, tasks)), DONE)
    return ProcedureJob(json.dumps(request), SparkType(DONE.jsonValue()), read)


def _compact(call: Invocation) -> Iterable[Row]:
    table = call.table
    before = call.landed(table)
    if before is not None:  # the response was lost
        yield 0, 0, 0, 0, 0, before
        return
    if call.request.job is None:
        plans = planned(table, _request(call, table.version))
        removed, size = sum(len(p.paths) for p in plans), sum(p.bytes for p in plans)
        yield removed, size, 0, 0, 0, table.version
        return
    request = json.loads(call.request.job)
    plans = planned(table, request)
    by_paths = {plan.paths: plan for plan in plans}
    done = [
        (by_paths[tuple(json.loads(paths))], tuple(map(record_from_json, json.loads(records))))
        for paths, records in call.request.results
    ]
    snapshot = table.as_of(request["version"])
    result = snapshot.maintenance.commit_compaction(plans, done, commit_id=call.commit.id)
    yield (
        result.removed,
        result.removed_bytes,
        result.added,
        result.added_bytes,
        result.skipped,
        result.version,
    )


PROCEDURES = {
    "compact": Procedure(
        "Rewrites many segments as few, in the newest schema; query results stay the same.",
        (
            TABLE,
            Parameter(
                "where",
                "STRING",
                "a condition: compacts only segments with such rows; by default all",
                required=False,
            ),
            Parameter(
                "strategy",
                "STRING",
                "auto (small and overlapping segments), full or small; by default auto",
                required=False,
            ),
            Parameter("dry_run", "BOOLEAN", "true only reports", required=False),
            Parameter(
                "zorder",
                "STRING",
                "columns, as in 'host, ts': rewrites all segments, rows clustered by these",
                required=False,
            ),
        ),
        "STRUCT<removed_segments: BIGINT, removed_bytes: BIGINT, added_segments: BIGINT, "
        "added_bytes: BIGINT, skipped_segments: BIGINT, version: BIGINT>",
        _compact,
        job=_job,
    )
}
