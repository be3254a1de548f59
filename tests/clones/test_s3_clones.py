"""Clones of tables on an object store."""

from __future__ import annotations

import time
from datetime import timedelta

import pyarrow as pa
import pytest

from s3.server import Server
from versioned_catalog import Catalog, InvalidRequestError


@pytest.mark.thorough
@pytest.mark.parametrize("shallow", [True, False], ids=["shallow", "deep"])
def test_a_clone_on_s3(s3: Server, s3_place: str, shallow: bool) -> None:
    catalog = Catalog(f"{s3_place}/w", dict(s3.options))
    table = catalog.create_table("a", "id LONG, v STRING", primary_key=["id"])
    for number in (1, 2):
        table.append(pa.table({"id": [number, 9], "v": [f"v{number}"] * 2}))
    clone = catalog.clone_table("b", "a", shallow=shallow)
    clone.append(pa.table({"id": [9], "v": ["own"]}))
    table.overwrite(pa.table({"id": [5], "v": ["x"]}))
    table.maintenance.expire(timedelta(0), force=True, dry_run=False)
    table.maintenance.vacuum(timedelta(0), force=True, dry_run=False)
    again = Catalog(f"{s3_place}/w", dict(s3.options))
    rows = again.load_table("b").scan().to_arrow().to_pylist()
    assert sorted((row["id"], row["v"]) for row in rows) == [(1, "v1"), (2, "v2"), (9, "own")]
    assert again.load_table("b").maintenance.verify(deep=True).findings == ()
    if shallow:
        with pytest.raises(InvalidRequestError, match="shallow clones"):
            again.drop_table("a")
        again.drop_table("b")
        while dropped := again.dropped_tables():  # the clock of the server counts seconds
            options = {"storage_options": dict(s3.options)}
            place = dropped[0].location
            Catalog.vacuum_path(place, timedelta(0), force=True, dry_run=False, **options)
            time.sleep(0.2)
    again.drop_table("a")
