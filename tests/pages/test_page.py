"""What a page says, against what was done to the table."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow as pa
import pytest

from pages.conftest import HOSTILE
from versioned_catalog import Catalog, Table

VOID = ("meta", "link")


def parsed(page: str) -> ET.Element:
    """The page, which is XML but for its void elements."""
    text = page.removeprefix("<!doctype html>\n")
    for name in VOID:
        text = text.replace(f"<{name} ", f"<{name}_ ")
    lines = text.split(f"<{VOID[0]}_ ")
    text = lines[0] + "".join(f"<{VOID[0]}_ " + line.replace(">", "/>", 1) for line in lines[1:])
    head, rest = text.split(f"<{VOID[1]}_ ", 1)
    return ET.fromstring(head + f"<{VOID[1]}_ " + rest.replace(">", "/>", 1))


def section(page: ET.Element, title: str) -> ET.Element:
    return next(one for one in page.iter("section") if one.findtext("h2") == title)


def texts(element: ET.Element, tag: str, class_: str = "") -> list[str]:
    found = [
        one
        for one in element.iter(tag)
        if class_ in str(one.get("class", "")).split() or not class_
    ]
    return ["".join(one.itertext()) for one in found]


def test_the_head_shows_name_comment_and_size(table: Table) -> None:
    page = parsed(table.page())
    assert texts(page, "h1") == ["metrics.cpu"]
    assert texts(page, "p", "comment") == [f"load of <b>hosts</b> {HOSTILE}"]
    facts = dict(zip(texts(page, "dt"), texts(page, "dd"), strict=True))
    assert facts.pop("size") == f"{table.state.segments.bytes / 1000:.2f} kB"
    assert facts == {
        "version": "5",
        "rows": "300",
        "segments": "2",
        "columns": "4",
        "schema version": "2",
        "partitioned by": "host",
        "tags": "release <1> = 3",
    }


def test_the_lineage_has_a_lane_for_each_column(table: Table) -> None:
    picture = section(parsed(table.page()), "Columns")
    assert {str(lane.findtext("text/title")).split(",")[0] for lane in picture.iter("g")} == {
        "host STRING",
        "usage_user INT",
        f"`{HOSTILE}` INT",
        "note STRING",
        "day DATE",
    }
    assert {str(mark.findtext("title")) for mark in picture.iter("circle")} == {
        "schema 1: usage → usage_user",
        "schema 1: dropped",
        "schema 2: added, default DATE '2026-01-02'",
    }


def test_segments_by_schema_and_growth(table: Table) -> None:
    page = parsed(table.page())
    bars = section(page, "Segments by schema")
    assert texts(bars, "div", "label") == ["schema 0", "schema 1"]
    assert texts(bars, "div", "value") == ["1 segment, 100 rows", "1 segment, 200 rows"]
    growth = section(page, "Growth")
    rows, _ = growth.iter("svg")
    shown = [title.split(": ")[1] for title in texts(rows, "title")]
    assert shown == ["0", "100", "100", "300", "300", "300"]
    assert texts(growth, "b")[0] == "300"


def test_size_by_column(table: Table) -> None:
    bars = section(parsed(table.page()), "Size by column")
    assert set(texts(bars, "div", "label")) == {
        "host",
        "usage_user",
        f"`{HOSTILE}`",
        "dropped columns",
    }
    assert texts(bars, "p") == ["Compressed bytes in live segments."]


def test_the_history_shows_each_version_newest_first(table: Table) -> None:
    history = section(parsed(table.page()), "History")
    assert texts(history, "td", "version") == ["5", "4", "3", "2", "1", "0"]
    whats = [what.findtext("b") for what in history.iter("td") if what.get("class") == "what"]
    assert whats == ["tag", "alter", "append", "alter", "append", "create"]
    assert texts(history, "td", "rows") == ["", "", "+200", "", "+100", ""]
    assert (
        texts(history, "div", "changes")[1] == "RENAME COLUMN usage TO usage_user; DROP COLUMN note"
    )


def test_the_page_loads_nothing_and_runs_nothing(table: Table) -> None:
    page = table.page()
    for what in (
        "<script",
        "<img",
        "<iframe",
        "http:",
        "https:",
        "src=",
        "@import",
        "url(",
        "onload",
    ):
        assert what not in page
    assert page.count("<link") == 1  # an empty icon, which a browser would ask for


def test_credentials_in_a_name_are_hidden(table: Table) -> None:
    table.name = "s3://key:secret@bucket/cpu"
    assert "secret" not in table.page()
    assert "secret" not in table._repr_html_()
    assert "s3://***@bucket/cpu" in table.page()


def test_an_empty_table_and_one_without_its_files(tmp_path: Path, table: Table) -> None:
    empty = Catalog.create_path(tmp_path / "empty", "a INT")
    assert texts(section(parsed(empty.page()), "Size by column"), "p")[-1] == "No segments."
    for path in table.inspect.segments()["path"].to_pylist():
        (Path(table.location.removeprefix("file://")) / path).unlink()
    sizes = section(parsed(table.page()), "Size by column")
    assert texts(sizes, "p")[0] == "Compressed bytes, estimated from 0 of 2 segments."


def test_a_table_of_a_keyed_schema_shows_stored_rows(tmp_path: Path) -> None:
    keyed = Catalog.create_path(tmp_path / "k", "k INT, v INT", primary_key=["k"])
    keyed.append(pa.table({"k": pa.array([1], pa.int32()), "v": pa.array([1], pa.int32())}))
    keyed.append(pa.table({"k": pa.array([1], pa.int32()), "v": pa.array([2], pa.int32())}))
    page = parsed(keyed.page())
    facts = dict(zip(texts(page, "dt"), texts(page, "dd"), strict=True))
    assert (facts["stored rows"], facts["primary key"]) == ("2", "k")


def test_long_histories_are_summed_up(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "a INT", properties={"auto_maintain": "off"})
    for _ in range(104):
        table.append(pa.table({"a": pa.array([1], pa.int32())}))
    history = section(parsed(table.page()), "History")
    assert len(texts(history, "td", "version")) == 101
    assert texts(history, "td", "version")[-1] == "0–4"
    assert texts(history, "td", "what")[-1] == "4 append, 1 create"
    assert texts(history, "td", "rows")[-1] == "+4"
    note = "Newest first. The 5 commits before the newest 100 are summed up by month."
    assert texts(history, "p") == [note]


@pytest.mark.parametrize("columns", [1000])
def test_wide_tables_are_cut(tmp_path: Path, columns: int) -> None:
    table = Catalog.create_path(tmp_path / "t", ", ".join(f"c{i} INT" for i in range(columns)))
    table.append(pa.table({"c0": pa.array([1], pa.int32())}))
    page = table.page()
    assert len(page) < 100_000
    tree = parsed(page)
    assert "940 more columns that never changed." in texts(section(tree, "Columns"), "p")
    assert texts(section(tree, "Size by column"), "div", "label")[-1] == "970 other columns"
