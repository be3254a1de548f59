"""Iceberg's procedures under their names, where they have the same meaning here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta

from pyspark_versioned.sql import analyze_procedure, compact_procedure
from pyspark_versioned.sql.procedure import (
    TABLE,
    TAKES_BACK,
    Invocation,
    Parameter,
    Procedure,
    Row,
    one_commit,
    optional,
    rolled_back,
)
from pyspark_versioned.sql.protocol.names import ProcedureJob
from pyspark_versioned.sql.values import parse_timestamp
from versioned_catalog import InvalidRequestError, Table
from versioned_catalog.model.keys import parse_sort_by
from versioned_catalog.model.schema import SortField
from versioned_catalog.model.type_text import quote

_CURRENT = f"STRUCT<previous_snapshot_id: BIGINT, current_snapshot_id: BIGINT, {TAKES_BACK}>"
_EXPIRED_AFTER, _ORPHAN_AFTER = timedelta(days=5), timedelta(days=3)
"""The defaults of Iceberg's documentation."""

_ZORDER = re.compile(r"\s*zorder\s*\((.+)\)\s*", re.IGNORECASE)

INSTEAD: Mapping[str, str] = {
    "migrate": "a table of Spark's own catalog stays there, since its name can't become one of this "
    "catalog; CALL system.snapshot(source_table => 'spark_catalog.db.t', table => 'db.t') makes a table "
    "of its files, in place, and DROP TABLE of an external table there leaves the files",
    "rewrite_table_path": "paths are relative to the table's folder, so copy the folder as it is",
}
"""What to write instead of procedures that are missing."""


def _rollback_to_snapshot(table: Table, call: Invocation) -> int:
    return table.rollback(int(call.text("snapshot_id")), commit_id=call.commit.id)


def _set_current_snapshot(table: Table, call: Invocation) -> int:
    snapshot, ref = call.number("snapshot_id"), call.arguments["ref"]
    if (snapshot is None) is (ref is None):
        raise InvalidRequestError(
            f"{table.name}: give either snapshot_id or ref, the name of a tag"
        )
    version = table.at(ref).version if ref is not None else snapshot
    return table.rollback(version, commit_id=call.commit.id)


def _age(call: Invocation, table: Table, default: timedelta) -> timedelta:
    moment = call.number("older_than")
    if moment is None:
        return default
    return max(table.store.now() - parse_timestamp(moment), timedelta(0))  # clocks may differ


def _expire_snapshots(call: Invocation) -> Iterable[Row]:
    table = call.table
    if call.arguments["snapshot_ids"] is not None:
        raise InvalidRequestError(
            f"{table.name}: snapshot_ids is not supported: versions expire in their order, except those "
            "with tags; use older_than or retain_last",
            condition="NOT_SUPPORTED",
        )
    older_than, keep = _age(call, table, _EXPIRED_AFTER), call.number("retain_last")
    landed = call.landed(table) is not None
    commit_id = None if landed else call.commit.id
    done = table.maintenance.expire(
        older_than, 1 if keep is None else keep, dry_run=False, commit_id=commit_id
    )
    left = table.refresh().maintenance.vacuum(older_than, dry_run=False)
    yield len(left.segments), len(left.others), done.versions, left.version


def _remove_orphan_files(call: Invocation) -> Iterable[Row]:
    table = call.table
    below = _folder_of(table, call.arguments["location"])
    if call.arguments["file_list_view"] is not None:
        raise InvalidRequestError(
            f"{table.name}: file_list_view is not supported: the table's folders are listed; leave "
            "it out",
            condition="NOT_SUPPORTED",
        )
    dry_run, landed = call.flag("dry_run", False), call.landed(table) is not None
    commit_id = None if landed else call.commit.id
    done = table.maintenance.vacuum(
        _age(call, table, _ORPHAN_AFTER), dry_run=dry_run, commit_id=commit_id, below=below
    )
    yield from ((path,) for path in (*done.segments, *done.others))


def _folder_of(table: Table, location: str | None) -> str:
    """The folder of a location, relative to the table's folder; empty for all of it.

    Raises:
        InvalidRequestError: the location is not in the table's folder.
    """
    if location is None:
        return ""
    folder, home = location.rstrip("/"), table.location.rstrip("/")
    folder = folder.removeprefix("file://") if "://" not in home else folder
    if folder == home:
        return ""
    folder = folder.removeprefix(f"{home}/")
    if (
        folder.startswith("/")
        or "://" in folder
        or not {"", ".", ".."}.isdisjoint(folder.split("/"))
    ):
        raise InvalidRequestError(
            f"{table.name}: location is {location!r}, which is not in the table's folder, {home}; write "
            "a folder there, such as 'data', or leave location out"
        )
    return folder


