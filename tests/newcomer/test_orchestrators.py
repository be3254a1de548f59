"""The examples for Airflow and Dagster run with these libraries, each in an environment of its own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import versioned_catalog as vc
from environments import Environment, build, run
from jar import ROOT

pytestmark = pytest.mark.nightly

EXAMPLES = ROOT / "examples"

MATERIALIZE = """
import json, sys
import dagster as dg
import dagster_asset as example
result = dg.materialize([example.orders, example.amounts_are_positive])
(of_orders,) = result.asset_materializations_for_node("orders")
found = {name: value.value for name, value in of_orders.metadata.items()}
columns = found.pop("dagster/column_schema").columns
found["columns"] = [[c.name, c.type, c.description, c.constraints.nullable, c.tags] for c in columns]
found["checks"] = [check.passed for check in result.get_asset_check_evaluations()]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("built"))[0]


def environment(folder: Path, wheel: Path, *libraries: str) -> Environment:
    made = Environment.new(folder / "venv")
    made.install(wheel, *libraries)
    return made


def test_dagster_shows_columns_by_id(tmp_path: Path, wheel: Path) -> None:
    dagster = environment(tmp_path, wheel, "dagster>=1.10")
    shutil.copy(EXAMPLES / "dagster_asset.py", tmp_path)

    def materialize() -> dict[str, Any]:
        settings = {"PYTHONPATH": str(tmp_path), "WAREHOUSE": str(tmp_path / "w")}
        output = run(dagster.python, "-c", MATERIALIZE, cwd=tmp_path, **settings)
        found: dict[str, Any] = json.loads(output.splitlines()[-1])
        return found

    first = materialize()
    assert first["columns"] == [
        ["id", "BIGINT", None, False, {"versioned/column_id": "1"}],
        ["amount", "DOUBLE", "in euros", True, {"versioned/column_id": "2"}],
    ]
    assert (first["dagster/row_count"], first["rows_added"], first["version"]) == (2, 2, 1)
    assert first["checks"] == [True]
    table = vc.open(tmp_path / "w" / "orders")
    table.alter().add_column("note", "STRING").rename_column("note", "remark").commit()
    second = materialize()
    assert second["columns"][2][0] == "remark"
    assert second["columns"][2][4] == {"versioned/column_id": "3"}
    assert (second["dagster/row_count"], second["version"]) == (4, 3)


def test_airflow_waits_for_a_consumer(tmp_path: Path, wheel: Path) -> None:
    airflow = environment(tmp_path, wheel, "apache-airflow>=3,<4")
    dags, home = tmp_path / "dags", tmp_path / "home"
    dags.mkdir()
    shutil.copy(EXAMPLES / "airflow_sensor.py", dags)
    catalog = vc.Catalog(tmp_path / "w")
    source, target = (
        catalog.create_table(name, "id BIGINT, v STRING", primary_key=["id"])
        for name in ("orders", "orders_copy")
    )
    settings = {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "SOURCE": source.location,
        "TARGET": target.location,
    }

    def command(*arguments: str) -> str:
        return run(airflow.folder / "bin" / "airflow", *arguments, cwd=tmp_path, **settings)

    def copied() -> list[tuple[int, str]]:
        command("dags", "test", "copy_orders")
        rows = target.refresh().scan().to_arrow().sort_by("id").to_pylist()
        return [(row["id"], row["v"]) for row in rows]

    command("db", "migrate")
    source.upsert(pa.table({"id": [1, 2], "v": ["a", "b"]}))
    command("dags", "reserialize")
    assert copied() == [(1, "a"), (2, "b")]
    (consumer,) = source.refresh().inspect.consumers().to_pylist()
    assert (consumer["name"], consumer["version"]) == ("airflow_copy", 1)
    source.delete([("id", "=", 1)])
    source.upsert(pa.table({"id": [2, 3], "v": ["bb", "c"]}))
    assert copied() == [(2, "bb"), (3, "c")]
    (consumer,) = source.refresh().inspect.consumers().to_pylist()
    assert consumer["versions_behind"] == 0
