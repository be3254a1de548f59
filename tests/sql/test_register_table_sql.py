"""system.register_table takes in an Iceberg table by a metadata file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from faults.interrupted import InterruptedStore, Interruption
from faults.store import Plan
from sql.test_location_sql import Places
from versioned_catalog import AlreadyExistsError, Catalog
from versioned_catalog.storage.local import LocalStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def published(folder: Path) -> Path:
    """The metadata file of a table with two files of rows 1 and 2, 3."""
    table = Catalog.create_path(folder, "id INT, s STRING", properties={"publish": "iceberg"})
    for ids in ([1], [2, 3]):
        table.append(pa.table({"id": pa.array(ids, pa.int32()), "s": ["x"] * len(ids)}))
    return max((folder / "iceberg/metadata").glob("v*.metadata.json"))


@pytest.fixture
def places(spark: SparkSession, tmp_path: Path) -> Places:
    return Places(spark, tmp_path)


def test_a_published_table_is_registered_in_another_warehouse(places: Places) -> None:
    run, metadata = places.run, published(places.raw / "theirs")
    call = f"CALL {places.name}.system.register_table"
    ((snapshot, *counts),) = run(f"{call}(table => 'db.t', metadata_file => '{metadata}')")
    assert counts == [3, 2]
    assert isinstance(snapshot, int)
    assert run("SELECT * FROM db.t ORDER BY id") == [(1, "x"), (2, "x"), (3, "x")]
    paths = [path for (path,) in run("SELECT path FROM db.t.segments")]
    assert all(path.startswith("root:raw/theirs/data/") for path in paths)
    run("INSERT INTO db.t VALUES (4, 'y')")
    run("DELETE FROM db.t WHERE id = 1")
    assert Catalog.load_path(places.raw / "theirs").count() == 3
    assert run("SELECT id FROM db.t ORDER BY id") == [(2,), (3,), (4,)]


@pytest.mark.parametrize(
    ("name", "file", "message"),
    [
        ("db.own", "{metadata}", r"there is a table db\.own already, which was not converted"),
        ("db.t", "{outside}", "does not lie below an external root"),
        ("nothing.t", "{metadata}", "namespace"),
    ],
)
def test_what_is_refused(places: Places, name: str, file: str, message: str) -> None:
    metadata = published(places.raw / "theirs")
    outside = published(places.raw.parent / "outside")
    places.run("CREATE TABLE db.own (id INT)")
    file = file.format(metadata=metadata, outside=outside)
    call = f"CALL {places.name}.system.register_table('{name}', '{file}')"
    places.refused(call, message)
    assert [row[1] for row in places.run("SHOW TABLES IN db")] == ["own"]


def test_two_registrations_of_one_name_at_once(tmp_path: Path) -> None:
    metadata, warehouse, raw = published(tmp_path / "raw/theirs"), tmp_path / "w", tmp_path / "raw"
    mine = Catalog(warehouse, roots={"raw": raw})
    mine.create_namespace("db")
    theirs = Interruption(
        "put _versioned/log/N.json",
        before=lambda: Catalog(warehouse, roots={"raw": raw}).convert("db.t", str(metadata)),
    )
    store = InterruptedStore(LocalStore(str(warehouse)), Plan(), theirs)
    racing = Catalog.over(store.allow_roots(mine.store.location.roots))
    with pytest.raises(AlreadyExistsError):
        racing.convert("db.t", str(metadata))
    assert mine.list_tables("db") == ["t"]
    table = mine.load_table("db.t")
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2, 3]
    again = Catalog(warehouse, roots={"raw": raw}).convert("db.t", str(metadata))
    assert (again.count(), again.version) == (3, table.version)
