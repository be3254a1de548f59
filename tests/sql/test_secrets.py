"""Credentials appear nowhere: not in storage, plans, logs, the event log or errors.

The tests of applications need a JVM because it writes the logs.
"""

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
"""Storage options that may hold credentials; an endpoint may, too."""

ALLOWED = (
    b"DEBUG org.apache.spark.sql.internal.SharedState Applying",
    b"DEBUG org.apache.spark.sql.execution.SparkSqlParser Parsing command: CREATE TEMPORARY VIEW v",
)
"""What Spark logs at DEBUG regardless of its settings; docs/trust.md says so."""

LOG4J = """<Configuration status="WARN">
<Appenders><File name="f" fileName="{folder}/debug.log">
<PatternLayout pattern="%p %c %m%ex%n"/></File></Appenders>
<Loggers><Root level="DEBUG"><AppenderRef ref="f"/></Root></Loggers></Configuration>"""


def occurrences(folder: Path, mark: str) -> list[str]:
    """The occurrences of a secret in the files of a folder, with their context."""
    found = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        for line in path.read_bytes().split(b"\n"):
            if mark.encode() in line and not any(spark in line for spark in ALLOWED):
                at = line.index(mark.encode())
                found.append(f"{path.relative_to(folder)}: {line[max(0, at - 300) : at + 30]!r}")
    return found


def check(
    folder: Path, storage: dict[str, Any], mark: str, *arguments: str, **environment: str
) -> str:
    """Run the application with DEBUG logs; check its files and output for secrets; return stdout."""
    built_jar()
    folder.mkdir()
    (folder / "log4j2.xml").write_text(LOG4J.format(folder=folder))
    paths = {"PYTHONPATH": os.pathsep.join(sys.path), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, str(APPLICATION), str(folder), json.dumps(storage), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **paths, **environment},
    )
    assert done.returncode == 0, done.stderr[-5000:]
    (folder / "stdout").write_text(done.stdout)
    (folder / "stderr").write_text(done.stderr)
    assert done.stdout.count("SHOWN") > 15
    assert (folder / "debug.log").stat().st_size > 100_000
    assert any((folder / "events").iterdir())
    found = occurrences(folder, mark)
    assert not found, f"{len(found)} occurrences:\n" + "\n".join(found[:20])
    return done.stdout


@pytest.mark.nightly
@pytest.mark.spark
def test_an_application_shows_no_credentials(tmp_path: Path) -> None:
    check(tmp_path / "app", STORAGE, MARK)


@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.parametrize("packages", ["", PACKAGES], ids=["by Python", "natively"])
def test_an_application_on_s3_shows_no_credentials(
    packages: str, s3: Server, s3_place: str, tmp_path: Path
) -> None:
    submit = f"--packages {packages} --exclude-packages software.amazon.awssdk:bundle"
    arguments = f"{submit if packages else ''} pyspark-shell"
    options, secret = s3.options, s3.options["secret"]
    stdout = check(tmp_path / "app", options, secret, s3_place, PYSPARK_SUBMIT_ARGS=arguments)
    assert ("native={" in stdout) == bool(packages)


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
def test_conf_refuses_to_print_credentials(name: str) -> None:
    done = conf("--storage-option", f"{name}={MARK}")
    assert done.returncode == 1
    assert MARK not in done.stdout + done.stderr
    assert "environment" in done.stderr


def test_spark_redacts_storage_options() -> None:
    import re

    settings = catalog_conf("/w", "c", {"key": "v"})
    hidden = re.compile(settings["spark.redaction.regex"])
    assert hidden.search("spark.sql.catalog.c.storage.key")
    assert hidden.search("storage.anything")
    assert not hidden.search("spark.storage.memoryFraction")
    assert not hidden.search("spark.sql.catalog.c.warehouse")
    assert "spark.redaction.regex" not in catalog_conf("/w")
