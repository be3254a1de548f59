"""The command ``doctor``: what is wrong with an installation and its storage, and what to do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import click

from versioned_catalog.cli.findings import show_findings
from versioned_catalog.cli.output import without_secrets
from versioned_catalog.cli.program import UNEXPECTED, Command, Session
from versioned_catalog.findings import Finding, State, fault, ok, warning
from versioned_catalog.storage.secrets import is_root

OLDEST_PYTHON = (3, 11)
"""The oldest Python that the package supports."""

SPARK_CHECKS = ("-m", "pyspark_versioned", "checkup")
"""What checks Spark's side, in a process of its own: the core never imports that package."""


@click.command(cls=Command)
@click.option(
    "--clock-limit",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=60,
    show_default=True,
    help="How far this machine's clock may be from the store's.",
)
@click.option("--read-only", is_flag=True, help="Try nothing that writes.")
@click.option("--no-spark", is_flag=True, help="Leave out Java, PySpark and the jar.")
@click.pass_obj
def doctor(session: Session, clock_limit: float, read_only: bool, no_spark: bool) -> None:
    """Check Python, Java, PySpark, the jar, the storage of the warehouse and the clock.

    Says what to do about each fault. The exit code is 1 if there are faults. Without --read-only, a
    file is created in the warehouse and deleted again.
    """
    limit = timedelta(seconds=clock_limit)
    if show_findings(_findings(session, limit, read_only=read_only, spark=not no_spark)):
        click.get_current_context().exit(UNEXPECTED)


def _findings(
    session: Session, clock_limit: timedelta, *, read_only: bool, spark: bool
) -> Iterator[Finding]:
    yield _python()
    if spark:
        yield from _spark()
    if session.warehouse is None:
        text = "there is no warehouse to look at"
        remedy = "give --warehouse before doctor, or set VERSIONED_WAREHOUSE"
        yield warning("storage", text, remedy)
        return
    from versioned_catalog.cli.storage_checks import storage_findings

    warehouse, storage = session.warehouse, session.storage
    for finding in storage_findings(warehouse, storage, clock_limit, read_only=read_only):
        yield _without_secrets(session, finding)


def _without_secrets(session: Session, finding: Finding) -> Finding:
    """Hide the values of storage options; URLs of roots are none."""
    secrets = [value for key, value in session.storage.items() if not is_root(key)]
    return replace(
        finding,
        text=without_secrets(finding.text, secrets),
        remedy=without_secrets(finding.remedy, secrets),
    )


def _python() -> Finding:
    text = f"Python {'.'.join(map(str, sys.version_info[:3]))}, {sys.executable}"
    if sys.version_info[:2] < OLDEST_PYTHON:
        return fault("Python", text, f"install Python {'.'.join(map(str, OLDEST_PYTHON))} or newer")
    return ok("Python", text)


def _spark() -> Iterator[Finding]:
    done = subprocess.run(
        [sys.executable, *SPARK_CHECKS], capture_output=True, text=True, check=False
    )
    try:
        rows = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        yield fault(
            "package",
            f"{' '.join(('python', *SPARK_CHECKS))} fails: {last}",
            f"reinstall: {sys.executable} -m pip install --force-reinstall pyspark-versioned",
        )
        return
    for row in rows:
        yield Finding(row["check"], State(row["state"]), row["text"], row["remedy"])
