"""A dbt project over three days, with the package of the wheel: what docs/dbt.md says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from newcomer.installation import Installation

pytestmark = pytest.mark.nightly

PROJECT = Path(__file__).parent / "dbt"

QUERY = """
import json, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
print(json.dumps([[list(row) for row in spark.sql(q).collect()] for q in sys.argv[1:]], default=str))
"""


class Project:
    """A copy of the project."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.folder = installation.folder / "dbt"
        shutil.copytree(PROJECT, self.folder)
        python = installation.environment.python
        packages = installation.run(python, "-m", "pyspark_versioned", "dbt")
        (self.folder / "packages.yml").write_text(packages)

    def dbt(self, *arguments: str, **variables: object) -> None:
        """Run dbt.

        Raises:
            AssertionError: it failed.
        """
        project = ("--project-dir", self.folder, "--profiles-dir", self.folder, "--no-use-colors")
        given = ("--vars", json.dumps(variables)) if variables else ()
        self.installation.run(self.installation.program("dbt"), *arguments, *project, *given)

    def failures(self, *arguments: str, **variables: object) -> dict[str, str]:
        """Run dbt, which must fail; return the message of each node that failed."""
        with pytest.raises(AssertionError):
            self.dbt(*arguments, **variables)
        results = json.loads((self.folder / "target/run_results.json").read_text())["results"]
        return {
            result["unique_id"].split(".")[2]: result["message"]
            for result in results
            if result["status"] in ("error", "fail")
        }

    def query(self, *statements: str) -> list[list[list[Any]]]:
        python = self.installation.environment.python
        output = self.installation.run(python, "-c", QUERY, *statements)
        rows: list[list[list[Any]]] = json.loads(output.splitlines()[-1])
        return rows


@pytest.fixture(scope="module")
def project(installation: Installation) -> Project:
    """The project after its builds of three days."""
    project = Project(installation)
    project.dbt("deps")
    # One model is built by day.
    days = ("--event-time-start", "2026-01-01", "--event-time-end", "2026-01-03")
    project.dbt("build", *days)
    project.dbt("build", *days, day=2, amount=11)
    project.dbt("build", *days, day=3, amount=12)
    return project


def test_rows_after_three_builds(project: Project) -> None:
    statements = {
        "SELECT * FROM marts.colors ORDER BY id": [
            [1, "it's red", 0.5, 9007199254740993],
            [2, None, None, 2],
            [3, '100% "blue" \\n', -100.0, 3],
        ],
        "SELECT id, amount FROM marts.merged ORDER BY id": [[1, 100], [2, 200]],
        "SELECT id, amount FROM marts.replaced ORDER BY id": [[1, 10], [2, 25]],
        "SELECT id, amount FROM marts.recent": [[2, 200]],
        "SELECT * FROM marts.by_day ORDER BY id": [
            [1, "2026-01-01 10:00:00", 3],
            [2, "2026-01-02 11:00:00", 3],
        ],
        # Added: fresh. Dropped: old. Widened: amount.
        "SELECT * FROM marts.changing ORDER BY id": [
            [1, 10, None],
            [2, 5000000000, True],
            [3, 30, False],
        ],
        "SELECT * FROM marts.appended ORDER BY id": [
            [1, "a", None],
            [2, None, True],
            [3, None, True],
        ],
        "SELECT id, amount FROM marts.agreed": [[1, 12]],
        "SELECT * FROM marts.agreed_rows": [[1, 12]],
        "SELECT * FROM marts.agreed_joined WHERE id = 1": [[1, 0.5]],
    }
    assert dict(zip(statements, project.query(*statements), strict=True)) == statements


