"""A table of a warehouse on a disk, below a root on S3 with storage options of its own."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from pyspark_versioned.hadoop import hadoop_folder
from pyspark_versioned.sql.protocol.common import CatalogRef
from pyspark_versioned.sql.snapshots import storage_of
from s3.server import Server
from versioned_catalog import AlreadyExistsError, Catalog, InvalidRequestError


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int32())})


@pytest.fixture
def catalog(tmp_path: Path, s3: Server, s3_place: str) -> Catalog:
    return Catalog(
        tmp_path / "w", roots={"lake": (s3_place, dict(s3.options)), "raw": tmp_path / "raw"}
    )


def test_a_table_on_another_file_system(catalog: Catalog, s3: Server, s3_place: str) -> None:
    catalog.create_table("t", "id INT", location=f"{s3_place.replace('s3:', 's3a:')}/a/t").append(
        rows(1)
    )
    by_path = Catalog.load_path(f"{s3_place}/a/t", dict(s3.options))
    assert by_path.scan().to_arrow()["id"].to_pylist() == [1]
    catalog.drop_table("t")
    by_path.append(rows(2))
    assert catalog.register_table("u", f"{s3_place}/a/t").count() == 2
    with pytest.raises(AlreadyExistsError, match="has the name u"):
        catalog.register_table("v", "root:lake/a/t")
    with pytest.raises(InvalidRequestError, match="dots"):
        catalog.create_table("v", "id INT", location=f"{s3_place}/a/../../other")


def test_its_path_is_opened_with_the_options_of_the_root(
    catalog: Catalog, s3: Server, s3_place: str
) -> None:
    storage = {
        "root.lake": s3_place,
        **{f"root.lake.{key}": str(value) for key, value in s3.options.items()},
        "root.raw": f"{catalog.store.url}/../raw",
        "root.this-warehouse": catalog.store.url,
    }
    reference = CatalogRef("c", catalog.store.url, storage, None, None, None)
    table = catalog.create_table("t", "id INT", location=f"{s3_place}/t")
    table.append(rows(1))
    own = storage_of(reference, table.store.location)
    assert own is not storage
    assert {key: own[key] for key in s3.options} == dict(s3.options)
    assert own["root.lake"] == s3_place
    assert Catalog.load_path(table.location, own).count() == 1
    inside = catalog.create_table("m", "id INT")
    assert storage_of(reference, inside.store.location) is storage


def test_a_scheme_in_capitals_is_the_same_one(tmp_path: Path, s3: Server, s3_place: str) -> None:
    """In a root, a location, a path, and as Hadoop is told of it."""
    options, bucket = dict(s3.options), s3_place.removeprefix("s3:")
    catalog = Catalog(tmp_path / "w", roots={"lake": (f"S3:{bucket}", options)})
    table = catalog.create_table("t", "id INT", location=f"S3A:{bucket}/t")
    table.append(rows(1))
    assert table.location == f"s3:{bucket}/t"
    assert Catalog.load_path(f"S3:{bucket}/t", options).count() == 1
    with pytest.raises(AlreadyExistsError, match="has the name t"):
        catalog.register_table("u", f"s3:{bucket}/t")
    Catalog(f"S3:{bucket}/w", options).create_table("t", "id INT").append(rows(2))
    assert Catalog(f"s3:{bucket}/w", options).load_table("t").count() == 1
    assert hadoop_folder(f"S3:{bucket}", options) == hadoop_folder(s3_place, options)


def test_a_local_path_as_hadoop_writes_it(tmp_path: Path) -> None:
    Catalog(f"file:{tmp_path}/w").create_table("t", "id INT").append(rows(1))
    assert Catalog(tmp_path / "w").load_table("t").count() == 1
    assert Catalog.load_path(f"FILE://{tmp_path}/w/t").count() == 1
