"""``--py-files`` with the project's wheel, on machines where the package is not installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.sessions import local_cluster
from jar import ROOT, built_jar
from sql.test_statements import environment

pytestmark = [pytest.mark.spark, pytest.mark.thorough]

NAME = "pyspark_versioned.zip"
PYTHON = """#!/bin/sh
if [ -n "$ON_A_WORKER" ]; then
    PYTHONPATH=$(printf %s "$PYTHONPATH" | sed "s#{driver}#/nowhere#g")
fi
exec {python} -S "$@"
"""
"""A Python without site-packages, whose tasks do not see the driver's folder."""


def packages() -> str:
    """The folder of the other installed packages."""
    import pyspark

    return str(Path(pyspark.__file__).parents[1])


def python_of(path: Path) -> dict[str, str]:
    """Environment variables that set the Python of the driver and the tasks."""
    return {"PYSPARK_PYTHON": str(path), "PYSPARK_DRIVER_PYTHON": str(path)}


@pytest.fixture
def driver(tmp_path: Path) -> Path:
    """A folder that only the driver sees, with the project's wheel as a zip."""
    built_jar()
    driver = tmp_path / "driver"
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(driver)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = driver.glob("*.whl")
    wheel.rename(driver / NAME)
    python = tmp_path / "python"
    python.write_text(PYTHON.format(driver=driver, python=sys.executable))
    python.chmod(0o755)
    return driver


@pytest.mark.nightly
def test_py_files_without_an_installation(tmp_path: Path, driver: Path) -> None:
    warehouse = tmp_path / "w"
    everywhere = {
        **os.environ,
        "PYTHONPATH": packages(),
        **python_of(tmp_path / "python"),
    }
    here = {
        **everywhere,
        "PYTHONPATH": f"{packages()}:{driver / NAME}",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    jar = driver / "pyspark_versioned" / "jars" / "versioned-spark.jar"
    shutil.unpack_archive(driver / NAME, driver)
    conf = subprocess.run(
        [
            *(tmp_path / "python", "-m", "pyspark_versioned", "conf"),
            *("--warehouse", warehouse, "--jar", jar),
        ],
        env=here,
        check=True,
        capture_output=True,
        text=True,
    )
    (driver / "conf").write_text(
        conf.stdout + f"spark.executorEnv.PYTHONPATH {NAME}:{packages()}\n"
        "spark.ui.enabled false\nspark.log.level OFF\n"
    )
    with local_cluster().started(1, environment={**everywhere, "ON_A_WORKER": "1"}) as cluster:
        done = subprocess.run(
            [
                *(
                    local_cluster().spark_home() / "bin" / "spark-submit",
                    "--master",
                    cluster.master,
                ),
                *("--properties-file", driver / "conf", "--py-files", driver / NAME),
                *(ROOT / "tests" / "cluster" / "run_py_files.py", warehouse),
            ],
            env=here,
            cwd=driver,
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    results = json.loads(done.stdout.splitlines()[-1])
    assert [Path(path).parts[-3:] for path in results["paths"]] == [
        (NAME, "versioned_catalog", "__init__.py")
    ]
    assert not [path for path in results["paths"] if path.startswith(str(driver))]
    # Computed by hand: 0 to 19 without 3, and 0 to 4 once more.
    assert results["sql"] == [24, 190 - 3 + 10]
    assert results["python"] == [7, 24]


UNREACHABLE = """
from cluster.sessions import session
try:
    session("local[1]", "WAREHOUSE").sql("CREATE NAMESPACE versioned.db")
except Exception as error:
    print(str(error).splitlines()[0])
"""


@pytest.mark.nightly
def test_a_python_without_the_package_is_reported(tmp_path: Path) -> None:
    """It is not reported as a commit whose outcome is unknown."""
    built_jar()
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={packages()} exec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", UNREACHABLE.replace("WAREHOUSE", str(tmp_path / "w"))],
        env={**environment(), **python_of(python)},
        capture_output=True,
        text=True,
        check=True,
        timeout=900,
    )
    message = done.stdout.splitlines()[-1]
    assert "export PYSPARK_PYTHON" in message
    assert "landed" not in message
