"""OpenLineage's own listener for Spark sees versioned tables, and statements show nothing of that.

``SparkSession`` is in ``run_spark_lineage.py``; the listener comes from Maven Central.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("application")
    done = subprocess.run(
        [sys.executable, HERE / "run_spark_lineage.py", folder],
        env={
            **os.environ,
            "PYTHONPATH": str(HERE.parent),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    (folder / "shown").write_text(done.stdout.splitlines()[-1])
    return folder


Datasets = dict[str, dict[str, Any]]


def datasets(folder: Path, job: str) -> tuple[Datasets, Datasets]:
    """The facets of inputs and outputs by name, of the completed run of a job."""
    events = map(json.loads, (folder / "events").read_text().splitlines())
    (event,) = (e for e in events if e["eventType"] == "COMPLETE" and job in e["job"]["name"])
    for dataset in (*event["inputs"], *event["outputs"]):
        assert dataset["namespace"] == "file"
    inputs, outputs = (
        {dataset["name"]: dataset["facets"] for dataset in event[side]}
        for side in ("inputs", "outputs")
    )
    return inputs, outputs


def columns(facets: dict[str, Any]) -> list[tuple[int, str, str]]:
    # The listener nests the members of facets that it does not know.
    facet = facets["versioned_columns"]["additionalProperties"]
    return [(column["id"], column["name"], column["type"]) for column in facet["columns"]]


def test_an_insert_has_its_table_as_output(folder: Path) -> None:
    inputs, outputs = datasets(folder, "append_data_versioned_db_t")
    assert inputs == {}
    (facets,) = outputs.values()
    assert list(outputs) == [f"{folder}/w/db/t"]
    assert columns(facets) == [(1, "id", "BIGINT"), (2, "s", "STRING")]


def test_a_renamed_column_keeps_its_id(folder: Path) -> None:
    inputs, outputs = datasets(folder, "append_data_versioned_db_u")
    assert (list(inputs), list(outputs)) == ([f"{folder}/w/db/t"], [f"{folder}/w/db/u"])
    assert columns(inputs[f"{folder}/w/db/t"]) == [(1, "id", "BIGINT"), (2, "name", "STRING")]
    assert inputs[f"{folder}/w/db/t"]["version"]["datasetVersion"] == "2"
    lineage = outputs[f"{folder}/w/db/u"]["columnLineage"]["fields"]
    assert set(lineage) == {"id", "name"}


def test_a_read_by_path_has_its_table_as_input(folder: Path) -> None:
    inputs, outputs = datasets(folder, "insert_into_hadoop_fs_relation")
    assert (list(inputs), list(outputs)) == ([f"{folder}/w/db/t"], [f"{folder}/out"])
    assert columns(inputs[f"{folder}/w/db/t"])[1] == (2, "name", "STRING")


def test_statements_do_not_show_what_the_listener_reads(folder: Path) -> None:
    shown = json.loads((folder / "shown").read_text())
    assert "openlineage" not in json.dumps(shown)
    assert (shown["properties"], shown["of the copy"]) == (["x"], ["x"])
    assert any("'x'" in line for line in shown["create"].splitlines())
