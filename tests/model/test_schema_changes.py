from __future__ import annotations

import datetime as dt
import inspect
import pickle
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from versioned_catalog.errors import CommitConflictError, InvalidRequestError, NotFoundError
from versioned_catalog.model.bound_changes import apply_all, newly_not_null, plan_changes, rebase
from versioned_catalog.model.changes import (
    UNSET,
    AddColumn,
    Change,
    ChangeType,
    DropColumn,
    DropDefault,
    DropNotNull,
    MoveColumn,
    RenameColumn,
    SetComment,
    SetDefault,
    SetNotNull,
    SetPartitioning,
    SetProperty,
    UnsetProperty,
)
from versioned_catalog.model.column_ids import new_schema
from versioned_catalog.model.ddl import parse_type
from versioned_catalog.model.evolution import (
    BoundChange,
    Evolution,
    SchemaChange,
    used_physical_names,
)
from versioned_catalog.model.keys import parse_sort_by, render_sort_by
from versioned_catalog.model.sql_literals import to_python
from versioned_catalog.model.type_text import parse_path as p
from versioned_catalog.model.types import Atom, Column, Constant, DataType, Decimal, Now, walk

NOON = dt.datetime(2026, 11, 21, 12, 30, tzinfo=dt.UTC)


def table(*columns: tuple[str, str]) -> Evolution:
    """A table of nullable columns, IDs from 1 on in pre-order."""
    numbered = [Column(0, name, parse_type(type_)) for name, type_ in columns]
    schema, next_id = new_schema(numbered, 1, 0)
    return Evolution(schema, next_id, {}, used_physical_names([schema]))


# IDs: ts 1, host 2, usage 3, address 4 (zip 5, city 6), tags 7 (element 8 (name 9)),
# attrs 10 (key 11 (a 12), value 13 (x 14)), n 15 (element 16), shape 17, day 18.
CPU = table(
    ("ts", "TIMESTAMP"),
    ("host", "STRING"),
    ("usage", "INT"),
    ("address", "STRUCT<zip: INT, city: STRING>"),
    ("tags", "ARRAY<STRUCT<name: STRING>>"),
    ("attrs", "MAP<STRUCT<a: INT>, STRUCT<x: INT>>"),
    ("n", "ARRAY<INT>"),
    ("shape", "VARIANT"),
    ("day", "DATE"),
)


def alter(evolution: Evolution, *requests: Change) -> Evolution:
    return plan_changes(requests, evolution, evolution.schema.version + 1, lambda: NOON)[1]


def bound(evolution: Evolution, *requests: Change) -> tuple[BoundChange, ...]:
    return plan_changes(requests, evolution, evolution.schema.version + 1, lambda: NOON)[0]


def ids(evolution: Evolution) -> dict[str, int]:
    """Every column's path and ID, in order."""
    schema = evolution.schema
    return {schema.path_text(column.id): column.id for column, _ in walk(schema.columns)}


def at(evolution: Evolution, path: str) -> Column:
    return evolution.schema.get(p(path))


def defaults(evolution: Evolution, path: str) -> tuple[object, object]:
    """Read and write default as Python values."""
    column = at(evolution, path)
    write = column.write_default
    return (
        to_python(column.read_default, column.type),
        write if isinstance(write, Now) else to_python(write, column.type),
    )


def test_ids_of_the_example_table() -> None:
    assert list(ids(CPU).values()) == list(range(1, 19))
    assert CPU.next_column_id == 19


# --- adding -------------------------------------------------------------------------------------


def test_add_appends_and_gives_ids_in_pre_order() -> None:
    done = alter(
        CPU,
        AddColumn(("idle",), Atom.DOUBLE),
        AddColumn(("place",), parse_type("STRUCT<a: INT, b: ARRAY<INT>>")),
    )
    assert list(ids(done).items())[-6:] == [
        ("day", 18),
        ("idle", 19),
        ("place", 20),
        ("place.a", 21),
        ("place.b", 22),
        ("place.b.element", 23),
    ]
    assert done.next_column_id == 24
    assert done.schema.version == 1
    assert at(done, "idle") == Column(19, "idle", Atom.DOUBLE, physical_name="idle")


@pytest.mark.parametrize(
    "first, after, names",
    [
        (True, None, ["new", "a", "b"]),
        (False, "A", ["a", "new", "b"]),
        (False, "b", ["a", "b", "new"]),
        (False, None, ["a", "b", "new"]),
    ],
)
def test_add_first_and_after(first: bool, after: str | None, names: list[str]) -> None:
    top = table(("a", "INT"), ("b", "INT"))
    done = alter(top, AddColumn(("new",), Atom.INT, first=first, after=after))
    assert done.schema.names == names
    inside = table(("s", "STRUCT<a: INT, b: INT>"))
    done = alter(inside, AddColumn(("s", "new"), Atom.INT, first=first, after=after))
    assert list(ids(done)) == ["s", *(f"s.{name}" for name in names)]


