"""A change feed, applied to a table with a primary key."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, InvalidRequestError, Table
from versioned_catalog.write import delta_rows as feed_rows

LONG, TEXT = pa.int64(), pa.string()


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(tmp_path)


def feed(*rows: tuple[str, int | None, int, int | None]) -> pa.Table:
    """Changes: type, version, id and n."""
    types, versions, ids, numbers = zip(*rows, strict=True)
    columns: dict[str, pa.Array] = {
        "n": pa.array(numbers, LONG),
        "_change_type": pa.array(types, TEXT),
        "_commit_version": pa.array(versions, LONG),
        "id": pa.array(ids, LONG),
    }
    table = pa.table(columns)
    return table.drop_columns(["_commit_version"]) if None in versions else table


def shown(table: Table) -> list[tuple[Any, ...]]:
    found = table.refresh().scan().to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def replica(catalog: Catalog, columns: str = "id BIGINT, n BIGINT", **how: Any) -> Table:
    return catalog.create_table("replica", columns, primary_key=["id"], **how)


def test_each_type_of_change_does_what_it_says(catalog: Catalog) -> None:
    table = replica(catalog)
    table.append(pa.table({"id": [1, 2, 3], "n": [10, 20, 30]}))
    changes = feed(
        ("insert", 5, 4, 40),
        ("delete", 5, 1, None),
        ("update_preimage", 5, 2, 20),
        ("update_postimage", 5, 2, 21),
        ("update_preimage", 5, 3, 99),
    )
    assert table.apply_changes(changes) == 2, "one commit"
    assert shown(table) == [(2, 21), (3, 30), (4, 40)]
    assert table.schema.names == ["id", "n"]


def test_the_last_version_of_a_key_counts_whatever_the_order(catalog: Catalog) -> None:
    table = replica(catalog)
    table.append(pa.table({"id": [1, 2, 3], "n": [0, 0, 0]}))
    changes = feed(
        ("delete", 9, 1, None),  # written, then deleted
        ("insert", 8, 1, 1),
        ("insert", 9, 2, 2),  # deleted, then written
        ("delete", 8, 2, None),
        ("insert", 7, 3, 3),  # an update, as a delete and an insert of one version
        ("delete", 7, 3, None),
    )
    table.apply_changes(changes)
    assert shown(table) == [(2, 2), (3, 3)]


def test_changes_without_versions_are_in_their_order(catalog: Catalog) -> None:
    table = replica(catalog)
    changes = [
        ("insert", None, 1, 1),
        ("delete", None, 1, None),
        ("delete", None, 2, None),
        ("insert", None, 2, 2),
        ("delete", None, 3, None),
        ("insert", None, 3, 3),
        ("delete", None, 3, None),
    ]
    table.apply_changes(feed(*changes))
    assert shown(table) == [(2, 2)]


def test_changes_that_do_not_fit_in_memory(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_rows, "SORT_BUFFER_BYTES", 256)
    draw, table, expected = random.Random(7), replica(catalog), {}
    changes = [
        (draw.choice(["insert", "delete"]), version, draw.randrange(40), version)
        for version in range(300)
    ]
    for type_, _, key, n in changes:
        expected[key] = None if type_ == "delete" else n
    draw.shuffle(changes)
    whole = feed(*changes)
    table.apply_changes(pa.Table.from_batches(whole.to_batches(max_chunksize=7)))
    left = [pair for pair in expected.items() if pair[1] is not None]
    assert shown(table) == sorted(left, key=repr)


def test_columns_match_by_name_and_the_others_take_their_defaults(catalog: Catalog) -> None:
    table = replica(catalog, "extra STRING, ID BIGINT, n BIGINT NOT NULL")
    table.alter().set_default("extra", "d").commit()
    table.apply_changes(feed(("insert", 1, 1, 10), ("delete", 1, 2, None)))
    assert shown(table) == [("d", 1, 10)]


def test_another_column_can_hold_the_types(catalog: Catalog) -> None:
    table = replica(catalog)
    table.append(pa.table({"id": [1], "n": [1]}))
    changes = pa.table({"id": [1, 2], "n": [None, 5], "op": ["delete", "insert"]})
    table.apply_changes(
        changes.set_column(2, "op", changes["op"].dictionary_encode()), change_column="OP"
    )
    assert shown(table) == [(2, 5)]


def test_the_feed_of_a_table_makes_another_one_equal(catalog: Catalog) -> None:
    source = catalog.create_table("source", "id BIGINT, name STRING", primary_key=["id"])
    copy = catalog.create_table("copy", "id BIGINT, name STRING", primary_key=["id"])
    source.append(pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]}))
    source.update({"name": "x"}, [("id", "=", 2)])
    copy.apply_changes(source.changes(1), batch=("copy", source.version))
    first = source.version
    source.alter().rename_column("name", "nick").add_column("level", "INT", default=1).commit()
    source.delete([("id", "=", 1)])
    source.append(
        pa.table({"id": [3, 4], "nick": ["y", "z"], "level": pa.array([2, 3], pa.int32())})
    )
    copy.alter().rename_column("name", "nick").commit()
    copy.apply_changes(source.changes(first + 1), merge_schema=True, batch=("copy", source.version))
    assert copy.schema.names == ["id", "nick", "level"]
    assert shown(copy)[1:] == shown(source)[1:] == [(3, "y", 2), (4, "z", 3)]


def test_a_batch_is_applied_once_and_nothing_makes_no_version(catalog: Catalog) -> None:
    table = replica(catalog)
    assert table.apply_changes(feed(("insert", 1, 1, 1)), batch=("job", 7)) == 1
    table.apply_changes(feed(("insert", 2, 1, 2)), batch=("job", 8))
    assert table.apply_changes(feed(("insert", 1, 1, 1)), batch=("job", 7)) == 2
    assert shown(table) == [(1, 2)]
    assert table.apply_changes(feed(("update_preimage", 3, 1, 1))) == 2


def test_two_live_writers_that_add_columns(catalog: Catalog) -> None:
    """The second one's rows and tombstones are written again, on the schema of the first."""
    table = replica(catalog, properties={"schema_mode": "live"})
    table.append(pa.table({"id": [1, 2], "n": [1, 2]}))
    wider = feed(("insert", 1, 3, 3), ("delete", 1, 1, None)).append_column(
        "x", pa.array([7, None], LONG)
    )
    plan = table.transaction().plan_write(wider.schema, change_column="_change_type")
    records = plan.write(wider.schema, wider.to_batches())
    catalog.load_table("replica").alter().add_column("other", "STRING").commit()
    table.transaction().commit_append(plan, records)
    assert table.refresh().schema.names == ["id", "n", "other", "x"]
    assert shown(table) == [(2, 2, None, None), (3, 3, None, 7)]


