"""The statements of Iceberg's and Delta's documentation, and the page that says which work.

``python tests/sql/coming_from.py`` writes the page from ``neighbours.toml``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "coming-from.md"
PAGES = {
    "iceberg": "https://iceberg.apache.org/docs/latest/{}/",
    "delta": "https://docs.delta.io/{}/",
}
JAVADOC = "https://iceberg.apache.org/javadoc/latest/org/apache/iceberg"
ELSEWHERE = {"spark-functions-javadoc": f"{JAVADOC}/spark/functions/package-summary.html"}
"""Pages that are not among the others of their format."""
NAMES = {"iceberg": "Iceberg", "delta": "Delta"}

HEAD = """# Coming from Iceberg or Delta

This page lists the SQL statements of the documentation of Iceberg and Delta, and says for each whether
it works here. A test runs all but {unrun} of them as they stand there, with catalogs of the names that
they use; for placeholders, and for snapshots, times and files that nobody has, others are put in.
Snapshot IDs are versions. Fragments, and statements that no parser takes, are left out.

**{works} of {all} work**, {differ} of them with a difference. The others are refused, with what to do
instead. [SQL](sql.md) describes what there is beside them.

"""


@dataclass(frozen=True)
class Statement:
    """A statement of another format's documentation.

    Args:
        of: the format.
        page: the page that it is on.
        sql: the statement as it stands there.
        run: the same with names for its placeholders.
        before: what is run before; None if it can't be run here.
        refused: a part of the error; None if it works, or is not run.
        instead: what to write instead, if the error does not say so, or a setting has no effect.
        differs: what is different here.
    """

    of: str
    page: str
    sql: str
    run: str = ""
    before: tuple[str, ...] | None = None
    refused: str | None = None
    instead: str | None = None
    differs: str | None = None

    @property
    def works(self) -> bool:
        """Whether it does what it does there."""
        return self.refused is None and self.instead is None


def statements() -> list[Statement]:
    """All of them, by format and page."""
    rows = tomllib.loads((HERE / "neighbours.toml").read_text())["statement"]
    found = [
        Statement(**{**row, "before": tuple(row["before"]) if "before" in row else None})
        for row in rows
    ]
    return sorted(found, key=lambda statement: (statement.of != "iceberg", statement.page))


def page() -> str:
    """The page in Markdown."""
    found = statements()
    working = [statement for statement in found if statement.works]
    differ = sum(statement.differs is not None for statement in working)
    unrun = sum(statement.before is None for statement in found)
    head = HEAD.format(works=len(working), all=len(found), differ=differ, unrun=unrun)
    return head + "\n".join(_tables(found))


def _tables(found: list[Statement]) -> Iterator[str]:
    for (of, name), group in groupby(found, key=lambda statement: (statement.of, statement.page)):
        address = ELSEWHERE.get(name, PAGES[of].format(name))
        yield f"## {NAMES[of]}: [{name}]({address})\n"
        yield "| statement | |\n|---|---|"
        for statement in group:
            yield f"| {_code(statement.sql)} | {_outcome(statement)} |"
        yield ""


def _outcome(statement: Statement) -> str:
    if statement.works:
        return "works" if statement.differs is None else f"works, {statement.differs}"
    reason = statement.instead if statement.instead is not None else statement.refused or ""
    return f"refused: {_cell(reason)}"


def _code(sql: str) -> str:
    text = _cell(" ".join(sql.split()))
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page())
