"""Row IDs and the versions of rows (FORMAT.md, section 4.11)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from second_reader.agreement import bag
from second_reader.by_hand import ByHand, column, field, identified, refused, schema
from second_reader.reader import Corrupt
from versioned_catalog import CorruptTableError

SCHEMA = schema(0, column(1, "n", "int"))
PROPERTY = {"row_ids": "true"}
IDENTITY = [
    field(2147483540, "__row_id", pa.int64()),
    field(2147483539, "__row_updated", pa.int64()),
]


def rows(table: ByHand, *numbers: int, **record: Any) -> Any:
    fields = pa.schema([field(1, "n", pa.int32())])
    return table.segment(SCHEMA, fields, [{"n": n} for n in numbers]) | record


def copied(table: ByHand, *copies: tuple[int, int | None, int | None], stored: int) -> Any:
    fields = pa.schema([field(1, "n", pa.int32()), *IDENTITY])
    names = ("n", "__row_id", "__row_updated")
    values = [dict(zip(names, copy, strict=True)) for copy in copies]
    return table.segment(SCHEMA, fields, values) | {"row_ids": {"stored": stored}}


def expected(*numbers: tuple[int, int, int]) -> object:
    names = ("n", "_row_id", "_row_updated")
    return bag(pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in numbers]))


def created(folder: Path) -> ByHand:
    table = ByHand(folder, "row-ids")
    table.put("create", schema=SCHEMA, properties=PROPERTY)
    return table


def test_ids_follow_the_position_and_copies_keep_theirs(tmp_path: Path) -> None:
    table = created(tmp_path)
    first, second = rows(table, 1, 2), rows(table, 3)
    table.put("append", added=[first, second], row_ids=[0, 3])
    table.put("append", added=[rows(table, 4)], row_ids=[10, 12])  # gaps
    assert identified(tmp_path) == expected((1, 0, 1), (2, 1, 1), (3, 2, 1), (4, 10, 2))
    # 2 is changed, 1 and 7 are copied, 5 is new, and 6 says that it is of a version after `stored`.
    copies = [(2, 1, None), (1, 0, 2), (5, None, None), (6, 9, 4), (7, 11, 3)]
    merged = copied(table, *copies, stored=2)
    table.put("merge", removed=[first["path"]], added=[merged], row_ids=[12, 17])
    assert identified(tmp_path) == expected(
        (2, 1, 3), (1, 0, 1), (5, 14, 3), (6, 9, 3), (7, 11, 2), (3, 2, 1), (4, 10, 2)
    )


def test_segments_that_have_no_ids_get_them_with_the_property(tmp_path: Path) -> None:
    table = ByHand(tmp_path, "row-ids")
    table.put("create", schema=SCHEMA)
    one, two, three = rows(table, 1, 2), rows(table, 3), rows(table, 4)
    table.put("append", added=[one, two])
    table.put("append", added=[three])
    table.put(
        "overwrite",
        removed=[two["path"]],
        added=[rows(table, 5)],
        properties=PROPERTY,
        row_ids=[0, 4],
    )
    assert identified(tmp_path) == expected((1, 0, 1), (2, 1, 1), (4, 2, 2), (5, 3, 3))
    # A rollback brings back a segment of version 1, which had no IDs.
    again = {**two, "row_ids": {"updated": 1}}
    table.put("rollback", added=[again], row_ids=[4, 5])
    assert identified(tmp_path) == expected((1, 0, 1), (2, 1, 1), (4, 2, 2), (5, 3, 3), (3, 4, 1))


@pytest.mark.thorough
def test_a_rollback_brings_the_ids_back(tmp_path: Path) -> None:
    table = created(tmp_path)
    one = rows(table, 1, 2)
    table.put("append", added=[one], row_ids=[0, 2])
    table.put("overwrite", removed=[one["path"]])
    table.put("rollback", added=[{**one, "row_ids": {"first": 0, "updated": 1}}])
    assert identified(tmp_path) == expected((1, 0, 1), (2, 1, 1))


@pytest.mark.thorough
def test_numbers_that_were_given_or_are_too_few_are_corrupt(tmp_path: Path) -> None:
    for number, row_ids in enumerate(([1, 3], [2, 3], [4, 2], [2**62, 2**62 + 2], [2])):
        table = created(tmp_path / str(number))
        table.put("append", added=[rows(table, 1, 2)], row_ids=[0, 2])
        table.put("append", added=[rows(table, 3, 4)], row_ids=row_ids)
        refused(table.folder, Corrupt, CorruptTableError)
    table = ByHand(tmp_path / "without")
    table.put("create", schema=SCHEMA, properties=PROPERTY)
    table.put("append", added=[rows(table, 1)], row_ids=[0, 1])
    refused(table.folder, Corrupt, CorruptTableError)
