"""The links between documents lead somewhere, and each design record fits one page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jar import ROOT

FOLDERS = (".github", "benchmarks", "catalog", "connector", "docs", "spark-conf", "tests")
PAGES = sorted(
    {*ROOT.glob("*.md"), *(page for name in FOLDERS for page in (ROOT / name).rglob("*.md"))}
)
RECORDS = sorted((ROOT / "docs" / "design").glob("[0-9]*.md"))
PAGE_LINES = 60


def without_code(text: str) -> str:
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", without_code(page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> list[str]:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_page_and_a_heading(page: Path) -> None:
    assert broken_links(page) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One two\n[a](#one-two) [b](#three) [c](gone.md) `x`\n```\n[d](gone.md)\n```\n"
    )
    assert broken_links(page) == ["#three", "gone.md"]


def test_design_records_are_numbered_and_listed() -> None:
    assert len(RECORDS) >= 10
    assert [record.name[:4] for record in RECORDS] == [
        f"{n:03}-" for n in range(1, len(RECORDS) + 1)
    ]
    index = (ROOT / "docs" / "design" / "README.md").read_text()
    assert re.findall(r"^\| \[\d+\]\((.+?)\)", index, re.MULTILINE) == [r.name for r in RECORDS]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_a_design_record_states_problem_decision_and_alternatives(record: Path) -> None:
    text = record.read_text()
    assert text.startswith(f"# {record.name[:3]}: ")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Problem", "Decision", "Alternatives"]
    assert len(text.splitlines()) <= PAGE_LINES


def test_the_index_lists_every_page() -> None:
    index = ROOT / "docs" / "index.md"
    linked = set(re.findall(r"\]\(([\w-]+\.md)", index.read_text()))
    assert linked == {page.name for page in index.parent.glob("*.md")} - {index.name}


def test_the_examples_of_the_python_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "python.md"
    names: dict[str, object] = {}
    for code in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        exec(compile(code, str(page), "exec"), names)
    assert names["table"].count() == 1  # type: ignore[attr-defined]
