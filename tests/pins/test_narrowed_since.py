"""Statements through a schema pin after a column that it shows was narrowed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from versioned_catalog import Catalog, InvalidRequestError, Table

OPTIONS: dict[str, dict[str, Any]] = {
    "copies": {"properties": {"row_changes": "copy"}},
    "marks": {"properties": {"row_changes": "mark"}},
    "copies with row IDs": {"properties": {"row_changes": "copy", "row_ids": "true"}},
    "marks with row IDs": {"properties": {"row_changes": "mark", "row_ids": "true"}},
    "primary key": {"primary_key": ["id"]},
}


def pinned(folder: Path, options: dict[str, Any]) -> Table:
    """A table of which the pin ``job`` shows ``n`` as BIGINT and ``x.a`` as INT: narrowed since."""
    columns = "id BIGINT, v STRING, n BIGINT, x STRUCT<a: INT>"
    table = Catalog(folder).create_table("t", columns, **options)
    inner = pa.struct([("a", pa.int32())])
    for one in (1, 2, 3):
        row = {"id": [one], "v": [f"v{one}"], "n": [one], "x": pa.array([{"a": one}], inner)}
        table.append(pa.table(row))
    table.pin_schema("job")
    table.alter().narrow("n", "INT").narrow("x.a", "SMALLINT").commit()
    return table


@pytest.mark.parametrize("how", OPTIONS)
def test_other_columns_of_a_copied_row_are_stored_in_their_types(tmp_path: Path, how: str) -> None:
    table = pinned(tmp_path, OPTIONS[how])
    before = set(table.state.segments.paths)
    table.seen_as("job").update({"v": "new"}, [("id", "<", 3)])
    expected = [
        {"id": one, "v": v, "n": one, "x": {"a": one}}
        for one, v in ((1, "new"), (2, "new"), (3, "v3"))
    ]
    table.refresh()
    assert table.scan().to_arrow().sort_by("id").to_pylist() == expected
    assert table.seen_as("job").scan().to_arrow().sort_by("id").to_pylist() == expected
    written = set(table.state.segments.paths) - before
    assert written
    for path in written:
        stored = pq.read_schema(tmp_path / "t" / path)
        assert (stored.field(2).type, stored.field(3).type.field(0).type) == (
            pa.int32(),
            pa.int16(),
        )


@pytest.mark.parametrize("how", OPTIONS)
def test_the_narrowed_column_itself_is_not_written(tmp_path: Path, how: str) -> None:
    job = pinned(tmp_path, OPTIONS[how]).seen_as("job")
    with pytest.raises(InvalidRequestError, match="a narrowing made a column narrower"):
        job.update({"n": 7}, [("id", "=", 1)])
    job.delete([("n", ">=", 2)])
    assert job.refresh().scan(["id"]).to_arrow()["id"].to_pylist() == [1]
