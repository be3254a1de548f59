"""``versioned import``."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pyarrow as pa
import pytest

from cli.conftest import Run
from external.files import write
from versioned_catalog import Catalog


def test_files_are_imported_once(run: Run, warehouse: Path, tmp_path: Path) -> None:
    lake = tmp_path / "raw"
    write(lake, "0.parquet", pa.table({"n": [1, 2], "a": [1, 2]}))
    command = ("--root", f"lake={lake}", "import", "db.files", str(lake), "--alias", "n=m")
    first = run(*command)
    assert first.code == 0
    assert re.search(r"rows\W+2", first.out)
    assert first.lines[-1] == f"readers need --root lake={lake}"
    assert re.search(r"known\W+1", run(*command).out)


def test_the_error_says_the_options(run: Run, warehouse: Path, tmp_path: Path) -> None:
    lake = tmp_path / "raw"
    write(lake, "0.parquet", pa.table({"n": [1], "a": [1], "A": [2]}))
    write(lake, "1.parquet", pa.table({"n": ["x"]}))
    failed = run("import", "db.files", str(lake), "--copy")
    assert failed.code != 0
    hints = re.findall(r"--\w+ '[^']*'", failed.err)
    assert hints == ["--alias 'A=A_2'", "--schema 'n STRING'"]
    options = [option for hint in hints for option in shlex.split(hint)]
    assert run("import", "db.files", str(lake), "--copy", *options).code == 0


def test_an_error_about_several_columns_has_a_line_for_each(
    run: Run, warehouse: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "raw"
    write(lake, "0.parquet", pa.table({"n": [1], "a": ["x"]}))
    write(lake, "1.parquet", pa.table({"n": [1.5], "a": [1]}))
    lines = run("import", "db.files", str(lake), "--copy").err.splitlines()
    assert [line.split(" is ")[0].strip() for line in lines[1:3]] == ["n", "a"]
    assert lines[3].strip() == "All at once: --schema 'n DOUBLE, a STRING'"


def test_an_option_that_stands_before_the_command_is_named(run: Run, tmp_path: Path) -> None:
    for option in ("--root", "--warehouse", "--storage"):
        done = run("import", "db.files", "raw", option, "lake=raw")
        assert (done.code, done.err) == (
            2,
            f"error: {option} goes before the command: versioned {option} ... import\n",
        )


@pytest.mark.nightly
def test_the_options_of_text_and_paths_are_kept(run: Run, warehouse: Path, tmp_path: Path) -> None:
    lake = tmp_path / "raw"
    (lake / "2024").mkdir(parents=True)
    (lake / "2024" / "x.csv").write_bytes("report\nn;s\n1,5;'Köln'\n-;NA\n".encode("latin-1"))
    text = ("--encoding", "latin-1", "--delimiter", ";", "--decimal", ",", "--quote", "'")
    paths = ("--dir-columns", "year", "--file-columns", "file_name = source", "--skip-lines", "1")
    nulls = ("--null", "-", "--null", "NA")
    first = run("import", "db.files", str(lake), "--copy", *text, *paths, *nulls)
    assert first.code == 0, first.err
    names = "dir_columns file_columns delimiter null quote decimal skip_lines encoding"
    kept = next(line for line in first.lines if line.startswith("options kept"))
    assert re.findall(r"\w+", kept)[2:] == names.split()
    (lake / "2025").mkdir()
    (lake / "2025" / "y.csv").write_bytes("report\nn;s\n2,5;'ö'\n".encode("latin-1"))
    second = run("import", "db.files", str(lake), "--copy")
    used = next(line for line in second.lines if line.startswith("options used"))
    assert re.findall(r"\w+", used)[2:] == names.split()
    assert "latin-1" in run("describe", "db.files").out
    rows = Catalog(warehouse).load_table("db.files").scan().to_arrow().to_pylist()
    assert rows == [
        {"n": 1.5, "s": "Köln", "year": 2024, "source": "x.csv"},
        {"n": None, "s": None, "year": 2024, "source": "x.csv"},
        {"n": 2.5, "s": "ö", "year": 2025, "source": "y.csv"},
    ]
