"""Engines that are not in the test extra, where they are installed; and what happens without them."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

from engines.evolved_tables import EVOLVED, same
from versioned_catalog import Table


@pytest.mark.thorough
def test_datafusion_reads_an_evolved_table(evolved: Table) -> None:
    datafusion = pytest.importorskip("datafusion", reason="needs datafusion")
    frame = datafusion.SessionContext().from_arrow(evolved)
    same(frame.sort("id").to_arrow_table().to_pylist(), EVOLVED)


@pytest.mark.thorough
def test_daft_reads_an_evolved_table(evolved: Table) -> None:
    daft = pytest.importorskip("daft", reason="needs daft")
    same(daft.from_arrow(pa.table(evolved)).sort("id").to_pylist(), EVOLVED)


@pytest.mark.thorough
@pytest.mark.parametrize("library", ["pandas", "polars", "duckdb"])
def test_a_library_that_is_not_installed_is_named(library: str) -> None:
    script = f"""
import sys
sys.modules[{library!r}] = None
from versioned_catalog import Catalog, InvalidRequestError
table = Catalog("memory://missing").create_table("t", "a INT")
try:
    table.to_{library}()
except InvalidRequestError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    wanted = f"to_{library}() needs {library}, which is not installed: pip install {library}"
    assert wanted in done.stdout


def test_nothing_is_imported_before_it_is_needed() -> None:
    script = (
        "import sys, versioned_catalog.table as _; print({'duckdb', 'polars'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