def test_add_inside_structs_lists_and_maps() -> None:
    done = alter(
        CPU,
        AddColumn(p("address.street"), Atom.STRING, after="zip"),
        AddColumn(p("tags.element.weight"), Atom.INT, default=1, nullable=False),
        AddColumn(p("attrs.value.y"), Atom.INT, first=True),
    )
    schema = done.schema
    assert [c.name for c in schema.column(4).type.fields] == ["zip", "street", "city"]  # type: ignore[union-attr]
    assert ids(done)["address.street"] == 19
    assert ids(done)["tags.element.weight"] == 20
    assert defaults(done, "tags.element.weight") == (1, 1)
    assert [c.id for c in schema.column(13).type.fields] == [21, 14]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "type_, given, read, write",
    [
        (Atom.DOUBLE, UNSET, None, None),
        (Atom.DOUBLE, None, None, None),
        (Atom.DOUBLE, 7.5, 7.5, 7.5),
        (Atom.STRING, "a", "a", "a"),
        (Atom.INT, Constant('"999"'), 999, 999),
        (Atom.DATE, Now.DATE, dt.date(2026, 11, 21), Now.DATE),
        (Atom.TIMESTAMP, Now.TIMESTAMP, NOON, Now.TIMESTAMP),
    ],
)
def test_defaults_of_new_columns(
    type_: DataType, given: object, read: object, write: object
) -> None:
    done = alter(CPU, AddColumn(("new",), type_, default=given))
    assert defaults(done, "new") == (read, write)


def test_now_is_taken_in_utc() -> None:
    late = dt.datetime(2026, 11, 21, 23, 0, tzinfo=dt.timezone(dt.timedelta(hours=-5)))
    requests = [AddColumn(("d",), Atom.DATE, default=Now.DATE)]
    done = plan_changes(requests, CPU, 1, lambda: late)[1]
    assert defaults(done, "d")[0] == dt.date(2026, 11, 22)


def test_the_default_of_a_struct_is_stored_by_field_id() -> None:
    type_ = parse_type("STRUCT<a: INT NOT NULL, b: ARRAY<STRUCT<c: INT>>>")
    given = {"a": 1, "b": [{"c": 2}, None]}
    done = alter(CPU, AddColumn(("s",), type_, default=given, nullable=False))
    assert defaults(done, "s") == (given, given)
    assert at(done, "s").read_default == Constant('{"20":"1","21":[{"23":"2"},null]}')
    # A field added later shows its own default inside it, and a dropped field is not shown.
    more = alter(done, AddColumn(p("s.d"), Atom.INT, default=4), DropColumn(p("s.b")))
    assert defaults(more, "s")[0] == {"a": 1, "d": 4}


def test_a_type_from_another_table_gets_ids_of_its_own() -> None:
    foreign = CPU.schema.column(4).type
    given = Constant('{"5":"12345","6":"Bonn"}')
    done = alter(CPU, AddColumn(("home",), foreign, default=given))
    assert ids(done)["home.city"] == 21
    assert defaults(done, "home") == ({"zip": 12345, "city": "Bonn"},) * 2


def test_physical_names_are_never_reused() -> None:
    done = alter(CPU, DropColumn(("host",)), AddColumn(("HOST",), Atom.STRING))
    assert (at(done, "HOST").physical_name, at(done, "HOST").id) == ("HOST_19", 19)
    again = alter(done, DropColumn(("HOST",)), AddColumn(("host",), Atom.INT))
    assert at(again, "host").physical_name == "host_20"
    nested = alter(CPU, DropColumn(p("address.zip")), AddColumn(p("address.zip"), Atom.STRING))
    assert at(nested, "address.zip").physical_name == "zip_19"
    other = alter(CPU, AddColumn(("zip",), Atom.INT), AddColumn(("__sequence",), Atom.INT))
    assert [at(other, n).physical_name for n in ("zip", "__sequence")] == ["zip", "__sequence_20"]
    # Inside a struct that an ALTER added, too.
    with_struct = alter(CPU, AddColumn(("s",), parse_type("STRUCT<a: INT, b: INT>")))
    swapped = alter(with_struct, DropColumn(p("s.a")), AddColumn(p("s.a"), Atom.INT))
    assert at(swapped, "s.a").physical_name == "a_22"


def test_used_names_include_those_of_all_schemas() -> None:
    later = alter(CPU, DropColumn(("host",)), AddColumn(p("address.x"), Atom.INT)).schema
    used = used_physical_names([CPU.schema, later])
    assert {"__sequence", "__op_type", "host", "ts"} <= used[None]
    assert used[4] == {"zip", "city", "x"}
    assert used[8] == {"name"}


# --- other changes ------------------------------------------------------------------------------


def test_drop_removes_columns_and_keeps_other_ids() -> None:
    done = alter(CPU, DropColumn(("tags",)), DropColumn(p("address.zip")))
    assert set(CPU.schema.ids) - set(done.schema.ids) == {5, 7, 8, 9}
    assert done.next_column_id == 19


def test_rename_keeps_everything_else() -> None:
    done = alter(CPU, RenameColumn(("host",), "server"), RenameColumn(p("address.zip"), "Zip"))
    assert at(done, "server") == replace(at(CPU, "host"), name="server")
    assert at(done, "address.zip").name == "Zip"
    assert at(done, "address.zip").physical_name == "zip"
    assert done.schema.names.index("server") == 1
    assert at(alter(CPU, RenameColumn(p("attrs.key.a"), "b")), "attrs.key.b").id == 12