def test_snapshots(project: Project) -> None:
    """By timestamp, with rows that are ended when they go; by check, with records of what has gone."""
    by_time, by_check = project.query(
        "SELECT id, name, dbt_valid_from, dbt_valid_to > TIMESTAMP'2026-06-01', dbt_valid_to "
        "FROM marts.by_time ORDER BY id, dbt_valid_from",
        "SELECT id, kind, name, dbt_valid_to IS NULL, dbt_is_deleted, "
        "count(*) OVER (PARTITION BY dbt_scd_id) "
        "FROM marts.by_check ORDER BY id, dbt_valid_from",
    )
    assert [row[:4] for row in by_time] == [
        [1, "a", "2026-01-01 00:00:00", False],
        [1, "aa", "2026-01-02 00:00:00", None],
        [2, "b", "2026-01-01 00:00:00", True],
        [3, "c", "2026-01-02 00:00:00", False],
        [3, "cc", "2026-01-03 00:00:00", None],
    ]
    assert by_time[0][4] == "2026-01-02 00:00:00"
    assert by_time[3][4] == "2026-01-03 00:00:00"
    assert by_check == [
        [1, "k", "a", False, "False", 1],
        [1, "k", "aa", True, "False", 1],
        [2, "k", "b", False, "False", 1],
        [2, "k", "b", True, "True", 1],
        [3, "k", "c", False, "False", 1],
        [3, "k", None, True, "False", 1],
    ]


def test_tables_keep_their_versions(project: Project) -> None:
    """Tables and seeds are replaced; incremental models commit what changes, and nothing else."""
    agreed, daily, colors, rows = project.query(
        "DESCRIBE HISTORY marts.agreed",
        "DESCRIBE HISTORY marts.daily",
        "DESCRIBE HISTORY marts.colors",
        "DESCRIBE HISTORY marts.agreed_rows",
    )
    # CHECK, NOT NULL, and the comments of columns.
    contract = ["alter"] * 3
    assert [row[2] for row in agreed] == [
        *contract,
        "replace",
        *contract,
        "replace",
        *contract,
        "create",
    ]
    assert [row[2] for row in daily] == ["replace", "replace", "create"]
    assert [row[2] for row in colors] == ["replace", "replace", "create"]
    assert [row[2] for row in rows] == ["merge", "merge", "alter", "alter", "create"]


def test_contracts(project: Project) -> None:
    """They become constraints. A build that violates them fails, and its table stays as it was."""
    expected = [[row] for row in ([1, 12], [1, 12])]
    agreed = ("--select", "agreed", "agreed_rows")
    failures = project.failures("run", *agreed, day=3, amount=-1)
    assert "violates CHECK (amount > 0), the constraint positive" in failures["agreed"]
    assert "CHECK_CONSTRAINT_VIOLATION" in failures["agreed_rows"]
    failures = project.failures("run", *agreed, day=3, id="cast(null as int)")
    assert "the contract has NOT NULL for `id`" in failures["agreed"]
    assert "NOT_NULL_ASSERT_VIOLATION" in failures["agreed_rows"]
    failures = project.failures("run", *agreed, day=3, amount="'text'")
    assert "enforced contract" in failures["agreed"]
    assert "enforced contract" in failures["agreed_rows"]
    agreed_rows, other_rows, created, joined = project.query(
        "SELECT id, amount FROM marts.agreed",
        "SELECT id, amount FROM marts.agreed_rows",
        "SHOW CREATE TABLE marts.agreed",
        "SHOW CREATE TABLE marts.agreed_joined",
    )
    assert [agreed_rows, other_rows] == expected
    ((text,),) = created
    assert "id INT NOT NULL COMMENT 'The customer\\'s number'" in text
    assert "amount INT COMMENT 'In cents'" in text
    assert "CONSTRAINT positive CHECK (amount > 0) ENFORCED" in text
    assert "COMMENT 'It\\'s agreed, \\\\n'" in text
    assert "PARTITIONED BY (day)" in text
    assert "'sort_by' = 'id'" in text
    # The model leaves out a row that violates it.
    assert "CHECK (weight > 0) ENFORCED" in joined[0][0]


