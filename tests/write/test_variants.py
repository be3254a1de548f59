"""Variants next to values that arrive in another Arrow type than they are stored in."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, InvalidRequestError

VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={b"variant": b"true"}),
    ]
)
FIVE, EMPTY = b"\x0c\x05", b"\x01\x00\x00"


def variants(mask: list[bool]) -> pa.Array:
    """As Spark passes them: where a variant is null, so are its children."""
    parts = [
        pa.array([None if null else part for null in mask], pa.binary()) for part in (FIVE, EMPTY)
    ]
    return pa.StructArray.from_arrays(parts, fields=list(VARIANT), mask=pa.array(mask))


@pytest.mark.parametrize(
    ("type_", "within"),
    [
        ("STRUCT<v: VARIANT, at: TIMESTAMP>", lambda inner: inner),
        (
            "ARRAY<STRUCT<v: VARIANT, at: TIMESTAMP>>",
            lambda inner: pa.ListArray.from_arrays(pa.array([0, 1, 3], pa.int32()), inner),
        ),
        (
            "MAP<STRING, STRUCT<v: VARIANT, at: TIMESTAMP>>",
            lambda inner: pa.MapArray.from_arrays([0, 1, 3], pa.array(["a", "b", "c"]), inner),
        ),
    ],
)
def test_null_variants_next_to_timestamps_of_another_zone(
    tmp_path: Path, type_: str, within: object
) -> None:
    times = pa.array([0, 1_000_000, None], pa.timestamp("us", "Pacific/Apia"))
    inner = pa.StructArray.from_arrays([variants([False, True, True]), times], names=["v", "at"])
    table = Catalog(tmp_path).create_table("t", f"s {type_}")
    table.append(pa.table({"s": within(inner)}))  # type: ignore[operator]
    five = {"value": FIVE, "metadata": EMPTY}
    first, second, third = (
        {"v": five, "at": datetime(1970, 1, 1, tzinfo=UTC)},
        {"v": None, "at": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)},
        {"v": None, "at": None},
    )
    expected: dict[str, list[object]] = {
        "STRUCT": [first, second, third],
        "ARRAY": [[first], [second, third]],
        "MAP": [[("a", first)], [("b", second), ("c", third)]],
    }
    shown = table.scan().to_arrow()["s"].to_pylist()
    assert shown == expected[type_.partition("<")[0]]


def test_shredding_is_a_feature_of_readers_that_stays(tmp_path: Path) -> None:
    """Earlier releases would take a shredded value for a missing one. Python writes variants whole."""
    catalog = Catalog(tmp_path)
    table = catalog.create_table("t", "v VARIANT")
    assert "shredded-variants" not in table.state.features.read
    for value in ("infer", "off"):
        table.alter().set_property("variant_shredding", value).commit()
        features = table.state.features
        assert "shredded-variants" in features.read & features.write
        table.append(pa.table({"v": variants([False])}))
    assert table.scan().to_arrow()["v"].to_pylist() == variants([False]).to_pylist() * 2
    made = catalog.create_table("made", "v VARIANT", properties={"variant_shredding": "infer"})
    assert "shredded-variants" in made.state.features.read


@pytest.mark.parametrize(
    ("properties", "how", "problem"),
    [
        ({"variant_shredding": "on"}, {}, "is 'on'; it must be off or infer"),
        (
            {"variant_shredding": "infer"},
            {"primary_key": ["id"]},
            "not for a table with a primary key",
        ),
        ({"variantShredding": "infer"}, {}, "did you mean variant_shredding"),
    ],
)
def test_what_shredding_can_not_be(
    tmp_path: Path, properties: dict[str, str], how: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InvalidRequestError, match=problem):
        Catalog(tmp_path).create_table("t", "id INT, v VARIANT", properties=properties, **how)


def test_a_recovered_table_may_hold_shredded_variants(tmp_path: Path) -> None:
    for name, columns in (("t", "s STRUCT<v: VARIANT>"), ("other", "id INT")):
        table = Catalog.create_path(tmp_path / name, columns)
        table.append(pa.table({table.schema.columns[0].name: pa.array([None])}))
        Catalog.recover(tmp_path / name, tmp_path / f"new {name}")
        features = Catalog.load_path(tmp_path / f"new {name}").state.features
        assert ("shredded-variants" in features.read & features.write) is (name == "t")