def test_move_reorders_columns_and_fields() -> None:
    abc = table(("a", "INT"), ("b", "INT"), ("s", "STRUCT<x: INT, y: INT>"))
    assert alter(abc, MoveColumn(("s",), first=True)).schema.names == ["s", "a", "b"]
    assert alter(abc, MoveColumn(("a",), after="s")).schema.names == ["b", "s", "a"]
    assert alter(abc, MoveColumn(("s",), after="A")).schema.names == ["a", "s", "b"]
    assert list(ids(alter(abc, MoveColumn(p("s.x"), after="y"))))[-3:] == ["s", "s.y", "s.x"]


def test_change_type_widens_defaults() -> None:
    t = alter(
        CPU, AddColumn(("v",), Atom.INT, default=5), AddColumn(("d",), Atom.DATE, "2020-01-01")
    )
    done = alter(t, ChangeType(("v",), Decimal(12, 2)), ChangeType(("d",), Atom.TIMESTAMP_NTZ))
    assert at(done, "v").read_default == Constant('"5.00"')
    assert at(done, "v").write_default == Constant('"5.00"')
    assert defaults(done, "d") == (dt.datetime(2020, 1, 1),) * 2
    assert at(done, "v").id == at(t, "v").id


def test_change_type_widens_the_defaults_of_the_columns_around_it() -> None:
    type_ = parse_type("STRUCT<d: DATE, l: ARRAY<INT>>")
    t = alter(CPU, AddColumn(("s",), type_, {"d": dt.date(1970, 1, 2), "l": [1]}))
    done = alter(
        t, ChangeType(p("s.d"), Atom.TIMESTAMP_NTZ), ChangeType(p("s.l.element"), Atom.DOUBLE)
    )
    assert defaults(done, "s") == ({"d": dt.datetime(1970, 1, 2), "l": [1.0]},) * 2


def test_change_type_of_elements_and_values() -> None:
    done = alter(
        CPU, ChangeType(p("n.element"), Atom.LONG), ChangeType(p("attrs.value.x"), Atom.LONG)
    )
    assert (at(done, "n.element").type, at(done, "attrs.value.x").type) == (Atom.LONG, Atom.LONG)


def test_set_and_drop_write_defaults() -> None:
    t = alter(CPU, AddColumn(("v",), Atom.INT, default=5))
    assert defaults(alter(t, SetDefault(("v",), 6)), "v") == (5, 6)
    assert defaults(alter(t, SetDefault(("v",), None)), "v") == (5, None)
    assert defaults(alter(t, DropDefault(("v",))), "v") == (5, None)
    assert defaults(alter(t, SetDefault(("ts",), Now.TIMESTAMP)), "ts") == (None, Now.TIMESTAMP)
    assert defaults(alter(t, SetDefault(p("address.zip"), 1)), "address.zip") == (None, 1)
    given = {"zip": 1, "city": None}
    assert defaults(alter(t, SetDefault(("address",), given)), "address") == (None, given)
    required = alter(t, SetNotNull(("v",)), DropDefault(("v",)))
    assert (at(required, "v").nullable, defaults(required, "v")) == (False, (5, None))


def test_set_and_drop_not_null_and_comments() -> None:
    done = alter(
        CPU, SetNotNull(("host",)), SetNotNull(p("n.element")), SetComment(("ts",), "when")
    )
    assert [at(done, path).nullable for path in ("host", "n.element", "ts")] == [False, False, True]
    assert at(done, "ts").comment == "when"
    assert newly_not_null(CPU.schema, done.schema) == {2, 16}
    new = alter(CPU, AddColumn(("x",), Atom.INT, default=1, nullable=False)).schema
    assert newly_not_null(CPU.schema, new) == frozenset()
    back = alter(done, DropNotNull(("host",)), SetComment(("ts",), None))
    assert newly_not_null(done.schema, back.schema) == frozenset()
    assert at(back, "ts").comment is None
    assert at(alter(CPU, SetNotNull(p("attrs.key"))), "attrs.key").nullable is False


def test_set_and_unset_properties() -> None:
    done = alter(CPU, SetProperty("a", "1"), SetProperty("b", "2"), UnsetProperty("a"))
    assert done.properties == {"b": "2"}
    assert alter(done, UnsetProperty("nothing")).properties == {"b": "2"}
    assert CPU.properties == {}


def test_sort_by_names_columns_and_follows_renames() -> None:
    done = alter(CPU, SetProperty("sort_by", "host, ts desc,address.`ZIP` ASC"))
    assert [(f.source, f.direction.descending) for f in done.schema.sort_by] == [
        (2, False),
        (1, True),
        (5, False),
    ]
    assert done.properties == {}
    renamed = alter(done, RenameColumn(("host",), "a,b"), RenameColumn(p("address.zip"), "desc"))
    text = render_sort_by(renamed.schema)
    assert text == "`a,b`, ts DESC, address.desc"
    assert alter(renamed, SetProperty("sort_by", text)).schema == renamed.schema
    assert alter(done, UnsetProperty("sort_by")).schema.sort_by == ()
    assert render_sort_by(CPU.schema) == ""


