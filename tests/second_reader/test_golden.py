"""The second reader and ours agree on every golden table, by checkpoint and by the log alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from second_reader.agreement import agree, same
from second_reader.reader import open_table
from versioned_catalog import Catalog

GOLDEN = Path(__file__).parents[1] / "golden"
TABLES = {
    "v1/lives": "",
    "v1/metrics/load": "",
    "v1-applications": "",
    "v1-external/table": "v1-external/raw",
    "v1-imports/table": "v1-imports/raw",
    "v1-keyed": "",
    "v1-marks": "",
    "v1-resolved": "",
}


def test_every_golden_table_is_listed() -> None:
    logs = {path.parents[1] for path in GOLDEN.glob("**/_versioned/log")}
    assert {GOLDEN / name for name in TABLES} == logs - {GOLDEN / "v1"}  # which is a warehouse


LARGE = {"v1-resolved", "v1/metrics/load"}
CASES = [pytest.param(name, marks=pytest.mark.thorough if name in LARGE else ()) for name in TABLES]


@pytest.mark.parametrize("name", CASES)
def test_rows_of_every_version_by_checkpoint_and_log(name: str, tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / name, tmp_path / "t")
    roots = {"lake": GOLDEN / TABLES[name]} if TABLES[name] else {}
    ours = Catalog.load_path(tmp_path / "t", roots=roots)
    assert agree(ours, open_table(tmp_path / "t", roots)) > 0
    shutil.rmtree(tmp_path / "t/_versioned/checkpoint", ignore_errors=True)
    assert agree(ours, open_table(tmp_path / "t", roots), [1, ours.version]) > 0
    times = ours.inspect.history()["time"].to_pylist()
    for time in times[-2:]:
        same(
            ours.scan(timestamp=time).to_arrow(),
            open_table(tmp_path / "t", roots).read(time=time),
            "time",
        )
