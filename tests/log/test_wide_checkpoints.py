"""Checkpoints of tables with many columns can be read, however long the end of their footer is."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from versioned_catalog import Catalog
from versioned_catalog.log.checkpoint import state_from_bytes, state_to_bytes


@pytest.mark.parametrize("columns", [1, 60, 75, 80, 100, 200, 300])
def test_a_checkpoint_of_many_columns_is_read(tmp_path: Path, columns: int) -> None:
    ddl = ", ".join(f"c{number} INT" for number in range(columns))
    table = Catalog.create_path(tmp_path / "t", ddl)
    table.append(pa.table({"c0": pa.array([1], pa.int32())}))
    again = state_from_bytes(state_to_bytes(table.state), "checkpoint")
    assert again.segments.paths == table.state.segments.paths
    assert again.schema == table.schema


def test_checkpoints_of_a_table_with_many_columns_are_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = Catalog.create_path(tmp_path / "t", ", ".join(f"c{n} INT" for n in range(100)))
    for _ in range(100):
        table.set_tag("newest")
    assert caplog.records == []
    files = sorted((tmp_path / "t" / "_versioned" / "checkpoint").glob("*.parquet"))
    assert len(files) > 1
    assert (
        state_from_bytes(files[-1].read_bytes(), "checkpoint").table_uuid == table.state.table_uuid
    )
