"""``open`` ignores nothing that is asked for."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import versioned_catalog as vc


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = vc.Catalog.create_path(tmp_path / "t", "n INT")
    table.append(pa.table({"n": pa.array([1], pa.int32())}))
    table.alter().change_type("n", "BIGINT").commit()
    table.append(pa.table({"n": [2**40]}))
    return tmp_path / "t"


def test_overflow_is_of_an_earlier_schema(folder: Path) -> None:
    seen = vc.open(folder, schema=0, overflow="null").scan().to_arrow()
    assert sorted(seen["n"].to_pylist(), key=str) == [1, None]
    assert vc.open(folder, overflow="error").count() == 2
    with pytest.raises(vc.InvalidRequestError, match=r"overflow is 'null', .*; give schema, too"):
        vc.open(folder, overflow="null")
    with pytest.raises(vc.InvalidRequestError, match="overflow is 'nul'; it must be"):
        vc.open(folder, overflow="nul")


def test_roots_that_are_no_mapping_are_refused(folder: Path) -> None:
    with pytest.raises(vc.InvalidRequestError, match="roots must be a mapping"):
        vc.open(folder, roots=["/lake"])  # type: ignore[arg-type]
