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


def scanned(ours: Any, version: int | str | None, row_ids: bool) -> pa.Table:
    """The rows of a version of a ``Table`` or of a view of one, perhaps with their IDs."""
    if not row_ids:
        return ours.scan(version=version).to_arrow()
    names = ours.scan(version=version, limit=0).to_arrow().schema.names
    quoted = [f"`{name.replace('`', '``')}`" for name in names]
    return ours.scan([*quoted, "_row_id", "_row_updated"], version=version).to_arrow()


def agree_on(
    ours: Any, second: SecondTable, version: int | str | None = None, pin: str | None = None
) -> int:
    """Compare a version, with row IDs if it has any; the number of rows."""
    row_ids = second.state(version).has_row_ids
    shown = second.read(version, pin=pin, row_ids=row_ids)
    what = "the newest version" if version is None else f"version {version}"
    compared = same(scanned(ours, version, row_ids), shown, what)
    assert not row_ids or len(set(shown["_row_id"].to_pylist())) == compared, f"{what}: an ID twice"
    return compared


def agree(ours: Table, second: SecondTable, versions: Iterable[int] | None = None) -> int:
    """Compare the newest version, others, by default all, and tags; the number of rows."""
    assert second.version == ours.version
    others = second.versions if versions is None else versions
    return sum(agree_on(ours, second, version) for version in (None, *others, *ours.tags))


def agree_at(folder: Path, ours: Table, roots: dict[str, Path] | None = None) -> int:
    return agree(ours, open_table(folder, roots))
