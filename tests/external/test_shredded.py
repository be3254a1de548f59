"""Segments of others with shredded variants: read as recorded, and refused as anything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from variants import MISSING, decode, group_of
from versioned_catalog import Catalog, CorruptTableError, Table
from versioned_catalog.model.id_map import Held, IdMap
from versioned_catalog.model.parquet_forms import Form
from versioned_catalog.write.external import ExternalFile

VALUES: list[Any] = [{"a": 1, "b": [1, {"c": "x"}]}, {"a": "text", "d": None}, [], None, MISSING]


def adopted(folder: Path, values: pa.Array, form: Form | None) -> Table:
    """A table with an external segment of a column v, and a struct around it."""
    roots = {"files": folder / "files"}
    (folder / "files").mkdir()
    file = folder / "files/f.parquet"
    pq.write_table(pa.table({"v": values, "s": pa.StructArray.from_arrays([values], ["v"])}), file)
    table = Catalog(folder / "warehouse", roots=roots).create_table(
        "t", "v VARIANT, s STRUCT<v: VARIANT>"
    )
    ids = IdMap({1: Held(form=form), 2: Held(), 3: Held(form=form)})
    version, size = table.schema.version, file.stat().st_size
    table.append_external(
        [ExternalFile("root:files/f.parquet", len(values), size, version, ids, {}, {})]
    )
    return table


@pytest.mark.parametrize("plan", [{"a": "long", "b": ["long"]}, ["long"], "long", {"d": None}])
def test_variants_are_those_that_were_written(tmp_path: Path, plan: Any) -> None:
    table = adopted(tmp_path, group_of(VALUES, plan), Form.SHREDDED)
    for columns in (["v"], ["s"], None):
        for row, value in zip(
            table.scan(columns=columns).to_arrow().to_pylist(), VALUES, strict=True
        ):
            for found in (row.get("v"), row.get("s", {"v": None})["v"]):
                if found is not None:
                    assert decode(found["metadata"], found["value"]) == value
            if columns != ["s"]:
                assert (row["v"] is None) is (value is MISSING)
    table.maintenance.compact(strategy="full")
    rows = table.scan().to_arrow()["v"].to_pylist()
    found = [row and (decode(row["metadata"], row["value"]),) for row in rows]
    assert found == [None if value is MISSING else (value,) for value in VALUES]


@pytest.mark.parametrize(
    ("plan", "form"), [("long", None), ("long", Form.SHREDDED_OTHER), (None, Form.SHREDDED)]
)
def test_a_group_of_another_form_is_refused(tmp_path: Path, plan: Any, form: Form | None) -> None:
    with pytest.raises(
        CorruptTableError, match=r"f\.parquet holds .* its owner has changed the file"
    ):
        adopted(tmp_path, group_of(VALUES, plan), form).scan().to_arrow()


def test_a_malformed_variant_names_its_file(tmp_path: Path) -> None:
    values = pa.array([{"metadata": b"\1\0\0", "value": b"\0", "typed_value": 1}])
    with pytest.raises(CorruptTableError, match=r"f\.parquet.*column v holds a malformed VARIANT"):
        adopted(tmp_path, values, Form.SHREDDED).scan().to_arrow()
