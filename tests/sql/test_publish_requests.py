"""The responses of Python to CALL of the procedures that publish, tested without a JVM."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from publish.engines import PYICEBERG
from pyspark_versioned.sql.dispatch import respond
from versioned_catalog import Catalog


def call(warehouse: Path, procedure: str, **arguments: str | None) -> Any:
    where = {
        "name": "c",
        "warehouse": str(warehouse),
        "storage": {},
        "schema_label": None,
        "wap_branch": None,
        "wap_id": None,
    }
    body = {
        "catalog": where,
        "name": ["system", procedure],
        "namespace": [],
        "arguments": {"table": "n.t", **arguments},
        "job": None,
        "source": None,
        "session_table": None,
        "results": [],
    }
    given = {"request": "call", "body": body, "commit": {"id": "c" * 36, "retry": False, "by": {}}}
    return json.loads(respond(given))


def test_publish_and_unpublish(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", "a INT")
    table.append(pa.table({"a": pa.array([1], pa.int32())}))
    asked: dict[str, str | None] = {"format_version": "2", "overwrite": None}
    ((version, metadata, format_version, snapshots, files, entry),) = call(
        tmp_path, "publish", **asked
    )["response"]["rows"]
    assert (version, format_version, snapshots, files, entry) == ("1", "2", "2", "5", None)
    assert PYICEBERG.read(metadata, None, None) == [{"a": 1}]
    assert call(tmp_path, "unpublish")["response"]["rows"] == [["5"]]
