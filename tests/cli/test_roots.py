"""``versioned --root`` allows files of others, and the errors say so."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from cli.conftest import Run
from external.files import ROOT, mapped, write
from versioned_catalog import Catalog


@pytest.fixture
def lake(warehouse: Path, tmp_path: Path) -> Path:
    lake = tmp_path / "raw"
    table = Catalog(warehouse, roots={ROOT: lake}).create_table("db.files", "n BIGINT")
    write(lake, "x.parquet", pa.table({"n": [1, 2]}))
    table.append_external([mapped(table, "x.parquet")])
    return lake


def test_roots_are_options(run: Run, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without = run("verify", "db.files")
    assert "needs the external root 'lake'" in without.out + without.err
    assert f"which was {lake} when it was imported" in without.out + without.err
    assert run("--root", f"lake={lake}", "verify", "db.files", "--deep").code == 0
    monkeypatch.setenv("VERSIONED_ROOTS", f"lake={lake}")
    assert run("verify", "db.files").code == 0
    assert "root:lake/x.parquet" in run("segments", "db.files").out


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("lake", "expected key=value"),
        ("=x", "expected key=value"),
        ("Lake=/x", "is not the name of an external root"),
    ],
)
def test_a_malformed_root_is_refused(run: Run, warehouse: Path, given: str, problem: str) -> None:
    ran = run("--root", given, "tables", "db")
    assert ran.code != 0
    assert problem in ran.err
