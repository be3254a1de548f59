"""The site is built strictly, has all pages and the public API, and fetches nothing from others."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from website.sources import INNER

import pyspark_versioned
import versioned_catalog
from jar import ROOT
from pyspark_versioned.option_names import OPTIONS
from pyspark_versioned.sql.neighbour_properties import MEANINGS
from versioned_catalog.cli.main import main
from versioned_catalog.write.properties import KNOWN

NAV = re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)


def test_every_page_of_the_docs_is_in_the_navigation() -> None:
    docs = ROOT / "docs"
    pages = {str(page.relative_to(docs)) for page in docs.rglob("*.md")} - {"index.md"}
    pages |= {f"{page.stem}.md" for page in docs.glob("*.ipynb")}
    assert pages <= set(NAV)
    assert len(NAV) == len(set(NAV))


def test_every_class_of_the_public_api_is_in_the_navigation() -> None:
    for name in versioned_catalog.__all__:
        public = getattr(versioned_catalog, name)
        if isinstance(public, type) and not issubclass(public, Exception):
            assert f"reference/{name.lower()}.md" in NAV


def test_the_navigation_begins_with_what_a_stranger_needs() -> None:
    groups = re.findall(r"^  - (.*):$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert groups[-7:] == [
        "Start",
        "Tutorial",
        "Guides",
        "Reference",
        "Operate",
        "Compare and migrate",
        "Design",
    ]


class Loaded(HTMLParser):
    """What a page makes a browser load."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("script", "img", "iframe", "source"):
            self.urls.append(given.get("src") or "")
        if tag == "link" and given.get("rel") != "canonical":
            self.urls.append(given.get("href") or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="needs the extra docs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.mark.thorough
def test_the_site_has_every_page(site: Path) -> None:
    for page in NAV:
        path = page.removesuffix("README.md").removesuffix("index.md").removesuffix(".md")
        assert (site / path / "index.html").is_file(), page


@pytest.mark.thorough
def test_the_reference_has_the_whole_public_api(site: Path) -> None:
    text = "".join(page.read_text() for page in (site / "reference").rglob("*.html"))
    anchors = set(re.findall(r'id="([\w.]+)"', text))
    for name in versioned_catalog.__all__:
        public = getattr(versioned_catalog, name)
        path = f"{public.__module__}.{public.__qualname__}"
        assert path in anchors
        if isinstance(public, type) and not issubclass(public, Exception):
            members = [
                name
                for name, member in vars(public).items()
                if not name.startswith("_")
                and name not in INNER.get(public.__name__, ())
                and (callable(member) or isinstance(member, property | classmethod))
            ]
            assert {f"{path}.{member}" for member in members} <= anchors
            assert not {f"{path}.{inner}" for inner in INNER.get(public.__name__, ())} & anchors
    spark = (site / "reference" / "spark" / "index.html").read_text()
    assert all(name in spark for name in {*pyspark_versioned.__all__} - {"VersionedError"})


@pytest.mark.thorough
def test_the_reference_has_every_command(site: Path) -> None:
    text = (site / "reference" / "command-line" / "index.html").read_text()
    assert len(main.commands) > 20
    for name, command in main.commands.items():
        assert f'id="versioned-{name}"' in text, name
        for parameter in command.params:
            assert all(option in text for option in parameter.opts if option.startswith("--"))


@pytest.mark.thorough
def test_the_site_loads_nothing_from_others(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 70
    for page in pages:
        loaded = Loaded()
        loaded.feed(page.read_text())
        assert not [url for url in loaded.urls if url.startswith(("http:", "https:", "//"))], page


@pytest.mark.thorough
def test_the_search_finds_renames(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    boosts = {document["location"]: document.get("boost", 1) for document in index["docs"]}
    assert boosts["sql/"] > boosts["reference/alteration/"] > boosts["protocol/"]
    places = {
        document["location"] for document in index["docs"] if "rename" in document["text"].lower()
    }
    assert any(place.startswith("sql/#") for place in places)
    assert any(place.startswith("schemas/#") for place in places)
    assert any(place.startswith("reference/alteration/") for place in places)


@pytest.mark.thorough
def test_the_reference_has_every_property_and_option(site: Path) -> None:
    properties = (site / "reference" / "properties" / "index.html").read_text()
    assert all(f"<code>{key}</code>" in properties for key in KNOWN)
    assert all(f"<code>{key}</code>" in properties for key in MEANINGS)
    options = (site / "reference" / "all-options" / "index.html").read_text()
    honoured = [option.name for option in OPTIONS if option.path or option.named]
    assert len(honoured) > 40
    assert all(f"<code>{name}</code>" in options for name in honoured)


@pytest.mark.thorough
def test_links_are_called_by_titles_and_not_by_files(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not re.findall(r">[\w-]+\.(?:md|ipynb)</a>", page.read_text()), page
    contents = (site / "contents" / "index.html").read_text()
    assert '<a href="../sql/">SQL</a>' in contents
    assert '<a href="../tutorial/">Tutorial</a>' in contents


@pytest.mark.thorough
def test_a_list_goes_on_after_code(site: Path) -> None:
    page = (site / "schemas" / "index.html").read_text()
    assert re.findall(r"<ol start=.(\d)", page)[:4] == ["2", "3", "4", "5"]


@pytest.mark.thorough
def test_the_start_page_and_the_reference_have_titles_of_their_own(site: Path) -> None:
    assert "<title>Versioned: a table format" in (site / "index.html").read_text()
    reference = (site / "reference" / "index.html").read_text()
    assert '<a href="catalog/">Catalog</a>' in reference
    assert '<a href="command-line/">every command</a>' in reference


@pytest.mark.thorough
def test_the_search_finds_undo(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    places = {d["location"] for d in index["docs"] if "undo" in (d["title"] + d["text"]).lower()}
    assert any(place.startswith("undo/") for place in places)
