"""Pages in a real browser: Chromium, at the widths of a phone and of a desk, light and dark."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pages.conftest import HOSTILE
from versioned_catalog import Table

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")

FRAME = """<!doctype html><meta charset="utf-8"><iframe id="frame" width="{width}" height="900"
  style="border:0" srcdoc="{page}"></iframe><pre id="report"></pre><script>
const frame = document.getElementById("frame");
frame.onload = () => {{
  const page = frame.contentDocument, root = page.documentElement;
  const visible = [...page.querySelectorAll("*")].filter(e => e.getClientRects().length);
  const wide = visible.filter(e => e.getBoundingClientRect().right > {width} + 1);
  const labels = [...page.querySelectorAll("svg text")].filter(e => e.getClientRects().length);
  const boxes = labels.map(e => e.getBoundingClientRect());
  const overlapping = [];
  boxes.forEach((a, i) => boxes.forEach((b, j) => {{
    if (i < j && a.left < b.right - 1 && b.left < a.right - 1
        && a.top < b.bottom - 4 && b.top < a.bottom - 4)
      overlapping.push([labels[i].textContent, labels[j].textContent]);
  }}));
  document.getElementById("report").textContent = "REPORT" + JSON.stringify({{
    scroll: root.scrollWidth, client: root.clientWidth, wide: wide.map(e => e.outerHTML.slice(0, 80)),
    overlapping, title: page.title, scripts: page.scripts.length,
    loaded: frame.contentWindow.performance.getEntriesByType("resource").length,
    background: frame.contentWindow.getComputedStyle(page.body).backgroundColor,
    cells: [...page.querySelectorAll("td,.label")].map(e => e.textContent),
  }}) + "END";
}};
</script>"""


def look(page: str, width: int, dark: bool, folder: Path) -> dict[str, Any]:
    """Open a page in a frame of a width, and report on it."""
    file = folder / "frame.html"
    file.write_text(FRAME.format(width=width, page=html.escape(page)))
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


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_fits_and_is_quiet(table: Table, tmp_path: Path, width: int, dark: bool) -> None:
    found = look(table.page(), width, dark, tmp_path)
    assert found["scroll"] == found["client"]
    assert found["wide"] == []
    assert found["overlapping"] == []
    assert found["scripts"] == 0
    assert found["loaded"] == 0
    assert found["title"] == "metrics.cpu"
    assert f"`{HOSTILE}`" in found["cells"]
    assert found["background"] == ("rgb(20, 24, 29)" if dark else "rgb(252, 252, 250)")


@pytest.mark.thorough
def test_a_page_of_many_long_names_fits_a_phone(table: Table, tmp_path: Path) -> None:
    for at in range(30):
        change = table.alter().add_column(f"measurement_{at}_" + "of_something_long" * 3, "DOUBLE")
        change.rename_column("day" if at == 0 else f"day{at - 1}", f"day{at}").commit()
    found = look(table.page(), 390, False, tmp_path)
    assert found["scroll"] == found["client"]
    assert found["wide"] == []
    assert found["overlapping"] == []


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
