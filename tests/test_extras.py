"""docs/install.md names each extra, each library without one, and the versions that the code checks."""

from __future__ import annotations

import re
import tomllib

from jar import ROOT
from pyspark_versioned.jar import OLDEST
from versioned_catalog.cli.doctor import OLDEST_PYTHON

PAGE = (ROOT / "docs" / "install.md").read_text()
SOURCES = [path for name in ("catalog", "connector") for path in (ROOT / name).rglob("*.py")]


def rows(heading: str) -> list[tuple[str, str]]:
    """The rows of the table whose first row ends with a heading."""
    (table,) = re.findall(rf"^\| [^|\n]*\| {heading} \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE, re.M)
    return re.findall(r"^\| (.*) \| (.*) \|$", table, re.M)


def test_each_extra_is_in_the_table_and_each_row_names_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    named = [extra for _, cell in rows("extra") for extra in re.findall(r"`(\w+)`", cell)]
    assert sorted(named) == sorted(extras)
    assert project["requires-python"] == ">=3.11"
    assert OLDEST_PYTHON == (3, 11)
    assert "| Python | 3.11 or newer;" in PAGE
    assert f"| Java, for Spark only | {OLDEST} or newer." in PAGE


def test_errors_name_extras_and_libraries_of_the_page() -> None:
    extras = {extra for _, cell in rows("extra") for extra in re.findall(r"`(\w+)`", cell)}
    installed = {name for _, cell in rows("install") for name in re.findall(r"install (\w+)", cell)}
    text = "\n".join(path.read_text() for path in SOURCES)
    assert set(re.findall(r"pyspark-versioned\[(\w+)\]'", text)) <= extras
    assert {"iceberg", "delta", "lineage", "s3", "spark"} <= extras
    imported = re.findall(r'optional_import\("(\w+)", "[^"]*", "(\w+)"\)', text)
    assert imported
    assert {name for _, name in imported} <= installed
    assert {"duckdb", "polars", "pandas"} <= installed