@pytest.mark.parametrize("text", ["", " ", "a,,b", ",a", "a,", "`a", "a.", ".a desc", "`a` `b"])
def test_an_invalid_sort_order_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequestError):
        parse_sort_by(text)


def test_partitioning_names_columns_and_follows_renames() -> None:
    done = alter(CPU, SetPartitioning(("days(ts)", "bucket(16, host)", "address.zip")))
    assert [(f.source, f.transform) for f in done.schema.partitioning] == [
        (1, "days"),
        (2, "bucket(16)"),
        (5, "identity"),
    ]
    assert done.schema.version == 1
    wide = alter(done, ChangeType(p("address.zip"), Atom.LONG), RenameColumn(("host",), "h"))
    assert wide.schema.partitioning == done.schema.partitioning
    assert alter(done, SetPartitioning(())).schema.partitioning == ()


# --- several changes in one ALTER ---------------------------------------------------------------


def test_rename_then_move_then_drop_and_add() -> None:
    done = alter(
        CPU,
        RenameColumn(("host",), "server"),
        MoveColumn(("server",), first=True),
        DropColumn(("usage",)),
        AddColumn(("usage",), Atom.DOUBLE, after="server"),
        SetDefault(("usage",), 1.5),
    )
    assert list(done.schema.names[:3]) == ["server", "usage", "ts"]
    assert (ids(done)["server"], ids(done)["usage"]) == (2, 19)
    assert at(done, "usage").physical_name == "usage_19"


def test_swap_two_names() -> None:
    done = alter(
        CPU,
        RenameColumn(("host",), "third"),
        RenameColumn(("usage",), "host"),
        RenameColumn(("third",), "usage"),
    )
    assert (ids(done)["usage"], ids(done)["host"]) == (2, 3)


def test_one_alter_may_replace_the_last_column() -> None:
    one = table(("s", "STRUCT<a: INT>"))
    exchanged = alter(one, DropColumn(p("s.a")), AddColumn(p("s.b"), Atom.INT))
    assert ids(exchanged) == {"s": 1, "s.b": 3}
    assert ids(alter(one, DropColumn(("s",)), AddColumn(("b",), Atom.INT))) == {"b": 3}


def test_the_schema_version_rises_only_if_the_schema_changes() -> None:
    assert alter(CPU, SetProperty("a", "b")).schema == CPU.schema
    nothing: list[list[Change]] = [
        [],
        [RenameColumn(("host",), "host")],
        [ChangeType(("host",), Atom.STRING)],
        [ChangeType(p("attrs.key.a"), Atom.INT)],
        [DropNotNull(("host",))],
        [AddColumn(("x",), Atom.INT), DropColumn(("x",))],
        [RenameColumn(("host",), "h"), RenameColumn(("h",), "host")],
    ]
    for requests in nothing:
        assert alter(CPU, *requests).schema == CPU.schema
    many = plan_changes([SetNotNull(("host",)), SetComment(("ts",), "x")], CPU, 7)[1]
    assert many.schema.version == 7
    assert alter(CPU, SetProperty("sort_by", "ts")).schema.version == 1


def test_changes_do_not_modify_their_input() -> None:
    before = (CPU.schema, dict(CPU.properties), dict(CPU.used_names), CPU.next_column_id)
    alter(CPU, AddColumn(("x",), Atom.INT), DropColumn(("host",)), SetProperty("a", "b"))
    assert before == (CPU.schema, CPU.properties, CPU.used_names, CPU.next_column_id)


# --- refused changes ----------------------------------------------------------------------------

ARRANGED = alter(
    CPU,
    SetPartitioning(("days(ts)", "address.zip", "bucket(4, usage)", "day")),
    SetProperty("sort_by", "host"),
)
STRICT = alter(
    CPU,
    AddColumn(("v",), Atom.INT, default=1, nullable=False),
    AddColumn(("d",), Atom.DATE, default=Now.DATE),
)
ONE = table(("s", "STRUCT<a: INT>"))
INT = Atom.INT


def add(path: str, type_: DataType = INT, **more: Any) -> AddColumn:
    return AddColumn(p(path), type_, **more)


