"""Schemas that changed apart are united by column ID; the expected columns are written by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from versioned_catalog import CommitConflictError
from versioned_catalog.model.bound_changes import plan_changes
from versioned_catalog.model.changes import (
    AddColumn,
    Change,
    ChangeType,
    DropColumn,
    DropNotNull,
    MoveColumn,
    RenameColumn,
    SetComment,
    SetDefault,
    SetPartitioning,
    SetProperty,
)
from versioned_catalog.model.column_ids import new_schema
from versioned_catalog.model.ddl import parse_columns
from versioned_catalog.model.evolution import Evolution, used_physical_names
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.three_way import (
    Sides,
    tightened,
    united,
    united_comment,
    united_properties,
)
from versioned_catalog.model.types import Atom

SIDES = Sides("the table", "the branch 'b'")
DDL = "a INT NOT NULL, b STRING, s STRUCT<x: INT, y: INT>, l ARRAY<STRUCT<z: INT>>, d DATE"
"""IDs: a 1, b 2, s 3, s.x 4, s.y 5, l 6, its element 7, z 8, d 9."""


def p(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def base() -> Schema:
    return new_schema(parse_columns(DDL), 1, 0)[0]


def after(*changes: Change, first_id: int = 100) -> Schema:
    """The common schema with changes; new columns get IDs from ``first_id`` on."""
    evolution = Evolution(base(), first_id, {}, used_physical_names([base()]))
    return plan_changes(changes, evolution, 1)[1].schema


def of_branch(*changes: Change) -> Schema:
    return after(*changes, first_id=200)


def merged(main: Schema, branch: Schema) -> Schema:
    return united(base(), main, branch, SIDES, 7)


def test_what_one_side_changes_is_taken_from_it() -> None:
    for change in CHANGES:
        changed = after(change)
        for schema in (merged(changed, base()), merged(base(), changed), merged(changed, changed)):
            assert schema == changed.numbered(7), change


CHANGES: list[Change] = [
    AddColumn(p("n"), Atom.INT, default=5),
    AddColumn(p("s.n"), Atom.INT, first=True),
    AddColumn(p("l.element.n"), Atom.INT),
    DropColumn(p("b")),
    DropColumn(p("s.x")),
    RenameColumn(p("b"), "c"),
    RenameColumn(p("s.x"), "w"),
    ChangeType(p("a"), Atom.LONG),
    ChangeType(p("s.x"), Atom.LONG),
    ChangeType(p("l.element.z"), Atom.LONG),
    ChangeType(p("d"), Atom.TIMESTAMP_NTZ),
    DropNotNull(p("a")),
    SetComment(p("b"), "text"),
    SetComment(p("s"), "struct"),
    SetDefault(p("a"), 9),
    MoveColumn(p("d"), True, None),
    MoveColumn(p("s.y"), True, None),
    SetPartitioning(("days(d)",)),
    SetProperty("sort_by", "b DESC"),
]


def test_different_changes_of_one_column_are_united() -> None:
    renamed = after(DropNotNull(p("a")), MoveColumn(p("a"), False, "d"), RenameColumn(p("a"), "n"))
    schema = merged(renamed, of_branch(ChangeType(p("a"), Atom.LONG), SetComment(p("a"), "text")))
    column = schema.column(1)
    assert (column.name, column.type, column.nullable, column.comment) == (
        *("n", Atom.LONG, True, "text"),
    )
    assert schema.names == ["b", "s", "l", "d", "n"]


def test_columns_of_both_sides_stand_where_they_were_added() -> None:
    main = after(AddColumn(p("m"), Atom.INT, after="a"), AddColumn(p("last"), Atom.INT))
    branch = of_branch(AddColumn(p("f"), Atom.INT, first=True), AddColumn(p("end"), Atom.INT))
    schema = merged(main, branch)
    assert schema.names == ["f", "a", "m", "b", "s", "l", "d", "last", "end"]
    assert [schema.get((name,)).id for name in ("f", "m", "last", "end")] == [200, 100, 101, 201]


def test_fields_of_structs_and_lists_are_united() -> None:
    main = after(AddColumn(p("s.m"), Atom.INT), RenameColumn(p("s.x"), "w"))
    branch = of_branch(
        *(AddColumn(p("s.n"), Atom.INT), ChangeType(p("s.x"), Atom.LONG)),
        *(DropColumn(p("s.y")), AddColumn(p("l.element.k"), Atom.INT)),
    )
    schema = merged(main, branch)
    assert str(schema) == (
        "a INT NOT NULL, b STRING, s STRUCT<w: BIGINT, m: INT, n: INT>, "
        "l ARRAY<STRUCT<z: INT, k: INT>>, d DATE"
    )


def test_a_column_that_both_drop_and_add_again_is_two_columns() -> None:
    main = after(DropColumn(p("b")), AddColumn(p("b"), Atom.STRING))
    with pytest.raises(CommitConflictError, match="b"):
        merged(main, of_branch(DropColumn(p("b")), AddColumn(p("b"), Atom.STRING)))
    schema = merged(main, of_branch(DropColumn(p("b"))))
    assert schema.get(("b",)).id == 100


@pytest.mark.parametrize(
    ("main", "branch", "said"),
    [
        ([RenameColumn(p("b"), "c")], [RenameColumn(p("b"), "e")], "b: name was changed on both"),
        (
            [ChangeType(p("a"), Atom.LONG)],
            [ChangeType(p("a"), Atom.DOUBLE)],
            "a: type was changed on both",
        ),
        (
            [DropColumn(p("b"))],
            [RenameColumn(p("b"), "c")],
            "b was dropped on the table and changed",
        ),
        ([SetComment(p("s.x"), "q")], [DropColumn(p("s"))], "s was dropped on the branch 'b' and"),
        ([AddColumn(p("n"), Atom.INT)], [AddColumn(p("N"), Atom.INT)], "n"),
        ([SetDefault(p("a"), 1)], [SetDefault(p("a"), 2)], "a: default was changed on both"),
        ([ChangeType(p("a"), Atom.LONG)], [SetDefault(p("a"), 2)], "changed its type and one set"),
        ([SetComment(p("s.x"), "1")], [SetComment(p("s.x"), "2")], "s.x: comment was changed"),
        (
            [MoveColumn(p("d"), True, None)],
            [MoveColumn(p("b"), True, None)],
            "the column order was changed on both",
        ),
        (
            [MoveColumn(p("s.y"), True, None), SetComment(p("s.x"), "q")],
            [DropColumn(p("s.x"))],
            "s.x was dropped",
        ),
        ([SetPartitioning(("a",))], [SetPartitioning(("d",))], "partitioning was changed on both"),
        (
            [SetPartitioning(("b",))],
            [DropColumn(p("b"))],
            "the partitioning names b, which was dropped on one side",
        ),
    ],
)
def test_what_both_change_is_refused(main: list[Change], branch: list[Change], said: str) -> None:
    with pytest.raises(CommitConflictError, match=said):
        merged(after(*main), of_branch(*branch))


def test_all_conflicts_are_reported() -> None:
    main = after(RenameColumn(p("b"), "c"), SetComment(p("a"), "1"))
    with pytest.raises(CommitConflictError) as caught:
        merged(main, of_branch(RenameColumn(p("b"), "e"), SetComment(p("a"), "2")))
    assert str(caught.value) == (
        "the column a: comment was changed on both sides; the column b: name was changed on both sides"
    )


@pytest.mark.parametrize(
    ("main", "branch", "expected"),
    [
        ({"k": "1"}, {"k": "1"}, {"k": "1"}),
        ({"k": "2"}, {"k": "1"}, {"k": "2"}),
        ({"k": "1"}, {}, {}),
        ({"k": "1", "m": "x"}, {"k": "1", "n": "y"}, {"k": "1", "m": "x", "n": "y"}),
        (
            {"k": "1", "ttl_floor": "7"},
            {"k": "1", "ttl_floor": "50"},
            {"k": "1", "ttl_floor": "50"},
        ),
        ({"k": "2"}, {"k": "2"}, {"k": "2"}),
    ],
)
def test_properties_are_united(
    main: dict[str, str], branch: dict[str, str], expected: dict[str, str]
) -> None:
    assert united_properties({"k": "1"}, main, branch, SIDES, base()) == expected


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("k", "the property k was"),
        ("__generated.1", "how the column a is generated was"),
        ("__logical.9999", "the logical type of the column 9999 was"),
        ("__check.positive", "the constraint positive was"),
    ],
)
def test_conflicts_name_what_users_see(key: str, said: str) -> None:
    with pytest.raises(CommitConflictError, match=f"{said} changed on both sides"):
        united_properties({key: "1"}, {key: "2"}, {key: "3"}, SIDES, base())


@pytest.mark.parametrize("branch", [{"k": "3"}, {}])
def test_properties_that_both_change_are_refused(branch: dict[str, str]) -> None:
    with pytest.raises(CommitConflictError, match="the property k was changed on both sides"):
        united_properties({"k": "1"}, {"k": "2"}, branch, SIDES, base())


def test_columns_that_refuse_nulls_from_now_on() -> None:
    loose: Callable[[], Schema] = lambda: after(DropNotNull(p("a")))  # noqa: E731
    assert tightened(loose(), base()) == ["a"]
    assert tightened(base(), loose()) == []


@pytest.mark.parametrize(
    ("main", "branch", "expected"),
    [("old", "new", "new"), ("new", "old", "new"), (None, "old", None), ("new", "new", "new")],
)
def test_a_comment_is_taken_from_the_side_that_changed_it(
    main: str | None, branch: str | None, expected: str | None
) -> None:
    assert united_comment("old", main, branch, SIDES) == expected


def test_two_new_comments_are_a_conflict() -> None:
    with pytest.raises(CommitConflictError, match="the comment was changed on both sides"):
        united_comment("old", "one", "two", SIDES)
