"""``CALL <catalog>.system.advise`` and ``maintain``; segments are rewritten by a Spark job."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from pyspark_versioned.sql.compact_procedure import compacting_job, results_of
from pyspark_versioned.sql.procedure import FORCE, TABLE, Invocation, Procedure, Row, optional
from pyspark_versioned.sql.protocol.names import ProcedureJob
from versioned_catalog import MaintenanceBounds, Table
from versioned_catalog.write.bounded_compaction import plan_within
from versioned_catalog.write.compaction import Compacted


def _bounds(call: Invocation) -> MaintenanceBounds:
    default = MaintenanceBounds()
    keep_last, most_bytes = call.number("keep_last"), call.number("most_bytes")
    return MaintenanceBounds(
        call.hours("retention_hours", default.retention),
        default.keep_last if keep_last is None else keep_last,
        default.most_bytes if most_bytes is None else most_bytes,
        call.flag("force", default.force),
    )


def _advise(call: Invocation) -> Iterable[Row]:
    for job in call.table.maintenance.advise(_bounds(call)).jobs:
        yield (
            *(job.name, job.is_due, job.before, job.after, job.unit),
            *(job.rewritten_bytes, job.freed_bytes, job.why),
        )


def _job(call: Invocation) -> ProcedureJob | None:
    table, bounds = call.table, _bounds(call)
    bounds.check(table.name)
    if call.flag("dry_run", False) or call.landed(table) is not None:
        return None
    tasks = plan_within(table.handle, bounds.most_bytes).tasks
    return compacting_job(table, tasks, {"version": table.version}) if tasks else None


def _maintain(call: Invocation) -> Iterable[Row]:
    table, bounds = call.table, _bounds(call)
    dry_run = call.flag("dry_run", False)
    compacted = None if call.request.job is None else _commit(call, table, bounds)
    # The segments have been rewritten by now; what else is due is done here.
    rest = table.refresh().maintenance.maintain(replace(bounds, most_bytes=0), dry_run=dry_run)
    yield (
        *(not dry_run, rest.expired_versions, rest.deleted_files, rest.deleted_bytes),
        *((0, 0, 0, 0, 0) if compacted is None else _figures(compacted)),
        rest.version,
    )


def _commit(call: Invocation, table: Table, bounds: MaintenanceBounds) -> Compacted:
    snapshot = table.as_of(json.loads(call.request.job or "")["version"])
    tasks = plan_within(snapshot.handle, bounds.most_bytes).tasks
    done = results_of(call, tasks)
    return snapshot.maintenance.commit_compaction(tasks, done, commit_id=call.commit.id)


def _figures(compacted: Compacted) -> Row:
    return (
        *(compacted.removed, compacted.removed_bytes, compacted.added, compacted.added_bytes),
        compacted.skipped,
    )


_BOUNDS = (
    optional("retention_hours", "DOUBLE", "keeps younger versions and files; by default a week"),
    optional("keep_last", "INT", "keeps this many versions in any case"),
    optional("most_bytes", "BIGINT", "rewrites at most so many bytes; by default 10 GiB"),
    FORCE,
)

PROCEDURES = {
    "advise": Procedure(
        "Says which maintenance is due, why, and what it would gain; one row for each job.",
        (TABLE, *_BOUNDS),
        "STRUCT<job: STRING, due: BOOLEAN, before: BIGINT, after: BIGINT, unit: STRING, "
        "rewritten_bytes: BIGINT, freed_bytes: BIGINT, why: STRING>",
        _advise,
        writes=False,
    ),
    "maintain": Procedure(
        "Does the maintenance that is due: compacts within bounds, expires and vacuums.",
        (TABLE, *_BOUNDS, optional("dry_run", "BOOLEAN", "true changes nothing")),
        "STRUCT<done: BOOLEAN, expired: BIGINT, deleted_files: BIGINT, deleted_bytes: BIGINT, "
        "removed_segments: BIGINT, removed_bytes: BIGINT, added_segments: BIGINT, "
        "added_bytes: BIGINT, skipped_segments: BIGINT, version: BIGINT>",
        _maintain,
        job=_job,
    ),
}
