"""The outcomes of each cell of the conflict matrix, written by hand from FORMAT.md, section 11."""

# ruff: noqa: E731, a table of lambdas reads better than one of functions

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from commit.cells import Case, Refusal
from commit.planned import UNKNOWN, Planned, Step
from versioned_catalog import CommitConflictError, InvalidRequestError, NotFoundError
from versioned_catalog.commit.operations import Append, Drop, Rewrite
from versioned_catalog.commit.segment_rules import ImportedMeanwhileError
from versioned_catalog.log.entry import Batch, LastBatch
from versioned_catalog.log.features import DELETE_ROW
from versioned_catalog.log.record import Delta
from versioned_catalog.model.changes import (
    AddColumn,
    ChangeType,
    DropColumn,
    DropNotNull,
    PinSchema,
    RenameColumn,
    RetirePin,
    SetNotNull,
    SetProperty,
)
from versioned_catalog.model.pins import Pin, PinnedSchema
from versioned_catalog.model.types import Atom

# The errors.

NULLS = (CommitConflictError, r"the column v was made NOT NULL")
TYPE = (CommitConflictError, "v was rolled back from BIGINT to INT")
NARROWED = (CommitConflictError, "v was narrowed from BIGINT to INT")
GONE = (CommitConflictError, "removed by another commit since version")
FENCED = (CommitConflictError, "outlived the retention of a vacuum")
SCHEMA = (CommitConflictError, "^t: the schema changed")
NEW_SCHEMA = (CommitConflictError, "^the schema of t changed")
REPLACED = (CommitConflictError, "t was replaced since version")
DROPPED = (CommitConflictError, "t was dropped since version")
READ = (CommitConflictError, "may have added or removed rows")
KEYS = (CommitConflictError, r"of the same row key \(k\)")
UNSEEN = (CommitConflictError, "would be taken back with the rest")
EXPIRED = (NotFoundError, "version 1 is expired")
RESTORED = (CommitConflictError, "was rolled back since version")
RESTORED_COLUMN = (CommitConflictError, "rollback restored the column v")
HAS_NULLS = (InvalidRequestError, "v can't be NOT NULL, since")
NOT_LEGAL = (CommitConflictError, "a concurrent commit changed the table")
ALTERED = (CommitConflictError, "since then schema 0 became schema 1; nothing was changed")
OTHER_PROPERTIES = (CommitConflictError, "since then its properties were changed")
TAGGED = (CommitConflictError, "was tagged as 'old' while it was to be expired")
TAKEN = (ImportedMeanwhileError, "has imported some of these files; run the import again")
FOLLOWED = (ImportedMeanwhileError, "has imported some of these files; run it again")
MARKED = (CommitConflictError, "were deleted or replaced by another commit since version")
REMARKED = (CommitConflictError, "deleted or restored rows of a segment that this write replaces")
READ_BEFORE = (CommitConflictError, "added or removed rows since")
CLONED = (InvalidRequestError, "t can't be dropped, since shallow clones read its files")
PINNED = (InvalidRequestError, "t can't be replaced or dropped, since the schema pin 'job'")

# The tables.

SERIALIZABLE = {"properties": {"isolation": "serializable"}}
KEYED = {"ddl": "k INT NOT NULL, v INT", "primary_key": ["k"]}
COPIES = {"properties": {"row_changes": "copy"}}
PROTECTED = {"properties": {"pins": "refuse"}}
STRICT = {"ddl": "k INT, v INT NOT NULL"}

# What others commit.

append: Step = lambda t: t.append()
empty_append: Step = lambda t: Append(t.base, ())
compact_both: Step = lambda t: t.compact(t.a, t.b)
compact_in_order: Step = lambda t: t.compact(t.a, t.b, moved=True)
undo_b: Step = lambda t: t.rollback(1)
back_to_2: Step = lambda t: t.rollback(2)
fence_2: Step = lambda t: t.fence(2)
fence_3: Step = lambda t: t.fence(3)
tag: Step = lambda t: t.tag("old", 0)
FOR_CLONE = "__clone/00000000-0000-0000-0000-000000000000/1790000000/n/c"
keep_for_clone: Step = lambda t: t.tag(FOR_CLONE, 0)
let_go_of_clone: Step = lambda t: t.tag(FOR_CLONE, None)
expire_1: Step = lambda t: t.expire(1)
drop: Step = lambda t: Drop(t.base)
replace_table: Step = lambda t: t.replace()
rename: Step = lambda t: t.alter(RenameColumn(("v",), "u"))
not_null: Step = lambda t: t.alter(SetNotNull(("v",)))
nullable: Step = lambda t: t.alter(DropNotNull(("v",)))
widen: Step = lambda t: t.alter(ChangeType(("v",), Atom.LONG))
narrow: Step = lambda t: t.alter(ChangeType(("v",), Atom.INT, narrows=True))
drop_v: Step = lambda t: t.alter(DropColumn(("v",)))
add_w: Step = lambda t: t.alter(AddColumn(("w",), Atom.INT))
set_property: Step = lambda t: t.alter(SetProperty("p", "1"))

