"""A table whose state does not know when applications wrote last stays readable and writable."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

from maintain.tables import later
from versioned_catalog import Table
from versioned_catalog.log.entry import LastBatch

GOLDEN = Path(__file__).parent / "v1-applications"


def row(number: int) -> pa.Table:
    return pa.table({"id": [number]})


def ids(table: Table) -> list[int]:
    return sorted(table.refresh().scan().to_arrow()["id"].to_pylist())


def test_batches_are_known_and_no_feature_is_added(table: Table) -> None:
    for batch in (("a", 1), ("b", 7), ("c", 2)):
        assert table.append(row(99), batch=batch) == 4
    assert table.append(row(4), batch=("c", 3)) == 5
    assert ids(table) == [0, 1, 2, 3, 4]
    assert table.state.applications == {"a": LastBatch(1), "b": LastBatch(7), "c": LastBatch(3)}
    assert table.state.features.read == set()
    assert table.maintenance.verify(deep=True).findings == ()


def test_the_first_expiry_forgets_nothing_and_counts_from_then(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commits are older than the retention; readers of the checkpoint do not know them."""
    assert table.maintenance.expire(dt.timedelta(days=36_500), dry_run=False).forgotten == 0
    counted = {"a": LastBatch(1, 5), "b": LastBatch(7, 5), "c": LastBatch(2, 5)}
    assert table.refresh().state.applications == counted
    assert table.append(row(99), batch=("a", 1)) == 5
    assert table.maintenance.verify(deep=True).findings == ()
    later(monkeypatch, dt.timedelta(days=31))
    assert table.maintenance.expire(dt.timedelta(days=36_500), dry_run=False).forgotten == 3
    assert table.refresh().state.applications == {}
