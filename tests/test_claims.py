"""Sizes, figures and statements of the README and the docs agree with what they are about; no JVM."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from jar import ROOT, built_jar
from test_documents import PAGES, anchors

README = (ROOT / "README.md").read_text()
TEXT = " ".join(README.split())
"""The README without its line breaks."""
FIGURES = tomllib.loads((ROOT / "benchmarks" / "measured.toml").read_text())
"""When the figures of the README were measured, and the code that they are about."""
BENCHMARKS = (ROOT / "benchmarks" / "README.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def section(anchor: str) -> str:
    """A section of the benchmarks by its anchor on GitHub."""
    for part in re.split(r"^(?=##+ )", BENCHMARKS, flags=re.MULTILINE):
        heading = part.partition("\n")[0].lstrip("# ")
        if re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") == anchor:
            return part
    raise AssertionError(f"benchmarks/README.md has no section {anchor}")


def rows(anchor: str, start: str) -> list[list[str]]:
    """The cells of the rows of a section that begin with a text."""
    lines = re.findall(rf"^\| {re.escape(start)}.*", section(anchor), re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def cell(anchor: str, start: str, column: int) -> str:
    """A cell of the one row of a section that begins with a text."""
    (row,) = rows(anchor, start)
    return row[column]


def ratio(text: str) -> str:
    """The ratio of a cell such as ``39.04 s, 1.05 (1.02-1.07)``."""
    (found,) = re.findall(r"(?:^|, )(\d+\.\d+) \(", text)
    return str(found)


def test_the_readme_states_the_measured_times_of_commits() -> None:
    assert f"{cell('results', 'ALTER, median', 2)} at the median" in TEXT
    append = cell("results", "append of 1,000 rows, median; 99th", 2).partition(";")[0]
    assert f"an append takes {append} " in TEXT


def test_the_readme_states_the_measured_ratios_of_pinned_reads() -> None:
    ratios = sorted(ratio(row[2]) for row in rows("reads-through-a-schema-pin", "Spark, "))
    assert len(ratios) == 4
    assert f"through a pin take {ratios[0]} to {ratios[-1]} times as long" in TEXT


def test_the_readme_states_the_measured_ratios_of_tpch() -> None:
    ours, iceberg, delta = (
        ratio(cell("tpc-h-over-altered-tables", "all of them", at)) for at in (1, 2, 3)
    )
    claim = (
        f"take {ours} times as long as on plain Parquet; with Iceberg {iceberg}, with Delta {delta}"
    )
    assert claim in TEXT


def test_the_readme_states_the_measured_ratio_of_duckdb() -> None:
    measured = ratio(cell("publishing-as-iceberg", "sum of one column", 2))
    assert f"DuckDB sums a column in {measured} times the time of its plain Parquet files" in TEXT


def test_the_readme_repeats_the_result_of_a_design_record() -> None:
    assert "with 0 rows instead of 4,000" in TEXT
    record = (ROOT / "docs" / "design" / "001-column-ids.md").read_text()
    assert "returned 0 rows instead of 4,000" in record


def test_the_record_on_changes_states_the_measured_costs() -> None:
    record = (ROOT / "docs" / "design" / "010-changes.md").read_text()
    update, shuffled = (
        float(ratio(cell("changes-between-versions", row, 2)))
        for row in ("UPDATE of 1%, all rows copied", "the same by INSERT OVERWRITE, shuffled")
    )
    assert f"{update} times a scan of both versions" in record
    assert f"{shuffled} times (" in record


def test_a_request_takes_the_stated_time() -> None:
    for page in ("docs/architecture.md", "docs/design/004-jar.md"):
        assert "1 to 2 ms" in (ROOT / page).read_text()
    warm = cell("sql-and-native-scans", "a statement's load and plan in Python, warm", 2)
    assert 1 <= float(warm.removesuffix(" ms")) <= 2
    assert "round trips to\nPython of 2 ms each" in BENCHMARKS


def test_each_figure_links_to_its_section_and_names_its_command() -> None:
    links = re.findall(r"`benchmarks\.(\w+)`\]\(benchmarks/README\.md#(.+?)\)", README)
    assert len(links) >= 5
    for command, anchor in links:
        assert (ROOT / "benchmarks" / f"{command}.py").is_file()
        assert f"`{command}`" in section(anchor)
        assert f"| `python -m benchmarks.{command}` |" in BENCHMARKS
        assert anchor in anchors(ROOT / "benchmarks" / "README.md")


def git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", ROOT, *arguments], check=False, capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"the history is not here: {done.stderr.strip()}")
    return done.stdout


@pytest.mark.parametrize("command", FIGURES)
def test_a_figure_of_the_readme_is_not_older_than_the_code_it_measures(command: str) -> None:
    measured = FIGURES[command]
    changed = git("diff", "--numstat", measured["at"], "HEAD", "--", *measured["code"])
    added = sum(int(line.split()[0]) for line in changed.splitlines())
    files = git("ls-files", "--", *measured["code"]).splitlines()
    lines = sum(len((ROOT / file).read_text().splitlines()) for file in files)
    assert added <= lines / 8, f"run python -m benchmarks.{command} again, and note its commit"


def test_each_figure_says_when_it_was_measured() -> None:
    linked = re.findall(r"`benchmarks\.(\w+)`\]\(benchmarks/README\.md#", README)
    assert set(linked) == FIGURES.keys()
    for measured in FIGURES.values():
        assert all((ROOT / path).exists() for path in measured["code"])


def test_the_jar_has_the_stated_size() -> None:
    stated = [
        size for page in PAGES for size in re.findall(r"jar of ([\d.]+ .B)", page.read_text())
    ]
    assert stated
    assert set(stated) == {f"{Path(built_jar()).stat().st_size / 1e6:.1f} MB"}


def test_the_pyspark_that_a_build_downloads_has_the_stated_size() -> None:
    packages = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    spark = next(package for package in packages if package["name"] == "pyspark")
    version = ".".join(spark["version"].split(".")[:2])
    assert f"downloads PySpark {version} ({spark['sdist']['size'] / 1e6:.0f} MB)" in TEXT


def test_the_stated_python_and_jdk_are_those_of_the_build() -> None:
    spec = importlib.util.spec_from_file_location("build", ROOT / "connector" / "jvm" / "build.py")
    assert spec
    assert spec.loader
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    python = PROJECT["requires-python"].removeprefix(">=")
    assert f"You need Python {python} or newer (with `venv`) and a JDK {build.RELEASE}." in TEXT


def test_the_demo_has_a_dozen_schema_changes() -> None:
    assert "through a dozen schema changes" in TEXT
    demo = (ROOT / "examples" / "flights.py").read_text()
    assert demo.count("flights.commit(") == 12


def test_the_jar_never_opens_a_log() -> None:
    assert "never opens a log" in TEXT
    sources = list((ROOT / "connector" / "jvm").rglob("*.java"))
    assert len(sources) > 50
    texts = [re.findall(r'"([^"\n]*)"', source.read_text()) for source in sources]
    log_folder = re.compile(r"(^|/)_versioned(/|$)")
    assert not [text for found in texts for text in found if log_folder.search(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_installs_from_a_package_index_that_lacks_the_package(page: Path) -> None:
    """The package comes by its path or URL; only its extras may be added by its name."""
    commands = re.findall(r"pip install [^`\n#]*", page.read_text())
    named = [c for c in commands if re.search(r"pyspark-versioned(?!\S* @ \$WHEEL)", c)]
    assert not [c for c in named if not re.fullmatch(r"pip install 'pyspark-versioned\[\w+\]'", c)]


def test_the_wheel_has_the_version_of_the_project() -> None:
    wheels = {
        w for p in PAGES for w in re.findall(r"pyspark_versioned-[\w.-]+\.whl", p.read_text())
    }
    assert wheels == {f"pyspark_versioned-{PROJECT['version']}-py3-none-any.whl"}


def test_the_readme_begins_with_one_screen() -> None:
    """What it is, six reasons, an example of ten statements, a picture, two commands, five rows."""
    first, _, _ = README.partition("\n---\n")
    assert len(first.splitlines()) <= 90
    assert len(re.findall(r"^- \*\*", first, re.MULTILINE)) == 6
    (example,) = re.findall(r"^```python\n(.*?)^```", first, re.MULTILINE | re.DOTALL)
    assert (
        len(
            [
                line
                for line in example.splitlines()
                if "versioned.db" in line or "spark.sql(" in line
            ]
        )
        == 10
    )
    assert first.count("```mermaid\n") == 1
    assert len(re.findall(r"^python3 ", first, re.MULTILINE)) == 2
    assert len(re.findall(r"^\| ", first, re.MULTILINE)) == 1 + 5


MEASURED = BENCHMARKS + (ROOT / "docs" / "performance.md").read_text()


@pytest.mark.parametrize("page", ["comparison", "limits", "operators"])
def test_each_figure_of_a_guide_is_a_measured_one(page: str) -> None:
    """Of each row of a table that names its benchmark."""
    text = (ROOT / "docs" / f"{page}.md").read_text()
    named = re.findall(r"^\| (.*) \| `(?:python -m )?benchmarks\.(\w+)` \|$", text, re.MULTILINE)
    assert len(named) >= 4
    for row, command in named:
        assert f"| `python -m benchmarks.{command}` |" in BENCHMARKS
        for cell in row.split(" | ")[1:]:
            figures = re.findall(r"\d[\d.,]*(?: (?:ms|s|MB|GB|MiB)\b)?", cell)
            for figure in figures:
                assert figure in MEASURED, f"{command}: {figure}"
