"""Fixtures of golden tables."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from versioned_catalog import Catalog, Table


@pytest.fixture(params=["checkpoint", "log"])
def table(tmp_path: Path, request: pytest.FixtureRequest) -> Table:
    """A copy of the module's ``GOLDEN`` table, loaded from its checkpoint, or from its log alone."""
    folder = tmp_path / "t"
    shutil.copytree(request.module.GOLDEN, folder)
    if request.param == "log":
        shutil.rmtree(folder / "_versioned/checkpoint")
    return Catalog.load_path(str(folder))