resolve_a: Step = lambda t: t.resolve(a=(1, 2))
resolve_both: Step = lambda t: t.resolve(a=(1, 2), b=())
mark_a: Step = lambda t: t.mark("delete", t.a, 3, 4)
mark_b: Step = lambda t: t.mark("update", t.b, 0, low=31)

KINDS = ("overwrite", "delete", "update", "merge")


def rewrites(*segments: str, **how: Any) -> list[Step]:
    """Rewrites of each kind that remove the named segments."""
    return [
        lambda t, kind=kind: t.rewrite(kind, *(getattr(t, one) for one in segments), **how)
        for kind in KINDS
    ]


overwrite_all: Step = lambda t: t.overwrite()
REWRITE, DO_REWRITE = "overwrite, delete, update, merge", [overwrite_all, *rewrites("a")]
DO_MARK = [mark_a, mark_b]
no_marks: Callable[[Planned], bool] = lambda t: not t.state.segments.has_marks
ENDS = {REPLACED: replace_table, DROPPED: drop}
HARMLESS: dict[str, list[Step]] = {
    "append": [append],
    "alter": [rename, set_property],
    REWRITE: DO_REWRITE,
    "compact": [compact_both],
    "rollback": [undo_b],
    "fence": [fence_2],
    "tag": [tag],
    "expire": [expire_1],
}
"""Commits of each column that conflict with nothing, for cells that say *ok*."""

CASES: list[Case] = []


def ok(row: str, column: str, mine: Step, theirs: Iterable[Step], **how: Any) -> None:
    CASES.extend(Case(row, column, mine, one, **how) for one in theirs)


def refused(
    row: str, column: str, error: Refusal, mine: Step, theirs: Iterable[Step], **how: Any
) -> None:
    CASES.extend(Case(row, column, mine, one, error, **how) for one in theirs)


def always_ok(row: str, mine: Step, *columns: str) -> None:
    for column in columns:
        ok(row, column, mine, HARMLESS[column])


def ends(row: str, mine: Step) -> None:
    """Cases: a commit after a replacement or a drop is refused."""
    for error, theirs in ENDS.items():
        refused(row, "replace, drop", error, mine, [theirs])


def fence(row: str, mine: Step, older: Step | None = None) -> None:
    """Cases of note 2: the base is version 2."""
    ok(row, "fence", mine, [fence_2], note=2)
    refused(row, "fence", FENCED, mine, [fence_3], note=2)
    if older is not None:
        refused(row, "fence", FENCED, older, [fence_2], note=2)


def schema_fits(row: str, write: Callable[[Planned, int], Any], *, columns: str = "1 8") -> None:
    """Cases of notes 1 and 8; ``write`` plans the operation with that many nulls in v."""
    for nulls in (1, UNKNOWN):
        refused(row, "alter", NULLS, lambda t, n=nulls: write(t, n), [not_null], note=1)
    ok(row, "alter", lambda t: write(t, 0), [not_null, rename, widen, add_w], note=1)
    ok(row, "alter", lambda t: write(t, 1), [rename], note=1)
    long = {"before": (widen,)}
    ok(row, "alter", lambda t: write(t, 0), [narrow], note=8, **long)
    refused(row, "alter", NARROWED, lambda t: write(t, UNKNOWN), [narrow], note=8, **long)
    if "8" in columns:
        again = {"before": (nullable,), "table": STRICT}
        refused(row, "rollback", NULLS, lambda t: write(t, 1), [back_to_2], note=1, **again)
        ok(row, "rollback", lambda t: write(t, 0), [back_to_2], note=1, **again)
        wide = {"before": (widen,)}
        refused(row, "rollback", TYPE, lambda t: write(t, 0), [back_to_2], note=8, **wide)
        ok(row, "rollback", lambda t: write(t, 0), [back_to_2], note=8, before=(rename,))


# append

ROW = "append"
always_ok(ROW, append, "append", REWRITE, "compact", "tag", "expire")
schema_fits(ROW, lambda t, nulls: t.append(nulls=nulls))
ok(ROW, REWRITE, append, DO_MARK)
ends(ROW, append)
fence(ROW, append, lambda t: t.append(base=1))
own_rows: Step = lambda t: t.rewrite("merge")
ok(ROW, "append", own_rows, [append], note=16)
refused(ROW, "append", READ, own_rows, [append], note=16, table=SERIALIZABLE)
own_keys: Step = lambda t: t.upsert_of_read_rows("merge", 41)
refused(ROW, "append", KEYS, own_keys, [lambda t: t.append(41, 50)], note=16, table=KEYED)
follow_x: Step = lambda t: t.append(takes="x")
ok(ROW, "append", follow_x, [append, lambda t: t.imports("z")], note=18)
refused(ROW, "append", FOLLOWED, follow_x, [lambda t: t.imports("z", "x")], note=18)

