"""A table with the property ``append_only`` takes rows, and loses none to any commit but a DROP."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, InvalidRequestError, Table


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = Catalog(tmp_path).create_table("t", "id BIGINT")
    table.append(rows(1, 2, 3, 4, 5, 6, 7, 8))
    table.create_branch("deletes")
    table.branch("deletes").delete([("id", "=", 1)])
    table.create_branch("adds")
    table.branch("adds").append(rows(9))
    table.alter().set_property("append_only", "true").commit()
    return table


def ids(table: Table) -> list[int]:
    return sorted(table.refresh().scan().to_arrow()["id"].to_pylist())


LOSING: list[Callable[[Table], Any]] = [
    lambda t: t.delete([("id", "=", 1)]),
    lambda t: t.delete([("id", ">", 0)]),
    lambda t: t.update({"id": 0}, [("id", "=", 1)]),
    lambda t: t.overwrite(rows(1)),
    lambda t: t.overwrite_where(rows(1), [("id", "<", 3)]),
    lambda t: t.rollback(0),
    lambda t: t.merge_branch("deletes"),
]


@pytest.mark.parametrize("change", LOSING)
@pytest.mark.parametrize("row_changes", ["mark", "copy"])
def test_no_commit_takes_rows_away(
    table: Table, change: Callable[[Table], Any], row_changes: str
) -> None:
    table.alter().set_property("row_changes", row_changes).commit()
    with pytest.raises(InvalidRequestError, match="t: rows can only be added"):
        change(table)
    assert ids(table) == [1, 2, 3, 4, 5, 6, 7, 8]
    table.alter().unset_property("append_only").commit()
    change(table)
    assert ids(table) != [1, 2, 3, 4, 5, 6, 7, 8]


def test_rows_are_added_and_compacted(table: Table, tmp_path: Path) -> None:
    table.merge_branch("adds")
    table.append(rows(10))
    table.alter().add_column("x", "INT").commit()
    table.maintenance.compact(strategy="full")
    assert table.refresh().state.segments.count == 1
    assert ids(table) == [*range(1, 11)]
    table.drop_branch("deletes")
    table.drop_branch("adds")
    with pytest.raises(InvalidRequestError, match="rows can only be added"):
        Catalog(tmp_path).replace_table("t", "id BIGINT")
    Catalog(tmp_path).drop_table("t")


def test_a_write_that_was_planned_before_is_refused(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", "id BIGINT")
    table.append(rows(1, 2))
    stale = Catalog(tmp_path).load_table("t")
    table.alter().set_property("append_only", "true").commit()
    with pytest.raises(InvalidRequestError, match="rows can only be added"):
        stale.delete([("id", "=", 1)])
    assert ids(table) == [1, 2]


def test_what_the_property_may_be(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    with pytest.raises(InvalidRequestError, match="must be true or false"):
        catalog.create_table("t", "id BIGINT", properties={"append_only": "yes"})
    with pytest.raises(InvalidRequestError, match="primary key"):
        catalog.create_table(
            "t", "id BIGINT", primary_key=["id"], properties={"append_only": "true"}
        )
    made = catalog.create_table("t", "id BIGINT", properties={"append_only": "true"})
    assert "append-only" in made.state.features.write
    assert "append-only" not in catalog.create_table("s", "id BIGINT").state.features.write
