from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from versioned_catalog import Catalog
from versioned_catalog.cli.main import main


@dataclass(frozen=True)
class Ran:
    """The result of a run of the command line."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """The printed lines, with runs of blanks between cells reduced to one."""
        return [" ".join(line.split()) for line in self.out.splitlines()]


Run = Callable[..., Ran]


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A warehouse with ``db.people``, whose second version has two rows in one segment."""
    folder = tmp_path / "warehouse"
    catalog = Catalog(folder)
    catalog.create_namespace("db")
    catalog.create_namespace("db.eu")
    table = catalog.create_table(
        "db.people",
        "id INT NOT NULL COMMENT 'who', name STRING DEFAULT 'x', home STRUCT<zip: INT>",
        partitioned_by=["name"],
        properties={"sort_by": "id"},
        comment="all of them",
    )
    table.append(pa.table({"id": pa.array([1, 2], pa.int32()), "name": ["Ada", "Ada"]}))
    monkeypatch.setenv("VERSIONED_WAREHOUSE", str(folder))
    monkeypatch.delenv("VERSIONED_STORAGE", raising=False)
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def run(warehouse: Path) -> Run:
    """Run ``versioned`` in this process."""

    def go(*arguments: str) -> Ran:
        done = CliRunner().invoke(main, list(arguments))
        return Ran(done.exit_code, done.stdout, done.stderr)

    return go
