"""A table on S3 is published there, and other engines read it from there."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.table import StaticTable

from publish.lakes import LAKE, Lake
from s3.server import KEY, SECRET, Server
from versioned_catalog import Catalog


@pytest.mark.thorough
def test_a_table_on_s3(s3: Server, s3_place: str) -> None:
    catalog = Catalog(s3_place, storage_options=s3.options)
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", "a BIGINT", properties={"publish": "iceberg"})
    for value in range(3):
        table.append(pa.table({"a": [value]}))
    done = table.maintenance.publish()
    assert done.files == 0
    assert done.metadata == f"{s3_place}/n/t/iceberg/metadata/v4.metadata.json"
    options = {
        "s3.endpoint": s3.endpoint,
        "s3.access-key-id": KEY,
        "s3.secret-access-key": SECRET,
        "s3.region": "us-east-1",
    }
    published = StaticTable.from_metadata(done.metadata, properties=options)
    assert sorted(published.scan().to_arrow()["a"].to_pylist()) == [0, 1, 2]
    assert published.scan(snapshot_id=1).to_arrow()["a"].to_pylist() == [0]
    assert table.maintenance.unpublish() == 4 + 1 + 3 + 4  # metadata, hint, manifests, lists


@pytest.mark.thorough
def test_a_table_on_s3_is_registered(
    s3: Server, s3_place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after a commit in between, when PyIceberg reads the file that the entry names."""
    configuration = {
        "uri": f"sqlite:///{tmp_path}/lake.db",
        "s3.endpoint": s3.endpoint,
        "s3.access-key-id": KEY,
        "s3.secret-access-key": SECRET,
        "s3.region": "us-east-1",
    }
    lake = Lake("sql", configuration)
    lake.configure(monkeypatch)
    catalog = Catalog(s3_place, storage_options=s3.options)
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", "id BIGINT", properties=LAKE)
    for value in range(3):
        table.append(pa.table({"id": [value]}))
    assert lake.location("n.t") == f"{s3_place}/n/t/iceberg/metadata/v4.metadata.json"
    assert lake.ids("n.t") == [0, 1, 2]
    catalog.drop_table("n.t")
    assert lake.location("n.t") is None
