"""An import of a table's files would bring removed rows back: it is refused, and convert is named."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

import convert.sources
from imports.lake import Lake
from versioned_catalog import Catalog, InvalidRequestError
from versioned_catalog.log.ledger import Taken, imported_files

both = pytest.mark.parametrize("copy", [False, True], ids=["in place", "copied"])

METADATA = {
    "Delta": "_delta_log/00000000000000000000.json",
    "Iceberg": "metadata/00001-5f0c.metadata.json",
    "Hudi": ".hoodie/hoodie.properties",
    "Paimon": "snapshot/snapshot-1",
    "Versioned": "_versioned/log/00000000000000000000.json",
}
"""The file by which the folder of a table of each format shows."""

formats = pytest.mark.parametrize("kind", METADATA)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake with a table in x/t, and a file beside it."""
    found = Lake(tmp_path)
    found.write("x/t/data/p=1/0.parquet", {"a": [1]})
    found.write("x/1.parquet", {"a": [2]})
    return found


def refused(lake: Lake, source: object, kind: str, *, copy: bool) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        lake.catalog.import_files("t", source, copy=copy)  # type: ignore[arg-type]
    text = str(caught.value)
    assert f" {kind} table at " in text
    assert f"{lake.folder}/x/t" in text
    assert ("convert" in text) == (kind in ("Delta", "Iceberg"))
    assert not lake.catalog.table_exists("t")


@both
@formats
def test_a_table_is_refused_wherever_the_import_begins(lake: Lake, copy: bool, kind: str) -> None:
    lake.text(f"x/t/{METADATA[kind]}", "{}")
    for source in ("", "x", "x/t", "x/t/data", "x/t/data/p=1", "x/t/data/p=1/0.parquet"):
        refused(lake, lake.folder / source, kind, copy=copy)
    for source in ("**/*.parquet", "x/t/data/*/*.parquet", "x/t/data/p=1/0.*"):
        refused(lake, lake.folder / source, kind, copy=copy)
    lake.load(source="x/*.parquet", copy=copy)  # none of the table's files
    assert lake.rows() == [{"a": 2}]


@both
@formats
def test_a_table_above_the_root_or_behind_a_link(
    lake: Lake, tmp_path: Path, copy: bool, kind: str
) -> None:
    lake.text(f"x/t/{METADATA[kind]}", "{}")
    inside = lake.folder / "x/t/data"
    (tmp_path / "link").symlink_to(inside)
    (lake.folder / "y").mkdir()
    (lake.folder / "y/l.parquet").symlink_to(inside / "p=1/0.parquet")
    lake.reopen(data=inside, link=tmp_path / "link", lake=lake.folder)
    for source in ("root:data", "root:data/p=1", "root:link", "root:lake/y"):
        refused(lake, source, kind, copy=copy)


def test_a_link_to_the_files_of_a_table_is_a_table(lake: Lake, tmp_path: Path) -> None:
    """The folder that is named has the metadata, and its data folder leads elsewhere."""
    lake.text("z/_delta_log/0.json", "{}")
    (lake.folder / "z/data").symlink_to(lake.folder / "x/t/data")
    with pytest.raises(InvalidRequestError, match=r"a Delta table at .*/z,"):
        lake.load(source="z/data", copy=True)


@both
def test_the_table_of_this_library(tmp_path: Path, copy: bool) -> None:
    source = Catalog(tmp_path / "other").create_table("t", "a BIGINT")
    source.append(pa.table({"a": [1, 2]}))
    source.delete([("a", "=", 1)])
    catalog = Catalog(tmp_path / "w", roots={"other": tmp_path / "other"})
    with pytest.raises(InvalidRequestError, match=r"a Versioned table at .* Append its rows"):
        catalog.import_files("u", tmp_path / "other", copy=copy)


@pytest.mark.parametrize("kind", ["Delta", "Iceberg"])
def test_tables_of_others_are_refused_and_converted(tmp_path: Path, kind: str) -> None:
    """What a conversion adopts is in the ledger, too."""
    lake = convert.sources.Lake(tmp_path)
    rows = pa.table({"a": [1, 2, 3]})
    if kind == "Delta":
        lake.write_delta(rows)
        lake.delta().delete("a = 1")  # leaves the file with all rows
        folder = Path(lake.delta_path)
    else:
        source = lake.iceberg_table(Schema(NestedField(1, "a", LongType())))
        source.append(rows)
        source.delete("a = 1")
        folder = Path(source.location().removeprefix("file://"))
    for where in (folder, next(folder.rglob("*.parquet")), folder / "**/*.parquet"):
        with pytest.raises(
            InvalidRequestError, match=f"an? {kind} table at {folder}, .*Catalog.convert"
        ):
            lake.catalog.import_files("t", where)
    table = lake.catalog.convert("t", str(folder))
    assert sorted(table.scan().to_arrow()["a"].to_pylist()) == [2, 3]
    (path,) = table.state.segments.paths
    (file,) = imported_files(table.state.ledger, table.store)
    assert (file.place, file.taken) == (
        str(lake.root / path.removeprefix("root:lake/")),
        Taken.ADOPTED,
    )


@both
@pytest.mark.parametrize("ending", ["", "-delete"], ids=["rows", "deleted rows"])
def test_a_file_of_ducklake(lake: Lake, copy: bool, ending: str) -> None:
    """DuckLake's names of files: its folders hold no metadata."""
    name = f"x/t/ducklake-01994b8c-1d9b-7c5a-8a3f-3d3c1e3b7f10{ending}.parquet"
    lake.write(name, {"a": [3]})
    for source in ("x", "x/t", name, "x/**/duck*.parquet"):
        refused(lake, lake.folder / source, "DuckLake", copy=copy)
    lake.load(source="x/*.parquet", copy=copy)
    assert lake.rows() == [{"a": 2}]


def test_a_warehouse_is_no_table(tmp_path: Path) -> None:
    """Files beside its tables can be imported."""
    warehouse = tmp_path / "w"
    catalog = Catalog(warehouse, roots={"in": warehouse / "incoming"})
    catalog.create_table("t", "a BIGINT")
    (warehouse / "incoming").mkdir()
    pq.write_table(pa.table({"a": [1]}), warehouse / "incoming/0.parquet")
    catalog.import_files("t", warehouse / "incoming")
    assert catalog.load_table("t").count() == 1


@pytest.mark.parametrize("name", ["metadata/notes.txt", "delta_log/0.json", "x/_delta_log.parquet"])
def test_folders_that_only_look_like_tables(lake: Lake, name: str) -> None:
    if name.endswith(".parquet"):
        lake.write(name, {"a": [3]})
    else:
        lake.text(name, "{}")
    lake.load(source="x")
    assert lake.catalog.load_table("t").count() == 2
