"""Errors that leave Spark's Python workers show their condition."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from pyspark_versioned import worker_errors
from pyspark_versioned.writer import ReplacingWriter
from versioned_catalog import Catalog, VersionedError
from versioned_catalog.names.creation import creation


def test_an_overwrite_of_the_schema_of_a_dropped_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_errors, "_in_worker", lambda: True)
    monkeypatch.setenv("SPARK_HIDE_TRACEBACK", "0")
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", "id LONG")
    arrow = pa.schema({"id": pa.int64(), "b": pa.string()})
    plan, operation = Catalog.plan_replacing(table, creation("id LONG, b STRING"), arrow)
    catalog.drop_table("n.t")
    with pytest.raises(VersionedError, match=r"^\[VERSIONED_.*\] .*SQLSTATE: "):
        ReplacingWriter(plan, operation).commit([])
