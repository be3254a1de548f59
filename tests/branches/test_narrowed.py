"""Merging a branch, or the table, with a narrowed column."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, CommitConflictError, Table
from versioned_catalog.log import segment_set


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


@pytest.mark.parametrize("fold_at", [1, 1000])
def test_statistics_have_the_types_of_the_table_after_a_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fold_at: int
) -> None:
    """A merge adds the schemas of the branch after that of the table, which stays the current one."""
    monkeypatch.setattr(segment_set, "FOLD_AT", fold_at)
    catalog = Catalog(tmp_path)
    table = catalog.create_table("t", "id BIGINT, n INT")
    table.create_branch("b")
    branch = table.branch("b")
    branch.alter().add_column("x", "INT").commit()
    branch.append(pa.table({"id": [1], "n": pa.array([1], pa.int32())}))
    table.refresh().alter().change_type("n", "BIGINT").add_column("y", "INT").commit()
    table.append(pa.table({"id": [2], "n": [2**40]}))
    branch.refresh().alter().drop_column("x").commit()
    table.refresh().merge_branch("b")
    for one in range(3, 6):
        table.append(pa.table({"id": [one], "n": [2**40 + one]}))
    table.log.write_checkpoint(table.state)
    again = Catalog(tmp_path).load_table("t")
    assert [str(each) for each in Catalog(tmp_path).verify_table("t").findings] == []
    assert [
        row["id"] for row in again.scan(filters=[("n", ">", 2**40)]).to_arrow().to_pylist()
    ] == [3, 4, 5]
    sizes = [again.scan(filters=[("n", op, 2**40)]).tasks() for op in ("<", "=", ">")]
    assert list(map(len, sizes)) == [1, 1, 3], "segments are skipped by their bounds"