def test_a_changed_contract_of_an_incremental_model(project: Project) -> None:
    """The next build applies it; further builds change no constraint, however Spark writes it."""
    schema = project.folder / "models/schema.yml"
    schema.write_text(schema.read_text().replace("amount   > 0", "amount in (12,  14)"))
    (before,) = project.query("DESCRIBE HISTORY marts.agreed_rows")
    for amount in (14, 12):
        project.dbt("run", "--select", "agreed_rows", day=3, amount=amount)
    failures = project.failures("run", "--select", "agreed_rows", day=3, amount=13)
    assert "CHECK_CONSTRAINT_VIOLATION" in failures["agreed_rows"]
    history, rows = project.query(
        "DESCRIBE HISTORY marts.agreed_rows", "SELECT id, amount FROM marts.agreed_rows"
    )
    commits = [row[2] for row in history[: len(history) - len(before)]]
    # The older one is dropped, the newer one added, and the property of the contract set.
    assert commits == ["merge", "merge", "alter", "alter", "alter"]
    assert rows == [[1, 12]]


def test_what_is_refused(project: Project) -> None:
    models = ("granted", "script", "strategy", "clustered")
    failures = project.failures("run", "--select", *models, refused=True)
    assert "marts.granted: a versioned catalog has no grants" in failures["granted"]
    assert "marts.script: dbt-spark runs Python models on Databricks only" in failures["script"]
    assert "there is no incremental strategy delete+insert" in failures["strategy"]
    assert "clustered_by needs a number of buckets" in failures["clustered"]


def test_docs_and_stored_failures(project: Project) -> None:
    project.dbt("docs", "generate")
    catalog = json.loads((project.folder / "target/catalog.json").read_text())["nodes"]
    columns = {key.split(".")[2]: list(node["columns"]) for key, node in catalog.items()}
    assert columns["changing"] == ["id", "amount", "fresh"]
    assert columns["recent"] == ["id", "day", "amount"]
    assert columns["colors"] == ["id", "color", "weight", "big"]
    assert columns["by_time"][:3] == ["id", "name", "updated_at"]
    failures = project.failures("test", "--store-failures", limit=15)
    assert failures == {"no_large_amounts": "Got 1 result, configured to fail if != 0"}
    stored, comments = project.query(
        "SELECT id, amount FROM marts_dbt_test__audit.no_large_amounts", "DESCRIBE marts.recent"
    )
    assert stored == [[2, 20]]
    assert comments[0][2] == "The day's \n number"


def test_views_become_tables_and_back(project: Project) -> None:
    kinds = []
    for kind in ("table", "view"):
        project.dbt("run", "--select", "recent", recent=kind)
        ((*_, rows),) = [project.query("SELECT id, amount FROM marts.recent")]
        assert rows == [[2, 200]]
        (described,) = project.query("DESCRIBE EXTENDED marts.recent")
        kinds += [row[1] for row in described if row[0] == "Type"]
    assert kinds == ["MANAGED", "VIEW"]


def test_full_refresh_and_clone(project: Project) -> None:
    """A full refresh keeps the versions. A clone is a shallow clone."""
    state = project.folder / "state"
    state.mkdir()
    shutil.copy(project.folder / "target/manifest.json", state)
    project.dbt(
        "clone", "--select", "changing", "--state", str(state), "--target", "staging", day=3
    )
    project.dbt("run", "--select", "appended", "--full-refresh", day=3)
    cloned, refreshed, history, kept = project.query(
        "SELECT * FROM staging.changing ORDER BY id",
        "SELECT * FROM marts.appended",
        "DESCRIBE HISTORY marts.appended",
        "SELECT * FROM marts.appended VERSION AS OF 0",
    )
    assert cloned == [[1, 10, None], [2, 5000000000, True], [3, 30, False]]
    assert refreshed == [[True, 3]]
    assert history[0][2] == "replace"
    assert kept == [[1, "a"]]
