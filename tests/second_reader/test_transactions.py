"""What entries of transactions over several tables mean to a reader (FORMAT.md, section 19)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sealing import sealed
from second_reader.by_hand import NEXT, ByHand, column, field, refused, schema, shown
from second_reader.reader import Corrupt, Unavailable, Unsupported, open_table
from versioned_catalog import Catalog, CorruptTableError, NotFoundError, UnsupportedFeatureError

ID = "30ce04e6-a83b-4c0e-9d58-5d3f0f5f2c11"
OTHER = "30ce04e6-a83b-4c0e-9d58-5d3f0f5f2c12"
MEMBER = {"id": ID, "warehouse": "bbbbbbbb-0000-4000-8000-000000000000", "levels": 1}
SCHEMA = schema(0, column(1, "n", "int"))


def rows(table: ByHand, *numbers: int) -> Any:
    return table.segment(
        SCHEMA, pa.schema([field(1, "n", pa.int32())]), [{"n": n} for n in numbers]
    )


def prepared(folder: Path, **members: Any) -> ByHand:
    """A table with the row 1, and an entry of a transaction that adds the row 2."""
    table = ByHand(folder / "w/t", "transactions")
    table.put("create", schema=SCHEMA)
    table.put("append", added=[rows(table, 1)])
    table.put("append", added=[rows(table, 2)], **{"transaction": MEMBER, **members})
    return table


def decide(place: Path, decision: str, **members: Any) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    content = {"format": 1, "transaction": ID, "decision": decision, **members}
    place.write_text(sealed(content))


def in_warehouse(table: ByHand) -> Path:
    return table.folder.parent / f"_versioned/tx/{ID}.json"


def in_table(table: ByHand) -> Path:
    return table.folder / f"_versioned/tx/{table.version:020}.json"


def test_an_entry_counts_as_soon_as_its_transaction_is_decided(tmp_path: Path) -> None:
    table = prepared(tmp_path)
    assert shown(table.folder) == [{"n": 1}]
    assert open_table(table.folder).version == 1
    decide(in_warehouse(table), "commit")
    assert shown(table.folder) == [{"n": 1}, {"n": 2}]
    in_warehouse(table).unlink()
    assert open_table(table.folder).version == 1
    decide(in_table(table), "commit")
    assert shown(table.folder) == [{"n": 1}, {"n": 2}]


def test_an_aborted_entry_is_a_version_that_changes_nothing(tmp_path: Path) -> None:
    table = prepared(tmp_path)
    (table.folder / f"data/0-{table.files:032x}.parquet").unlink()  # nobody needs it
    decide(in_warehouse(table), "abort")
    assert shown(table.folder) == [{"n": 1}]
    assert open_table(table.folder).version == 2
    table.put("append", added=[rows(table, 3)])
    assert shown(table.folder) == [{"n": 1}, {"n": 3}]
    assert open_table(table.folder).read(2).to_pylist() == [{"n": 1}]


def test_an_entry_is_refused_by_its_features_whatever_is_decided(tmp_path: Path) -> None:
    needs = {"read": ["row-colours", "transactions"], "write": ["checksums", "transactions"]}
    table = prepared(tmp_path, features=needs)
    refused(table.folder, Unsupported, UnsupportedFeatureError)
    decide(in_warehouse(table), "abort")
    refused(table.folder, Unsupported, UnsupportedFeatureError)


def test_a_log_that_begins_with_an_aborted_entry_has_no_table_yet(tmp_path: Path) -> None:
    table = ByHand(tmp_path / "t", "transactions")
    table.put("create", schema=SCHEMA, transaction=MEMBER)
    refused(table.folder, Unavailable, NotFoundError)
    decide(in_table(table), "abort")
    refused(table.folder, Unavailable, NotFoundError)
    table.uuid = NEXT
    again = schema(1, column(2, "n", "int"))
    fields = pa.schema([field(2, "n", pa.int32())])
    table.put("create", schema=again, added=[table.segment(again, fields, [{"n": 4}])])
    assert shown(table.folder) == [{"n": 4}]
    assert open_table(table.folder).versions == [1]


@pytest.mark.thorough
def test_what_is_not_of_the_form_is_corrupt(tmp_path: Path) -> None:
    table = prepared(tmp_path)
    for change in (
        {"transaction": OTHER},
        {"decision": "perhaps"},
        {"more": 1},
    ):
        decide(in_table(table), **{"decision": "commit", **change})
        refused(table.folder, Corrupt, CorruptTableError)
    for number, member in enumerate(
        ({**MEMBER, "levels": 65}, {**MEMBER, "id": "../t"}, {**MEMBER, "more": 1})
    ):
        refused(
            prepared(tmp_path / str(number), transaction=member).folder, Corrupt, CorruptTableError
        )
    in_table(table).write_text(json.dumps({"format": 1, "transaction": ID, "decision": "commit"}))
    refused(table.folder, Corrupt, CorruptTableError)
    without = prepared(tmp_path / "x", features={"read": [], "write": ["checksums"]})
    refused(without.folder, Corrupt, CorruptTableError)


def test_a_table_that_was_copied_alone_lacks_the_decision(tmp_path: Path) -> None:
    table = prepared(tmp_path)
    decide(in_warehouse(table), "commit")
    alone = table.folder.rename(tmp_path / "t")
    assert shown(alone) == [{"n": 1}]
    assert Catalog.load_path(alone).version == 1