# import

ROW = "import"
import_x: Step = lambda t: t.imports("x", "y")
import_again: Step = lambda t: t.imports("x", looked=False)
instead_of_a: Step = lambda t: t.imports("x", removed=(t.a,))
always_ok(ROW, import_x, "append", "tag", "expire")
ok(ROW, "append", import_x, [lambda t: t.imports("z")], note=18)
refused(ROW, "append", TAKEN, import_x, [lambda t: t.imports("z", "y"), import_again], note=18)
ok(ROW, "append", import_again, [import_x], note=18)
refused(ROW, REWRITE, TAKEN, import_x, [instead_of_a], note=18)
schema_fits(ROW, lambda t, nulls: t.imports("x", nulls=nulls))
ok(ROW, REWRITE, import_x, DO_REWRITE, note=4)
refused(ROW, REWRITE, GONE, instead_of_a, DO_REWRITE, note=4)
ok(ROW, REWRITE, instead_of_a, rewrites("b"), note=4)
refused(ROW, REWRITE, REMARKED, instead_of_a, [mark_a], note=19)
ok(ROW, REWRITE, instead_of_a, [mark_b], note=19)
refused(ROW, "compact", GONE, instead_of_a, [compact_both], note=4)
ok(ROW, "compact", instead_of_a, [lambda t: t.compact(t.b)], note=4)
refused(ROW, "rollback", GONE, lambda t: t.imports("x", removed=(t.b,)), [undo_b], note=4)
ok(ROW, "rollback", instead_of_a, [undo_b], note=4)
refused(ROW, "rollback", REMARKED, instead_of_a, [back_to_2], note=19, before=(mark_a,))
ok(ROW, "rollback", instead_of_a, [undo_b], note=19)
refused(ROW, "rollback", TAKEN, import_x, [back_to_2], note=18, before=(lambda t: t.imports("z"),))
ends(ROW, import_x)
fence(ROW, import_x, lambda t: t.imports("x", base=1))

# append that adds columns

ROW = "append that adds columns"
grow: Step = lambda t: t.append_with_column()
always_ok(ROW, grow, "append", REWRITE, "compact", "tag", "expire")
refused(ROW, "alter", SCHEMA, grow, [rename, add_w, not_null, grow], note=3)
ok(ROW, "alter", grow, [set_property], note=3)
refused(ROW, "rollback", SCHEMA, grow, [back_to_2], note=3, before=(rename,))
ok(ROW, "rollback", grow, [undo_b], note=3)
ends(ROW, grow)
fence(ROW, grow)

# overwrite: of all rows, or of the segments of partitions

ROW = "overwrite"
overwrite_a: Step = lambda t: t.overwrite(t.a)
late: Callable[[Planned], bool] = lambda t: len(t.live) == 2 and not t.live & {t.a.path, t.b.path}
ok(ROW, "append", overwrite_all, [append], holds=late)
always_ok(ROW, overwrite_all, "tag", "expire")
schema_fits(ROW, lambda t, nulls: t.overwrite(nulls=nulls))
refused(ROW, REWRITE, GONE, overwrite_all, DO_REWRITE, note=4)
refused(ROW, REWRITE, GONE, overwrite_a, DO_REWRITE, note=4)
ok(ROW, REWRITE, overwrite_a, rewrites("b"), note=4, holds=late)
ok(ROW, REWRITE, overwrite_all, rewrites(), note=4, holds=late)
refused(ROW, REWRITE, REMARKED, overwrite_a, [mark_a], note=19)
refused(ROW, REWRITE, REMARKED, overwrite_all, DO_MARK, note=19)
ok(ROW, REWRITE, overwrite_a, [mark_b], note=19)
refused(ROW, "compact", GONE, overwrite_a, [compact_both], note=4)
ok(ROW, "compact", overwrite_a, [lambda t: t.compact(t.b)], note=4, holds=late)
alone: Callable[[Planned], bool] = lambda t: len(t.live) == 1 and not t.live & {t.a.path, t.b.path}
ok(ROW, "compact", overwrite_all, [compact_both, compact_in_order], note=21, holds=alone)
ok(ROW, "compact", overwrite_all, [lambda t: t.compact(t.a)], note=21, holds=alone)
ok(ROW, "compact", overwrite_all, [compact_both], note=21, table=KEYED, holds=alone)
first_ten: Callable[[Planned], bool] = lambda t: t.marked(t.merged) == [*range(10)]
ok(ROW, "compact", overwrite_a, [compact_in_order], note=21, holds=first_ten)
refused(ROW, "compact", GONE, overwrite_a, [compact_in_order], note=21, table=COPIES)
refused(ROW, "compact", GONE, overwrite_a, [compact_in_order], note=21, table=KEYED)
refused(ROW, "rollback", GONE, overwrite_all, [undo_b], note=4)
ok(ROW, "rollback", overwrite_a, [undo_b], note=4)
refused(ROW, "rollback", REMARKED, overwrite_a, [back_to_2], note=19, before=(mark_a,))
ok(ROW, "rollback", overwrite_a, [undo_b], note=19)
ends(ROW, overwrite_all)
fence(ROW, overwrite_all)
of_own_rows: Step = lambda t: t.rewrite("overwrite", t.a, t.b)
ok(ROW, "append", of_own_rows, [append], note=16, holds=late)
refused(ROW, "append", READ, of_own_rows, [append], note=16, table=SERIALIZABLE)

