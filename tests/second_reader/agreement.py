"""What two readers must have in common: column names, Arrow types, and rows with their numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from second_reader.reader import SecondTable, open_table
from versioned_catalog import Table


def plain(value: Any) -> Any:
    """A value such that equal ones have one text: NaN equals NaN, and -0.0 equals 0.0."""
    match value:
        case float():
            return "NaN" if math.isnan(value) else value + 0.0
        case dict():
            return {name: plain(item) for name, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
    return value


def without_clocks(array: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times as numbers at the top level, since Python's own can't hold all of them."""
    kind = array.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return array.cast(pa.int64())
    return array


def bag(table: pa.Table) -> Counter[str]:
    columns = [map(plain, without_clocks(column).to_pylist()) for column in table.columns]
    if not columns:
        return Counter({"()": table.num_rows})
    return Counter(map(repr, zip(*columns, strict=True)))


def same(ours: pa.Table, second: pa.Table, what: str) -> int:
    """The number of rows of both, if they are the same."""
    bare = [(field.name, field.type, field.nullable) for field in ours.schema]
    assert [(field.name, field.type, field.nullable) for field in second.schema] == bare, what
    one, other = bag(ours), bag(second)
    assert one == other, f"{what}: ours alone {one - other}, second alone {other - one}"
    return sum(one.values())


def agree(ours: Table, second: SecondTable, versions: Iterable[int] | None = None) -> int:
    """Compare versions, tags and times, by default all; the number of rows that were compared."""
    assert second.version == ours.version
    compared = same(ours.scan().to_arrow(), second.read(), "the newest version")
    for version in second.versions if versions is None else versions:
        what = f"version {version}"
        compared += same(ours.scan(version=version).to_arrow(), second.read(version), what)
    for tag in ours.tags:
        compared += same(ours.scan(version=tag).to_arrow(), second.read(tag), f"tag {tag}")
    return compared


def agree_at(folder: Path, ours: Table, roots: dict[str, Path] | None = None) -> int:
    return agree(ours, open_table(folder, roots))
