"""A segment whose file holds the fields of a struct in another order than its schema."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from versioned_catalog import Catalog, CorruptTableError

PAIR = [{"x": 1, "y": 2}]


def swapped(field: pa.Field) -> pa.Field:
    """A struct field with its two fields in the other order."""
    return field.with_type(pa.struct([field.type.field(1), field.type.field(0)]))


@pytest.mark.parametrize(
    "order",
    [
        lambda s: [s.field("a"), s.field("b"), swapped(s.field("s")), s.field("l")],
        lambda s: [
            *(s.field("a"), s.field("b"), s.field("s")),
            s.field("l").with_type(pa.list_(swapped(s.field("l").type.value_field))),
        ],
    ],
    ids=["struct", "list"],
)
def test_fields_in_another_order_are_an_error(
    tmp_path: Path, order: Callable[[pa.Schema], list[pa.Field]]
) -> None:
    """Fields are read in the order of the file, so that y would show the values of x."""
    columns = "a INT, b INT, s STRUCT<x: INT, y: INT>, l ARRAY<STRUCT<x: INT, y: INT>>"
    table = Catalog(str(tmp_path)).create_table("t", columns)
    rows = {"a": 1, "b": 2, "s": PAIR[0], "l": PAIR}
    table.append(pa.Table.from_pylist([rows], table.scan().schema))
    (path,) = table.inspect.segments()["path"].to_pylist()
    file = Path(table.location.removeprefix("file://")) / path
    stored = pq.read_schema(file)
    fields = order(stored)
    by_name = {field.name: [rows[field.name]] for field in fields}
    data = pa.Table.from_pydict(by_name, pa.schema(fields, stored.metadata))
    pq.write_table(data, file)
    with pytest.raises(CorruptTableError, match="in another order than its schema"):
        table.scan().to_arrow()