def _rewrite_manifests(call: Invocation) -> Iterable[Row]:
    if call.arguments["sort_by"] is not None:
        raise InvalidRequestError(
            f"{call.table.name}: sort_by is not supported: metadata has an order of its own; leave "
            "it out",
            condition="NOT_SUPPORTED",
        )
    yield 0, 0


def _as_compact(call: Invocation) -> Invocation:
    """The call of ``compact`` that a call of ``rewrite_data_files`` stands for."""
    options = call.pairs("options")
    rewrites_all = options.pop("rewrite-all", "false").lower()
    dangling = options.pop("remove-dangling-deletes", "true").lower()  # marks go with their segment
    for key, flag in (("rewrite-all", rewrites_all), ("remove-dangling-deletes", dangling)):
        if flag not in ("true", "false"):
            raise InvalidRequestError(f"{key} is {flag!r}; write true or false")
    least = options.pop("min-input-files", None)
    if least is not None and not re.fullmatch("[1-9][0-9]{0,8}", least):
        raise InvalidRequestError(f"min-input-files is {least!r}; write a number from 1")
    if options:
        raise InvalidRequestError(
            f"rewrite_data_files: the option {next(iter(options))} is not supported; leave it out. "
            "Segments are as large as target_segment_bytes says; rewrite-all = true rewrites all",
            condition="NOT_SUPPORTED",
        )
    arguments: dict[str, str | None] = {
        "table": call.arguments["table"],
        "where": call.arguments["where"],
        "strategy": "full" if rewrites_all == "true" else None,
        "dry_run": None,
        "zorder": _zorder(call),
        "least_files": None if rewrites_all == "true" else least,
    }
    return replace(call, request=replace(call.request, arguments=arguments))


def _zorder(call: Invocation) -> str | None:
    strategy, order = (
        (call.arguments["strategy"] or "binpack").lower(),
        call.arguments["sort_order"],
    )
    if strategy not in ("binpack", "sort"):
        raise InvalidRequestError(
            f"rewrite_data_files: strategy is {strategy!r}; write binpack or sort"
        )
    if strategy == "binpack":
        if order is not None:
            raise InvalidRequestError(
                "rewrite_data_files: sort_order needs strategy => 'sort'; write both or neither"
            )
        return None
    match = None if order is None else _ZORDER.fullmatch(order)
    if match is None and _is_order_of(call.table, order):
        return None  # a compaction sorts by it
    if match is None:
        raise InvalidRequestError(
            "rewrite_data_files: rows are sorted by the sort order of the table: set it by ALTER TABLE "
            "... WRITE ORDERED BY, and rewrite with options => map('rewrite-all', 'true'); or write "
            "sort_order => 'zorder(a, b)'",
            condition="NOT_SUPPORTED",
        )
    return match[1]


def _is_order_of(table: Table, text: str | None) -> bool:
    """Whether the table is sorted by an order; None for its own, if it has one."""
    schema = table.schema
    if text is None or not schema.sort_by:
        return bool(schema.sort_by)
    fields = [SortField(schema.get(path).id, way) for path, way in parse_sort_by(text)]
    return tuple(fields) == schema.sort_by


def _rewrite_job(call: Invocation) -> ProcedureJob | None:
    return compact_procedure.COMPACT.job(_as_compact(call))


def _rewrite_data_files(call: Invocation) -> Iterable[Row]:
    for removed, size, added, _, skipped, _ in compact_procedure.COMPACT.run(_as_compact(call)):
        yield removed, added, size, skipped


def _ancestors_of(call: Invocation) -> Iterable[Row]:
    table, newest = call.table, call.number("snapshot_id")
    snapshot = table if newest is None else table.as_of(newest)
    history = snapshot.inspect.history()
    times = history["time"].cast("int64").to_pylist()
    rows: list[Row] = list(zip(history["version"].to_pylist(), times, strict=True))
    return reversed(rows)


def _as_analyze(call: Invocation) -> Invocation:
    """The call of ``analyze`` that a call of ``compute_table_stats`` stands for."""
    wanted = call.number("snapshot_id")
    if wanted is not None and call.request.job is None and wanted != call.table.version:
        raise InvalidRequestError(
            f"{call.table.name}: only the newest version can be analysed, which is "
            f"{call.table.version}; leave snapshot_id out",
            condition="NOT_SUPPORTED",
        )
    columns = call.items("columns")
    arguments = {
        "table": call.arguments["table"],
        "columns": None if columns is None else ", ".join(map(quote, columns)),
    }
    return replace(call, request=replace(call.request, arguments=arguments))


_SNAPSHOT = optional("snapshot_id", "BIGINT", "a version; by default the newest")
_RELATIVE = "changes nothing: files are known by their paths in the table's folder"
_OLDER_THAN = optional("older_than", "TIMESTAMP", "a time")

