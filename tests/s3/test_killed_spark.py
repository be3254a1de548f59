"""Spark applications killed with SIGKILL at each request that writes, those of the JVM over s3a, too.

The proxy kills the driver, the JVM and all workers *before* it forwards a request or *after* the server
responded. ``sql/test_killed.py`` does the same on a local disk.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from jar import built_jar
from killing import go, ready
from s3.proxied import Proxied
from s3.rules import Fault, Rule
from s3.server import BUCKET, KEY, SECRET, Server
from sql.test_killed import NEW, OLD, STATEMENTS, check_usable, create_table, tables_of
from sql.test_statements import environment
from versioned_catalog import Catalog

pytestmark = [pytest.mark.spark, pytest.mark.thorough]

SEGMENT = "PUT n/t/data/N-ID.parquet"
WRITES = ("PUT", "POST", "DELETE")


@pytest.fixture(autouse=True, scope="module")
def jar() -> None:
    built_jar()


def run(proxy: Proxied, url: str, statement: str, rule: Rule | None, folder: Path) -> bool:
    """Run a statement in its own application through the proxy; return whether it was acknowledged."""
    # With options that Hadoop has no counterpart for, the JVM would not write.
    options = json.dumps({"endpoint_url": proxy.endpoint, "key": KEY, "secret": SECRET})
    arguments, stderr = (url, options, statement), folder / "stderr"
    with ready("s3.run_one_statement", *arguments, stderr=stderr, environment=environment()) as app:
        assert app.stdout is not None
        proxy.set_rules(*([] if rule is None else [replace(rule, client=app.pid)]))
        go(app)
        return app.stdout.readline() == b"done\n"


def check(
    proxy: Proxied, s3: Server, name: str, rule: Rule | None, folder: Path
) -> tuple[bool, str]:
    """Run a statement, or kill it; return whether it was acknowledged, and which state is there."""
    url = f"s3://{BUCKET}/{uuid4().hex}"
    create_table(Catalog(url, s3.options))
    acknowledged = run(proxy, url, STATEMENTS[name], rule, folder)
    found = tables_of(Catalog(url, s3.options))
    assert found in (OLD, NEW[name]), rule
    assert not acknowledged or found == NEW[name], rule
    check_usable(lambda: Catalog(url, s3.options), name)
    catalog = Catalog(url, s3.options)
    for table in catalog.list_tables("n"):
        assert not catalog.load_table(f"n.{table}").maintenance.verify(deep=True).findings, rule
    return acknowledged, "new" if found == NEW[name] else "old"


@pytest.mark.nightly
def test_a_killed_insert(s3: Server, proxy: Proxied, tmp_path: Path) -> None:
    """A sample of the nightly test: killed after the first of two segments."""
    rule = Rule(Fault.KILL_AFTER, name=SEGMENT)
    assert check(proxy, s3, "insert", rule, tmp_path) == (False, "old")


@pytest.mark.nightly
@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_killed_at_every_write(
    name: str, s3: Server, proxy: Proxied, tmp_path: Path
) -> None:
    assert check(proxy, s3, name, None, tmp_path) == (True, "new")
    requests = [one.name for one in proxy.seen() if one.name.startswith(WRITES)]
    outcomes = []
    for number, request in enumerate(requests):
        for fault in (Fault.KILL_BEFORE, Fault.KILL_AFTER):
            rule = Rule(fault, name=request, skip=requests[:number].count(request))
            acknowledged, state = check(proxy, s3, name, rule, tmp_path)
            outcomes.append((request, str(fault), state))
            assert not acknowledged, outcomes
    print(outcomes)
    assert {state for _, _, state in outcomes} == {"old", "new"}
