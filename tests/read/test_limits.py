"""A scan with a limit reads no more segments than it needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, InvalidRequestError, Table
from versioned_catalog.read.aggregates import count_rows

INTS = pa.int32()


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """0 to 9 in four segments: 0-2, 3, 4-7, 8-9."""
    table = Catalog.create_path(tmp_path / "t", "a INT")
    for values in ([0, 1, 2], [3], [4, 5, 6, 7], [8, 9]):
        table.append(pa.table({"a": pa.array(values, INTS)}))
    return table


@pytest.mark.parametrize("checkpoint", [False, True])
@pytest.mark.parametrize(
    "limit, segments",
    [(0, 0), (1, 1), (3, 1), (4, 2), (5, 3), (8, 3), (9, 4), (10, 4), (2**40, 4), (None, 4)],
)
def test_a_limit_plans_only_as_many_segments_as_it_needs(
    limit: int | None, segments: int, checkpoint: bool, table: Table
) -> None:
    if checkpoint:
        table.log.write_checkpoint(table.state)
        table = Catalog.load_path(table.location)
    scan = table.scan(limit=limit)
    shown = range(10)[:limit]
    assert len(scan.tasks()) == segments
    assert scan.report().pruned == 4 - segments
    assert scan.to_arrow()["a"].to_pylist() == list(shown)
    assert [v for b in scan.to_batches() for v in b.column(0).to_pylist()] == list(shown)
    assert scan.count() == len(shown)
    assert count_rows(scan) == (10 if limit is None else None)


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4, 100])
def test_with_a_filter_a_limit_plans_all_segments_that_may_match(limit: int, table: Table) -> None:
    scan = table.scan(filters=[("a", "in", [2, 5, 9])], limit=limit)
    assert len(scan.tasks()) == 3
    assert scan.to_arrow()["a"].to_pylist() == [2, 5, 9][:limit]
    assert scan.count() == min(limit, 3)


def test_a_limit_applies_to_a_scan_of_no_columns(table: Table) -> None:
    assert table.scan(columns=[], limit=5).to_arrow().num_rows == 5
    assert table.scan(limit=5, version=0).to_arrow().num_rows == 0
    assert table.scan(limit=5, version=1).to_arrow().num_rows == 3


@pytest.mark.parametrize("limit", [-1, "5", 2.0, True])
def test_an_invalid_limit_is_refused(limit: Any, table: Table) -> None:
    with pytest.raises(InvalidRequestError, match="limit must be a non-negative integer"):
        table.scan(limit=limit)
