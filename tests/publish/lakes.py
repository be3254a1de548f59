"""Catalogs of PyIceberg in which published tables are registered, and what their readers see."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog as Foreign
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NoSuchTableError

from publish.iceberg_server import iceberg_server
from publish.rest_server import rest_server
from versioned_catalog import Catalog, Table

LAKE = {"publish": "iceberg", "publish.catalog": "lake"}


@dataclass(frozen=True)
class Lake:
    """A catalog that is called ``lake`` in PyIceberg's configuration."""

    kind: str
    configuration: Mapping[str, str]

    def open(self) -> Foreign:
        return load_catalog("lake", **self.configuration)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """The rows that a reader finds by the name, in order."""
        found = self.open().load_table(table).scan().to_arrow().to_pylist()
        return sorted(found, key=lambda row: [str(value) for value in row.values()])

    def ids(self, table: str) -> list[int]:
        return sorted(row["id"] for row in self.rows(table))

    def location(self, table: str) -> str | None:
        try:
            return self.open().load_table(table).metadata_location
        except NoSuchTableError:
            return None

    def number(self, table: str) -> int:
        """The N of the ``vN.metadata.json`` that the entry names."""
        location = self.location(table)
        assert location is not None
        return int(location.rpartition("/v")[2].partition(".")[0])

    def configure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for key, value in self.configuration.items():
            variable = key.upper().replace("-", "_").replace(".", "__")
            monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{variable}", value)

    def forget(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for variable in list(os.environ):
            if variable.startswith("PYICEBERG_CATALOG__LAKE__"):
                monkeypatch.delenv(variable)


@contextmanager
def lake_of(kind: str, folder: Path) -> Iterator[Lake]:
    """Run a catalog: ``sql``, a REST server of ours, or Iceberg's own."""
    if kind == "sql":
        uri = f"sqlite:///{folder}/lake.db"
        yield Lake(kind, {"uri": uri, "warehouse": f"file://{folder}/lake"})
        return
    if kind == "iceberg's server":
        with iceberg_server(folder) as url:
            yield Lake(kind, {"uri": url})
        return
    with rest_server(overwrites=kind == "rest") as server:
        yield Lake(kind, {"uri": f"http://127.0.0.1:{server.server_port}"})


KINDS = (
    "sql",
    "rest",
    "rest that can't overwrite",
    pytest.param("iceberg's server", marks=pytest.mark.nightly),
)


def rows(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


def registered(catalog: Catalog, name: str = "n.t", **options: Any) -> Table:
    """Create a table of two rows that is registered in the catalog."""
    table = catalog.create_table(name, "id BIGINT", properties=LAKE, **options)
    table.append(rows(1, 2))
    return table
