"""Packing of tasks into splits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from versioned_catalog.read.planning import next_fit

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "packing.json").read_text())


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["costs"]))
def test_splits_are_those_of_the_vectors(vector: dict[str, Any]) -> None:
    items = list(enumerate(vector["costs"]))
    splits = next_fit(items, vector["target"])
    assert [len(split) for split in splits] == vector["splits"]
    assert [at for split in splits for at in split] == [at for at, _ in items]
