"""The wheel and the source distribution, installed in fresh environments with each PySpark."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from environments import Environment, build, run
from jar import ROOT

pytestmark = pytest.mark.nightly

SHOWN = {
    "count": [[82]],  # 90 of range, minus 10 deleted, plus 2000 and 1001
    "sum": [[90 * 89 // 2 - sum(range(10, 20)) + 2000 + 1001]],
    "merged": [[1, "merged", None], [2000, "inserted", 7]],
    "overwritten": [[1001, "over", 1.5]],
    "past": [[90, "a"]],
    "tag": [[82]],
    "keyed": [["a", 3]],
    "copied": [["a", 3]],
    "history": [[10]],
    "tables": [["db", "c", False], ["db", "k", False], ["db", "t", False]],
    "source": [[5]],
    "native": [[True]],
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A wheel and a source distribution."""
    return build(tmp_path_factory.mktemp("built"))


def shown(environment: Environment, folder: Path) -> Any:
    """The results of the statements, run in an empty folder."""
    folder.mkdir()
    script = shutil.copy(ROOT / "tests" / "run_installed.py", folder)
    out = run(environment.python, script, folder / "warehouse", cwd=folder)
    return json.loads(out.splitlines()[-1])


@pytest.mark.parametrize("spark", ["4.1", "4.2", "4.3"])
def test_sql_on_each_pyspark(spark: str, built: tuple[Path, Path], tmp_path: Path) -> None:
    """One jar works with all: from the wheel and, without a JDK, from the source distribution."""
    wheel, source = built
    environment = Environment.new(tmp_path / "venv")
    environment.install(f"pyspark-versioned[spark] @ {wheel.as_uri()}", f"pyspark=={spark}.*")
    output = shown(environment, tmp_path / "wheel")
    assert output["pyspark"].startswith(spark)
    assert output["from"].startswith(str(tmp_path))
    assert {name: output["shown"][name] for name in SHOWN} == SHOWN
    environment.install("--reinstall-package", "pyspark-versioned", "--no-deps", source)
    assert shown(environment, tmp_path / "source")["shown"] == output["shown"]


def test_an_isolated_install_of_the_checkout_has_the_jar(tmp_path: Path) -> None:
    """``pip install .`` without PySpark installed."""
    tree = tmp_path / "tree"
    ignored = shutil.ignore_patterns("jars", "__pycache__", ".*", "dist")
    shutil.copytree(ROOT, tree, ignore=ignored)
    environment = Environment.new(tmp_path / "venv")
    environment.install(tree, "pip")
    code = "import pyspark_versioned; print(pyspark_versioned.jar_path())"
    assert run(environment.python, "-c", code, cwd=tmp_path).startswith(str(tmp_path / "venv"))
