"""Pages in a real browser: Chromium, at the widths of a phone and of a desk, light and dark."""

from __future__ import annotations

import html
import itertools
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pages.conftest import HOSTILE
from versioned_catalog import Catalog, Table

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")

FRAME = """<!doctype html><meta charset="utf-8"><iframe id="frame" width="{width}" height="900"
  style="border:0" srcdoc="{page}"></iframe><pre id="report"></pre><script>
const frame = document.getElementById("frame");
const shown = e => e.checkVisibility() && e.getClientRects().length > 0;

function texts(page) {{
  const walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT), boxes = [];
  while (walker.nextNode()) {{
    const node = walker.currentNode;
    if (!node.data.trim() || node.parentElement.closest("script, style, title")) continue;
    if (!shown(node.parentElement)) continue;
    const range = page.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) boxes.push([node.data.trim(), box, node.parentElement]);
  }}
  return boxes;
}}

function overlaps(boxes) {{
  const found = [];
  boxes.forEach(([first, a], i) => boxes.forEach(([second, b], j) => {{
    if (i < j && a.left < b.right - 1 && b.left < a.right - 1
        && a.top < b.bottom - 5 && b.top < a.bottom - 5)
      found.push([first.slice(0, 40), second.slice(0, 40)]);
  }}));
  return found;
}}

function luminance([red, green, blue]) {{
  const linear = v => v / 255 <= .04045 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4;
  return .2126 * linear(red) + .7152 * linear(green) + .0722 * linear(blue);
}}

// The ratio between a text and what is behind it, with transparent colours laid over each other.
function contrast(view, element) {{
  const pen = document.createElement("canvas").getContext("2d", {{ willReadFrequently: true }});
  const paint = colour => {{ pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1); }};
  const pixel = () => luminance(pen.getImageData(0, 0, 1, 1).data);
  const above = [];
  for (let e = element; e; e = e.parentElement) above.unshift(e);
  for (const e of above) paint(view.getComputedStyle(e).backgroundColor);
  const behind = pixel();
  paint(view.getComputedStyle(element).color);
  const [dark, light] = [behind, pixel()].sort((a, b) => a - b);
  return (light + .05) / (dark + .05);
}}

frame.onload = () => {{
  const page = frame.contentDocument, root = page.documentElement, view = frame.contentWindow;
  const visible = [...page.querySelectorAll("*")].filter(shown);
  const boxes = texts(page);
  const report = {{
    scroll: root.scrollWidth, client: root.clientWidth,
    wide: visible.filter(e => e.getBoundingClientRect().right > {width} + 1)
      .map(e => e.outerHTML.slice(0, 80)),
    left: boxes.filter(([, box]) => box.left < 0 || box.right > {width}).map(([text]) => text),
    cut: visible.filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth
      && view.getComputedStyle(e).overflowX !== "visible").map(e => e.outerHTML.slice(0, 80)),
    overlapping: overlaps(boxes),
    faint: [...new Set(boxes.map(box => box[2]))].map(e => [contrast(view, e), e.outerHTML.slice(0, 80)])
      .filter(([ratio]) => ratio < 4.5),
    title: page.title, scripts: page.scripts.length,
    unnamed: [...page.querySelectorAll("input, svg:not([aria-hidden])")]
      .filter(e => !e.getAttribute("aria-label")).length,
    loaded: view.performance.getEntriesByType("resource").length,
    background: view.getComputedStyle(page.body).backgroundColor,
    cells: [...page.querySelectorAll("td, .label, .vt-name")].map(e => e.textContent),
  }};
  const box = page.querySelector("input");
  if (box) {{
    box.value = {query};
    box.dispatchEvent(new Event("input"));
    report.found = [...page.querySelectorAll({rows})].filter(shown)
      .map(e => (e.querySelector(".vt-name, a") ?? e).textContent);
    report.output = page.querySelector("output").textContent;
  }}
  for (const part of page.querySelectorAll("details")) part.open = true;
  report.unfolded = overlaps(texts(page));
  document.getElementById("report").textContent = "REPORT" + JSON.stringify(report) + "END";
}};
</script>"""


