"""Merging a branch, or the table, with a narrowed column."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, CommitConflictError, Table


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = Catalog.create_path(tmp_path / "t", "id INT, n BIGINT")
    write(table, 1)
    table.create_branch("work")
    return table


def write(table: Table, id_: int) -> None:
    type_ = table.scan(["n"]).schema.field("n").type
    table.append(pa.table({"id": pa.array([id_], pa.int32()), "n": pa.array([id_], type_)}))


def on_branch(table: Table) -> Table:
    return table.branch("work")


def test_a_narrowing_is_merged_and_its_rows_are_read(table: Table) -> None:
    branch = on_branch(table)
    branch.alter().narrow("n", "INT").commit()
    write(branch, 2)
    table.merge_branch("work")
    assert table.refresh().scan(["n"]).schema.field("n").type == pa.int32()
    assert sorted(table.scan(["n"]).to_arrow()["n"].to_pylist()) == [1, 2]
    assert "narrowed" in table.state.features.read


@pytest.mark.parametrize("narrows", ["table", "branch"])
def test_rows_of_the_other_side_forbid_the_merge(table: Table, narrows: str) -> None:
    branch = on_branch(table)
    narrow, other = (table, branch) if narrows == "table" else (branch, table)
    narrow.alter().narrow("n", "INT").commit()
    write(other, 2)
    with pytest.raises(CommitConflictError, match="n NOT NULL or narrowed it, and the other has"):
        table.merge_branch("work")
