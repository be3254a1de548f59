from __future__ import annotations

from pathlib import Path

import pytest

from engines.evolved_tables import make_evolved, make_typed
from versioned_catalog import Table


@pytest.fixture
def evolved(tmp_path: Path) -> Table:
    """Six rows in three segments of three schemas: renamed, dropped and added again, widened, nested."""
    return make_evolved(tmp_path / "evolved")


@pytest.fixture
def typed(tmp_path: Path) -> Table:
    """Three rows of every type that other engines know."""
    return make_typed(tmp_path / "typed")