PROCEDURES = {
    "rollback_to_snapshot": Procedure(
        "Restores the rows and columns of an earlier version, in a new version.",
        (TABLE, Parameter("snapshot_id", "BIGINT", "the version to restore")),
        _CURRENT,
        one_commit(_rollback_to_snapshot, rolled_back),
    ),
    "set_current_snapshot": Procedure(
        "Restores the rows and columns of a version or a tag, in a new version.",
        (TABLE, _SNAPSHOT, optional("ref", "STRING", "a tag")),
        _CURRENT,
        one_commit(_set_current_snapshot, rolled_back),
    ),
    "expire_snapshots": Procedure(
        "Expires old versions without tags, and deletes the files that only they need.",
        (
            TABLE,
            replace(_OLDER_THAN, comment="expires older versions; by default five days"),
            optional("retain_last", "INT", "keeps this many in any case; by default 1"),
            optional("snapshot_ids", "ARRAY<BIGINT>", "is refused: versions expire in their order"),
        ),
        "STRUCT<deleted_data_files_count: BIGINT, deleted_metadata_files_count: BIGINT, "
        "expired_versions: BIGINT, version: BIGINT>",
        _expire_snapshots,
    ),
    "remove_orphan_files": Procedure(
        "Deletes files that no retained version needs.",
        (
            TABLE,
            replace(_OLDER_THAN, comment="keeps younger files; by default three days"),
            optional("location", "STRING", "a folder in the table's; by default all of it"),
            optional("dry_run", "BOOLEAN", "true only reports"),
            optional("file_list_view", "STRING", "is refused: the table's folders are listed"),
            optional("equal_schemes", "MAP<STRING, STRING>", _RELATIVE),
            optional("equal_authorities", "MAP<STRING, STRING>", _RELATIVE),
            optional("prefix_mismatch_mode", "STRING", _RELATIVE),
            optional("prefix_listing", "BOOLEAN", "how files are listed is the store's choice"),
        ),
        "STRUCT<orphan_file_location: STRING>",
        _remove_orphan_files,
    ),
    "rewrite_data_files": Procedure(
        "Rewrites many segments as few, in the newest schema; query results stay the same.",
        (
            TABLE,
            optional("strategy", "STRING", "binpack or sort; by default binpack"),
            optional("sort_order", "STRING", "zorder(a, b), or the sort order of the table"),
            optional("options", "MAP<STRING, STRING>", "rewrite-all = true, min-input-files = n"),
            optional("where", "STRING", "a condition: rewrites only segments with such rows"),
        ),
        "STRUCT<rewritten_data_files_count: BIGINT, added_data_files_count: BIGINT, "
        "rewritten_bytes_count: BIGINT, failed_data_files_count: BIGINT>",
        _rewrite_data_files,
        job=_rewrite_job,
    ),
    "rewrite_manifests": Procedure(
        "Does nothing: writers arrange the metadata by themselves.",
        (
            TABLE,
            optional("use_caching", "BOOLEAN", "changes nothing"),
            optional("spec_id", "INT", "changes nothing"),
            optional("sort_by", "ARRAY<STRING>", "is refused: metadata has an order of its own"),
        ),
        "STRUCT<rewritten_manifests_count: INT, added_manifests_count: INT>",
        _rewrite_manifests,
        writes=False,
    ),
    "rewrite_position_delete_files": Procedure(
        "Does nothing: a segment has one mark, which each change replaces.",
        (
            TABLE,
            optional("options", "MAP<STRING, STRING>", "changes nothing"),
            optional("where", "STRING", "changes nothing"),
        ),
        "STRUCT<rewritten_delete_files_count: INT, added_delete_files_count: INT>",
        lambda call: [(0, 0)],
        writes=False,
    ),
    "compute_partition_stats": Procedure(
        "Does nothing: the rows of each partition are always known; see the table t.partitions.",
        (TABLE, _SNAPSHOT),
        "STRUCT<statistics_file: STRING>",
        lambda call: [(None,)],
        writes=False,
    ),
    "ancestors_of": Procedure(
        "Lists a version and those before it, newest first.",
        (TABLE, _SNAPSHOT),
        "STRUCT<snapshot_id: BIGINT, timestamp: TIMESTAMP>",
        _ancestors_of,
        writes=False,
    ),
    "compute_table_stats": Procedure(
        "Counts the distinct values of columns, for the planners of joins and filters.",
        (TABLE, _SNAPSHOT, optional("columns", "ARRAY<STRING>", "columns; by default all")),
        analyze_procedure.ANALYZE.result,
        lambda call: analyze_procedure.ANALYZE.run(_as_analyze(call)),
        writes=False,
        job=lambda call: analyze_procedure.ANALYZE.job(_as_analyze(call)),
    ),
}
