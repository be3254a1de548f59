from __future__ import annotations

from pathlib import Path

import pytest

from versioned_catalog import Catalog

PUBLISHED = {"publish": "iceberg"}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    return catalog
