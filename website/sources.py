"""Where each page of the site comes from, and what links between pages become."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]

ELSEWHERE = {
    "README.md": "index.md",
    "docs/index.md": "contents.md",
    "benchmarks/README.md": "benchmarks.md",
    "catalog/FORMAT.md": "format.md",
    "connector/PROTOCOL.md": "protocol.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""The pages of the site that have another name than their file in ``docs``."""

INNER = {
    "Catalog": {
        *("clone_and_tell", "commit_creation", "commit_path", "commit_replacing", "commit_table"),
        *("convert_and_tell", "has_landed", "name_of", "over", "plan_creation", "plan_path"),
        *("plan_replacing", "plan_rows", "plan_table", "problems_after", "problems_of"),
        *("problems_since", "put_view", "store"),
    },
    "Table": {
        "changes_between",
        "columns_of_changes",
        "handle",
        "loaded",
        "log",
        "source",
        "store",
    },
}
"""Members that the other packages of this project use, and that no user needs, by class."""

FENCE = re.compile(r"^( *)(```+).*?^ *\2`*[ \t]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)")
_LIST = re.compile(r"(?<=\n)(?P<before>[^\n]*\S[^\n]*\n)(?=(?:[-*]|1\.) )")
_ITEM = re.compile(r"\s*(?:[-*]|\d+\.) ")


def site_path(path: str) -> str | None:
    """The page or picture of the site that a file of the project becomes, if it becomes one.

    Args:
        path: relative to the project's root.
    """
    if path in ELSEWHERE:
        return ELSEWHERE[path]
    if path.startswith("docs/") and (ROOT / path).is_file():
        return path.removeprefix("docs/").removesuffix(".ipynb") + (
            ".md" if path.endswith(".ipynb") else ""
        )
    return None


def project_path(page: str) -> str:
    """The file of the project that a page of the site comes from: the inverse of ``site_path``."""
    elsewhere = {to: path for path, to in ELSEWHERE.items()}
    if page in elsewhere:
        return elsewhere[page]
    notebook = f"docs/{page.removesuffix('.md')}.ipynb"
    return notebook if (ROOT / notebook).is_file() else f"docs/{page}"


def title(path: Path) -> str:
    """The first heading of a page or notebook."""
    heading = re.search(r'^(?:\s*")?# ([^\n"\\]*)', path.read_text(encoding="utf-8"), re.MULTILINE)
    return heading[1] if heading else path.stem


def for_site(markdown: str, page: str, repository: str | None) -> str:
    """Translate a page as GitHub shows it to the Markdown of the site.

    Args:
        markdown: the page.
        page: its path in the site.
        repository: where files that are no pages are linked to; without it, such links become text.
    """
    parts: list[str] = []
    end = 0
    for fence in FENCE.finditer(markdown):
        parts += [_text(markdown[end : fence.start()], page, repository), fence[0]]
        end = fence.end()
    return "".join([*parts, _text(markdown[end:], page, repository)])


def _text(text: str, page: str, repository: str | None) -> str:
    source = project_path(page)
    linked = _LINK.sub(lambda link: _link(link, page, source, repository), text)
    return _LIST.sub(_spaced, linked)


def _spaced(line: re.Match[str]) -> str:
    """Put the blank line before a list that Python-Markdown needs and GitHub does not."""
    before = line["before"]
    return before if _ITEM.match(before) or before.startswith(" ") else f"{before}\n"


def _link(link: re.Match[str], page: str, source: str, repository: str | None) -> str:
    image, text, target = link.groups()
    path, hash_, anchor = target.partition("#")
    if "://" in target or not path or target.startswith("mailto:"):
        return link[0]
    file = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    to = site_path(file)
    if to is not None:
        if re.fullmatch(r"[\w-]+\.(?:md|ipynb)", text):
            text = title(ROOT / file)
        start = posixpath.dirname(page) or "."
        return f"{image}[{text}]({posixpath.relpath(to, start)}{hash_}{anchor})"
    if not (ROOT / file).exists():
        return link[0]
    return f"[{text}]({repository}/blob/main/{file}{hash_}{anchor})" if repository else text