# overwrite of what a filter means, delete, update, merge

ROW = "overwrite of what a filter means, delete, update, merge"
LOW = [("k", "<", 11)]
HIGH = [("k", ">", 10)]


def tombstones(t: Planned, kind: str) -> Rewrite:
    rewrite = t.rewrite(kind)
    gone = Delta(ops={DELETE_ROW: 10})
    return replace(rewrite, records=tuple(replace(one, delta=gone) for one in rewrite.records))


def marks(kind: str) -> None:
    """The cases of note 19, and the others of operations that mark rows, for one kind."""
    mine: Step = lambda t: t.mark(kind, t.a, 1, 2)
    low: Step = lambda t: t.mark(kind, t.a, 1, 2, where=LOW, low=31)
    united: Callable[[Planned], bool] = lambda t: t.marked(t.a) == [1, 2, 3, 4]
    alone: Callable[[Planned], bool] = lambda t: t.marked(t.a) == [1, 2]
    of_a: Step = lambda t: t.rewrite(kind, t.a)

    ok(ROW, "append", mine, [append], note=7, holds=alone)
    ok(ROW, "alter", mine, [not_null, rename, widen, drop_v], note=1, holds=alone)
    ok(ROW, REWRITE, mine, [mark_a], note=19, holds=united)
    ok(ROW, REWRITE, mine, [mark_b], note=19, holds=alone)
    ok(ROW, REWRITE, low, [mark_a], note=19, holds=united)
    refused(ROW, REWRITE, MARKED, mine, [lambda t: t.mark("delete", t.a, 2, 3)], note=19)
    ok(ROW, REWRITE, of_a, [mark_b], note=19)
    refused(ROW, REWRITE, REMARKED, of_a, [mark_a], note=19)
    rest: Step = lambda t: t.mark(kind, t.a, 0, *range(5, 10))
    dropped: Callable[[Planned], bool] = lambda t: t.a.path not in t.live and no_marks(t)
    some: Step = lambda t: t.mark("merge", t.a, *range(1, 5))
    ok(ROW, REWRITE, rest, [some], note=19, holds=dropped)
    ok(ROW, REWRITE, rest, [mark_a], note=19, holds=lambda t: t.a.path in t.live)

    refused(ROW, REWRITE, GONE, mine, DO_REWRITE, note=4)
    ok(ROW, REWRITE, mine, rewrites("b"), note=4, holds=alone)
    refused(ROW, REWRITE, READ, low, [mark_a], note=7, table=SERIALIZABLE)
    ok(ROW, REWRITE, low, [lambda t: t.mark("delete", t.b, 5)], note=7, table=SERIALIZABLE)
    refused(ROW, "compact", GONE, mine, [compact_both], note=4)
    of_b: Step = lambda t: t.mark(kind, t.b, 1, 2)
    moved: Callable[[Planned], bool] = lambda t: t.marked(t.merged) == [11, 12]
    ok(ROW, "compact", of_b, [compact_in_order], note=21, holds=moved)
    ok(ROW, "compact", mine, [lambda t: t.compact(t.b)], note=4, holds=alone)

    refused(ROW, "rollback", GONE, lambda t: t.mark(kind, t.b, 1), [undo_b], note=4)
    ok(ROW, "rollback", mine, [undo_b], note=4, holds=alone)
    was_marked = {"note": 19, "before": (lambda t: t.mark("delete", t.a, 8),)}
    ok(ROW, "rollback", mine, [back_to_2], holds=alone, **was_marked)
    refused(ROW, "rollback", REMARKED, of_a, [back_to_2], **was_marked)
    again = {"note": 19, "before": (lambda t: t.mark("delete", t.a, 2), back_to_2)}
    refused(ROW, "rollback", MARKED, mine, [lambda t: t.rollback(3)], **again)
    both = (lambda t: t.mark("delete", t.a, 8), append)
    refused(ROW, "rollback", READ, low, [back_to_2], note=7, before=both, table=SERIALIZABLE)

    ends(ROW, mine)
    fence(ROW, mine)
    always_ok(ROW, mine, "tag", "expire")


