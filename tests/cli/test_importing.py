"""``versioned import``."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pyarrow as pa

from cli.conftest import Run
from external.files import write


def test_files_are_imported_once(run: Run, warehouse: Path, tmp_path: Path) -> None:
    lake = tmp_path / "raw"
    write(lake, "0.parquet", pa.table({"n": [1, 2], "a": [1, 2]}))
    command = ("--root", f"lake={lake}", "import", "db.files", str(lake), "--alias", "n=m")
    first = run(*command)
    assert first.code == 0
    assert re.search(r"rows\W+2", first.out)
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
