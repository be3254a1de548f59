"""The history of two tables, with ALTER, branches, pins and vacuum, on emulators and on HDFS."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest

from emulators.servers import Emulator
from versioned_catalog import Catalog, NotFoundError, Table

pytestmark = [pytest.mark.thorough, pytest.mark.nightly]


@pytest.fixture
def url(emulator: Emulator) -> str:
    return emulator.place()


@pytest.fixture
def catalog(url: str, emulator: Emulator) -> Catalog:
    catalog = Catalog(url, emulator.options)
    catalog.create_namespace("n")
    return catalog


def rows(table: Table, version: int | None = None) -> list[dict[str, object]]:
    found = table.scan(version=version).to_arrow().to_pylist()
    return sorted(found, key=lambda row: row["id"])


def test_a_history_with_alter(url: str, emulator: Emulator, catalog: Catalog) -> None:
    table = catalog.create_table("n.t", "id LONG, name STRING", properties={"row_changes": "mark"})
    assert table.append(pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]})) == 1
    table.set_tag("first")
    table.alter().drop_column("name").commit()
    table.alter().add_column("name", "string", default="new").commit()
    table.alter().rename_column("id", "key").commit()
    table.alter().rename_column("key", "id").add_column("n", "int").commit()
    assert rows(table) == [{"id": at, "name": "new", "n": None} for at in (1, 2, 3)]
    table.append(pa.table({"id": [4], "name": ["d"], "n": pa.array([7], pa.int32())}))
    table.alter().change_type("n", "long").commit()
    table.update({"n": 1 << 40}, [("id", "=", 4)])
    table.delete([("id", "=", 2)])
    expected = [
        {"id": 1, "name": "new", "n": None},
        {"id": 3, "name": "new", "n": None},
        {"id": 4, "name": "d", "n": 1 << 40},
    ]
    again = Catalog(url, emulator.options).load_table("n.t")
    assert rows(again) == expected
    assert again.count() == 3
    assert again.scan(version="first").to_arrow().to_pylist() == [
        {"id": 1, "name": "a"},
        {"id": 2, "name": "b"},
        {"id": 3, "name": "c"},
    ]
    again.create_branch("audit")
    branch = again.branch("audit")
    branch.append(pa.table({"id": [5], "name": ["e"], "n": [5]}))
    assert [row["id"] for row in rows(again)] == [1, 3, 4]
    again.merge_branch("audit")
    again.maintenance.compact(strategy="full")
    expected.append({"id": 5, "name": "e", "n": 5})
    assert rows(again) == expected
    again.drop_tag("first")
    none = timedelta(0)
    again.maintenance.expire(none, dry_run=False, force=True)
    again.maintenance.vacuum(none, dry_run=False, force=True)
    assert rows(again.refresh()) == expected
    with pytest.raises(NotFoundError, match="expired"):
        again.scan(version=1)
    assert again.maintenance.verify(deep=True).findings == ()


def test_a_table_with_a_primary_key(url: str, emulator: Emulator, catalog: Catalog) -> None:
    table = catalog.create_table("n.k", "id LONG, v STRING", primary_key=["id"])
    for at in range(20):  # beyond the first checkpoint
        table.upsert(pa.table({"id": [at, 100], "v": [f"v{at}", f"of {at}"]}))
    table.alter().rename_column("v", "w").commit()
    table.delete_keys(pa.table({"id": [0, 1]}))
    again = Catalog(url, emulator.options).load_table("n.k")
    wanted = [{"id": at, "w": f"v{at}"} for at in range(2, 20)]
    assert rows(again) == [*wanted, {"id": 100, "w": "of 19"}]
    catalog.drop_table("n.k")
    assert catalog.list_tables("n") == []
    catalog.undrop("n.k")
    catalog.rename_table("n.k", "n.l")
    assert rows(Catalog(url, emulator.options).load_table("n.l"))[0] == wanted[0]
