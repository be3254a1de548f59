"""Names of all kinds: an accepted name reads back the same, any other is refused by a VersionedError."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sealing import sealed
from versioned_catalog import Catalog, InvalidRequestError, NotFoundError, Table, VersionedError
from versioned_catalog.model.type_text import parse_path, render_path

ODD = [
    *(
        "a b",
        " x",
        "x ",
        ".",
        "..",
        ".hidden",
        "x.",
        "a.b",
        "a/b",
        "/etc/passwd",
        "../../x",
        "a\\b",
    ),
    *("data", "DATA", "_versioned", "con", "nul", "NUL.txt", "a%2Fb", "%2e%2e", "%", "a'b", 'a"b'),
    *(
        "a`b",
        "`",
        "{x}",
        "*",
        "?",
        "[a]",
        "#",
        "a:b",
        "s3://b/k",
        "root:x",
        "a;b",
        "--",
        "a,b",
        "a=b",
    ),
    *("\u00e9", "e\u0301", "ß", "SS", "İ", "ı", "日本語" * 40, "\U0001f600", "\u202eabc", "\ufeff"),
    *("x" * 255, "-", "~", "$HOME", "${x}", "<a>", "a|b", "null", "select", "1", "-1", "\u00a0"),
]
BAD = ["a\nb", "\x00", "\x1b[31m", "\x7f", "\x85", "x" * 256, "\ud800", ""]

anything = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("./\\%`'\"\0\n ~:*?{}[]#-_aAıİßſ\u0301\ud800"),
    ),
    max_size=300,
)
numbers = itertools.count()


def rows(value: int) -> pa.Table:
    return pa.table({"a": pa.array([value], pa.int32())})


def outside(folder: Path) -> set[str]:
    return {name for name in os.listdir(folder.parent) if name != folder.name}


def check_table(folder: Path, name: str) -> None:
    """A table of that name, in a namespace of that name, is found by this name and no other."""
    catalog, before = Catalog(folder), outside(folder)
    catalog.create_namespace((name,))
    assert catalog.list_namespaces() == [render_path((name,))]
    table = catalog.create_table((name, name), "a INT")
    table.append(rows(1))
    fresh = Catalog(folder)
    assert fresh.list_tables((name,)) == [name]
    assert parse_path(fresh.list_namespaces()[0]) == (name,)
    text = render_path((name, name))
    assert fresh.load_table(text).scan().to_arrow() == rows(1)
    fresh.rename_table(text, (name, "other"))
    fresh.rename_table((name, "other"), text)
    assert fresh.load_table((name, name)).count() == 1
    fresh.create_table((name, name + "2") if len(name) < 255 else (name, "2"), "a INT")
    fresh.drop_table(text)
    assert not fresh.table_exists((name, name))
    assert outside(folder) == before, "nothing was written beside the warehouse"


def check_column(table: Table, name: str) -> None:
    """Create a column of that name, at the top level and in a struct."""
    ddl = pa.schema(
        [("k", pa.int32()), (name, pa.string()), ("s", pa.struct([(name, pa.int32())]))]
    )
    created = Catalog.create_path(f"{table.location}-{next(numbers)}", ddl, partitioned_by=[])
    data = pa.table(
        [pa.array([1], pa.int32()), ["v"], pa.array([{name: 5}], ddl.types[2])], schema=ddl
    )
    created.append(data)
    loaded = Catalog.load_path(created.location)
    assert loaded.schema.names == ["k", name, "s"]
    assert loaded.scan().to_arrow().to_pylist() == [{"k": 1, name: "v", "s": {name: 5}}]
    path = render_path((name,))
    assert loaded.scan(filters=[(path, "=", "v")]).count() == 1
    assert loaded.scan(filters=[(render_path(("s", name)), ">", 5)]).count() == 0
    loaded.alter().rename_column(path, "plain").rename_column("plain", name).commit()
    loaded.alter().drop_column(render_path(("s",))).add_column((name + "x",), "int").commit()
    assert Catalog.load_path(created.location).schema.names == ["k", name, name + "x"]


@pytest.mark.parametrize("name", ODD)
def test_odd_names_of_tables(name: str, tmp_path: Path) -> None:
    check_table(tmp_path / "w", name)


@pytest.mark.parametrize("name", ODD)
def test_odd_names_of_columns(name: str, tmp_path: Path) -> None:
    check_column(Catalog.create_path(tmp_path / "t", "a INT"), name)


@pytest.mark.parametrize("name", BAD)
def test_invalid_names_are_refused(name: str, tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "w")
    catalog.create_namespace("n")
    catalog.create_table("n.t", "a INT")
    for act in (
        lambda: catalog.create_namespace((name,)),
        lambda: catalog.create_table(("n", name), "a INT"),
        lambda: catalog.rename_table("n.t", ("n", name)),
    ):
        with pytest.raises(InvalidRequestError):
            act()
    assert catalog.list_namespaces() == ["n"]
    assert catalog.list_tables("n") == ["t"]


CONTROL = ["\x00", "\t", "\n", "\x1b", "\x1f", "\x7f", "\x80", "\x85", "\x9b", "\x9f"]


@pytest.mark.parametrize("control", CONTROL, ids=ascii)
def test_no_name_holds_a_control_character(control: str, tmp_path: Path) -> None:
    """The rule is the same for columns, tables, namespaces and tags."""
    name = f"a{control}b"
    catalog = Catalog(tmp_path)
    table = catalog.create_table("t", "a INT, s STRUCT<x: INT>")
    table.append(pa.table({"a": pa.array([1], pa.int32())}))
    for act in (
        lambda: catalog.create_namespace((name,)),
        lambda: catalog.create_table((name,), "a INT"),
        lambda: catalog.create_table("u", pa.schema([(name, pa.int32())])),
        lambda: catalog.create_table("u", pa.schema([("s", pa.struct([(name, pa.int32())]))])),
        lambda: table.alter().add_column((name,), "int").commit(),
        lambda: table.alter().add_column(("s", name), "int").commit(),
        lambda: table.alter().rename_column("a", name).commit(),
        lambda: table.append(pa.table({name: [1]}), merge_schema=True),
        lambda: table.set_tag(name),
    ):
        with pytest.raises(InvalidRequestError, match="control characters"):
            act()
    assert Catalog(tmp_path).load_table("t").version == 1
    assert Catalog(tmp_path).list_tables() == ["t"]


@pytest.mark.parametrize("control", ["\x80", "\x85", "\x9b", "\x9f"], ids=ascii)
def test_a_stored_column_may_have_a_formerly_allowed_name(control: str, tmp_path: Path) -> None:
    """U+0080 to U+009F were allowed in column names; such tables are read, written and changed."""
    table = Catalog.create_path(tmp_path / "t", "ab INT, c INT")
    name = f"a{control}b"
    entry = tmp_path / "t/_versioned/log" / f"{0:020d}.json"
    text = entry.read_text().replace('"name":"ab"', f'"name":"{name}","physical":"ab"')
    entry.write_text(sealed(json.loads(text)))
    table = Catalog.load_path(tmp_path / "t")
    assert table.schema.names == [name, "c"]
    table.append(pa.table({name: pa.array([1], pa.int32()), "c": pa.array([2], pa.int32())}))
    table.alter().rename_column("c", "d").commit()
    assert table.scan().to_arrow().to_pylist() == [{name: 1, "d": 2}]
    table.alter().rename_column((name,), "ab").commit()
    table.rollback(2)
    assert Catalog.load_path(tmp_path / "t").schema.names == [name, "d"]


@given(name=anything)
def test_any_name_of_a_table(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    try:
        check_table(tmp_path_factory.mktemp("any") / "w", name)
    except VersionedError:
        assert name in ("", "other") or not name.isprintable() or len(name) > 250


@given(name=anything)
def test_any_name_of_a_column(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    table = Catalog.create_path(tmp_path_factory.mktemp("any") / "t", "a INT")
    try:
        check_column(table, name)
    except (VersionedError, UnicodeEncodeError):  # Arrow refuses unpaired surrogates itself
        assert name.lower() in ("", "k", "s", "plain") or not name.isprintable()


def test_names_that_differ_only_in_unicode_form(tmp_path: Path) -> None:
    """Composed and decomposed forms are two names; upper and lower case are one name."""
    catalog = Catalog(tmp_path)
    for name in ("\u00e9", "e\u0301"):
        catalog.create_table((name,), "a INT").append(rows(len(name)))
    assert [catalog.load_table((n,)).scan().to_arrow() for n in ("\u00e9", "e\u0301")] == [
        rows(1),
        rows(2),
    ]
    with pytest.raises(VersionedError, match="there already"):
        catalog.create_table(("\u00c9",), "a INT")
    for ddl in ("`straße` INT, `STRASSE` INT", "`ı` INT, i INT", "`İ` INT, `ı` INT"):
        with pytest.raises(VersionedError, match="occurs twice"):
            catalog.create_table("t", ddl)


def test_long_names_with_a_common_prefix_have_different_folders(tmp_path: Path) -> None:
    catalog, long = Catalog(tmp_path), "日本語" * 60
    for end in ("a", "b"):
        catalog.create_table((long + end,), "a INT").append(rows(ord(end)))
    assert catalog.load_table((long + "a",)).scan().to_arrow() == rows(97)
    assert catalog.load_table((long + "b",)).scan().to_arrow() == rows(98)
    assert max(len(name) for name in os.listdir(tmp_path)) <= 150


def test_the_depth_of_namespaces_is_limited(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    for depth in range(1, 64):
        catalog.create_namespace(("n",) * depth)
    catalog.create_table((*("n",) * 63, "t"), "a INT").append(rows(1))
    catalog.create_namespace(("n",) * 64)
    with pytest.raises(InvalidRequestError, match="up to 64 parts, got 65"):
        catalog.create_table((*("n",) * 64, "t"), "a INT")


READS: dict[str, Callable[[Catalog], object]] = {
    "list_tables": lambda c: c.list_tables(),
    "list_tables of a namespace": lambda c: c.list_tables("n"),
    "list_namespaces": lambda c: c.list_namespaces(),
    "load_table": lambda c: c.load_table("n.t"),
    "namespace_properties": lambda c: c.namespace_properties("n"),
}


@pytest.mark.parametrize("read", READS)
def test_a_missing_warehouse_is_reported(tmp_path: Path, read: str) -> None:
    nope = tmp_path / "nope"
    with pytest.raises(NotFoundError, match=f"there is no warehouse at {nope}: .* check the path"):
        READS[read](Catalog(nope))
    assert not nope.exists()


def test_existence_checks_and_creations_need_no_warehouse(tmp_path: Path) -> None:
    """Existence checks and creations work in a warehouse that has no log yet."""
    catalog = Catalog(tmp_path / "new")
    assert not catalog.table_exists("n.t")
    assert not catalog.namespace_exists("n")
    catalog.create_namespace("n")
    assert catalog.list_namespaces() == ["n"]
    (tmp_path / "empty").mkdir()
    assert Catalog(tmp_path / "empty").list_tables() == []
