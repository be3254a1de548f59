"""The command ``export``."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from cli.conftest import Run


def test_it_exports_and_says_what_is_left_out(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "out"
    done = run("export", "db.people", "--to", str(target), "--json")
    assert done.code == 0
    assert done.json == {
        "table": "db.people",
        "version": 1,
        "format": "parquet",
        "folder": str(target),
        "rows": 2,
        "files": 1,
        "bytes": next(target.rglob("*.parquet")).stat().st_size,
        "left out": ["default of name", "comment of the table"],
    }
    (file,) = (target / "name=Ada").iterdir()
    assert pq.ParquetFile(file).read()["id"].to_pylist() == [1, 2]


def test_options_reach_the_export(run: Run, tmp_path: Path) -> None:
    flat = run("export", "db.people", "--to", str(tmp_path / "flat"), "--no-partition-folders")
    assert flat.code == 0
    assert [file.name for file in (tmp_path / "flat").glob("*.parquet")] == ["part-0.parquet"]
    for kind, part in (("iceberg", "metadata"), ("delta", "_delta_log")):
        target = tmp_path / kind
        assert run("export", "db.people", "--to", str(target), "--format", kind).code == 0
        assert (target / part).is_dir()
    first = run("export", "db.people", "--to", str(tmp_path / "0"), "--version", "0", "--json")
    assert (first.json["version"], first.json["rows"]) == (0, 0)


def test_what_is_refused(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "out"
    assert run("export", "db.people").code == 2
    assert run("export", "db.nobody", "--to", str(target)).code == 3
    assert run("export", "db.people", "--to", str(target), "--version", "7").code == 3
    assert run("export", "db.people", "--to", str(target), "--format", "orc").code == 2
    target.mkdir()
    (target / "mine").touch()
    refused = run("export", "db.people", "--to", str(target))
    assert refused.code == 4
    assert "not empty" in refused.err
