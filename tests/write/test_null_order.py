"""A sort order says where nulls stand, and segments and compactions obey it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from versioned_catalog import Catalog, CorruptTableError, InvalidRequestError, NotFoundError, Table

SHUFFLED = [("b", 1), (None, 2), ("a", None), ("b", None), ("a", 3), (None, None), ("b", 2)]

ORDERS: list[tuple[str, list[tuple[Any, Any]]]] = [
    (
        "a, n",
        [(None, None), (None, 2), ("a", None), ("a", 3), ("b", None), ("b", 1), ("b", 2)],
    ),
    (
        "a NULLS LAST, n DESC NULLS FIRST",
        [("a", None), ("a", 3), ("b", None), ("b", 2), ("b", 1), (None, None), (None, 2)],
    ),
    (
        "a DESC NULLS FIRST, n ASC NULLS LAST",
        [(None, 2), (None, None), ("b", 1), ("b", 2), ("b", None), ("a", 3), ("a", None)],
    ),
    (
        "a desc nulls last, n asc nulls first",
        [("b", None), ("b", 1), ("b", 2), ("a", None), ("a", 3), (None, None), (None, 2)],
    ),
]


def rows(values: list[tuple[Any, Any]]) -> pa.Table:
    names, numbers = zip(*values, strict=True)
    return pa.table({"a": pa.array(names, pa.string()), "n": pa.array(numbers, pa.int64())})


def stored(table: Table) -> list[list[tuple[Any, Any]]]:
    """The rows of each segment, in the order of its file."""
    files = [Path(table.location) / path for path in table.inspect.segments()["path"].to_pylist()]
    read = [pq.read_table(file) for file in files]
    return [list(zip(t["a"].to_pylist(), t["n"].to_pylist(), strict=True)) for t in read]


@pytest.mark.parametrize(("order", "expected"), ORDERS)
def test_nulls_stand_where_the_order_says(
    tmp_path: Path, order: str, expected: list[tuple[Any, Any]]
) -> None:
    columns = "a STRING, n BIGINT"
    table = Catalog(tmp_path).create_table("t", columns, properties={"sort_by": order})
    table.append(rows(SHUFFLED))
    assert stored(table) == [expected]
    table.append(rows(SHUFFLED[3:]))
    table.maintenance.compact(strategy="full")
    (compacted,) = stored(table.refresh())
    ordered = Catalog(tmp_path).create_table("s", columns, properties={"sort_by": order})
    ordered.append(rows(SHUFFLED + SHUFFLED[3:]))
    assert compacted == stored(ordered)[0]


def test_an_order_is_shown_as_it_is_and_survives(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", "a STRING, n BIGINT")
    order = "a NULLS LAST, n DESC NULLS FIRST"
    table.alter().set_property("sort_by", order).commit()
    table.alter().rename_column("a", "b").commit()
    loaded = Catalog(tmp_path).load_table("t")
    assert loaded.properties["sort_by"] == "b NULLS LAST, n DESC NULLS FIRST"
    assert "sort_by" in loaded.ddl()
    assert "NULLS LAST" in loaded.ddl()
    table.alter().set_property("sort_by", "b ASC NULLS FIRST, n DESC NULLS LAST").commit()
    assert table.properties["sort_by"] == "b, n DESC"
    with pytest.raises(InvalidRequestError, match="twice"):
        table.alter().set_property("sort_by", "b, b NULLS LAST").commit()
    with pytest.raises(NotFoundError, match="NULLS SOMEWHERE"):
        table.alter().set_property("sort_by", "b NULLS SOMEWHERE").commit()


def test_writers_without_the_feature_refuse(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", "a STRING", properties={"sort_by": "a DESC"})
    assert "null-order" not in table.state.features.write
    table.alter().set_property("sort_by", "a DESC NULLS FIRST").commit()
    assert "null-order" in table.state.features.write
    assert "null-order" not in table.state.features.read
    made = Catalog(tmp_path).create_table("s", "a INT", properties={"sort_by": "a NULLS LAST"})
    assert "null-order" in made.state.features.write


@pytest.mark.parametrize("nulls", ["first", "FIRST", 1, "middle"])
def test_a_null_order_that_says_nothing_is_damage(tmp_path: Path, nulls: object) -> None:
    table = Catalog(tmp_path).create_table("t", "a STRING", properties={"sort_by": "a NULLS LAST"})
    path = Path(table.location) / f"_versioned/log/{0:020d}.json"
    entry = json.loads(path.read_text())
    assert entry["schema"]["sort_by"][0]["nulls"] == "last"
    entry["schema"]["sort_by"][0]["nulls"] = nulls
    entry.pop("checksum", None)
    path.write_text(json.dumps(entry))
    with pytest.raises(CorruptTableError):
        Catalog(tmp_path).load_table("t")
