"""The page docs/conformance.md, made of the situations of all modules.

``python tests/conformance/page.py`` writes it.
"""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from conformance.registry import Situation, Verdict


@dataclass(frozen=True)
class Project:
    """A project whose situations are listed.

    Args:
        name: its name.
        repository: owner and name on GitHub.
        commit: the commit, or branch, at which its files were read.
    """

    name: str
    repository: str
    commit: str

    @property
    def address(self) -> str:
        """The address of the repository."""
        return f"https://github.com/{self.repository}"

    def link(self, file: str) -> str:
        """A link to one of its files, in Markdown."""
        return f"[`{file}`]({self.address}/blob/{self.commit}/{file})"


PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"

PROJECTS = {
    "iceberg": Project(
        "Apache Iceberg", "apache/iceberg", "7f879b11366e17a676a03f15247a821751415529"
    ),
    "pyiceberg": Project(
        "PyIceberg", "apache/iceberg-python", "30730987d43db2081692646a8f19506bd78a3f32"
    ),
    "delta": Project("Delta Lake", "delta-io/delta", "bb1057f4367f555b01e299fd1690d85aafc0ac4c"),
    "ducklake": Project("DuckLake", "duckdb/ducklake", "2ed0a0be8931f23959b2fc9fc089bb5f71207817"),
    "paimon": Project("Apache Paimon", "apache/paimon", "5dacde516bf6e29b583aff8b32bab321bfc6e64f"),
    "hudi": Project("Apache Hudi", "apache/hudi", "098056a2c9e2cfe4c02366f6dcb79412fd1552e7"),
    "kudu": Project("Apache Kudu", "apache/kudu", "22028a29fa0b27bb82bdcd8812a5a06d2d23c44b"),
    "greptimedb": Project(
        "GreptimeDB", "GreptimeTeam/greptimedb", "7fd0a7bb9877b218943429296ad442efcf309f7c"
    ),
    "ignite": Project(
        "Apache Ignite 3", "apache/ignite-3", "d46ac208937b32fbebc3e5d615f36eea28465253"
    ),
    "drill": Project("Apache Drill", "apache/drill", "051b1649a097410150a698bb29d6d8f29f0e1762"),
    "pgroll": Project("pgroll", "xataio/pgroll", "cdbe9b0f3c01abbadd78e44b4e525456315bfd00"),
    "avro": Project("Apache Avro", "apache/avro", "87212a6d47247a30dff247d16386d722c56d4390"),
    "parquet": Project(
        "parquet-testing", "apache/parquet-testing", "1a2a75127be06fc0123f03ebd36c966f7beda27d"
    ),
}
"""The projects, in the order of the page."""

MODULES = (
    "iceberg_updates",
    "iceberg_moves",
    "iceberg_unions",
    "iceberg_reads",
    "iceberg_filters",
    "iceberg_commits",
    "delta_widening",
    "delta_alters",
    "delta_checks",
    "delta_rows",
    "delta_versions",
    "delta_columns",
    "delta_commits",
    "ducklake",
    "paimon",
    "hudi",
    "kudu",
    "greptimedb",
    "ignite",
    "drill",
    "avro",
    "parquet_files",
    "pyiceberg",
    "pgroll",
    "statements",
    "row_ids",
)
"""The modules with the situations, in the order of the page."""

HEAD = """# Situations of other projects

Iceberg, Delta and their neighbours have published what must happen in thousands of situations: as tests
and specifications. This page lists {all} of them, described in our words, and says for each what happens
here. [The tests](../tests/conformance) run what is listed, with data of our own, and make this page; a
situation *passes* if what that project expects holds here, too.

We chose tests and sections that are about tables as their users see them: schemas and what becomes of
rows under them, changed rows, versions, writers at once, files of others. Most tests of statements and
engines, and of how a project stores its metadata, are left out. A situation is named as in the file of
that project, which is linked at the commit that we read.

| verdict | situations | meaning |
|---|---|---|
| passes | {passes} | the same happens here |
| differs | {differs} | something else happens here; the reason follows, and a test asserts it |
| not applicable | {rest} | it can't arise here; the reason follows |

| project | passes | differs | not applicable |
|---|---|---|---|
{counts}

[Coming from Iceberg or Delta](coming-from.md) does the same with the SQL statements of their
documentation, and [foreign Parquet files](foreign-parquet.md) with all files of apache/parquet-testing.

"""


def situations() -> list[Situation]:
    """All of them, by project and file."""
    found: list[Situation] = []
    for module in MODULES:
        found += importlib.import_module(f"conformance.{module}").SITUATIONS
    projects = list(PROJECTS)
    files = list(dict.fromkeys(situation.file for situation in found))
    return sorted(found, key=lambda each: (projects.index(each.project), files.index(each.file)))


def page() -> str:
    """The page in Markdown."""
    found = situations()
    verdicts = Counter(situation.verdict for situation in found)
    head = HEAD.format(
        all=len(found),
        passes=verdicts[Verdict.PASSES],
        differs=verdicts[Verdict.DIFFERS],
        rest=verdicts[Verdict.NOT_APPLICABLE],
        counts="\n".join(_counts(found)),
    )
    return head + "\n".join(_tables(found))


def _counts(found: list[Situation]) -> Iterator[str]:
    for key, project in PROJECTS.items():
        verdicts = Counter(situation.verdict for situation in found if situation.project == key)
        numbers = " | ".join(str(verdicts[verdict]) for verdict in Verdict)
        yield f"| [{project.name}]({project.address}) | {numbers} |"


def _tables(found: list[Situation]) -> Iterator[str]:
    for key, group in groupby(found, key=lambda situation: situation.project):
        yield f"## {PROJECTS[key].name}\n"
        for file, listed in groupby(group, key=lambda situation: situation.file):
            yield f"### {PROJECTS[key].link(file)}\n"
            yield "| situation | there | here |\n|---|---|---|"
            for situation in listed:
                yield f"| `{situation.test}` | {_cell(situation.what)} | {_outcome(situation)} |"
            yield ""


def _outcome(situation: Situation) -> str:
    if situation.verdict is Verdict.PASSES:
        return "passes"
    return f"{situation.verdict.value}: {_cell(situation.why)}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page())
