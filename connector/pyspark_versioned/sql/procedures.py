"""``CALL <catalog>.system.<procedure>(...)``: what can be called, and what it does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from pyspark_versioned.compacting import planned
from pyspark_versioned.spark_types import to_spark, to_spark_schema
from pyspark_versioned.sql.settling import landed
from pyspark_versioned.sql.snapshots import open_catalog
from pyspark_versioned.sql.view_warnings import shown_name
from versioned_catalog import Catalog, InvalidRequestError, NotFoundError, Table
from versioned_catalog.log.entry import UNIX_EPOCH
from versioned_catalog.log.record import record_from_json
from versioned_catalog.maintenance.retention import DEFAULT
from versioned_catalog.schema.ddl import parse_type
from versioned_catalog.schema.partition_changes import changed_partitioning, split_fields
from versioned_catalog.types.paths import parse_path
from versioned_catalog.types.types import Struct
from versioned_catalog.warehouse.state import Name

Json = dict[str, Any]
Arguments = Mapping[str, str | None]
NAMESPACE = ("system",)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a procedure; its type is Spark's DDL."""

    name: str
    type: str
    comment: str
    required: bool = True


@dataclass(frozen=True)
class Call:
    """A procedure as it is called.

    Args:
        request: what was asked: ``commit_id``; ``retry``, where it is not asked for the first time.
        catalog: where tables are.
        name: the table's; no parts where none is given.
        given: value texts by parameter, None for null.
    """

    request: Json
    catalog: Catalog
    name: Name
    given: Arguments

    @property
    def table(self) -> Table:
        """The table, loaded anew."""
        return self.catalog.load_table(self.name)

    def hours(self, parameter: str, default: timedelta) -> timedelta:
        """A number of hours as a time span.

        Raises:
            InvalidRequestError: there is no span as long.
        """
        text = self.given[parameter]
        try:
            return default if text is None else timedelta(hours=float(text))
        except (OverflowError, ValueError):
            raise InvalidRequestError(f"{parameter} is {text}; give a number of hours") from None

    def says(self, parameter: str, default: bool) -> bool:
        """A boolean."""
        text = self.given[parameter]
        return default if text is None else text == "true"


Row = tuple[Any, ...]


def _no_job(call: Call) -> None:
    return None


@dataclass(frozen=True)
class Procedure:
    """Something that can be called.

    Args:
        description: for people.
        parameters: in order.
        result: the columns of the rows that come back, as Spark's DDL.
        run: does it, and gives the rows.
        writes: whether it changes what the table shows, or can show.
        job: what the jar has Spark do before, through the data source: ``path`` and ``options``; its
            rows are in the request then. None for nothing.
    """

    description: str
    parameters: tuple[Parameter, ...]
    result: str
    run: Callable[[Call], Iterable[Row]]
    writes: bool = True
    job: Callable[[Call], Json | None] = _no_job


def _once(
    commit: Callable[[Table, Arguments, str], int], row: Callable[[Arguments, int, int], Row]
) -> Callable[[Call], Iterable[Row]]:
    """What is one commit, made once however often it is asked for, and gives one row.

    Args:
        commit: does it to a table, under a commit ID; gives the version of the commit.
        row: what comes back, of the arguments, the version before and that of the commit.
    """

    def run(call: Call) -> Iterable[Row]:
        table = call.table
        done, before = landed(call.request, table), table.version
        if done is None:
            done = commit(table, call.given, call.request["commit_id"])
        else:
            before = done - 1
        yield row(call.given, before, done)

    return run


_TABLE = Parameter("table", "STRING", "the table's name, after that of its namespace")
_DRY_RUN = Parameter(
    "dry_run", "BOOLEAN", "false does it; true, or left out, only tells", required=False
)
_FORCE = Parameter("force", "BOOLEAN", "true allows less than an hour", required=False)
_ROLLED = "STRUCT<previous_version: BIGINT, version: BIGINT>"


