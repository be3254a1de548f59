"""Seven operations on tables of eighteen features: each pair keeps the promise of docs/guarantees.md."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import pytest

from jar import ROOT
from maintain.tables import tick
from pairs.features import FEATURES as FIRST_FEATURES
from pairs.features import Subject, arrow
from pairs.later_features import LATER_FEATURES
from pairwise import matrix, values


def rollback(subject: Subject) -> None:
    """The rows of the version are back, and the feature goes on from there."""
    before, version = dict(subject.rows), subject.table.version
    subject.act()
    subject.delete(2)
    subject.check()
    taken_back = {number: values for number, values in subject.rows.items() if number not in before}
    subject.table.rollback(version)
    subject.rows = dict(before)
    subject.check()
    subject.act_after_rollback(taken_back)
    subject.check()


def replace(subject: Subject) -> None:
    """Nothing of the table before is seen in the new one."""
    subject.delete(2)
    subject.before_replacing()
    table = subject.table
    subject.connect().replace_table(
        "t",
        "id BIGINT, v STRING, n INT" + (", ts TIMESTAMP" if subject.table.time_index else ""),
        primary_key=table.primary_key,
        time_index=table.time_index,
        partitioned_by=table.partitioning,
        properties=table.properties,
    )
    subject.check_replaced()


def drop_and_undo(subject: Subject) -> None:
    """A dropped column comes back with its values by a rollback, and only by that."""
    version = subject.table.version
    subject.table.alter().drop_column("n").commit()
    subject.table.alter().add_column("n", "INT").commit()
    subject.check_dropped()
    subject.table.rollback(version)
    subject.check()
    subject.act()
    subject.check()


def compact(subject: Subject) -> None:
    """A compaction changes no row for any reader."""
    subject.delete(2)
    subject.table.maintenance.compact(strategy="full")
    subject.check()
    subject.act()
    subject.table.maintenance.compact()
    subject.check()


def expire_and_vacuum(subject: Subject) -> None:
    """What is deleted is needed by no reader of the newest version."""
    subject.delete(2)
    subject.act()
    tick()
    subject.table.maintenance.expire(timedelta(0), 1, dry_run=False, force=True)
    subject.table.maintenance.vacuum(timedelta(0), dry_run=False, force=True)
    subject.check()
    subject.act()
    subject.check()


def alter_in_flight(subject: Subject) -> None:
    """An append that was planned before an ALTER lands, and each value in its column."""
    ids = subject.numbers(1)
    rows = arrow(ids)
    if subject.table.time_index:
        rows = arrow(ids, ts=datetime(2026, 1, 1, tzinfo=UTC))
    transaction = subject.table.transaction()
    plan = transaction.plan_write(rows.schema)
    segments = plan.write(rows.schema, rows.to_batches())
    changes = subject.table.alter().rename_column("v", "w").change_type("n", "BIGINT")
    changes.add_column("v", "STRING", default="other").commit()
    transaction.commit_append(plan, segments)
    subject.expect(ids)
    subject.names = ("id", "w", "n")
    subject.check_altered()
    subject.act()
    subject.check_altered()


def two_at_once(subject: Subject) -> None:
    """Of two jobs at once each does its work once."""
    subject.act_twice_at_once()
    subject.check()
    subject.act()
    subject.check()


FEATURES = FIRST_FEATURES | LATER_FEATURES

OPERATIONS: dict[str, Callable[[Subject], None]] = {
    "rollback": rollback,
    "replace": replace,
    "drop and undo": drop_and_undo,
    "compact": compact,
    "expire + vacuum": expire_and_vacuum,
    "ALTER in flight": alter_in_flight,
    "two at once": two_at_once,
}


@pytest.mark.parametrize(
    "operation, feature",
    matrix([*product(OPERATIONS, FEATURES)], "{}-{}".format, values, pytest.mark.nightly),
)
def test_each_feature_keeps_its_promise_through_each_operation(
    operation: str, feature: str, tmp_path: Path
) -> None:
    OPERATIONS[operation](FEATURES[feature](tmp_path))


def test_the_promise_of_each_pair_is_documented() -> None:
    page = (ROOT / "docs" / "guarantees.md").read_text()
    tables = [
        part for part in page.split("\n\n") if part.startswith("| ") and "| promise |" in part
    ]
    cells = [[row.split(" | ")[0].strip("| ") for row in part.splitlines()] for part in tables]
    assert {head: features for head, _, *features in cells} == {
        operation: list(FEATURES) for operation in OPERATIONS
    }
