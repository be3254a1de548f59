"""What the jar's write asks: how to write segments, and to commit what was written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_versioned.native import is_written_alike
from pyspark_versioned.option_names import check_spelling
from pyspark_versioned.spark_types import can_declare
from pyspark_versioned.sql import staging
from pyspark_versioned.sql.arranging import arrangement
from pyspark_versioned.sql.parquet_schema import field_ids, write_schema
from pyspark_versioned.sql.predicates import to_unbound
from pyspark_versioned.sql.settling import landed
from pyspark_versioned.sql.snapshots import Opened, open_snapshot, open_table
from pyspark_versioned.sql.view_warnings import shown_name
from pyspark_versioned.sql.written import parse_records
from pyspark_versioned.streams import refuse_stream_by_name, refuse_stream_by_path
from versioned_catalog import CorruptTableError, InvalidRequestError, Table
from versioned_catalog.conflicts.isolation import Isolation, isolation_of
from versioned_catalog.conflicts.operations import Base
from versioned_catalog.datafile.file_schema import file_schema
from versioned_catalog.expressions.filters import AllOf
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.projection.metadata_columns import KEYED_METADATA_COLUMNS, METADATA_COLUMNS
from versioned_catalog.schema.schema import PartitionField, Schema
from versioned_catalog.schema.transforms import Bucket, Truncate, parse_transform
from versioned_catalog.schema.ttl import hides_rows
from versioned_catalog.types.arrow_values import array_of
from versioned_catalog.types.types import Char, Varchar, walk
from versioned_catalog.write.plan import WritePlan, plan_delta, plan_now

Json = dict[str, Any]


def plan_write(request: Json) -> Json:
    """How rows become segments.

    Of the request: ``table``, at the version that the write is planned on; ``creation`` for a table
    in the making; ``schema``, of the rows; ``filters`` of an overwrite; ``options``, their names;
    ``lengths_checked``, whether Spark looks after the lengths of CHAR and VARCHAR;
    ``distribution_mode``, the value of the write's option, or null.
    """
    _refuse_options(request["options"], request["table"]["name"])
    _condition(request.get("filters", ()), request["table"]["name"])
    made = request.get("creation")
    if made:
        spec, properties = staging.plan_rows(made).spec, made["properties"]
    else:
        _, state, plan = _plan(request)
        spec, properties = plan.spec, state.properties
    schema = spec.schema
    given = [field["name"] for field in request["schema"]["fields"]]
    if len(given) != len(schema.columns):
        _refuse_implicit(given, request["table"]["name"])
        raise InvalidRequestError(
            f"{request['table']['name']} has {len(schema.columns)} columns, and the rows have "
            f"{len(given)}"
        )
    footer = file_schema(schema, spec.table_uuid).metadata
    return {
        "native": _is_native(schema, lengths_checked=request["lengths_checked"]),
        "prefix": f"{max(spec.base_version, 0)}-",
        "schema": write_schema(schema.columns).jsonValue(),
        "ids": field_ids(schema.columns),
        "footer": {key.decode(): value.decode() for key, value in footer.items()},
        "target_bytes": spec.target_bytes,
        "partitioning": [_part(field, schema) for field in schema.partitioning],
        "arrangement": arrangement(schema, properties, request.get("distribution_mode")),
    }


def _refuse_options(options: Sequence[str], table: str) -> None:
    """Refuse what would be lost without a word: Spark fills columns that are left out, and makes a
    table without looking at options."""
    check_spelling(options, table)
    asked = {option.lower() for option in options}
    if not asked.isdisjoint({"primarykey", "timeindex"}):
        raise InvalidRequestError(
            f"{table}: a table of a catalog takes its row key from its properties; write "
            "tableProperty('primary_key', 'host, ts'), or CREATE TABLE with PRIMARY KEY, and leave out "
            "primaryKey and timeIndex",
            condition="NOT_SUPPORTED",
        )
    if "partialupdate" in asked:
        raise InvalidRequestError(
            f"{table}: which columns a write has can't be told from here, since Spark fills those that "
            "it lacks; use MERGE, or df.write.format('versioned').option('warehouse', ...)"
            ".option('partialUpdate', True).mode('append').save('ns.table')",
            condition="NOT_SUPPORTED",
        )


def _refuse_implicit(given: Sequence[str], table: str) -> None:
    """Spark hands the columns of a condition on to be written, metadata columns as well."""
    names = [column.name for column in (*METADATA_COLUMNS, *KEYED_METADATA_COLUMNS)]
    if not set(names).isdisjoint(given):
        raise InvalidRequestError(
            f"{table}: rows can't be chosen by metadata columns ({', '.join(names)}) where they change; "
            "choose them in a subquery: WHERE id IN (SELECT id FROM ... WHERE _row_position = 0)",
            condition="NOT_SUPPORTED",
        )


def _is_native(schema: Schema, *, lengths_checked: bool) -> bool:
    """Whether Spark can write the rows; lengths that it is not told of, or does not look at, Python
    looks after, as well as the order of rows that have a key."""
    bounded = any(isinstance(column.type, Char | Varchar) for column, _ in walk(schema.columns))
    told = all(can_declare(column.type) for column in schema.columns)
    told = told and (lengths_checked or not bounded)
    return told and is_written_alike(schema.columns) and not schema.row_key


def _plan(request: Json) -> tuple[Table, TableState, WritePlan]:
    opened = open_snapshot(request["table"])
    return opened.table, opened.state, plan_of(opened)


def plan_of(opened: Opened, mode: str = "append") -> WritePlan:
    """How rows are written that come with the changes of the schema of their statement."""
    make = plan_delta if mode == "delta" else plan_now
    plan = make(opened.table.store, opened.state, opened.table.name)
    return replace(plan, base=Base.of(opened.base), changes=opened.changes)


def _part(field: PartitionField, schema: Schema) -> Json:
    line = (*schema.ancestors(field.source), schema.column(field.source))
    siblings, ordinals = schema.columns, []
    for column in line:
        ordinals.append(next(i for i, c in enumerate(siblings) if c.id == column.id))
        siblings = getattr(column.type, "fields", ())
    match parse_transform(field.transform):
        case Bucket(size):
            return {"ordinals": ordinals, "transform": "bucket", "size": size}
        case Truncate(size):
            return {"ordinals": ordinals, "transform": "truncate", "size": size}
        case _:
            return {"ordinals": ordinals, "transform": field.transform}


def commit_write(request: Json) -> Json:
    """Commit segments that the jar wrote. See ``commit``."""
    table, state, plan = _plan(request)
    records = parse_records(request["segments"], state.schema, table.name)
    return commit(request, table, plan, records)


def commit(request: Json, table: Table, plan: WritePlan, records: Sequence[SegmentRecord]) -> Json:
    """Commit records.

    Args:
        request: ``mode``, ``commit_id``, ``filters`` of an overwrite; ``reads_all`` where the
            rows were made of the table's own; ``retry``, where an earlier answer was lost: then the
            commit may be there already.
        table, plan: what was planned, on the version of then.
        records: what was written.
    """
    commit_id, own_rows = request["commit_id"], request.get("reads_all", False)
    done = landed(request, table, request["table"]["version"])
    if done is not None:
        return {"version": done}
    transaction = table.transaction()
    replacing = {"own_rows": own_rows, "commit_id": commit_id}
    match request["mode"]:
        case "append" if own_rows and plan.spec.schema.is_keyed:
            made = {**request, "kind": "merge", "filters": ()}
            return {"version": _delta(made, table, plan, records)}
        case "append" if own_rows and _is_serializable(request):
            done = transaction.commit_rewrite(plan, records, (), kind="merge", commit_id=commit_id)
            return {"version": done}
        case "append":
            return {"version": transaction.commit_append(plan, records, commit_id=commit_id)}
        case "overwrite":
            return {"version": transaction.commit_overwrite(plan, records, **replacing)}
        case "overwrite_partitions":
            return {"version": transaction.commit_overwrite_partitions(plan, records, **replacing)}
        case "rewrite":
            return {"version": _rewrite(request, table, plan, records)}
        case "delta":
            return {"version": _delta(request, table, plan, records)}
        case "overwrite_where":
            filters = _condition(request["filters"], table.name)
            return {
                "version": transaction.commit_overwrite_where(plan, records, filters, **replacing)
            }
        case mode:
            raise InvalidRequestError(f"{table.name}: there is no way to write as {mode}")


def _is_serializable(request: Json) -> bool:
    """Whether rows that were made of the table's own conflict with what others committed to it."""
    properties = open_snapshot(request["table"]).base.properties
    return isolation_of(properties) is Isolation.SERIALIZABLE