def filtered(kind: str) -> None:
    """The cases of the row, for one of its kinds."""
    of_a: Step = lambda t: t.rewrite(kind, t.a)
    of_b: Step = lambda t: t.rewrite(kind, t.b)
    low_a: Step = lambda t: t.rewrite(kind, t.a, where=LOW)
    low: Step = lambda t: t.rewrite(kind, where=LOW)
    high: Step = lambda t: t.rewrite(kind, where=HIGH)
    keys: Step = lambda t: t.upsert_of_read_rows(kind, 41)
    others: Step = lambda t: t.upsert_of_read_rows(kind, 41, meets=False)
    near: Step = lambda t: t.append(45, 55)

    ok(ROW, "append", low_a, [lambda t: t.append(1, 10)], note=7)
    ok(ROW, "append", low_a, [append], note=7, table=SERIALIZABLE)
    seen = [lambda t: t.append(1, 10), lambda t: t.append(10, 30)]
    refused(ROW, "append", READ, low_a, seen, note=7, table=SERIALIZABLE)
    refused(ROW, "append", READ, of_a, [append], note=7, table=SERIALIZABLE)
    refused(ROW, "append", KEYS, keys, [near], note=14, table=KEYED)
    ok(ROW, "append", keys, [append], note=14, table=KEYED)
    ok(ROW, "append", others, [near], note=14, table=KEYED)

    follow_x: Step = lambda t: t.rewrite(kind, t.a, takes="x")
    ok(ROW, "append", follow_x, [append, lambda t: t.imports("z")], note=18)
    refused(ROW, "append", FOLLOWED, follow_x, [lambda t: t.imports("z", "x")], note=18)

    schema_fits(ROW, lambda t, nulls: t.rewrite(kind, t.a, nulls=nulls))

    refused(ROW, REWRITE, GONE, of_a, DO_REWRITE, note=4)
    ok(ROW, REWRITE, of_a, rewrites("b"), note=4, holds=late)
    ok(ROW, REWRITE, low_a, rewrites("b", low=None), note=7, table=SERIALIZABLE)
    refused(ROW, REWRITE, READ, low_a, rewrites("b", low=5), note=7, table=SERIALIZABLE)
    refused(ROW, REWRITE, READ, low, rewrites("a", low=None), note=7, table=SERIALIZABLE)
    theirs: list[Step] = [lambda t: t.upsert_of_read_rows("update", 41)]
    refused(ROW, REWRITE, KEYS, keys, [*theirs, overwrite_all], note=14, table=KEYED)
    ok(ROW, REWRITE, others, theirs, note=14, table=KEYED)

    refused(ROW, "compact", GONE, of_a, [compact_both], note=4)
    ok(ROW, "compact", of_a, [compact_in_order], note=21, holds=first_ten)
    refused(ROW, "compact", GONE, of_a, [compact_in_order], note=21, table=COPIES)
    ok(ROW, "compact", of_a, [lambda t: t.compact(t.b)], note=4, holds=late)
    ok(ROW, "compact", low, [compact_both], table=SERIALIZABLE)
    ok(ROW, "compact", keys, [compact_both], table=KEYED)

    refused(ROW, "rollback", GONE, of_b, [undo_b], note=4)
    ok(ROW, "rollback", of_a, [undo_b], note=4)
    refused(ROW, "rollback", READ, high, [undo_b], note=7, table=SERIALIZABLE)
    ok(ROW, "rollback", low, [undo_b], note=7, table=SERIALIZABLE)
    refused(ROW, "rollback", KEYS, keys, [undo_b], note=14, table=KEYED)
    ok(ROW, "rollback", keys, [back_to_2], note=14, table=KEYED, before=(set_property,))
    unmarked = {"note": 19, "before": (lambda t: t.resolve(a=(4,)),)}
    ok(ROW, "rollback", keys, [back_to_2], table=KEYED, **unmarked)
    ok(ROW, "rollback", keys, [back_to_2], table=KEYED | SERIALIZABLE, **unmarked)
    lacks_v = {"note": 15, "before": (drop_v,)}
    refused(ROW, "rollback", RESTORED_COLUMN, of_a, [back_to_2], **lacks_v)
    ok(ROW, "rollback", lambda t: tombstones(t, kind), [back_to_2], **lacks_v)
    ok(ROW, "rollback", of_a, [back_to_2], note=15, before=(add_w,))

    marks(kind)
    ends(ROW, of_a)
    fence(ROW, of_a)
    always_ok(ROW, of_a, "tag", "expire")


for one in KINDS:
    filtered(one)

# alter