REFUSED: list[tuple[Evolution, Change, type[Exception], str]] = [
    # adding
    (CPU, add("HOST"), InvalidRequestError, "column host already"),
    (CPU, add("address.ZIP"), InvalidRequestError, "address.zip already"),
    (CPU, add("tags.x"), InvalidRequestError, "tags.element.x"),
    (CPU, add("tags.element"), InvalidRequestError, "tags.element.x"),
    (CPU, add("attrs.x"), InvalidRequestError, "attrs.value.x"),
    (CPU, add("attrs.key"), InvalidRequestError, "attrs.value.x"),
    (CPU, add("attrs.key.b"), InvalidRequestError, "key of a map"),
    (CPU, add("host.x"), InvalidRequestError, "host is STRING"),
    (CPU, add("n.element.x"), InvalidRequestError, "n.element is INT"),
    (CPU, add("nothing.x"), NotFoundError, "no column nothing"),
    (CPU, add("tags.name.x"), NotFoundError, "tags.element.name"),
    (CPU, add("x", nullable=False), InvalidRequestError, "x can't be added NOT NULL"),
    (CPU, add("x", nullable=False, default=None), InvalidRequestError, "without a default"),
    (CPU, add("address.x", nullable=False), InvalidRequestError, "address.x can't be added"),
    (CPU, add("x", Atom.VARIANT, nullable=False), InvalidRequestError, "then set NOT NULL"),
    (CPU, add("x", Atom.VARIANT, default=1), InvalidRequestError, "x is VARIANT"),
    (CPU, add("x", default="a"), InvalidRequestError, "column x: .*does not fit"),
    (CPU, add("x", default=2**31), InvalidRequestError, "column x"),
    (CPU, add("x", default=Now.DATE), InvalidRequestError, "current_date is DATE"),
    (CPU, add("x", Atom.TIMESTAMP_NTZ, default=Now.TIMESTAMP), InvalidRequestError, "a constant"),
    (CPU, add("x", first=True, after="ts"), InvalidRequestError, "both"),
    (CPU, add("x", after="zip"), NotFoundError, "AFTER names a sibling"),
    (CPU, add("address.x", after="host"), NotFoundError, "zip, city"),
    (CPU, add("x", after="x"), NotFoundError, "to come after"),
    (CPU, AddColumn(("a\nb",), INT), InvalidRequestError, "control"),
    # dropping
    (CPU, DropColumn(("nothing",)), NotFoundError, "no column nothing.*ts, host"),
    (CPU, DropColumn(p("address.nothing")), NotFoundError, "zip, city"),
    (CPU, DropColumn(p("tags.name")), NotFoundError, "tags.element.name"),
    (CPU, DropColumn(p("host.x")), NotFoundError, "host is STRING"),
    (CPU, DropColumn(p("tags.element")), InvalidRequestError, "belongs to the type of tags"),
    (CPU, DropColumn(p("attrs.key")), InvalidRequestError, "belongs to the type of attrs"),
    (CPU, DropColumn(p("attrs.value")), InvalidRequestError, "belongs to the type of attrs"),
    (CPU, DropColumn(p("attrs.key.a")), InvalidRequestError, "key of a map"),
    (CPU, DropColumn(p("tags.element.name")), InvalidRequestError, "last field of tags.element"),
    (ONE, DropColumn(p("s.a")), InvalidRequestError, "last field of s"),
    (ONE, DropColumn(("s",)), InvalidRequestError, "last column"),
    (ARRANGED, DropColumn(("ts",)), InvalidRequestError, "partitioned by ts.*set_partitioning"),
    (ARRANGED, DropColumn(("address",)), InvalidRequestError, "partitioned by address.zip"),
    (ARRANGED, DropColumn(("host",)), InvalidRequestError, "sorted by host.*sort_by"),
    # renaming and moving
    (CPU, RenameColumn(("host",), "TS"), InvalidRequestError, "column ts already"),
    (CPU, RenameColumn(p("address.zip"), "City"), InvalidRequestError, "address.city already"),
    (CPU, RenameColumn(p("tags.element"), "x"), InvalidRequestError, "can't be renamed"),
    (CPU, RenameColumn(p("attrs.key"), "x"), InvalidRequestError, "can't be renamed"),
    (CPU, RenameColumn(("host",), ""), InvalidRequestError, "no name"),
    (CPU, MoveColumn(("host",)), InvalidRequestError, "give FIRST, or AFTER"),
    (CPU, MoveColumn(("host",), first=True, after="ts"), InvalidRequestError, "both"),
    (CPU, MoveColumn(("host",), after="HOST"), InvalidRequestError, "after itself"),
    (CPU, MoveColumn(p("address.zip"), after="host"), NotFoundError, "AFTER names a sibling"),
    (CPU, MoveColumn(p("attrs.value"), first=True), InvalidRequestError, "can't be moved"),
    # types
    (CPU, ChangeType(("host",), INT), InvalidRequestError, "host can't change from STRING to INT"),
    (CPU, ChangeType(("address",), INT), InvalidRequestError, "address.zip"),
    (CPU, ChangeType(("n",), parse_type("ARRAY<BIGINT>")), InvalidRequestError, "n.element"),
    (CPU, ChangeType(p("n.item"), Atom.LONG), NotFoundError, "n.element.item"),
    (ARRANGED, ChangeType(("usage",), Atom.DOUBLE), InvalidRequestError, r"bucket\(4, usage\)"),
    (ARRANGED, ChangeType(p("address.zip"), Atom.DOUBLE), InvalidRequestError, "by address.zip"),
    (STRICT, ChangeType(("d",), Atom.TIMESTAMP_NTZ), InvalidRequestError, "drop the default"),
    # defaults and nulls
    (STRICT, SetDefault(("v",), None), InvalidRequestError, "v can't be NULL.*NOT NULL"),
    (CPU, SetDefault(("host",), 1), InvalidRequestError, "column host: .*does not fit"),
    (CPU, SetDefault(("shape",), 1), InvalidRequestError, "shape is VARIANT"),
    (CPU, SetDefault(p("n.element"), 1), InvalidRequestError, "can't be given a default"),
    (CPU, SetDefault(("day",), Now.TIMESTAMP), InvalidRequestError, "current_timestamp is"),
    (CPU, DropNotNull(p("attrs.key")), InvalidRequestError, "never null"),
    # the table
    (CPU, SetPartitioning(("host", "HOST")), InvalidRequestError, "twice"),
    (CPU, SetPartitioning(("years(host)",)), InvalidRequestError, r"years\(host\).*STRING"),
    (CPU, SetPartitioning(("n.element",)), InvalidRequestError, "list or map"),
    (CPU, SetPartitioning(("nothing",)), NotFoundError, "nothing"),
    (CPU, SetProperty("sort_by", ""), InvalidRequestError, "sort order"),
    (CPU, SetProperty("sort_by", "host, HOST DESC"), InvalidRequestError, "twice"),
    (CPU, SetProperty("sort_by", "address"), InvalidRequestError, "a struct's fields"),
    (CPU, SetProperty("sort_by", "shape"), InvalidRequestError, "VARIANT"),
    (CPU, SetProperty("sort_by", "tags.element.name"), InvalidRequestError, "list or map"),
    (CPU, SetProperty("sort_by", "nothing"), NotFoundError, "nothing"),
    (CPU, SetProperty("", "x"), InvalidRequestError, "text"),
    (CPU, SetProperty("a", 1), InvalidRequestError, "text"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("evolution, request_, error, words", REFUSED)
def test_invalid_changes_are_refused(
    evolution: Evolution, request_: Change, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        alter(evolution, request_)


# --- rebasing -----------------------------------------------------------------------------------


def test_a_rename_follows_its_column_after_a_concurrent_rename() -> None:
    mine = bound(CPU, RenameColumn(("host",), "server"))
    theirs = alter(CPU, RenameColumn(("host",), "h"), RenameColumn(("usage",), "host"))
    done = rebase(mine, theirs, 2)
    assert (ids(done)["server"], ids(done)["host"]) == (2, 3)
    assert done.schema.version == 2


def test_a_drop_does_not_drop_another_column_of_the_same_name() -> None:
    mine = bound(CPU, DropColumn(("host",)))
    theirs = alter(CPU, RenameColumn(("host",), "h"), AddColumn(("host",), INT))
    done = rebase(mine, theirs, 2)
    assert 2 not in done.schema.ids
    assert ids(done)["host"] == 19


def test_changes_to_columns_added_by_the_same_alter_are_rebased_to_new_ids() -> None:
    type_ = parse_type("STRUCT<a: INT, b: STRUCT<c: INT>>")
    requests: list[Change] = [
        AddColumn(("one",), INT),
        AddColumn(("s",), type_, default={"a": 1, "b": {"c": 2}}),
        RenameColumn(p("s.b"), "bb"),
        AddColumn(p("s.bb.d"), INT, after="c"),
        SetComment(p("s.bb.d"), "deep"),
        ChangeType(p("s.bb.c"), Atom.LONG),
        SetDefault(("s",), {"a": 3, "bb": {"c": 4, "d": 5}}),
        MoveColumn(("s",), after="one"),
        MoveColumn(("one",), first=True),
        SetPartitioning(("bucket(4, s.bb.c)",)),
        SetProperty("sort_by", "s.bb.d DESC"),
        AddColumn(p("address.x"), INT),
        SetDefault(("address",), {"zip": 1, "x": 2}),
    ]
    mine = bound(CPU, *requests)
    theirs = alter(CPU, AddColumn(p("address.y"), INT, default=9), *(add(c) for c in "klm"))
    done = rebase(pickle.loads(pickle.dumps(mine)), theirs, 2)
    fresh = alter(theirs, *requests)
    # As if planned afterwards, except for the default of address: y did not exist when it was bound.
    assert ids(done) == ids(fresh)
    assert ids(done)["s.bb.d"] == 28
    assert defaults(done, "s") == (
        {"a": 1, "bb": {"c": 2, "d": None}},
        {"a": 3, "bb": {"c": 4, "d": 5}},
    )
    assert at(done, "address").write_default == Constant('{"5":"1","6":null,"29":"2"}')
    assert done.schema.partitioning == fresh.schema.partitioning
    assert done.schema.sort_by == fresh.schema.sort_by
    assert at(done, "s.bb.d").comment == "deep"
    assert done.next_column_id == fresh.next_column_id == 30


def test_a_rebase_keeps_the_values_that_planning_fixed() -> None:
    mine = bound(CPU, AddColumn(("t",), Atom.TIMESTAMP, default=Now.TIMESTAMP))
    done = rebase(mine, alter(CPU, add("k")), 2)
    assert defaults(done, "t") == (NOON, Now.TIMESTAMP)


def test_a_default_set_while_its_column_is_widened() -> None:
    mine = bound(CPU, SetDefault(("usage",), 5), SetDefault(("address",), {"zip": 7, "city": "x"}))
    theirs = alter(
        CPU,
        ChangeType(("usage",), Decimal(12, 2)),
        ChangeType(p("address.zip"), Atom.DOUBLE),
        RenameColumn(p("address.zip"), "code"),
        DropColumn(p("address.city")),
    )
    done = rebase(mine, theirs, 2)
    assert at(done, "usage").write_default == Constant('"5.00"')
    assert defaults(done, "address")[1] == {"code": 7.0}


def test_a_rebased_add_gets_another_physical_name_if_its_own_is_used() -> None:
    mine = bound(CPU, add("x"))
    theirs = alter(alter(CPU, add("x")), RenameColumn(("x",), "y"))
    assert at(rebase(mine, theirs, 3), "x").physical_name == "x_20"


def test_rebasing_over_the_same_changes_changes_nothing() -> None:
    requests: list[Change] = [
        RenameColumn(("host",), "server"),
        ChangeType(("usage",), Atom.LONG),
        SetNotNull(("ts",)),
        SetComment(("ts",), "when"),
        SetPartitioning(("days(ts)",)),
        SetProperty("sort_by", "ts"),
        SetProperty("a", "b"),
    ]
    once = alter(CPU, *requests)
    assert apply_all(bound(CPU, *requests), once, 9) == once


CONFLICTS: list[tuple[Change, list[Change], str]] = [
    (RenameColumn(("host",), "x"), [DropColumn(("host",))], "host no longer exists"),
    (
        ChangeType(p("address.zip"), Atom.LONG),
        [DropColumn(("address",))],
        "address.zip no longer exists",
    ),
    (DropColumn(("host",)), [DropColumn(("host",))], "no longer exists"),
    (SetComment(("host",), "x"), [DropColumn(("host",)), add("host")], "no longer exists"),
    (add("x"), [add("X")], "column X already"),
    (add("address.x"), [DropColumn(("address",))], "address no longer exists"),
    (add("x", after="host"), [DropColumn(("host",))], "host no longer exists"),
    (MoveColumn(("ts",), after="host"), [DropColumn(("host",))], "no longer exists"),
    (RenameColumn(("host",), "x"), [RenameColumn(("ts",), "X")], "column X already"),
    (ChangeType(("usage",), Atom.LONG), [ChangeType(("usage",), Atom.DOUBLE)], "DOUBLE to BIGINT"),
    (ChangeType(("usage",), Atom.DOUBLE), [SetPartitioning(("usage",))], "partitioned by usage"),
    (SetPartitioning(("usage",)), [ChangeType(("usage",), Atom.DOUBLE)], "partitioned by usage"),
    (DropColumn(("host",)), [SetProperty("sort_by", "host")], "sorted by host"),
    (DropColumn(("host",)), [SetPartitioning(("bucket(2, host)",))], "partitioned by host"),
    (SetPartitioning(("host",)), [DropColumn(("host",))], "no longer exists"),
    (SetProperty("sort_by", "host"), [DropColumn(("host",))], "no longer exists"),
    (DropColumn(p("address.zip")), [DropColumn(p("address.city"))], "last field of address"),
    (SetDefault(("day",), Now.DATE), [ChangeType(("day",), Atom.TIMESTAMP_NTZ)], "does not fit"),
]


@pytest.mark.parametrize("mine, theirs, words", CONFLICTS)
def test_conflicting_changes_are_refused(mine: Change, theirs: list[Change], words: str) -> None:
    bounds = bound(CPU, mine)
    newer = alter(CPU, *theirs)
    with pytest.raises(InvalidRequestError, match=words):
        apply_all(bounds, newer, 2)
    with pytest.raises(CommitConflictError, match=f"{words}.*repeat the change") as caught:
        rebase(bounds, newer, 2)
    assert mine.describe() in str(caught.value)


# --- random changes in any order ----------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "c", "d"])
POSITIONS = st.fixed_dictionaries({}, optional={"after": NAMES}) | st.just({"first": True})
CHANGES: st.SearchStrategy[Change] = st.one_of(
    st.builds(lambda n, position: AddColumn((n,), INT, **position), NAMES, POSITIONS),
    st.builds(lambda n: DropColumn((n,)), NAMES),
    st.builds(lambda n, m: RenameColumn((n,), m), NAMES, NAMES),
    st.builds(lambda n, position: MoveColumn((n,), **position), NAMES, POSITIONS),
    st.builds(lambda n: ChangeType((n,), Atom.LONG), NAMES),
    st.builds(lambda n, v: SetDefault((n,), v), NAMES, st.none() | st.integers(0, 9)),
    st.builds(lambda n: SetNotNull((n,)), NAMES),
)


def legal(evolution: Evolution, requests: list[Change]) -> list[Change]:
    """The changes that are legal when applied one after another."""
    kept: list[Change] = []
    for request in requests:
        try:
            alter(evolution, *kept, request)
        except (InvalidRequestError, NotFoundError):
            continue
        kept.append(request)
    return kept


@given(st.lists(CHANGES, max_size=8), st.lists(CHANGES, max_size=8))
def test_a_rebase_conflicts_or_changes_the_columns_it_was_planned_for(
    mine: list[Change], theirs: list[Change]
) -> None:
    start = table(("a", "INT"), ("b", "INT"), ("c", "INT"))
    mine = legal(start, mine)
    planned, alone = plan_changes(mine, start, 1)
    assert apply_all(planned, start, 1) == alone
    newer = alter(start, *legal(start, theirs))
    try:
        done = rebase(planned, newer, 2)
    except CommitConflictError:
        return
    # A column that I dropped is gone, and one that I did not touch is as the others left it.
    dropped = start.schema.ids - alone.schema.ids
    assert not dropped & done.schema.ids
    for column_id in done.schema.ids & start.schema.ids:
        before, after = start.schema.column(column_id), alone.schema.column(column_id)
        expected = newer.schema.column(column_id)
        if before.name != after.name:
            expected = replace(expected, name=after.name)
        if before.type != after.type:
            expected = replace(expected, type=after.type)
        if before.write_default != after.write_default:
            expected = replace(expected, write_default=after.write_default)
        if before.nullable != after.nullable:
            expected = replace(expected, nullable=after.nullable)
        assert equal_except_undone(done.schema.column(column_id), expected, mine)
    new_ids = alone.next_column_id - start.next_column_id
    assert done.next_column_id == newer.next_column_id + new_ids


def equal_except_undone(found: Column, expected: Column, mine: list[Change]) -> bool:
    """Whether they are equal except for a name, default or type that I set to its old value."""
    if any(isinstance(change, RenameColumn) for change in mine):
        found = replace(found, name=expected.name)
    if any(isinstance(change, SetDefault) for change in mine):
        found = replace(found, write_default=expected.write_default)
    return found == expected


@given(st.lists(CHANGES, max_size=12))
def test_a_physical_name_stands_for_one_column_id_only(requests: list[Change]) -> None:
    evolution = table(("a", "INT"), ("b", "INT"))
    owners: dict[str, int] = {}
    for request in requests:
        try:
            evolution = alter(evolution, request)
        except (InvalidRequestError, NotFoundError):
            continue
        for column in evolution.schema.columns:
            assert owners.setdefault(column.physical_name.lower(), column.id) == column.id


# --- descriptions -------------------------------------------------------------------------------


def test_the_union_lists_every_class_of_changes() -> None:
    def concrete(class_: type) -> set[str]:
        below = set[str]().union(*map(concrete, class_.__subclasses__()))
        is_ours = class_.__module__.startswith("versioned_catalog.") and not inspect.isabstract(
            class_
        )
        return below | {class_.__name__} if is_ours else below

    assert concrete(SchemaChange) == {class_.__name__ for class_ in get_args(Change)}
    for class_ in get_args(Change):
        assert class_.kind
        assert class_.__dataclass_params__.frozen


@pytest.mark.parametrize(
    "change, text",
    [
        (
            add("usage_idle", Atom.DOUBLE, default=7.5, after="host"),
            "ADD COLUMN usage_idle DOUBLE DEFAULT 7.5 AFTER host",
        ),
        (
            add("a.`b c`", Atom.STRING, default="it's", nullable=False, comment="x", first=True),
            "ADD COLUMN a.`b c` STRING NOT NULL DEFAULT 'it''s' COMMENT 'x' FIRST",
        ),
        (add("x", default=Constant('"5"')), "ADD COLUMN x INT DEFAULT 5"),
        (add("x", default=None), "ADD COLUMN x INT DEFAULT NULL"),
        (add("x", Atom.BOOLEAN, default=True), "ADD COLUMN x BOOLEAN DEFAULT TRUE"),
        (add("x", Atom.BINARY, default=b"\x01\xff"), "ADD COLUMN x BINARY DEFAULT X'01FF'"),
        (add("x", parse_type("ARRAY<INT>")), "ADD COLUMN x ARRAY<INT>"),
        (DropColumn(p("a.b")), "DROP COLUMN a.b"),
        (RenameColumn(("a",), "b c"), "RENAME COLUMN a TO `b c`"),
        (MoveColumn(("a",), first=True), "ALTER COLUMN a FIRST"),
        (MoveColumn(("a",), after="b"), "ALTER COLUMN a AFTER b"),
        (ChangeType(("a",), Decimal(9, 2)), "ALTER COLUMN a TYPE DECIMAL(9,2)"),
        (SetDefault(("a",), Now.DATE), "ALTER COLUMN a SET DEFAULT CURRENT_DATE"),
        (SetDefault(("a",), "x" * 200), f"ALTER COLUMN a SET DEFAULT '{'x' * 98}…"),
        (DropDefault(("a",)), "ALTER COLUMN a DROP DEFAULT"),
        (SetNotNull(("a",)), "ALTER COLUMN a SET NOT NULL"),
        (DropNotNull(("a",)), "ALTER COLUMN a DROP NOT NULL"),
        (SetComment(("a",), "b"), "ALTER COLUMN a COMMENT 'b'"),
        (SetComment(("a",), None), "ALTER COLUMN a COMMENT NULL"),
        (SetProperty("k", "v"), "SET TBLPROPERTIES ('k' = 'v')"),
        (UnsetProperty("k"), "UNSET TBLPROPERTIES ('k')"),
        (SetPartitioning(("days(ts)", "host")), "PARTITIONED BY (days(ts), host)"),
    ],
)
def test_each_change_has_a_description(change: Change, text: str) -> None:
    assert change.describe() == text
