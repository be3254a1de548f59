"""What MkDocs calls while it builds the site: pages from outside ``docs``, generated ones, links."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parents[1]))

from website import mermaid, notebook, reference, sources

_SCRIPT = "assets/mermaid.min.js"

_FIRST = ("sql.md", "schemas.md", "tutorial.md", "python.md", "streaming.md", "undo.md")
"""What a search shows before other pages."""

_TITLE = "Versioned: a table format whose schema may change at any time"

_LAST = (
    *("protocol.md", "format.md", "changelog.md", "contributing.md", "guarantees.md", "design/"),
    *("architecture.md", "releasing.md", "coming-from.md", "conformance.md", "benchmarks.md"),
)
"""What it shows after them: pages about the inside, and long lists."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Draw diagrams where their script can be had."""
    if mermaid.script():
        config.extra_javascript.append(_SCRIPT)
    else:
        fences = config.mdx_configs["pymdownx.superfences"]["custom_fences"]
        fences[:] = [fence for fence in fences if fence["name"] != "mermaid"]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in ``docs``, and those that are generated."""
    listed = files.get_file_from_path("index.md")
    if listed is not None:
        files.remove(listed)
    for path, page in sources.ELSEWHERE.items():
        files.append(File.generated(config, page, abs_src_path=str(sources.ROOT / path)))
    for page, text in reference.pages().items():
        files.append(File.generated(config, page, content=text))
    for path in sorted((sources.ROOT / "docs").glob("*.ipynb")):
        files.append(File.generated(config, f"{path.stem}.md", content=notebook.as_markdown(path)))
    style = sources.ROOT / "website" / "site.css"
    files.append(File.generated(config, "assets/site.css", abs_src_path=str(style)))
    if script := mermaid.script():
        files.append(File.generated(config, _SCRIPT, abs_src_path=str(script)))
    return files


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """Give the start page a title that says what this is."""
    if page.file.src_uri != "index.md":
        return output
    return output.replace("<title>Versioned - Versioned</title>", f"<title>{_TITLE}</title>")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Translate links and lists of GitHub's Markdown, and order the results of searches."""
    if page.file.src_uri.startswith(_FIRST + _LAST):
        boost = 4 if page.file.src_uri.startswith(_FIRST) else 0.2
        page.meta.setdefault("search", {"boost": boost})
    if page.file.src_uri.startswith("reference/"):
        return markdown
    return sources.for_site(markdown, page.file.src_uri, config.repo_url or None)