ROW = "alter"
always_ok(ROW, not_null, "fence", "tag", "expire")
in_data: Step = lambda t: t.alter(SetNotNull(("v",)), nulls_in_data=1)
for column, with_nulls, without in [
    ("append", [lambda t: t.append(nulls=1)], [append]),
    (REWRITE, rewrites("a", nulls=1), DO_REWRITE),
    ("compact", [lambda t: t.compact(t.a, t.b, nulls=1)], [compact_both]),
]:
    refused(ROW, column, HAS_NULLS, not_null, with_nulls, note=5)
    ok(ROW, column, not_null, without, note=5)
    ok(ROW, column, rename, with_nulls, note=5)
null_row: tuple[Step, ...] = (lambda t: t.append(nulls=1),)
marked_null = {
    "note": 5,
    "before": null_row,
}  # statistics count the null, the data does not show it
ok(ROW, REWRITE, not_null, [mark_a], **marked_null)
refused(ROW, REWRITE, HAS_NULLS, in_data, [mark_a], **marked_null)
ok(ROW, REWRITE, in_data, [mark_a], note=5)
unknown: Step = lambda t: t.append(nulls=UNKNOWN)
refused(ROW, "append", HAS_NULLS, in_data, [unknown], note=5)
ok(ROW, "append", not_null, [unknown], note=5)
undone: tuple[Step, ...] = (lambda t: t.append(nulls=1), back_to_2)
refused(ROW, "rollback", HAS_NULLS, not_null, [lambda t: t.rollback(3)], note=5, before=undone)
ok(ROW, "rollback", not_null, [undo_b], note=5)
rename_w: Step = lambda t: t.alter(RenameColumn(("w",), "x"))
refused(ROW, "rollback", NOT_LEGAL, rename_w, [back_to_2], note=6, before=(add_w,))
ok(ROW, "rollback", rename, [back_to_2], note=6, before=(add_w,))
refused(ROW, "alter", NOT_LEGAL, rename, [drop_v], note=6)
exactly: Step = lambda t: t.alter(RenameColumn(("v",), "u"), needs_the_plan=True)
refused(ROW, "alter", ALTERED, exactly, [add_w], note=6)
refused(ROW, "alter", OTHER_PROPERTIES, exactly, [set_property], note=6)
ok(ROW, "append", exactly, [append])
refused(ROW, "alter", NOT_LEGAL, add_w, [grow], note=6)
refused(ROW, "alter", NOT_LEGAL, add_w, [lambda t: t.alter(AddColumn(("W",), Atom.LONG))], note=6)
refused(
    ROW, "alter", NOT_LEGAL, lambda t: t.alter(ChangeType(("v",), Atom.DOUBLE)), [widen], note=6
)
by_id: Callable[[Planned], bool] = lambda t: (
    t.state.schema.column(2).name == "u" and t.state.schema.column(2).type is Atom.LONG
)
ok(ROW, "alter", widen, [rename], note=6, holds=by_id)
pin: Step = lambda t: t.alter(PinSchema("job", PinnedSchema(Pin(0), t.planned.schemas[0])))
protect: Step = lambda t: t.alter(SetProperty("pins", "refuse"))
hides: Callable[[Planned], bool] = lambda t: t.state.schema.column(2).hidden
removes: Callable[[Planned], bool] = lambda t: 2 not in t.state.schema.ids
refused(ROW, "alter", NOT_LEGAL, pin, [drop_v], note=6)
ok(ROW, "alter", drop_v, [pin], note=6, holds=hides)
ok(ROW, "alter", drop_v, [rename], note=6, holds=removes)
retire: Step = lambda t: t.alter(RetirePin("job"))
hidden_too: Callable[[Planned], bool] = lambda t: "job" not in t.state.pins and removes(t)
ok(ROW, "alter", retire, [drop_v], note=6, before=(pin,), holds=hidden_too)
ok(ROW, "alter", rename, [pin], note=6)
refused(ROW, "alter", NOT_LEGAL, rename, [drop_v], note=6, before=(pin,))
ends(ROW, rename)

# compact

ROW = "compact"
compact_a: Step = lambda t: t.compact(t.a)
always_ok(ROW, compact_both, "append", "tag", "expire")
schema_fits(ROW, lambda t, nulls: t.compact(t.a, nulls=nulls), columns="1")
refused(ROW, REWRITE, GONE, compact_both, DO_REWRITE, note=4)
ok(ROW, REWRITE, compact_a, rewrites("b"), note=4)
refused(ROW, REWRITE, REMARKED, compact_a, [mark_a], note=19)
refused(ROW, REWRITE, REMARKED, compact_both, [mark_b], note=19)
ok(ROW, REWRITE, compact_a, [mark_b], note=19)
refused(ROW, "compact", GONE, compact_both, [compact_both, lambda t: t.compact(t.b)], note=4)
ok(ROW, "compact", compact_a, [lambda t: t.compact(t.b)], note=4)
refused(ROW, "rollback", RESTORED, compact_a, [undo_b], note=13)
ends(ROW, compact_both)
fence(ROW, compact_both)

