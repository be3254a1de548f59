"""Transactions over several tables on S3: all or nothing, whatever is killed, lost or late."""

from __future__ import annotations

import multiprocessing as mp
import os
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing.process import BaseProcess
from typing import Any
from uuid import uuid4

import pytest

from s3.proxied import Proxied
from s3.rules import Fault, Rule
from s3.rules import Random as RandomFaults
from s3.server import BUCKET, Server
from s3.test_linear import RATES, STUCK
from transactions.bank import (
    COLUMNS,
    TABLES,
    add_up_while_killing,
    amounts,
    bank_at,
    check_end,
    keep_moving,
    move,
    read,
    rows,
)
from versioned_catalog import Catalog, VersionedError
from versioned_catalog.log import decisions

pytestmark = pytest.mark.thorough

CONTEXT = mp.get_context("forkserver")
CONTEXT.set_forkserver_preload(["s3.test_transactions", "s3fs"])


def operation(catalog: Catalog) -> None:
    """Change two tables, and create one with rows."""
    with catalog.transaction(*TABLES) as transaction:
        transaction.table("n.a").upsert(rows({1: 9}))
        transaction.table("n.b").upsert(rows({1: 11}))
        transaction.create_table("n.c", COLUMNS).append(rows({3: 30}))


def run_with(url: str, endpoint: str, options: dict[str, Any], rule: dict[str, Any]) -> None:
    """Run the operation in its own process, whose requests meet a fault."""
    decisions.GRACE = timedelta(seconds=0.2)
    Proxied(endpoint).set_rules(Rule(**rule, client=os.getpid()))
    try:
        operation(Catalog(url, options))
    except VersionedError:
        os._exit(1)
    os._exit(0)


def seen(catalog: Catalog) -> dict[str, dict[int, int]]:
    return {name: amounts(catalog, f"n.{name}") for name in catalog.list_tables("n")}


@contextmanager
def impatient(seconds: float) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decisions, "GRACE", timedelta(seconds=seconds))
        yield


def check(s3: Server, proxy: Proxied, faults: list[Fault], wanted: Callable[[str], bool]) -> int:
    """Let the operation meet each fault at each wanted request; return how often."""
    url = f"s3://{BUCKET}/{uuid4().hex}"
    before = seen(bank_at(url, s3.options))
    proxy.set_rules()
    operation(Catalog(url, proxy.options))
    names = [each.name for each in proxy.seen()]
    after = seen(Catalog(url, s3.options))
    assert before != after
    count = 0
    for number, name in enumerate(names):
        if not wanted(name):
            continue
        for fault in faults:
            count += 1
            copy, where = f"s3://{BUCKET}/{uuid4().hex}", f"{fault} at {name}"
            catalog = bank_at(copy, s3.options)
            rule = {"fault": fault, "name": name, "skip": names[:number].count(name)}
            process = CONTEXT.Process(
                target=run_with, args=(copy, proxy.endpoint, proxy.options, rule)
            )
            process.start()
            process.join(120)
            proxy.set_rules()
            assert process.exitcode in (0, 1, -signal.SIGKILL), where
            found = seen(catalog)
            assert found in (before, after), where
            assert process.exitcode != 0 or found == after, where
            with impatient(0):
                move(catalog)
            moved = seen(Catalog(copy, s3.options))
            # A request that arrives late may have committed it meanwhile.
            had = after if "c" in moved else before
            assert found in (before, had), where
            assert moved["a"][1] == had["a"][1] - 1, where
            assert moved["b"][1] == had["b"][1] + 1, where
            for table in TABLES:
                checked = catalog.load_table(table).maintenance.verify(every_version=True)
                assert checked.findings == (), where
    return count


KILLS = [Fault.KILL_BEFORE, Fault.KILL_AFTER]
LOSSES = [
    *(
        Fault.DROP_REQUEST,
        Fault.DROP_REPLY,
        Fault.CUT_REPLY,
        Fault.ERROR_500,
        Fault.ERROR_503_AFTER,
    ),
    *(Fault.ERROR_409, Fault.ERROR_409_AFTER, Fault.LATE),
]


def test_a_lost_reply_to_the_decision_is_success_once(s3: Server, proxy: Proxied) -> None:
    url = f"s3://{BUCKET}/{uuid4().hex}"
    catalog = bank_at(url, s3.options)
    proxy.set_rules(Rule(Fault.DROP_REPLY, method="PUT", path=r"_versioned/tx/[0-9a-f-]{36}\.json"))
    move(Catalog(url, proxy.options))
    assert [each.fault for each in proxy.seen() if each.fault] == [Fault.DROP_REPLY]
    assert [amounts(catalog, name)[1] for name in TABLES] == [9, 11]
    assert read(Catalog.load_path(f"{url}/n/b", s3.options)) == {1: 11, 2: 20}


@pytest.mark.nightly
def test_a_kill_before_the_decision(s3: Server, proxy: Proxied) -> None:
    kill = [Fault.KILL_BEFORE]
    assert check(s3, proxy, kill, lambda name: name.startswith("PUT _versioned/tx/ID")) == 1


@pytest.mark.nightly
def test_a_kill_at_every_write(s3: Server, proxy: Proxied) -> None:
    assert check(s3, proxy, KILLS, lambda name: name.startswith("PUT")) >= 20


@pytest.mark.nightly
def test_a_fault_at_every_write_of_a_log(s3: Server, proxy: Proxied) -> None:
    assert check(s3, proxy, LOSSES, lambda name: name.startswith("PUT") and "_versioned/" in name)


def writer(url: str, options: dict[str, Any], seed: int) -> None:
    decisions.GRACE = timedelta(seconds=0.5)
    keep_moving(url, options, seed, 0.05)


@pytest.mark.nightly
@pytest.mark.parametrize("faulty", [False, True])
def test_the_sum_never_changes_while_writers_are_killed(
    faulty: bool, s3: Server, proxy: Proxied, seed: int
) -> None:
    url = f"s3://{BUCKET}/{uuid4().hex}"
    catalog = bank_at(url, s3.options)
    if faulty:
        proxy.set_rules(random=RandomFaults(seed, RATES, stuck=STUCK))

    def start(number: int) -> BaseProcess:
        process = CONTEXT.Process(target=writer, args=(url, proxy.options, seed + number))
        process.start()
        return process

    try:
        sums, killed = add_up_while_killing(
            *(lambda: Catalog(url, s3.options), start, random.Random(seed)),
            seconds=60,
            pauses=(1, 6),
        )
    finally:
        proxy.settle()
        proxy.set_rules()
    versions = catalog.load_table("n.a").version
    print(f"{sums} sums, {killed} kills, {versions} versions")
    assert sums > 4
    assert killed
    assert versions > 4
    with impatient(0):
        check_end(catalog)
