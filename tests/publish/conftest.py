from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from publish.lakes import KINDS, Lake, lake_of
from versioned_catalog import Catalog

PUBLISHED = {"publish": "iceberg"}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    return catalog


@pytest.fixture(params=KINDS)
def lake(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Lake]:
    with lake_of(request.param, tmp_path) as lake:
        lake.configure(monkeypatch)
        yield lake


@pytest.fixture
def sql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lake]:
    with lake_of("sql", tmp_path) as lake:
        lake.configure(monkeypatch)
        yield lake
