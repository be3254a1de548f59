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


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Translate links and lists of GitHub's Markdown."""
    if page.file.src_uri.startswith("reference/"):
        return markdown
    return sources.for_site(markdown, page.file.src_uri, config.repo_url or None)
