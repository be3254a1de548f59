"""Credentials are shown nowhere: not on storage, in plans, logs, the event log, or errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from jar import built_jar
from pyspark_versioned.registering import catalog_conf
from s3.hadoop_aws import PACKAGES
from s3.server import Server
from versioned_catalog import Catalog, InvalidRequestError
from versioned_catalog.cli.main import main

MARK = "hush3f9c"
APPLICATION = Path(__file__).with_name("run_secrets.py")
STORAGE = {
    name: f"{MARK}-{at}"
    for at, name in enumerate(
        [
            *(
                "key",
                "secret",
                "token",
                "password",
                "account_key",
                "sas_token",
                "connection_string",
            ),
            *("client_kwargs.aws_secret_access_key", "username", "endpoint_url"),
        ]
    )
}
"""What a user may give; an endpoint may hold credentials, too."""

ALLOWED = (
    b"DEBUG org.apache.spark.sql.internal.SharedState Applying",
    b"DEBUG org.apache.spark.sql.execution.SparkSqlParser Parsing command: CREATE TEMPORARY VIEW v",
)
"""What Spark writes down at the level DEBUG whatever its settings say; docs/trust.md tells of it."""

LOG4J = """<Configuration status="WARN">
<Appenders><File name="f" fileName="{folder}/debug.log">
<PatternLayout pattern="%p %c %m%ex%n"/></File></Appenders>
<Loggers><Root level="DEBUG"><AppenderRef ref="f"/></Root></Loggers></Configuration>"""


def places(folder: Path, mark: str) -> list[str]:
    """The files that hold a secret, and the line."""
    found = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        for line in path.read_bytes().split(b"\n"):
            if mark.encode() in line and not any(spark in line for spark in ALLOWED):
                at = line.index(mark.encode())
                found.append(f"{path.relative_to(folder)}: {line[max(0, at - 300) : at + 30]!r}")
    return found


def check(folder: Path, storage: dict[str, Any], mark: str, *given: str, **more: str) -> str:
    """Files of a process that was given secrets, and what it printed, which is returned, at DEBUG."""
    built_jar()
    folder.mkdir()
    (folder / "log4j2.xml").write_text(LOG4J.format(folder=folder))
    there = {"PYTHONPATH": os.pathsep.join(sys.path), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, str(APPLICATION), str(folder), json.dumps(storage), *given],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **there, **more},
    )
    assert done.returncode == 0, done.stderr[-5000:]
    (folder / "stdout").write_text(done.stdout)
    (folder / "stderr").write_text(done.stderr)
    assert done.stdout.count("SHOWN") > 15
    assert (folder / "debug.log").stat().st_size > 100_000
    assert any((folder / "events").iterdir())
    told = places(folder, mark)
    assert not told, f"{len(told)} places:\n" + "\n".join(told[:20])
    return done.stdout


@pytest.mark.thorough
@pytest.mark.spark
def test_an_application(tmp_path: Path) -> None:
    check(tmp_path / "app", STORAGE, MARK)


@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.parametrize("packages", ["", PACKAGES], ids=["by Python", "natively"])
def test_an_application_on_s3(packages: str, s3: Server, s3_place: str, tmp_path: Path) -> None:
    submit = f"--packages {packages} --exclude-packages software.amazon.awssdk:bundle"
    arguments = f"{submit if packages else ''} pyspark-shell"
    options, secret = s3.options, s3.options["secret"]
    said = check(tmp_path / "app", options, secret, s3_place, PYSPARK_SUBMIT_ARGS=arguments)
    assert ("native={" in said) == bool(packages)


@pytest.mark.parametrize("scheme", ["s3", "s3a", "file", "memory", "gs", "http", "ftp"])
def test_credentials_in_a_url_are_refused_and_not_repeated(scheme: str) -> None:
    url = f"{scheme}://user:{MARK}@host/folder"
    for act in (
        lambda: Catalog(url),
        lambda: Catalog.load_path(url),
        lambda: catalog_conf(url),
    ):
        with pytest.raises(InvalidRequestError, match="environment") as caught:
            act()
        assert MARK not in str(caught.value)
    ran = CliRunner().invoke(main, ["--warehouse", url, "tables"])
    assert ran.exit_code
    assert MARK not in ran.output


def conf(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pyspark_versioned", "conf", "--warehouse", "/w", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.parametrize(
    "name", [name for name in STORAGE if name not in ("username", "endpoint_url")]
)
def test_settings_are_not_printed_with_secrets(name: str) -> None:
    done = conf("--storage-option", f"{name}={MARK}")
    assert done.returncode == 1
    assert MARK not in done.stdout + done.stderr
    assert "environment" in done.stderr


def test_spark_hides_what_a_store_is_opened_with() -> None:
    import re

    made = catalog_conf("/w", "c", {"key": "v"})
    hidden = re.compile(made["spark.redaction.regex"])
    assert hidden.search("spark.sql.catalog.c.storage.key")
    assert hidden.search("storage.anything")
    assert not hidden.search("spark.storage.memoryFraction")
    assert not hidden.search("spark.sql.catalog.c.warehouse")
    assert "spark.redaction.regex" not in catalog_conf("/w")
