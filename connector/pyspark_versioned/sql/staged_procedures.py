"""Procedures that publish staged writes: Iceberg's ``publish_changes`` and ``cherrypick_snapshot``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta

from pyspark_versioned.sql.branch_choice import commits_of, staged_name
from pyspark_versioned.sql.procedure import TABLE, Invocation, Parameter, Procedure, Row
from versioned_catalog import InvalidRequestError, NotFoundError, Table
from versioned_catalog.spelling import listed

KEPT = timedelta(days=5)
"""How long after its write expiry drops what was published, so that its ID is known until then."""

_PUBLISHED = "STRUCT<source_snapshot_id: BIGINT, current_snapshot_id: BIGINT>"


def _by_id(table: Table, call: Invocation) -> str:
    wap_id = call.text("wap_id")
    name = staged_name(wap_id)
    if name not in table.branches:
        prefix = staged_name("")
        known = [other.removeprefix(prefix) for other in table.branches if other.startswith(prefix)]
        raise NotFoundError(
            f"{table.name}: nothing is staged under the WAP ID {wap_id!r} (the IDs: "
            f"{listed(wap_id, sorted(known), none='none so far')})",
            condition="VERSION_NOT_FOUND",
        )
    merged = table.branches[name].merged
    if merged is not None:
        raise InvalidRequestError(
            f"{table.name}: the WAP ID {wap_id!r} was published as version {merged[1]}; to write more, "
            "stage it under another ID",
            condition="NOT_SUPPORTED",
        )
    return name


def _by_version(table: Table, call: Invocation) -> str:
    wanted = int(call.text("snapshot_id"))
    found = {
        name: versions
        for name, branch in table.branches.items()
        if wanted > branch.base and wanted in (versions := commits_of(table, name))
    }
    if len(found) > 1:
        raise InvalidRequestError(
            f"{table.name}: the branches {', '.join(map(repr, sorted(found)))} all have a version "
            f"{wanted}; name one in CALL system.merge_branch, or CALL system.publish_changes",
            condition="NOT_SUPPORTED",
        )
    if not found:
        raise NotFoundError(
            f"{table.name}: no branch has a commit {wanted} that is not merged; t.refs has the newest "
            "version of each branch",
            condition="VERSION_NOT_FOUND",
        )
    ((name, versions),) = found.items()
    if versions != [wanted]:
        raise InvalidRequestError(
            f"{table.name}: version {wanted} is one of {len(versions)} commits to the branch "
            f"{name!r}, which can't be taken over apart from the others; CALL system.merge_branch "
            "takes all",
            condition="NOT_SUPPORTED",
        )
    return name


def _publishing(find: Callable[[Table, Invocation], str]) -> Callable[[Invocation], Iterable[Row]]:
    """Merge the branch that holds the staged write; idempotent for a commit ID."""

    def run(call: Invocation) -> Iterable[Row]:
        table = call.table
        done = call.landed(table)
        if done is not None:
            sources = [
                b.merged[0] for b in table.branches.values() if b.merged and b.merged[1] == done
            ]
            yield (sources[0] if sources else None), done
            return
        name = find(table, call)
        versions = commits_of(table, name)
        source = versions[-1] if versions else table.branch(name).version
        keep = KEPT if name.startswith(staged_name("")) else None
        yield source, table.merge_branch(name, keep=keep, commit_id=call.commit.id)

    return run


PROCEDURES = {
    "publish_changes": Procedure(
        "Takes over what a session has written under an ID, spark.wap.id.",
        (TABLE, Parameter("wap_id", "STRING", "the ID")),
        _PUBLISHED,
        _publishing(_by_id),
    ),
    "cherrypick_snapshot": Procedure(
        "Takes over a staged write, or the only commit to a branch.",
        (TABLE, Parameter("snapshot_id", "BIGINT", "the version of the branch")),
        _PUBLISHED,
        _publishing(_by_version),
    ),
}