def _rewrite(request: Json, table: Table, plan: WritePlan, records: Sequence[SegmentRecord]) -> int:
    """Commit what a DELETE, UPDATE or MERGE wrote in the place of the segments ``removed``.

    Raises:
        CorruptTableError: an UPDATE wrote more or fewer rows than it replaces.
    """
    if request["kind"] == "update":
        _check_rows(request, table, records)
    return table.transaction().commit_rewrite(
        plan,
        records,
        request["removed"],
        kind=request["kind"],
        reads=_known(request["filters"]),
        commit_id=request["commit_id"],
    )


def _delta(request: Json, table: Table, plan: WritePlan, records: Sequence[SegmentRecord]) -> int:
    """Commit what a DELETE, UPDATE or MERGE of a table with a primary key wrote under its keys."""
    return table.transaction().commit_delta(
        plan,
        records,
        kind=request["kind"],
        reads=_known(request["filters"]),
        commit_id=request["commit_id"],
    )


def _check_rows(request: Json, table: Table, records: Sequence[SegmentRecord]) -> None:
    base = open_snapshot(request["table"]).base
    core, hides = base.segments.core, hides_rows(base.properties)
    removed = pc.is_in(core["path"], array_of(request["removed"], pa.string()))
    read = pc.sum(core["rows"].filter(removed)).as_py() or 0
    written = sum(record.rows for record in records)
    if written > read or (written < read and not hides):
        raise CorruptTableError(
            f"{table.name}: an UPDATE of {read} rows wrote {written}; nothing was changed. A segment "
            "may be damaged, or Spark may have planned it wrongly: please tell us"
        )


