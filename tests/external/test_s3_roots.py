"""Roots on an object store: their files are read by ranges, with the options of the root."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from external.files import ROOT, mapped
from s3.server import BUCKET, Server
from versioned_catalog import Catalog
from versioned_catalog.storage.opening import reopen

ROWS = pa.table(
    {
        "skipped": ["x" * 50] * 1000,
        "a.b": range(1000),
        "s": [{"q": i, "p": -i} for i in range(1000)],
        "l": [[{"v": i}] for i in range(1000)],
    }
)


@pytest.mark.thorough
def test_a_root_on_s3_beside_a_local_table(s3: Server, tmp_path: Path) -> None:
    place = f"s3://{BUCKET}/{uuid4().hex}"
    options = dict(s3.options)
    with fsspec.open(f"{place}/x.parquet", "wb", **options) as file:
        pq.write_table(ROWS, file, row_group_size=100)
    catalog = Catalog(tmp_path, roots={ROOT: (place, options)})
    table = catalog.create_table("t", "n BIGINT, s STRUCT<p: BIGINT>, l ARRAY<STRUCT<v: BIGINT>>")
    table.append_external([mapped(table, "x.parquet", names={"n": "a.b"})])
    expected = [{"n": i, "s": {"p": -i}, "l": [{"v": i}]} for i in range(1000)]
    assert table.scan().to_arrow().to_pylist() == expected
    assert table.scan(["s"], [("n", ">", 997)]).to_arrow().to_pylist() == [
        {"s": {"p": -i}} for i in (998, 999)
    ]
    sent = reopen(table.store.location)
    assert dict(sent.location.roots)[ROOT].options == tuple(sorted(options.items()))


@pytest.mark.thorough
def test_a_root_beside_a_table_on_s3_takes_its_options(s3: Server, s3_place: str) -> None:
    options = dict(s3.options)
    with fsspec.open(f"{s3_place}/raw/x.parquet", "wb", **options) as file:
        pq.write_table(pa.table({"n": [1, 2]}), file)
    catalog = Catalog(f"{s3_place}/w", options, roots={ROOT: f"{s3_place}/raw"})
    table = catalog.create_table("t", "n BIGINT")
    table.append_external([mapped(table, "x.parquet")])
    assert table.scan(filters=[("n", "=", 2)]).to_arrow().to_pylist() == [{"n": 2}]
    inside = Catalog(f"{s3_place}/w", options, roots={ROOT: f"{s3_place}/w/t"})
    assert inside.load_table("t").count() == 2
