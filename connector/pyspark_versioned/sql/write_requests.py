"""Requests that commit writes and deletes, and create tables together with their rows.

Different processes may serve the two requests of a table that is created, so everything that the first
decides travels in a ``Creation``.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import WriterCommitMessage

from pyspark_versioned.hadoop import hadoop_folder
from pyspark_versioned.options import parse_batch
from pyspark_versioned.sql.declarations import parse_declaration
from pyspark_versioned.sql.number_requests import return_taken, taken_of
from pyspark_versioned.sql.predicates import all_of, comparable, translated
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.protocol.base import Commit, Refused
from pyspark_versioned.sql.session_facts import authored
from pyspark_versioned.sql.snapshots import (
    Opened,
    full_name,
    landed,
    open_catalog,
    open_snapshot,
    open_table,
    storage_of,
)
from pyspark_versioned.sql.table_description import describe_schema
from pyspark_versioned.sql.write_plans import (
    declared_of,
    describe_plan,
    keeping_row_ids,
    of_stored_rows,
    overwrite_condition,
    placement_of,
    plan_creation,
    plan_of,
    plan_write,
    with_numbers_of_their_own,
)
from pyspark_versioned.sql.written_segments import parse_records
from pyspark_versioned.worker_errors import shows_errors
from pyspark_versioned.writer import PlannedWriter, records_of
from versioned_catalog import CorruptTableError, InvalidRequestError, Table
from versioned_catalog.commit.operations import Effect
from versioned_catalog.commit.row_rules import Isolation, isolation_of
from versioned_catalog.log.bitmaps import Positions, bitmap_in, positions_of
from versioned_catalog.log.entry import Batch
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.model.keys import hides_rows
from versioned_catalog.names.folders import Mode, Placement
from versioned_catalog.write.plan import WritePlan


def commit_write(request: messages.CommitWrite, commit: Commit) -> messages.Committed:
    """Commit segments that the jar or Python wrote, and marks of rows."""
    opened = open_snapshot(request.write.table)
    records = parse_records(
        request.segments, opened.state.schema, opened.table.name, opened.base.version
    )
    records += records_of([pickle.loads(message) for message in request.by_python])
    marks, whole = _marks_of(request.marks, opened)
    write = replace(request.write, removed=(*request.write.removed, *whole))
    return committed(
        opened.table,
        lambda: commit_records(write, opened.table, plan_of(opened), records, commit, marks),
    )


def committed(table: Table, commit: Callable[[], int]) -> messages.Committed:
    """The response to a commit of a table, which returns its version."""
    log = table.handle.log
    before = log.lost_races
    version = commit()
    return messages.Committed(version, log.lost_races - before)


def _marks_of(
    marked: Sequence[messages.MarkedRows], opened: Opened
) -> tuple[dict[str, Positions], list[str]]:
    """The positions of marked rows, by the paths of their segments.

    Returns:
        Them, and the segments of which every row is marked. Positions take 64 times the memory of
        such a bitmap, and an UPDATE may change all rows of a large table.

    Raises:
        CorruptTableError: a segment is unknown, or does not have such a row.
    """
    core = opened.base.segments.core
    wanted = pa.array([rows.path for rows in marked], pa.string())
    at = pc.index_in(wanted, core["path"].combine_chunks())
    if at.null_count:
        path = wanted.filter(at.is_null())[0]
        raise CorruptTableError(
            f"{opened.table.name}: {path} is marked, and not one of its segments"
        )
    marks, whole = dict[str, Positions](), list[str]()
    for rows, count in zip(marked, core["rows"].take(at).to_pylist(), strict=True):
        bitmap = bitmap_in(rows.positions, count)
        if len(bitmap) == count:
            whole.append(rows.path)
        else:
            marks[rows.path] = positions_of(bitmap)
    return marks, whole


def truncate(request: messages.Truncate, commit: Commit) -> messages.Committed:
    """Remove all rows."""
    opened = open_snapshot(request.table)
    write = messages.Write(
        request.table,
        "overwrite",
        "delete",
        (),
        own_rows=False,
        removed=(),
        batch=None,
        change_column=None,
        checked=False,
        taken=(),
        effect=None,
    )
    return committed(
        opened.table, lambda: commit_records(write, opened.table, plan_of(opened), (), commit)
    )


def commit_records(
    write: messages.Write,
    table: Table,
    plan: WritePlan,
    records: Sequence[SegmentRecord],
    commit: Commit,
    marks: Mapping[str, Positions] = MappingProxyType({}),
) -> int:
    """Commit a write with its plan, made on the version of ``write``.

    Args:
        marks: the rows that it marks as deleted, by the paths of their segments.

    Returns:
        The version of the commit.
    """
    done = landed(commit, table, write.table.version)
    if done is not None:
        return done
    if write.checked and write.table.seen is None:  # else Spark did not know the constraints
        plan = replace(plan, base=replace(plan.based_on, checked=True))
    if write.taken:
        taken = tuple(map(taken_of, write.taken))
        plan = replace(plan, base=replace(plan.based_on, taken=taken))
    batch, ran = _batch_of(write, table.name), False

    def run() -> int:
        nonlocal ran
        ran = True
        return _commit(write, table, plan, records, marks, commit.id, batch)

    if _adds_nothing(write, records):
        version = table.state.version
    else:
        version = table.transaction().once(batch, run)
    if not ran:
        return_taken(write.table, write.taken)
    return version


def _commit(
    write: messages.Write,
    table: Table,
    plan: WritePlan,
    records: Sequence[SegmentRecord],
    marks: Mapping[str, Positions],
    commit_id: str,
    batch: Batch | None,
) -> int:
    own_rows, transaction = write.own_rows, table.transaction()
    reads = all_of(comparable(write.filters, table.schema))
    match write.mode:
        case "append" if own_rows and plan.spec.schema.is_keyed:
            return transaction.commit_delta(
                plan, records, kind="merge", reads=None, commit_id=commit_id
            )
        case "append" if own_rows and _is_serializable(write):
            return transaction.commit_rewrite(plan, records, (), kind="merge", commit_id=commit_id)
        case "append":
            return transaction.commit_append(plan, records, commit_id=commit_id, batch=batch)
        case "overwrite":
            return transaction.commit_overwrite(
                plan, records, own_rows=own_rows, commit_id=commit_id, batch=batch
            )
        case "overwrite_partitions":
            return transaction.commit_overwrite_partitions(
                plan, records, own_rows=own_rows, commit_id=commit_id, batch=batch
            )
        case "overwrite_where":
            filters = overwrite_condition(write.filters, table.name)
            return transaction.commit_overwrite_where(
                plan, records, filters, own_rows=own_rows, commit_id=commit_id
            )
        case "rewrite":
            if write.operation == "update":
                _check_rows(write, table, records, marks)
            return transaction.commit_rewrite(
                plan,
                records,
                write.removed,
                kind=write.operation,
                reads=reads,
                marks=marks,
                effect=_effect_of(write),
                commit_id=commit_id,
            )
        case "delta":
            return transaction.commit_delta(
                plan,
                records,
                kind=write.operation,
                reads=reads,
                effect=_effect_of(write),
                commit_id=commit_id,
            )
        case mode:
            raise InvalidRequestError(f"{table.name}: {mode} is not a mode of a write")


def _effect_of(write: messages.Write) -> Effect | None:
    return None if write.effect is None else Effect(**vars(write.effect))


def _adds_nothing(write: messages.Write, records: Sequence[SegmentRecord]) -> bool:
    """Whether a write is an epoch of a stream that adds no rows, which needs no commit."""
    return write.batch is not None and write.batch.epoch and write.mode == "append" and not records


def _batch_of(write: messages.Write, table: str) -> Batch | None:
    """The batch of a write.

    Raises:
        InvalidRequestError: it is malformed, or the write can't be one of a batch.
    """
    batch = write.batch
    if batch is None:
        return None
    if write.own_rows or write.mode not in ("append", "overwrite", "overwrite_partitions"):
        raise InvalidRequestError(
            f"{table}: application and batch work for append, and for overwrite of a whole table or "
            "of partitions, with rows that do not come from the table itself; leave them out",
            condition="NOT_SUPPORTED",
        )
    return parse_batch(batch.application, batch.number, table)


def _is_serializable(write: messages.Write) -> bool:
    """Whether a write that reads the table conflicts with concurrent commits to it."""
    properties = open_snapshot(write.table).base.properties
    return isolation_of(properties) is Isolation.SERIALIZABLE


def _check_rows(
    write: messages.Write,
    table: Table,
    records: Sequence[SegmentRecord],
    marks: Mapping[str, Positions],
) -> None:
    """Check that an UPDATE wrote as many rows as it replaces.

    Raises:
        CorruptTableError: it wrote more or fewer.
    """
    base = open_snapshot(write.table).base
    hides = hides_rows(base.properties)
    read = base.segments.only(write.removed).shown_rows + sum(map(len, marks.values()))
    written = sum(record.rows for record in records)
    if written > read or (written < read and not hides):
        raise CorruptTableError(
            f"{table.name}: an UPDATE of {read} rows wrote {written}; nothing was changed. A segment "
            "may be damaged, or Spark may have planned it wrongly: please report it"
        )


def can_delete(request: messages.CanDelete) -> messages.Whole:
    """Whether a DELETE of a table without a primary key removes whole segments only."""
    table = _planned_on(request.table)
    filters = comparable(request.filters, table.schema)
    if len(filters) < len(request.filters):
        return messages.Whole(False)
    return messages.Whole(table.transaction().can_delete_whole(all_of(filters)))


def _planned_on(ref: messages.TableRef) -> Table:
    """The table at the version of a statement, whose filters name columns as of then."""
    table, state = open_table(ref)
    return table.as_of(state.version)


def delete(request: messages.Delete, commit: Commit) -> messages.Committed:
    """Delete whole segments; rewrite those that match only partially by now."""
    table = _planned_on(request.table)
    done = landed(commit, table, request.table.version)
    if done is not None:
        return messages.Committed(done, retries=0)
    if all(
        isinstance(t, messages.PredicateTerm) and t.name == "ALWAYS_TRUE" for t in request.filters
    ):
        return committed(table, lambda: table.transaction().delete_whole(None, commit_id=commit.id))
    where = all_of(translated(request.filters))
    return committed(table, lambda: table.delete(where, commit_id=commit.id))


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
    mode = cast(Mode, request.mode)
    planned = catalog.plan_creation(declared.name, mode, location=declared.location)
    placement = _sent(planned)
    creation = messages.Creation(request.catalog, request.declaration, placement, True, None)
    plan = plan_creation(creation)
    location, storage = plan.location.url, storage_of(request.catalog, plan.location)
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
        branch=None,
    )
    schema = plan.spec.schema
    described = replace(
        describe_schema(table, schema, dict(declared.properties), declared.comment),
        external=catalog.is_external(declared.name) or declared.location is not None,
    )
    plan_of_rows = describe_plan(plan, declared.properties)
    return messages.Staged(described, placement, plan_of_rows, declared.notes)


def commit_stage(request: messages.CommitStage, commit: Commit) -> messages.Committed:
    """Create a table with the segments that the jar wrote for it."""
    creation = request.creation
    schema = plan_creation(creation).spec.schema
    table = full_name(creation.catalog, creation.declaration.name)
    records = parse_records(request.segments, schema, table, base_version=0)
    return messages.Committed(_create_staged(creation, records, commit.id), retries=0)


def _create_staged(
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


@shows_errors
class JarWriter(PlannedWriter):
    """Writes rows and commits them as the jar asks, or creates a table with them."""

    def __init__(self, plan: WritePlan, request: messages.PythonCommit) -> None:
        super().__init__(plan)
        self._request = request

    @staticmethod
    def of(request: messages.PythonCommit) -> JarWriter:
        """The writer for a commit of the jar."""
        if request.creation is not None:
            return JarWriter(plan_creation(request.creation), request)
        if request.write is not None:
            write = request.write
            opened = open_snapshot(write.table)
            plan = plan_of(opened, write.mode, write.change_column)
            if write.mode == "rewrite":
                plan = keeping_row_ids(plan) if opened.state.has_row_ids else plan
                adds_rows = write.operation == "merge"
                plan = (
                    with_numbers_of_their_own(plan) if adds_rows else replace(plan, identities=())
                )
            return JarWriter(of_stored_rows(plan) if request.stored else plan, request)
        raise InvalidRequestError("the option commit names neither a write nor a table to create")

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Commit the segments of all tasks."""
        records, request = records_of(messages), self._request
        with authored(request.by):
            if request.creation is not None:
                _create_staged(request.creation, records, request.commit_id)
            elif request.write is not None:
                table, _ = open_table(request.write.table)
                commit = Commit(request.commit_id, retry=False, by=request.by)
                commit_records(request.write, table, self._plan, records, commit)


HANDLERS = (plan_write, commit_write, truncate, can_delete, delete, stage, commit_stage)