def _known(predicates: Sequence[Json]) -> AllOf | None:
    """What the rows that change must fulfil, as far as it can be told; None where nothing can."""
    found = [to_unbound(predicate) for predicate in predicates]
    told = tuple(one for one in found if one is not None)
    return AllOf(told) if told else None


def can_delete(request: Json) -> Json:
    """Whether a DELETE takes whole segments only, and so reads none."""
    told = [to_unbound(predicate) for predicate in request["filters"]]
    if None in told:
        return {"whole": False}
    if open_snapshot(request["table"]).state.schema.is_keyed:
        return {"whole": _are_true(request["filters"])}
    return {
        "whole": _planned_on(request).transaction().can_delete_whole(_known(request["filters"]))
    }


def _are_true(predicates: Sequence[Json]) -> bool:
    return all(one["name"] == "ALWAYS_TRUE" for one in predicates)


def _planned_on(request: Json) -> Table:
    """The table as the statement saw it: filters name columns by what they were called then."""
    table, state = open_table(request["table"])
    return table.as_of(state.version)


def delete(request: Json) -> Json:
    """Delete by metadata what fulfils ``filters``; Python reads what was torn by then."""
    table = _planned_on(request)
    done = landed(request, table, request["table"]["version"])
    if done is not None:
        return {"version": done}
    if _are_true(request["filters"]):
        return {"version": table.transaction().delete_whole(None, commit_id=request["commit_id"])}
    return {"version": table.delete(_known(request["filters"]), commit_id=request["commit_id"])}


def _condition(predicates: Sequence[Json], table: str) -> AllOf:
    found = [to_unbound(predicate) for predicate in predicates]
    if None in found:
        raise InvalidRequestError(
            f"{table}: the condition of the overwrite can't be decided from metadata; compare "
            "columns with constants, as in overwrite(col('day') == '2026-01-01')",
            condition="NOT_SUPPORTED",
        )
    return AllOf(tuple(one for one in found if one is not None))


def check_options(request: Json) -> Json:
    """Refuse misspelled ``options`` of a read, or of a write that is not planned yet."""
    check_spelling(request["options"], request["name"])
    return {}


def write_stream(request: Json) -> NoReturn:
    """Refuse a stream to the table ``name`` of a catalog, or to the table at ``path``."""
    if "path" in request:
        refuse_stream_by_path(request["path"])
    refuse_stream_by_name(shown_name(request, tuple(request["name"])))


def truncate(request: Json) -> Json:
    """Remove all rows."""
    table, _, plan = _plan(request)
    return commit({**request, "mode": "overwrite"}, table, plan, ())


QUESTIONS = {
    "check_options": check_options,
    "plan_write": plan_write,
    "commit_write": commit_write,
    "truncate": truncate,
    "can_delete": can_delete,
    "delete": delete,
    "write_stream": write_stream,
}
