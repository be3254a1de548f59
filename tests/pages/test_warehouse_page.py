"""What the page of a warehouse says, against what was done to its tables."""

from __future__ import annotations

import shlex
import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow as pa
import pytest

from pages.conftest import HOSTILE
from pages.test_page import parsed, section, texts
from versioned_catalog import Catalog, NotFoundError
from versioned_interop.pages.warehouse_page import file_name


def ints(*numbers: int) -> pa.Table:
    return pa.table({"a": pa.array(numbers, pa.int32())})


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Tables with small segments, a tag, a consumer, a pin, a branch and a clone, and a dropped one."""
    catalog = Catalog(tmp_path / "warehouse")
    catalog.create_namespace("db")
    off = {"auto_maintain": "off"}
    busy = catalog.create_table("db.busy", "a INT, b INT", properties=off)
    for number in range(5):
        busy.append(ints(number))
    busy.set_tag("release", 3)
    busy.move_consumer("etl", 2)
    busy.pin_schema("billing", owner="team-billing")
    busy.alter().drop_column("b").commit()
    busy.create_branch("trial")
    catalog.create_table("keyed", "k INT, v INT", primary_key=["k"])
    source = catalog.create_table("source", "a INT", properties=off)
    source.append(ints(1, 2, 3))
    catalog.clone_table("copy", "source", shallow=True)
    source.overwrite(ints(4))
    catalog.create_table("gone", "a INT")
    catalog.drop_table("gone")
    return catalog


def rows(page: ET.Element, title: str) -> dict[str, list[str]]:
    """The cells of each row of a section, by the first two if the first is there twice."""
    found: dict[str, list[str]] = {}
    for row in list(section(page, title).iter("tr"))[1:]:
        first, *rest = texts(row, "td")
        found[first if first not in found else f"{first} {rest[0]}"] = rest
    return found


def test_every_table_is_listed(catalog: Catalog) -> None:
    done = catalog.page()
    assert (done.tables, done.failed) == (4, 0)
    page = parsed(done.html)
    tables = rows(page, "Tables")
    assert list(tables) == ["copy", "db.busy", "keyed", "source"]
    assert {name: cells[0] for name, cells in tables.items()} == {
        "copy": "3",
        "db.busy": "5",
        "keyed": "0*",
        "source": "1",
    }
    state = catalog.load_table("db.busy").state
    rest = tables["db.busy"]
    assert rest[2:5] == ["5", f"5 ({state.segments.bytes / 1000:.2f} kB)", str(state.version + 1)]
    assert rest[6] == "compact"
    facts = dict(zip(texts(page, "dt"), texts(page, "dd"), strict=True))
    assert (facts["tables"], facts["rows"], facts["can be undropped"]) == ("4", "9", "1")
    assert "tables with problems" not in facts


def test_what_is_due_is_what_advise_says(catalog: Catalog) -> None:
    (job,) = catalog.load_table("db.busy").maintenance.advise().due
    assert rows(parsed(catalog.page().html), "Maintenance that is due") == {
        "db.busy": ["compact", job.why, f"{job.rewritten_bytes / 1000:.2f} kB", ""]
    }


def test_what_keeps_old_files_is_listed_with_their_size(catalog: Catalog) -> None:
    table = section(parsed(catalog.page().html), "What keeps versions, files and columns")
    held = {texts(row, "td")[1]: texts(row, "td") for row in list(table.iter("tr"))[1:]}
    newest = catalog.load_table("db.busy").version
    old = catalog.load_table("source").snapshot(1).state.segments.bytes
    assert held == {
        "branch trial": [
            *("db.busy", "branch trial", f"version {newest - 1} of {newest}"),
            *("the files that it began with", "0 B"),
        ],
        "tag release": ["db.busy", "tag release", f"version 3 of {newest}", "its version", "0 B"],
        "consumer etl": [
            *("db.busy", "consumer etl", f"version 2 of {newest}", "the versions after it", "0 B"),
        ],
        "pin billing": [
            *(
                "db.busy",
                "pin billing",
                "schema 0 of 1, owner team-billing",
                "dropped columns: b",
                "",
            ),
        ],
        "clone copy": [
            *(
                "source",
                "clone copy",
                "version 1 of 3",
                "the files that the clone reads",
                f"{old} B",
            ),
        ],
    }


def test_dropped_tables_are_listed_with_the_command_that_brings_them_back(catalog: Catalog) -> None:
    ((name, cells),) = rows(
        parsed(catalog.page().html), "Dropped tables that can be undropped"
    ).items()
    (dropped,) = catalog.dropped_tables()
    assert name == "gone"
    assert cells[-1] == f"versioned undrop gone --uuid {dropped.uuid}"


def test_a_command_on_the_page_runs_nothing_that_a_name_says(catalog: Catalog) -> None:
    """A name in backticks would be a command of the shell into which somebody pastes the line."""
    catalog.create_table(("touch pwned $(id)",), "a INT")
    catalog.drop_table(("touch pwned $(id)",))
    page = parsed(catalog.page().html)
    texts_of_rows = rows(page, "Dropped tables that can be undropped")
    cells = texts_of_rows["`touch pwned $(id)`"]
    assert shlex.split(cells[-1])[2] == "`touch pwned $(id)`"
    assert cells[-1].startswith("versioned undrop '`touch pwned $(id)`' --uuid ")


def test_a_table_that_can_not_be_read_is_shown_in_place(catalog: Catalog) -> None:
    location = Path(catalog.load_table("source").location.removeprefix("file://"))
    for entry in (location / "_versioned" / "log").iterdir():
        entry.write_text("{")
    done = Catalog(catalog.store.url).page()
    assert (done.tables, done.failed) == (4, 1)
    page = parsed(done.html)
    assert rows(page, "Tables")["source"][-1] == "can't be read: see Problems"
    assert rows(page, "Tables")["db.busy"][0] == "5"
    assert "is not JSON" in rows(page, "Problems")["source"][0]


def test_a_view_that_reads_a_dropped_column_is_a_problem(catalog: Catalog) -> None:
    reads = {"source": ["a"]}
    catalog.create_view("numbers", "SELECT a FROM source", "a INT", reads=reads)
    catalog.load_table("source").alter().add_column("b", "INT").drop_column("a").commit()
    page = parsed(catalog.page().html)
    assert "column" in rows(page, "Problems")["numbers"][0]


def test_a_folder_has_a_page_of_each_table(catalog: Catalog, tmp_path: Path) -> None:
    catalog.create_table(f"`{HOSTILE}/..`", "a INT")
    site = tmp_path / "site"
    assert catalog.write_pages(site).tables == 5
    index = parsed((site / "index.html").read_text())
    links = {"".join(one.itertext()): str(one.get("href")) for one in index.iter("a")}
    assert links.keys() == {"copy", "db.busy", "keyed", "source", f"`{HOSTILE}/..`"}
    assert sorted([*links.values(), "index.html"]) == sorted(file.name for file in site.iterdir())
    for name, file in links.items():
        assert texts(parsed((site / file).read_text()), "h1") == [name]
    assert catalog.write_pages(site).tables == 5


def test_names_of_files() -> None:
    names = [
        ("a", "b"),
        ("a.b",),
        ("index",),
        ("..",),
        ("x" * 300,),
        ("x" * 301,),
        ("a/b",),
        ("ü",),
    ]
    files = [file_name(name) for name in names]
    assert files[0] == "a.b.html"
    assert len({file.lower() for file in files}) == len(names)
    assert "index.html" not in files
    assert all(len(file) < 130 and not file.startswith(".") and "/" not in file for file in files)


def test_an_empty_warehouse_and_none(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "w")
    with pytest.raises(NotFoundError):
        catalog.page()
    catalog.create_namespace("db")
    page = parsed(catalog.page().html)
    assert rows(page, "Tables") == {}


def test_many_tables_have_a_search_box_and_few_no_script(tmp_path: Path, catalog: Catalog) -> None:
    assert "<script" not in catalog.page().html
    many = Catalog(tmp_path / "many")
    for number in range(21):
        many.create_table(f"t{number}", "a INT")
    page = many.page().html
    assert page.count("<script") == 1
    assert parsed(page).find(".//input") is not None
