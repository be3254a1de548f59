"""What a page says, against what was done to the table."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow as pa

from pages.conftest import HOSTILE
from versioned_catalog import Catalog, Identity, Table


def parsed(page: str) -> ET.Element:
    """The page, which is XML but for its void elements."""
    text = page.removeprefix("<!doctype html>\n")
    return ET.fromstring(re.sub(r"<(meta|link|input)( [^>]*)>", r"<\1\2/>", text))


def section(page: ET.Element, title: str) -> ET.Element:
    return next(one for one in page.iter("section") if one.findtext("h2") == title)


def texts(element: ET.Element, tag: str, class_: str = "") -> list[str]:
    found = [
        one
        for one in element.iter(tag)
        if class_ in str(one.get("class", "")).split() or not class_
    ]
    return ["".join(one.itertext()) for one in found]


def column_titles(columns: ET.Element) -> list[str]:
    """The tooltips of the names of columns."""
    return [str(one.get("title")) for one in columns.iter("span") if one.get("class") == "vt-name"]


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
    assert {title.split(",")[0] for title in column_titles(picture)} == {
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
    note = "The 5 commits before the newest 100 are summed up by month."
    assert texts(history, "p")[0].endswith(note)


def test_all_columns_of_wide_tables_are_there(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", ", ".join(f"c{i} INT" for i in range(1000)))
    table.append(pa.table({"c0": pa.array([1], pa.int32())}))
    table.alter().rename_column("c700", "temperature").commit()
    page = table.page()
    assert len(page) < 500_000
    tree = parsed(page)
    names = [title.split()[0] for title in column_titles(section(tree, "Columns"))]
    assert names[0] == "temperature"
    assert sorted(names) == sorted({f"c{i}" for i in range(1000)} - {"c700"} | {"temperature"})
    summaries = texts(section(tree, "Columns"), "summary")
    assert summaries == ["960 columns more, which never changed"]
    assert texts(section(tree, "Size by column"), "div", "label")[-1] == "970 other columns"
    assert page.count("<script") == 1


def test_numbers_agree_whether_columns_are_nested_or_not(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "a INT, s STRUCT<x: INT, y: ARRAY<INT>>")
    table.alter().drop_column("s.x").commit()
    page = parsed(table.page())
    facts = dict(zip(texts(page, "dt"), texts(page, "dd"), strict=True))
    assert (facts["columns"], facts["nested fields"]) == ("2", "2")
    columns = section(page, "Columns")
    note = "2 columns and 2 nested fields; 1 nested field dropped."
    assert texts(columns, "p", "soft")[0].startswith(note)
    assert len(column_titles(columns)) == 2 + 2 + 1


def test_deleted_rows_are_shown_as_removed(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "a INT", properties={"auto_maintain": "off"})
    table.append(pa.table({"a": pa.array(range(100), pa.int32())}))
    table.delete([("a", "<", 30)])
    table.update({"a": 0}, [("a", "=", 99)])
    table.append(pa.table({"a": pa.array([1], pa.int32())}))
    table.maintenance.compact()
    table.overwrite(pa.table({"a": pa.array(range(10), pa.int32())}))
    table.truncate()
    history = section(parsed(table.page()), "History")
    shown = dict(
        zip(
            texts(history, "td", "version"),
            zip(
                [what.findtext("b") for what in history.iter("td") if what.get("class") == "what"],
                texts(history, "td", "rows"),
                strict=True,
            ),
            strict=True,
        )
    )
    assert shown == {
        "7": ("overwrite", "−10"),
        "6": ("overwrite", "+10 −71"),
        "5": ("compact", ""),
        "4": ("append", "+1"),
        "3": ("update", ""),
        "2": ("delete", "−30"),
        "1": ("append", "+100"),
        "0": ("create", ""),
    }


def test_a_compaction_of_replaced_rows_removes_none(tmp_path: Path) -> None:
    table = Catalog.create_path(
        tmp_path / "t", "k INT", primary_key=["k"], properties={"auto_maintain": "off"}
    )
    for _ in range(2):
        table.upsert(pa.table({"k": pa.array([1], pa.int32())}))
    table.maintenance.compact(strategy="full")
    history = section(parsed(table.page()), "History")
    assert texts(history, "td", "rows") == ["", "+1", "+1", ""]


def test_columns_show_what_they_declare(tmp_path: Path) -> None:
    table = Catalog.create_path(
        tmp_path / "t",
        "id BIGINT, ts TIMESTAMP NOT NULL COMMENT 'when it was', n INT DEFAULT 3, s STRUCT<x: INT>",
        partitioned_by=["days(ts)"],
        properties={"team": "ops"},
        identity={"id": Identity(start=5)},
    )
    table.alter().add_check("few", "n < 10").commit()
    table.alter().add_column("old", "INT", default=7).commit()
    table.alter().set_default("old", 8).commit()
    page = parsed(table.page())
    lanes = {
        column_titles(row)[0].split()[0]: (
            texts(row, "span", "vt-fact"),
            texts(row, "div", "vt-note"),
        )
        for row in section(page, "Columns").iter("li")
        if "vt-lane" in str(row.get("class"))
    }
    assert lanes == {
        "id": (["not null", "generated always as identity (start with 5 increment by 1)"], []),
        "ts": (["not null", "partitioned by days"], ["when it was"]),
        "n": (["default 3"], []),
        "s": ([], []),
        "s.x": ([], []),
        "old": (["default 8", "7 in older rows"], []),
    }
    declared = section(page, "Constraints and properties")
    cells = texts(declared, "td")
    assert dict(zip(cells[::2], cells[1::2], strict=True)) == {"CHECK few": "n < 10", "team": "ops"}


def test_a_keyed_table_says_so_at_its_columns(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "k INT, v INT", primary_key=["k"])
    lanes = section(parsed(table.page()), "Columns")
    assert texts(lanes, "span", "vt-fact") == ["primary key", "not null"]


def test_what_keeps_versions_is_listed(table: Table) -> None:
    table.create_branch("trial")
    table.pin_schema("billing", 1, owner="team-billing", until="2099-01-02")
    table.move_consumer("etl", 2)
    kept = section(parsed(table.page()), "Branches, tags, pins and consumers")
    rows = [texts(row, "td") for row in kept.iter("tr")][1:]
    assert [row[:2] for row in rows] == [
        ["branch trial", "from version 5"],
        ["tag release <1>", "version 3"],
        ["pin billing", "schema 1"],
        ["consumer etl", "version 2"],
    ]
    assert rows[2][2] == "team-billing, until 2099-01-02"


def test_axes_have_units(table: Table) -> None:
    growth = section(parsed(table.page()), "Growth")
    rows, bytes_ = (
        texts(one, "span") for one in growth.iter("div") if one.get("class") == "y soft"
    )
    assert rows == ["300", "200", "100", "0"]
    assert all(text.endswith(" B") or text.endswith(" kB") for text in bytes_)
    assert all(texts(one, "span") for one in growth.iter("div") if one.get("class") == "x soft")