def _vacuum(call: Call) -> Iterable[Row]:
    table = call.table
    # Where it landed and the answer was lost, it is done once more: what went is not there to be told.
    known = landed(call.request, table) is not None
    told = table.maintenance.vacuum(
        call.hours("retention_hours", DEFAULT),
        dry_run=call.says("dry_run", True),
        force=call.says("force", False),
        commit_id=None if known else call.request["commit_id"],
    )
    yield from ((path, "segment", not told.dry_run) for path in told.segments)
    yield from ((path, "temporary or checkpoint", not told.dry_run) for path in told.others)
    yield from ((path, "not ours, left", False) for path in told.foreign)


def _expire(call: Call) -> Iterable[Row]:
    table, given = call.table, call.given
    older_than = call.hours("older_than_hours", DEFAULT)
    if given["older_than"] is not None:
        if given["older_than_hours"] is not None:
            raise InvalidRequestError(
                f"{table.name}: give older_than or older_than_hours, not both"
            )
        older_than = table.store.now() - _time(given["older_than"])
    if landed(call.request, table) is not None:
        older_than = timedelta.max  # only what that left undone
    told = table.maintenance.expire(
        older_than,
        1 if given["keep_last"] is None else int(given["keep_last"]),
        dry_run=call.says("dry_run", True),
        force=call.says("force", False),
        commit_id=call.request["commit_id"],
    )
    yield told.oldest_version, told.versions, len(told.tagged), not told.dry_run, told.version


def _verify(call: Call) -> Iterable[Row]:
    deep, every = call.says("deep", False), call.says("every_version", False)
    told = call.catalog.verify_table(call.name, deep=deep, every_version=every)
    yield from ((one.path, one.problem) for one in told.findings)


def _views(call: Call) -> Iterable[Row]:
    told = call.catalog.views(call.name or None, partial(shown_name, call.request))
    yield from (tuple(row.values()) for row in told.to_pylist())


def _compaction(call: Call, version: int) -> Json:
    given = call.given
    return {
        "version": version,
        "where": given["where"],
        "strategy": given["strategy"] or "auto",
        "zorder": given["zorder"],
    }


def _compact_job(call: Call) -> Json | None:
    table = call.table
    if call.says("dry_run", False) or landed(call.request, table) is not None:
        return None
    asked = _compaction(call, table.version)
    if not planned(table, asked):
        return None
    storage = call.request["catalog"]["storage"]
    options = {f"storage.{key}": str(value) for key, value in storage.items()}
    return {
        "path": table.location,
        "options": {**options, "io": "python", "compact": json.dumps(asked)},
    }


def _compact(call: Call) -> Iterable[Row]:
    table, job = call.table, call.request.get("job")
    before = landed(call.request, table)
    if before is not None:  # the answer was lost
        yield 0, 0, 0, 0, 0, before
        return
    if job is None:
        pieces = planned(table, _compaction(call, table.version))
        removed, size = sum(len(p.paths) for p in pieces), sum(p.bytes for p in pieces)
        yield removed, size, 0, 0, 0, table.version
        return
    asked = json.loads(job["options"]["compact"])
    pieces = planned(table, asked)
    by_paths = {piece.paths: piece for piece in pieces}
    done = [
        (by_paths[tuple(json.loads(paths))], tuple(map(record_from_json, json.loads(records))))
        for paths, records in call.request["results"]
    ]
    then = table.as_of(asked["version"])
    told = then.maintenance.commit_compaction(pieces, done, commit_id=call.request["commit_id"])
    yield (
        told.removed,
        told.removed_bytes,
        told.added,
        told.added_bytes,
        told.skipped,
        told.version,
    )


def _time(micros: str) -> datetime:
    return UNIX_EPOCH + timedelta(microseconds=int(micros))


def _rollback_to_version(table: Table, given: Arguments, commit_id: str) -> int:
    return table.rollback(int(given["version"] or 0), commit_id=commit_id)


def _rollback_to_timestamp(table: Table, given: Arguments, commit_id: str) -> int:
    return table.rollback(timestamp=_time(given["timestamp"] or "0"), commit_id=commit_id)


def _rolled_row(given: Arguments, before: int, version: int) -> Row:
    return before, version


def _set_tag(table: Table, given: Arguments, commit_id: str) -> int:
    version = given["version"]
    tagged = table.version if version is None else int(version)
    return table.set_tag(given["tag"] or "", tagged, commit_id=commit_id)


def _set_tag_row(given: Arguments, before: int, version: int) -> Row:
    return given["tag"], given["version"] or before, version