for row, mine in [
    ("append", append),
    ("overwrite", overwrite_all),
    ("overwrite of what a filter means, delete, update, merge", own_keys),
    ("compact", compact_both),
    ("compact", lambda t: t.compact(t.b)),
]:
    ok(row, "compact", mine, [resolve_a, resolve_both], table=KEYED)

# compact that only resolves

ROW = "compact that only resolves"
resolve_b: Step = lambda t: t.resolve(b=(5,))
of_2: Callable[[Planned], bool] = lambda t: (t.marked(t.a), t.resolved(t.a)) == ([1, 2], 2)
ok(ROW, "append", resolve_a, [append, lambda t: t.append(1, 10)], table=KEYED, note=20, holds=of_2)
ok(
    ROW,
    "alter",
    resolve_a,
    [rename, widen, not_null, drop_v, set_property],
    table=KEYED,
    holds=of_2,
)
upsert: Step = lambda t: t.upsert_of_read_rows("update", 1)
ok(ROW, REWRITE, resolve_a, [upsert, *rewrites("b")], note=4, table=KEYED, holds=of_2)
refused(ROW, REWRITE, GONE, resolve_a, [overwrite_all, *rewrites("a")], note=4, table=KEYED)
refused(ROW, REWRITE, GONE, resolve_both, rewrites("b"), note=4, table=KEYED)
refused(ROW, "compact", GONE, resolve_both, [compact_both], note=4, table=KEYED)
ok(
    ROW,
    "compact",
    resolve_a,
    [lambda t: t.compact(t.b), resolve_b],
    note=4,
    table=KEYED,
    holds=of_2,
)
united_3: Callable[[Planned], bool] = lambda t: (t.marked(t.a), t.resolved(t.a)) == ([1, 2, 3], 2)
ok(ROW, "compact", resolve_a, [lambda t: t.resolve(a=(2, 3))], table=KEYED, holds=united_3)
ok(ROW, "compact", resolve_a, [resolve_both], table=KEYED, noop=True, holds=of_2)
# A later step knew version 3.
newer: Callable[[Planned], bool] = lambda t: (t.marked(t.a), t.resolved(t.a)) == ([1, 2, 4], 3)
later: tuple[Step, ...] = (append, lambda t: t.resolve(a=(4,)), append)
ok(
    ROW,
    "append",
    lambda t: replace(t.resolve(a=(1, 2)), base=replace(t.base, version=2)),
    [append],
    table=KEYED,
    before=later,
    holds=newer,
)
refused(ROW, "rollback", GONE, resolve_both, [undo_b], note=4, table=KEYED)
ok(ROW, "rollback", resolve_a, [undo_b], note=4, table=KEYED, holds=of_2)
was_resolved = {"table": KEYED, "before": (lambda t: t.resolve(a=(4,)),)}
ok(
    ROW,
    "rollback",
    resolve_a,
    [back_to_2],
    note=4,
    holds=lambda t: t.marked(t.a) == [1, 2],
    **was_resolved,
)
for error, theirs in ENDS.items():
    refused(ROW, "replace, drop", error, resolve_a, [theirs], table=KEYED)
ok(ROW, "fence", resolve_a, [fence_2], note=2, table=KEYED)
refused(ROW, "fence", FENCED, resolve_a, [fence_3], note=2, table=KEYED)
for column in ("tag", "expire"):
    ok(ROW, column, resolve_a, HARMLESS[column], table=KEYED)

# rollback

ROW = "rollback"
for column in ("append", "alter", REWRITE, "compact", "rollback", "fence"):
    theirs = HARMLESS[column] if column != "rollback" else [lambda t: t.rollback(0)]
    refused(ROW, column, UNSEEN, undo_b, theirs, note=9 if column in ("append", "alter") else None)
refused(ROW, REWRITE, UNSEEN, undo_b, DO_MARK)
ok(ROW, "append", undo_b, [empty_append], note=9)
ends(ROW, undo_b)
always_ok(ROW, undo_b, "tag")
ok(ROW, "expire", undo_b, [expire_1], note=11)
refused(ROW, "expire", EXPIRED, undo_b, [lambda t: t.expire(2)], note=11)

# tag

ROW = "tag"
tag_1: Step = lambda t: t.tag("new", 1)
always_ok(ROW, tag_1, "append", "alter", REWRITE, "compact", "rollback", "fence")
ok(ROW, "replace, drop", tag_1, [replace_table])
refused(ROW, "replace, drop", DROPPED, tag_1, [drop])
both: Callable[[Planned], bool] = lambda t: dict(t.state.tags) == {"old": 0, "new": 1}
ok(ROW, "tag", tag_1, [tag], note=10, holds=both)
ok(ROW, "expire", tag_1, [expire_1], note=11)
refused(ROW, "expire", EXPIRED, tag_1, [lambda t: t.expire(2)], note=11)

