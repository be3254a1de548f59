"""The entry that merges a branch into its table (FORMAT.md, section 17)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from versioned_catalog.commit.attempt import Attempt, once
from versioned_catalog.commit.mark_rules import Marking
from versioned_catalog.commit.operations import MergeBranch
from versioned_catalog.commit.row_rules import ISOLATION, Isolation, isolation_of
from versioned_catalog.commit.segment_entries import paths_not_in, records_of
from versioned_catalog.commit.table_entries import features_of, next_head
from versioned_catalog.errors import CommitConflictError, CorruptTableError, InvalidRequestError
from versioned_catalog.log.bitmaps import Positions, merged
from versioned_catalog.log.branch_store import branch_log
from versioned_catalog.log.branches import Branch
from versioned_catalog.log.commit_log import TableLog
from versioned_catalog.log.entry import Commit, Stub
from versioned_catalog.log.marks import Mark, mark_of, marked_rows
from versioned_catalog.log.record import RowIds, SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.model.identifiers import unfit_identifiers
from versioned_catalog.model.logical_columns import without_dropped_logical
from versioned_catalog.model.pin_changes import check_pins, rolled_back
from versioned_catalog.model.schema import Schema, name_key
from versioned_catalog.model.three_way import (
    Sides,
    tightened,
    united,
    united_comment,
    united_properties,
)

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class _Histories:
    """What a merge compares: the branch where it was merged last, and both sides now."""

    branch: Branch
    log: TableLog
    base: TableState
    theirs: TableState


@once
def _histories(attempt: Attempt[MergeBranch]) -> _Histories:
    operation = attempt.operation
    branch = attempt.state.branches[operation.name]
    log = branch_log(attempt.log.store, branch)
    base, theirs = log.load(branch.merge_base).state, log.load(operation.version).state
    if base is None or theirs is None:
        raise CorruptTableError(f"{attempt.table}: the log of the branch is missing")
    return _Histories(branch, log, base, theirs)


def is_merged(attempt: Attempt[MergeBranch]) -> bool:
    """Whether the branch has changed nothing that the table lacks.

    Another merge may have taken a later version of the branch since this one was planned.
    """
    branch = attempt.state.branches[attempt.operation.name]
    if attempt.operation.version <= branch.merge_base:
        return True
    histories = _histories(attempt)
    return _are_alike(histories.base, histories.theirs)


def can_move_forward(attempt: Attempt[MergeBranch]) -> None:
    """Refuse to fast-forward a table that has changed since the branch began, or was merged last.

    A branch that has changed nothing can always be moved to.

    Raises:
        CommitConflictError: naming the branch.
    """
    operation, base = attempt.operation, _histories(attempt).base
    _check_not_rolled_back(attempt)
    if operation.forward and not is_merged(attempt) and not _are_alike(base, attempt.state):
        raise CommitConflictError(
            f"{attempt.table} has changed since the branch {operation.name!r} began, so it can't be "
            "moved forward to it; merge the branch instead (merge_branch), which keeps what both changed"
        )


def _check_not_rolled_back(attempt: Attempt[MergeBranch]) -> None:
    """Refuse to go on from a merge that a rollback of the table has taken back."""
    merged = attempt.state.branches[attempt.operation.name].merged
    if merged is None:
        return
    for entry in attempt.since(merged[1]):
        if (
            isinstance(entry, Commit)
            and entry.head.operation == "rollback"
            and entry.details.get("to", -1) < merged[1]
        ):
            raise _conflict(
                attempt,
                f"version {entry.head.version} has rolled back what was merged of it by version "
                f"{merged[1]}",
            )


def _are_alike(one: TableState, other: TableState) -> bool:
    """Whether two states have the same columns, rows and properties."""
    return (
        one.schema.same_but_version(other.schema)
        and dict(one.properties) == dict(other.properties)
        and one.comment == other.comment
        and not paths_not_in(one, other)
        and not paths_not_in(other, one)
        and one.segments.marks == other.segments.marks
        and _last_batches(one) == _last_batches(other)
    )


def _last_batches(state: TableState) -> dict[str, int]:
    return {name: last.id for name, last in state.applications.items()}


@once
def merge_entry(attempt: Attempt[MergeBranch]) -> Commit:
    """The entry that takes over what a branch has changed: one commit, whatever the branch did.

    Raises:
        CommitConflictError: both sides have changed the same column, property or segment.
    """
    state, histories, operation = attempt.state, _histories(attempt), attempt.operation
    base, theirs = histories.base, histories.theirs
    records = records_of(theirs, paths_not_in(theirs, base), histories.log)
    removed = paths_not_in(base, theirs)
    _check_rows(attempt, removed)
    marking = _united_marks(attempt, removed)
    schema = _united_schema(attempt, bool(records))
    schemas, numbers = _new_schemas(state, theirs, schema, [record for record, _ in records])
    added = tuple(
        replace(
            record,
            schema_version=numbers[record.schema_version],
            row_ids=_merged_row_ids(record.row_ids, histories.branch),
        )
        for record, _ in records
    )
    after = schemas[-1] if schemas and schemas[-1].same_but_version(schema) else None
    between = schemas[:-1] if after else schemas
    properties, comment = _united_texts(attempt)
    _check_identifiers(attempt, properties, schema)
    properties = without_dropped_logical(properties, schema)
    head = next_head(attempt, _kind(added, removed, marking))
    features = features_of(after or schema, added, marking.marks) | theirs.features
    branch = replace(histories.branch, merged=(theirs.version, state.version + 1))
    if operation.keep is not None:
        branch = replace(branch, keep=operation.keep)
    return Commit(
        replace(head, features=head.features | features),
        state.next_column_id,
        schema=after,
        schemas=tuple(between),
        properties=None if properties == dict(state.properties) else properties,
        comment=comment if comment != state.comment else None,
        sets_comment=comment != state.comment,
        added=added,
        removed=(*removed, *marking.whole),
        marked=marking.marks,
        batches=_batches(attempt),
        branches={**state.branches, operation.name: branch},
        details={"merged": operation.name, "branch_version": theirs.version},
    )


def _merged_row_ids(ids: RowIds, branch: Branch) -> RowIds:
    """The IDs of the rows of a segment of a branch: versions of the branch mean nothing to the table."""
    stored = None if ids.stored is None else min(ids.stored, branch.base)
    return RowIds(ids.first, stored=stored)


def _check_identifiers(
    attempt: Attempt[MergeBranch], properties: Mapping[str, str], schema: Schema
) -> None:
    """Refuse identifier fields of one side that the other side has dropped, or made unfit."""
    for column_id, reason in unfit_identifiers(properties, schema):
        sides = (attempt.state.schema, _histories(attempt).theirs.schema)
        name = next((s.path_text(column_id) for s in sides if column_id in s.ids), f"#{column_id}")
        raise CommitConflictError(
            f"{attempt.table}: the branch {attempt.operation.name!r} can't be merged: {name} is an "
            f"identifier field of one side, and {reason} on the other; drop it from these "
            f"(ALTER TABLE ... DROP IDENTIFIER FIELDS {name}), and merge again"
        )


def _united_texts(attempt: Attempt[MergeBranch]) -> tuple[dict[str, str], str | None]:
    """The properties and the comment with what both sides have changed."""
    state, histories = attempt.state, _histories(attempt)
    base, theirs = histories.base, histories.theirs

    def unite(sides: Sides) -> tuple[dict[str, str], str | None]:
        return (
            united_properties(
                base.properties, state.properties, theirs.properties, sides, base.schema
            ),
            united_comment(base.comment, state.comment, theirs.comment, sides),
        )

    return _naming(attempt, unite)


def _kind(added: Collection[SegmentRecord], removed: Collection[str], marking: Marking) -> str:
    """The operation whose rules hold for a merge, for those who commit later, and for streams."""
    if removed or marking.whole or marking.marks:
        return "merge"
    return "append" if added else "alter"


def _batches(attempt: Attempt[MergeBranch]) -> dict[str, int]:
    """The last batches of the applications that wrote to the branch.

    Raises:
        CommitConflictError: one of them wrote to the table, too, so that its rows may be there twice.
    """
    histories = _histories(attempt)
    before, now = _last_batches(histories.base), _last_batches(attempt.state)
    written = {
        name: batch
        for name, batch in _last_batches(histories.theirs).items()
        if before.get(name) != batch
    }
    both = sorted(name for name in written if now.get(name) != before.get(name))
    if both:
        raise _conflict(
            attempt, f"the application {both[0]!r} has written batches to it and to the table"
        )
    return written


def _naming(attempt: Attempt[MergeBranch], unite: Callable[[Sides], T]) -> T:
    """Unite something of both sides; conflicts name the table and the branch."""
    name = attempt.operation.name
    try:
        return unite(Sides("the table", f"the branch {name!r}"))
    except CommitConflictError as error:
        raise CommitConflictError(
            f"{attempt.table}: the branch {name!r} can't be merged: {error}; change one side so that "
            "both agree, and merge again"
        ) from None


def _conflict(attempt: Attempt[MergeBranch], reason: str) -> CommitConflictError:
    return CommitConflictError(
        f"{attempt.table}: the branch {attempt.operation.name!r} can't be merged: {reason}; begin a new "
        "branch at the newest version, and do it again there"
    )


def _check_rows(attempt: Attempt[MergeBranch], removed: list[str]) -> None:
    """Refuse to merge changes of rows that the table has changed, too."""
    state, histories = attempt.state, _histories(attempt)
    base, is_keyed = histories.base, histories.base.schema.is_keyed
    gone = sorted(set(removed) - set(state.segments.paths)) if removed else []
    if gone:
        raise _conflict(
            attempt, f"{gone[0]}, whose rows it changes, was replaced or removed on the table"
        )
    if not is_keyed:
        ours, before = state.segments.marks, base.segments.marks
        for path in removed:
            if ours.get(path) != before.get(path):
                raise _conflict(attempt, f"rows of {path} were changed on both sides")
    is_strict = is_keyed or isolation_of(state.properties) is Isolation.SERIALIZABLE
    if is_strict and _reads_rows(histories) and _has_other_rows(base, state):
        why = (
            "the keys of which it may have read"
            if is_keyed
            else f"which the property {ISOLATION} = serializable excludes"
        )
        raise _conflict(
            attempt, f"it changes rows, and rows of the table were changed meanwhile, {why}"
        )


def _is_marked(base: TableState, theirs: TableState) -> bool:
    return not base.schema.is_keyed and base.segments.marks != theirs.segments.marks


def _reads_rows(histories: _Histories) -> bool:
    """Whether a commit of the branch read rows, instead of only adding newer ones."""
    heads = histories.log.heads(histories.base.version + 1, histories.theirs.version)
    return any(
        not isinstance(head, Stub) and head.operation not in ("append", "alter", "fence")
        for head in heads
    )


def _has_new_rows(base: TableState, state: TableState) -> bool:
    """Whether the table shows rows that it did not show before."""
    if paths_not_in(state, base):
        return True
    live = state.segments.marks
    return any(
        path not in live or live[path].rows < mark.rows
        for path, mark in base.segments.marks.items()
    )


def _has_other_rows(base: TableState, state: TableState) -> bool:
    """Whether rows of the table were added, removed, marked or compacted."""
    marks = base.schema.is_keyed or base.segments.marks == state.segments.marks
    return not marks or bool(paths_not_in(state, base) or paths_not_in(base, state))


def _united_marks(attempt: Attempt[MergeBranch], removed: Iterable[str]) -> Marking:
    """The marks of segments of which the branch marked rows, with those of the table."""
    histories, state = _histories(attempt), attempt.state
    base, theirs = histories.base, histories.theirs
    if not _is_marked(base, theirs):
        return Marking()
    gone, whole, marks = set(removed), list[str](), dict[str, Mark | None]()
    before, ours = base.segments.marks, state.segments.marks
    for path, mark in theirs.segments.marks.items():
        if path in gone or mark == before.get(path):
            continue
        rows = theirs.segments.rows_of(path)
        if rows is None or base.segments.rows_of(path) is None:
            marks[path] = mark  # of a segment that the branch added
            continue
        if state.segments.rows_of(path) is None:
            raise _conflict(attempt, f"{path}, of which it changes rows, was replaced on the table")
        if ours.get(path) == before.get(path):
            marks[path] = mark
            continue
        store = attempt.log.store
        positions = _both_marked(
            marked_rows(store, before.get(path), path, rows),
            marked_rows(store, ours.get(path), path, rows),
            marked_rows(store, mark, path, rows),
        )
        if positions is None:
            raise _conflict(attempt, f"the same rows of {path} were changed on both sides")
        if len(positions) == rows:
            whole.append(path)
        else:
            marks[path] = mark_of(store, state.version, path, positions)
    return Marking(tuple(whole), marks)


def _both_marked(base: Positions, ours: Positions, theirs: Positions) -> Positions | None:
    """The rows that either side marked; None if both have marked the same row."""
    new = np.setdiff1d(theirs, base, assume_unique=True)
    if np.intersect1d(new, ours, assume_unique=True).size:
        return None
    return merged(ours, new)


def _united_schema(attempt: Attempt[MergeBranch], adds_rows: bool) -> Schema:
    """The schema with what both sides have changed; its version is the next one if it is new."""
    state, histories = attempt.state, _histories(attempt)
    base, theirs = histories.base, histories.theirs
    schema = _naming(
        attempt,
        lambda sides: united(
            base.schema, state.schema, theirs.schema, sides, state.schemas.newest.version + 1
        ),
    )
    _check_nulls(attempt, adds_rows)
    before = state.evolution
    schema = rolled_back(
        schema, state.schema, before.pins
    )  # what a pin needs is hidden, not dropped
    if schema.same_but_version(state.schema):
        return state.schema
    _check_physical_names(attempt, schema)
    check_pins(before, replace(before, schema=schema))
    return schema


def _check_nulls(attempt: Attempt[MergeBranch], adds_rows: bool) -> None:
    """Refuse NOT NULL of one side for rows that the other side has added meanwhile."""
    state, histories = attempt.state, _histories(attempt)
    base, theirs = histories.base, histories.theirs
    columns = tightened(base.schema, theirs.schema) if _has_new_rows(base, state) else []
    columns += tightened(base.schema, state.schema) if adds_rows else []
    if columns:
        raise _conflict(
            attempt,
            f"one side has made the column {columns[0]} NOT NULL or narrowed it, and the other has "
            "added rows that may not fit",
        )


def _check_physical_names(attempt: Attempt[MergeBranch], schema: Schema) -> None:
    """Refuse a new column whose name in files is that of another column of the table.

    That takes a column whose name ends in the ID of another one.
    """
    state = attempt.state
    used, known = state.schemas.used_names(state.first_schema_version), state.schema.ids
    for column_id in sorted(schema.ids - known):
        column, above = schema.column(column_id), schema.ancestors(column_id)
        parent = above[-1].id if above else None
        if name_key(column.physical_name) in used.get(parent, frozenset()):
            raise InvalidRequestError(
                f"{attempt.table}: the column {schema.path_text(column_id)} of the branch has a name in "
                "files that a column of the table has, too; add it under another name"
            )


def _new_schemas(
    state: TableState, theirs: TableState, schema: Schema, records: Iterable[SegmentRecord]
) -> tuple[list[Schema], Mapping[int, int]]:
    """The schemas that the table does not have yet, the new current one last.

    Returns:
        The schemas, and the versions in the table by the versions in the branch.
    """
    new: list[Schema] = []
    numbers: dict[int, int] = {}
    written = sorted({record.schema_version for record in records})
    for version in written:
        wanted = theirs.schemas[version]
        if version in state.schemas and state.schemas[version].same_but_version(wanted):
            numbers[version] = version
        elif not wanted.same_but_version(schema):
            numbers[version] = _numbered(wanted, state, new)
    current = state.schema_version
    if not schema.same_but_version(state.schema):
        new.append(schema.numbered(state.schemas.newest.version + 1 + len(new)))
        current = new[-1].version
    for version in written:
        numbers.setdefault(version, current)
    return new, numbers


def _numbered(wanted: Schema, state: TableState, new: list[Schema]) -> int:
    """The version of a schema in the table; it is added to the new ones if the table lacks it."""
    for schema in (*reversed(state.own_schemas), *new):
        if schema.same_but_version(wanted):
            return schema.version
    new.append(wanted.numbered(state.schemas.newest.version + 1 + len(new)))
    return new[-1].version