def _drop_tag(table: Table, given: Arguments, commit_id: str) -> int:
    return table.drop_tag(given["tag"] or "", commit_id=commit_id)


def _drop_tag_row(given: Arguments, before: int, version: int) -> Row:
    return given["tag"], version


def _set_partitioning(table: Table, given: Arguments, commit_id: str) -> int:
    fields = split_fields(given["fields"] or "")
    return table.alter().set_partitioning(fields).commit(commit_id=commit_id)


def _alter_partitioning(table: Table, given: Arguments, commit_id: str) -> int:
    fields = changed_partitioning(table.schema, given["change"] or "", table.name)
    return table.alter().set_partitioning(fields).commit(commit_id=commit_id)


def _version_row(given: Arguments, before: int, version: int) -> Row:
    return (version,)


PROCEDURES = {
    "set_partitioning": Procedure(
        "Partitions what is written from now on; segments that are there keep their partitions.",
        (
            _TABLE,
            Parameter("fields", "STRING", "as in 'days(ts), bucket(16, id)'; empty for none"),
        ),
        "STRUCT<version: BIGINT>",
        _once(_set_partitioning, _version_row),
    ),
    "alter_partitioning": Procedure(
        "Adds, drops or replaces one field of the partitioning, as ALTER TABLE ... PARTITION FIELD.",
        (
            _TABLE,
            Parameter("change", "STRING", "as in 'ADD PARTITION FIELD bucket(16, id)'"),
        ),
        "STRUCT<version: BIGINT>",
        _once(_alter_partitioning, _version_row),
    ),
    "rollback_to_version": Procedure(
        "Shows the rows and the columns of an earlier version again, in a new one.",
        (_TABLE, Parameter("version", "BIGINT", "the version to go back to")),
        _ROLLED,
        _once(_rollback_to_version, _rolled_row),
    ),
    "rollback_to_timestamp": Procedure(
        "Shows the rows and the columns of the version of a time again, in a new one.",
        (
            _TABLE,
            Parameter("timestamp", "TIMESTAMP", "the newest version up to then is gone back to"),
        ),
        _ROLLED,
        _once(_rollback_to_timestamp, _rolled_row),
    ),
    "set_tag": Procedure(
        "Gives a version a name, for VERSION AS OF.",
        (
            _TABLE,
            Parameter("tag", "STRING", "the name"),
            Parameter(
                "version", "BIGINT", "the version; the newest where left out", required=False
            ),
        ),
        "STRUCT<tag: STRING, tagged_version: BIGINT, version: BIGINT>",
        _once(_set_tag, _set_tag_row),
    ),
    "drop_tag": Procedure(
        "Takes a name from the version that has it.",
        (_TABLE, Parameter("tag", "STRING", "the name")),
        "STRUCT<tag: STRING, version: BIGINT>",
        _once(_drop_tag, _drop_tag_row),
    ),
    "compact": Procedure(
        "Writes many segments anew as few, in the newest schema; no answer changes.",
        (
            _TABLE,
            Parameter(
                "where",
                "STRING",
                "a condition: only where such rows are; everywhere where left out",
                required=False,
            ),
            Parameter(
                "strategy",
                "STRING",
                "auto (small ones, and those that overlap), full or small; auto where left out",
                required=False,
            ),
            Parameter("dry_run", "BOOLEAN", "true only tells", required=False),
            Parameter(
                "zorder",
                "STRING",
                "columns, as in 'host, ts': all segments are written, rows clustered by these",
                required=False,
            ),
        ),
        "STRUCT<removed_segments: BIGINT, removed_bytes: BIGINT, added_segments: BIGINT, "
        "added_bytes: BIGINT, skipped_segments: BIGINT, version: BIGINT>",
        _compact,
        job=_compact_job,
    ),
    "vacuum": Procedure(
        "Deletes files that no kept version needs; without dry_run => false it only tells which.",
        (
            _TABLE,
            Parameter(
                "retention_hours",
                "DOUBLE",
                "younger files stay, as do those of writes in flight; a week where left out",
                required=False,
            ),
            _DRY_RUN,
            _FORCE,
        ),
        "STRUCT<path: STRING, kind: STRING, deleted: BOOLEAN>",
        _vacuum,
    ),
    "expire": Procedure(
        "Gives up old versions, but for those with tags; without dry_run => false it only tells.",
        (
            _TABLE,
            Parameter(
                "older_than_hours",
                "DOUBLE",
                "versions are given up that were replaced longer ago; a week where left out",
                required=False,
            ),
            Parameter("older_than", "TIMESTAMP", "or those replaced before", required=False),
            Parameter("keep_last", "INT", "so many are kept in any case", required=False),
            _DRY_RUN,
            _FORCE,
        ),
        "STRUCT<first_kept: BIGINT, expired: BIGINT, tagged: BIGINT, done: BOOLEAN, version: BIGINT>",
        _expire,
    ),
    "verify": Procedure(
        "Checks log, checkpoints and segments against each other: a row for all that is wrong.",
        (
            _TABLE,
            Parameter("deep", "BOOLEAN", "true reads the rows, too", required=False),
            Parameter(
                "every_version", "BOOLEAN", "true checks older versions, too", required=False
            ),
        ),
        "STRUCT<path: STRING, problem: STRING>",
        _verify,
        writes=False,
    ),
    "views": Procedure(
        "Lists the views, the columns of tables that each reads, and what is wrong with them.",
        (replace(_TABLE, comment="only what reads this table; left out, all", required=False),),
        "STRUCT<view: STRING, reads: STRING, column: STRING, column_id: INT, problem: STRING>",
        _views,
        writes=False,
    ),
}