def look(
    page: str, width: int, dark: bool, folder: Path, query: str = "", rows: str = ".vt-lane"
) -> dict[str, Any]:
    """Open a page in a frame of a width, report on it, and search it for some text."""
    file = folder / "frame.html"
    words, selector = json.dumps(query), json.dumps(rows)
    file.write_text(FRAME.format(width=width, page=html.escape(page), query=words, rows=selector))
    scheme = 0 if dark else 1
    done = subprocess.run(
        [
            *(str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu"),
            *(
                f"--user-data-dir={folder / 'profile'}",
                f"--blink-settings=preferredColorScheme={scheme}",
            ),
            *("--enable-logging=stderr", "--virtual-time-budget=5000", "--window-size=1400,1000"),
            *("--dump-dom", file.as_uri()),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "CONSOLE" not in done.stderr, [
        one for one in done.stderr.splitlines() if "CONSOLE" in one
    ]
    found = re.search("REPORT({.*})END</pre>", done.stdout)
    assert found is not None
    report: dict[str, Any] = json.loads(html.unescape(found[1]))
    return report


def check(found: dict[str, Any]) -> None:
    """Nothing overlaps, is cut, too faint, beyond the edges, or without a name for a screen reader."""
    assert found["scroll"] == found["client"]
    for problem in ("wide", "left", "cut", "overlapping", "unfolded", "faint"):
        assert found[problem] == [], problem
    assert (found["unnamed"], found["loaded"]) == (0, 0)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_fits_and_is_quiet(table: Table, tmp_path: Path, width: int, dark: bool) -> None:
    found = look(table.page(), width, dark, tmp_path)
    check(found)
    assert found["scripts"] == 0
    assert found["title"] == "metrics.cpu"
    assert f"`{HOSTILE}`" in found["cells"]
    assert found["background"] == ("rgb(20, 24, 29)" if dark else "rgb(252, 252, 250)")


@pytest.mark.thorough
@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_of_many_long_names_fits(table: Table, tmp_path: Path, width: int) -> None:
    for at in range(30):
        change = table.alter().add_column(f"measurement_{at}_" + "of_something_long" * 3, "DOUBLE")
        change.rename_column("day" if at == 0 else f"day{at - 1}", f"day{at}").commit()
    check(look(table.page(), width, False, tmp_path))


def test_a_column_of_300_is_found(tmp_path: Path) -> None:
    ddl = ", ".join(f"column_{at} INT COMMENT 'sensor {at}'" for at in range(300))
    table = Catalog.create_path(tmp_path / "t", ddl)
    table.alter().rename_column("column_200", "temperature").commit()
    page = table.page()
    found = look(page, 390, False, tmp_path, "column_299")
    check(found)
    assert (found["found"], found["output"]) == (["column_299"], "1 of 300 columns")
    by_comment_or_id = look(page, 390, False, tmp_path, "SENSOR 299")["found"]
    assert by_comment_or_id == ["column_298", "column_299"]  # column_298 has the ID 299
    assert look(page, 390, False, tmp_path, "column_200")["found"] == ["temperature"]
    assert len(look(page, 390, False, tmp_path, "")["found"]) == 40  # the others are folded


@pytest.mark.nightly
def test_the_page_of_a_warehouse_fits_and_is_searched(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "warehouse")
    catalog.create_namespace("db")
    for at in range(25):
        table = catalog.create_table(f"db.table_{at}_{'of_something_long' * (at % 5)}", "a INT")
        table.set_tag("tag" * at) if at else catalog.drop_table("db.table_0_")
    (tmp_path / "warehouse" / "db").rename(tmp_path / "elsewhere")
    broken = Catalog(tmp_path / "warehouse").page()
    (tmp_path / "elsewhere").rename(tmp_path / "warehouse" / "db")
    page = catalog.page()
    assert (page.failed, broken.failed) == (0, 24)
    for width, dark in itertools.product([390, 1280], [False, True]):
        found = look(
            page.html, width, dark, tmp_path, "table_20_", "section:nth-of-type(1) tbody tr"
        )
        check(found)
        assert found["output"] == "1 of 24 tables"
        assert [text.split("2")[0] for text in found["found"]] == ["db.table_"]
        check(look(broken.html, width, dark, tmp_path))


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["empty", "nested", "long", "versions", "again", "few"])
def test_pages_of_odd_tables_fit(tmp_path: Path, kind: str) -> None:
    page = odd_table(kind, tmp_path / "t").page()
    for width, dark in itertools.product([390, 1280], [False, True]):
        check(look(page, width, dark, tmp_path))


def odd_table(kind: str, path: Path) -> Table:
    """A table whose page is hard to draw."""
    settings = {"auto_maintain": "off", "a.long." + "key" * 30: "a long value " * 20}
    if kind == "nested":
        inner = "STRUCT<" + ", ".join(f"field_{at}: STRUCT<x: INT, y: STRING>" for at in range(20))
        table = Catalog.create_path(path, f"id BIGINT, s {inner}>, m MAP<STRING, ARRAY<INT>>")
        table.alter().rename_column("s.field_3.x", "another_name_of_it").drop_column("m").commit()
        return table
    if kind == "long":
        table = Catalog.create_path(
            path,
            f"`{'w' * 200}` STRING COMMENT '{'comment ' * 40}', `a b` DECIMAL(38,18) DEFAULT 1.5",
            properties=settings,
        )
        table.alter().add_check("c" * 100, f"`a b` > 0 AND `{'w' * 200}` <> ''").commit()
        table.set_tag("t" * 100)
        return table
    table = Catalog.create_path(path, "a INT, b STRING", properties={"auto_maintain": "off"})
    if kind == "versions":
        for at in range(2000):
            table.set_tag("newest") if at % 20 else table.alter().add_column(
                f"c{at}", "INT"
            ).commit()
    if kind == "few":  # each schema version has a place of its own on the axis
        for at in range(9):
            table.alter().add_column(f"c{at}", "INT").commit()
    if kind == "again":
        for at in range(30):
            table.alter().drop_column("b").commit()
            table.alter().add_column("b", "INT" if at % 2 else "STRING").commit()
    return table


def test_a_screenshot_is_drawn(table: Table, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(table.page())
    subprocess.run(
        [
            *(
                str(CHROMIUM),
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--window-size=1280,900",
            ),
            *(f"--user-data-dir={tmp_path / 'profile'}", f"--screenshot={tmp_path / 'page.png'}"),
            (tmp_path / "page.html").as_uri(),
        ],
        capture_output=True,
        check=True,
        timeout=120,
    )
    assert (tmp_path / "page.png").stat().st_size > 10_000