def test_an_earlier_schema_applies_changes_by_its_names(catalog: Catalog) -> None:
    table = replica(catalog)
    table.append(pa.table({"id": [1, 2], "n": [1, 2]}))
    table.pin_schema("old")
    table.alter().rename_column("n", "m").add_column("more", "INT", default=9).commit()
    table.seen_as("old").apply_changes(feed(("insert", 1, 3, 3), ("delete", 1, 1, None)))
    assert shown(table) == [(2, 2, 9), (3, 3, 9)]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (pa.table({"id": [1]}), "names the column _change_type, which is not one of their columns"),
        (
            pa.table({"id": [1], "_change_type": [1]}),
            "which is int64; name the column that says what",
        ),
        (
            feed(("upsert", 1, 1, 1)),
            "holds 'upsert'; it must be one of insert, delete, update_preimage",
        ),
        (pa.table({"id": [1], "_change_type": pa.nulls(1, TEXT)}), "holds null; it must be one of"),
        (
            pa.table({"id": [1], "_change_type": ["insert"], "_commit_version": ["1"]}),
            "_commit_version must be a whole number",
        ),
        (pa.table({"x": [1], "_change_type": ["insert"]}), "has no column x"),
    ],
)
def test_rows_that_are_no_changes_are_refused(
    catalog: Catalog, changes: pa.Table, expected: str
) -> None:
    table = replica(catalog)
    with pytest.raises(InvalidRequestError, match=expected):
        table.apply_changes(changes)
    assert table.version == 0


def test_a_table_without_a_key_is_refused(catalog: Catalog) -> None:
    table = catalog.create_table("plain", "id BIGINT, n BIGINT")
    with pytest.raises(InvalidRequestError, match=r"has no primary key.*append the changes as"):
        table.apply_changes(feed(("insert", 1, 1, 1)))
    with pytest.raises(InvalidRequestError, match="changeColumn and partialUpdate"):
        replica(catalog).transaction().plan_write(
            feed(("insert", 1, 1, 1)).schema, partial=True, change_column="_change_type"
        )