# drop, fence, expire

ROW = "drop, fence, expire"
expire_2: Step = lambda t: t.expire(2)
for mine in (drop, fence_3, expire_2):
    columns = ("append", "alter", REWRITE, "compact", "rollback", "fence")
    always_ok(ROW, mine, *columns, *([] if mine is expire_2 else ["tag"]), "expire")
    ends(ROW, mine)
refused(ROW, "alter", PINNED, drop, [pin], note=17, table=PROTECTED)
refused(ROW, "alter", PINNED, drop, [protect], note=17, before=(pin,))
ok(ROW, "alter", drop, [pin], note=17)
ok(ROW, "alter", drop, [retire], note=17, before=(pin,), table=PROTECTED)
refused(ROW, "tag", CLONED, drop, [keep_for_clone], note=25)
ok(ROW, "tag", drop, [let_go_of_clone], note=25, before=(keep_for_clone,))
refused(ROW, "tag", TAGGED, expire_2, [tag], note=12)
ok(ROW, "tag", lambda t: t.expire(2, 0), [tag], note=12)
ok(ROW, "tag", expire_1, [lambda t: t.tag("new", 1)], note=12)
ok(ROW, "expire", expire_1, [expire_1, expire_2], note=12, noop=True)
ok(ROW, "fence", fence_2, [fence_2, fence_3], noop=True)
batch: Callable[[int], Step] = lambda n: lambda t: replace(t.append(), batch=Batch("job", n))
forget: Step = lambda t: replace(t.expire(0), forget=t.base.version + 1)
knows_job: Callable[[Planned], bool] = lambda t: t.state.applications == {"job": LastBatch(2, 5)}
counted: dict[str, Any] = {"before": (batch(1), forget)}
ok(ROW, "append", forget, [batch(2)], noop=True, holds=knows_job, **counted)
ok(ROW, "expire", forget, [forget], note=12, noop=True, **counted)
ok(ROW, "tag", forget, [tag], note=12, holds=lambda t: not t.state.applications, **counted)
expire_2_forget: Step = lambda t: replace(expire_2(t), forget=t.base.version + 1)
refused(ROW, "tag", TAGGED, expire_2_forget, [tag], note=12, **counted)
ok(ROW, "append", expire_2_forget, [batch(2)], holds=knows_job, **counted)

# replace

ROW = "replace"
always_ok(ROW, replace_table, *HARMLESS)
refused(ROW, "alter", PINNED, replace_table, [pin], note=17, table=PROTECTED)
ok(ROW, "alter", replace_table, [pin], note=17)
ok(ROW, "replace, drop", replace_table, [replace_table])
refused(ROW, "replace, drop", DROPPED, replace_table, [drop])

ROW = "replace that brings rows"
with_rows: Step = lambda t: t.replace(rows=True)
of_read_rows: Step = lambda t: t.replace(rows=True, read=2)
always_ok(ROW, with_rows, "compact", "tag", "expire")
ok(ROW, "append", with_rows, [append], note=3)
refused(ROW, "append", NEW_SCHEMA, with_rows, [grow], note=3)
ok(ROW, REWRITE, with_rows, DO_REWRITE, note=3)
growing = rewrites("a", changes=(AddColumn(("w",), Atom.INT),))
refused(ROW, REWRITE, NEW_SCHEMA, with_rows, growing, note=3)
refused(ROW, "alter", NEW_SCHEMA, with_rows, [rename, add_w], note=3)
refused(ROW, "alter", PINNED, with_rows, [pin], note=17, table=PROTECTED)
ok(ROW, "alter", with_rows, [pin], note=17)
ok(ROW, "alter", with_rows, [set_property], note=3)
refused(ROW, "rollback", NEW_SCHEMA, with_rows, [back_to_2], note=3, before=(rename,))
ok(ROW, "rollback", with_rows, [undo_b], note=3)
refused(ROW, "replace, drop", NEW_SCHEMA, with_rows, [replace_table])
refused(ROW, "replace, drop", DROPPED, with_rows, [drop])
fence(ROW, with_rows)
refused(ROW, "append", READ_BEFORE, of_read_rows, [append], note=16)
refused(ROW, REWRITE, READ_BEFORE, of_read_rows, [*DO_REWRITE, *DO_MARK], note=16)
refused(ROW, "replace, drop", READ_BEFORE, of_read_rows, [replace_table], note=16)
ok(ROW, "compact", of_read_rows, [compact_both], note=16)
ok(ROW, "tag", of_read_rows, [tag], note=16)
unmark = {"note": 16, "table": KEYED, "before": (set_property, lambda t: t.resolve(a=(4,)))}
ok(ROW, "rollback", lambda t: t.replace(rows=True, read=4), [lambda t: t.rollback(3)], **unmark)
