"""Procedures that clean up, check and publish."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from pyspark_versioned.sql.procedure import (
    DRY_RUN,
    FORCE,
    TABLE,
    Invocation,
    Procedure,
    Row,
    optional,
)
from pyspark_versioned.sql.snapshots import full_name
from pyspark_versioned.sql.values import parse_timestamp
from versioned_catalog import InvalidRequestError
from versioned_catalog.maintain.expiry import DEFAULT_RETENTION


def _vacuum(call: Invocation) -> Iterable[Row]:
    table = call.table
    # If a commit landed and its response was lost, vacuum runs again and reports what is left.
    has_landed = call.landed(table) is not None
    retention = call.hours("retention_hours", DEFAULT_RETENTION)
    how: dict[str, Any] = {
        "dry_run": call.flag("dry_run", True),
        "force": call.flag("force", False),
    }
    commit_id = None if has_landed else call.commit.id
    if call.flag("expire", False):
        table.maintenance.expire(retention, commit_id=commit_id, **how)
        table, commit_id = table.refresh(), None
    result = table.maintenance.vacuum(retention, commit_id=commit_id, **how)
    yield from ((path, "segment", not result.dry_run) for path in result.segments)
    yield from ((path, "temporary or checkpoint", not result.dry_run) for path in result.others)
    yield from ((path, "not ours, left", False) for path in result.foreign)


def _expire(call: Invocation) -> Iterable[Row]:
    table = call.table
    older_than = call.hours("older_than_hours", DEFAULT_RETENTION)
    moment = call.number("older_than")
    if moment is not None:
        if call.arguments["older_than_hours"] is not None:
            raise InvalidRequestError(
                f"{table.name}: give older_than or older_than_hours, not both"
            )
        older_than = table.store.now() - parse_timestamp(moment)
    keep_last = call.number("keep_last")
    has_landed = call.landed(table) is not None
    if has_landed:
        older_than = timedelta.max  # only what the commit left undone
    done = table.maintenance.expire(
        older_than,
        1 if keep_last is None else keep_last,
        dry_run=call.flag("dry_run", True),
        force=call.flag("force", False),
        commit_id=None if has_landed else call.commit.id,
    )
    yield (
        done.oldest_version,
        done.versions,
        len(done.tagged),
        not done.dry_run,
        done.version,
        list(done.consumers),
        list(done.lapsed),
        done.forgotten,
    )


def _verify(call: Invocation) -> Iterable[Row]:
    deep, every = call.flag("deep", False), call.flag("every_version", False)
    report = call.catalog.verify_table(call.name, deep=deep, every_version=every)
    yield from ((finding.path, finding.problem) for finding in report.findings)


def _publish(call: Invocation) -> Iterable[Row]:
    done = call.table.maintenance.publish(
        format_version=call.number("format_version"),
        overwrite=call.flag("overwrite", False),
    )
    yield (
        done.version,
        done.metadata,
        done.format_version,
        done.snapshots,
        done.files,
        done.registered,
    )


def _unpublish(call: Invocation) -> Iterable[Row]:
    yield (call.table.maintenance.unpublish(),)


def _views(call: Invocation) -> Iterable[Row]:
    views = call.catalog.views(call.name or None, partial(full_name, call.request.catalog))
    yield from (tuple(row.values()) for row in views.to_pylist())


PROCEDURES = {
    "vacuum": Procedure(
        "Deletes files that no retained version needs; reports them only, unless dry_run => false.",
        (
            TABLE,
            optional(
                "retention_hours",
                "DOUBLE",
                "keeps younger files, and those of running writes; by default a week",
            ),
            DRY_RUN,
            FORCE,
            optional("expire", "BOOLEAN", "true first expires older versions, as VACUUM does"),
        ),
        "STRUCT<path: STRING, kind: STRING, deleted: BOOLEAN>",
        _vacuum,
    ),
    "expire": Procedure(
        "Expires old versions without tags; reports them only, unless dry_run => false.",
        (
            TABLE,
            optional(
                "older_than_hours",
                "DOUBLE",
                "expires versions that were replaced longer ago; by default a week",
            ),
            optional("older_than", "TIMESTAMP", "or versions replaced before this"),
            optional("keep_last", "INT", "keeps this many in any case"),
            DRY_RUN,
            FORCE,
        ),
        "STRUCT<first_kept: BIGINT, expired: BIGINT, tagged: BIGINT, done: BOOLEAN, version: BIGINT, "
        "consumers: ARRAY<STRING>, lapsed: ARRAY<STRING>, forgotten: BIGINT>",
        _expire,
    ),
    "verify": Procedure(
        "Checks log, checkpoints and segments against each other; one row for each finding.",
        (
            TABLE,
            optional("deep", "BOOLEAN", "true also reads the rows"),
            optional("every_version", "BOOLEAN", "true also checks older versions"),
        ),
        "STRUCT<path: STRING, problem: STRING>",
        _verify,
        writes=False,
    ),
    "publish": Procedure(
        "Publishes the newest version as Iceberg metadata, for other engines; no data is copied.",
        (
            TABLE,
            optional(
                "format_version",
                "INT",
                "of Iceberg, 3 or 2; by default that of the last publication, at first 3",
            ),
            optional(
                "overwrite",
                "BOOLEAN",
                "true writes all metadata again, also over what another engine wrote",
            ),
        ),
        "STRUCT<version: BIGINT, metadata: STRING, format_version: INT, snapshots: INT, files: INT, "
        "registered: STRING>",
        _publish,
        writes=False,
    ),
    "unpublish": Procedure(
        "Deletes the published Iceberg metadata; the table stays.",
        (TABLE,),
        "STRUCT<files: BIGINT>",
        _unpublish,
        writes=False,
    ),
    "views": Procedure(
        "Lists views, the columns that they read, and columns that they no longer find.",
        (
            replace(
                TABLE, comment="only views that read this table; by default all", required=False
            ),
        ),
        "STRUCT<view: STRING, reads: STRING, column: STRING, column_id: INT, problem: STRING>",
        _views,
        writes=False,
    ),
}