def procedure(request: Json) -> Json:
    """What a procedure takes and gives.

    Raises:
        NotFoundError: there is none of that name.
    """
    name = tuple(request["name"])
    known = PROCEDURES.get(name[-1].lower()) if _lower(name[:-1]) == NAMESPACE else None
    if known is None:
        raise NotFoundError(
            f"there is no procedure {'.'.join(name)}; there are "
            f"{', '.join(f'system.{one}' for one in PROCEDURES)}",
            condition="PROCEDURE_NOT_FOUND",
        )
    result = parse_type(known.result)
    assert isinstance(result, Struct)
    return {
        "name": name[-1].lower(),
        "description": known.description,
        "parameters": [
            {
                "name": parameter.name,
                "type": to_spark(parse_type(parameter.type)).jsonValue(),
                "required": parameter.required,
                "comment": parameter.comment,
            }
            for parameter in known.parameters
        ],
        "result": to_spark_schema(result.fields).jsonValue(),
    }


def list_procedures(request: Json) -> Json:
    """The names of the procedures in a namespace."""
    return {"procedures": list(PROCEDURES) if _lower(request["namespace"]) == NAMESPACE else []}


def _lower(parts: Any) -> tuple[str, ...]:
    return tuple(part.lower() for part in parts)


def call(request: Json) -> Json:
    """Do what a procedure does: ``name``, ``arguments`` (value texts by name), ``commit_id``.

    Of the answer: ``job``, where Spark is to do something first, and to ask again with it and the
    ``results`` of it; else ``rows``, and ``table``, the table's name, where it may show something else
    now.
    """
    known, given = PROCEDURES[request["name"][-1].lower()], request["arguments"]
    for parameter in known.parameters:
        if parameter.required and given[parameter.name] is None:
            raise InvalidRequestError(
                f"{'.'.join(request['name'])}: the argument {parameter.name} is null; it is "
                f"{parameter.comment}"
            )
    name = () if given["table"] is None else _name(request, given["table"])
    asked = Call(request, open_catalog(request["catalog"]), name, given)
    job = known.job(asked) if "results" not in request else None
    if job is not None:
        return {"job": job}
    rows = [[_cell(value) for value in row] for row in known.run(asked)]
    return {"rows": rows, "table": [request["catalog"]["name"], *name] if known.writes else None}


def _cell(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)


def _name(request: Json, given: str) -> tuple[str, ...]:
    """A table's name in its catalog; a user may write the catalog's before it."""
    catalog, parts = open_catalog(request["catalog"]), parse_path(given)
    prefix = request["catalog"]["name"]
    return parts[1:] if parts[0] == prefix and not catalog.table_exists(parts) else parts


QUESTIONS = {"procedure": procedure, "list_procedures": list_procedures, "call": call}
