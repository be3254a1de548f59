"""Shredded variants are put together as they were, whatever of them is in columns of their own."""

from __future__ import annotations

import decimal
import os
import random
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from variants import MISSING, Plan, decode, group_of, random_plan, random_value
from versioned_catalog import Catalog, InvalidRequestError
from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.parquet_forms import Form
from versioned_catalog.model.types import Column
from versioned_catalog.read.shredding import (
    is_shredded,
    shredded_form,
    whole_variants,
    with_whole_variants,
)
from versioned_catalog.read.variant_encoding import MalformedVariantError

EMPTY = b"\x01\x00\x00"


def group(**parts: Any) -> pa.StructArray:
    """A group of one row, or more if the metadata has more."""
    arrays = {name: part for name, part in parts.items() if part is not None}
    rows = len(next(iter(arrays.values())))
    arrays.setdefault("metadata", pa.array([EMPTY] * rows, pa.binary()))
    return pa.StructArray.from_arrays(list(arrays.values()), list(arrays))


def binaries(*values: bytes | None) -> pa.Array:
    return pa.array(values, pa.binary())


def shown(array: pa.StructArray) -> list[Any]:
    """Each variant as value and metadata."""
    assert shredded_form(array.type) is not None
    rows = whole_variants(array, "v").to_pylist()
    return [None if row is None else (row["value"], row["metadata"]) for row in rows]


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        (pa.array([True]), b"\x04"),
        (pa.array([False]), b"\x08"),
        (pa.array([-1], pa.int8()), b"\x0c\xff"),
        (pa.array([127], pa.int64()), b"\x0c\x7f"),
        (pa.array([128], pa.int16()), b"\x10\x80\x00"),
        (pa.array([-32769], pa.int32()), b"\x14\xff\x7f\xff\xff"),
        (pa.array([2**31], pa.int64()), b"\x18\x00\x00\x00\x80\x00\x00\x00\x00"),
        (pa.array([1.5], pa.float32()), b"\x38\x00\x00\xc0\x3f"),
        (pa.array([1.5]), b"\x1c\x00\x00\x00\x00\x00\x00\xf8\x3f"),
        (pa.array([decimal.Decimal("-1.00")], pa.decimal128(9, 2)), b"\x20\x02\x9c\xff\xff\xff"),
        (
            pa.array([decimal.Decimal("12345678.90")], pa.decimal128(18, 2)),
            b"\x24\x02\xd2\x02\x96\x49\x00\x00\x00\x00",
        ),
        (
            pa.array([decimal.Decimal("0.0000000001")], pa.decimal128(18, 10)),
            b"\x24\x0a\x01" + bytes(7),
        ),
        (
            pa.array([decimal.Decimal(-(10**18))], pa.decimal128(38, 0)),
            b"\x28\x00" + (-(10**18)).to_bytes(16, "little", signed=True),
        ),
        (pa.array([1], pa.date32()), b"\x2c\x01\x00\x00\x00"),
        (pa.array([1], pa.timestamp("us", "UTC")), b"\x30\x01" + bytes(7)),
        (pa.array([1], pa.timestamp("us")), b"\x34\x01" + bytes(7)),
        (pa.array([1], pa.time64("us")), b"\x44\x01" + bytes(7)),
        (pa.array([1], pa.timestamp("ns", "UTC")), b"\x48\x01" + bytes(7)),
        (pa.array([1], pa.timestamp("ns")), b"\x4c\x01" + bytes(7)),
        (pa.array([bytes(range(16))], pa.uuid()), b"\x50" + bytes(range(16))),
        (binaries(b"xy"), b"\x3c\x02\x00\x00\x00xy"),
        (pa.array(["x" * 63]), b"\xfd" + b"x" * 63),
        (pa.array(["x" * 64]), b"\x40\x40\x00\x00\x00" + b"x" * 64),
        (pa.array(["é"]).dictionary_encode(), b"\x09\xc3\xa9"),
    ],
    ids=lambda one: str(one.type) if isinstance(one, pa.Array) else "",
)
def test_each_scalar_has_the_bytes_of_the_encoding(typed: pa.Array, value: bytes) -> None:
    assert shown(group(typed_value=typed)) == [(value, EMPTY)]


def test_an_object_and_what_is_left_of_it() -> None:
    """The fields a, of 1, and b, missing; c, an array of an object, is not shredded."""
    left = b"\x02\x01\x02\x00\x08\x03\x01\x00\x06\x02\x01\x03\x00\x01\x00"
    fields = pa.StructArray.from_arrays(
        [
            pa.StructArray.from_arrays([pa.array([1]), binaries(None)], ["typed_value", "value"]),
            pa.StructArray.from_arrays([binaries(None)], ["value"]),
        ],
        ["a", "b"],
    )
    names = b"\x01\x04\x00\x01\x02\x03\x04xbca"
    found = shown(group(metadata=binaries(names), value=binaries(left), typed_value=fields))
    assert len(found) == 1
    assert decode(*reversed(found[0])) == {"a": 1, "c": [{"a": None}]}
    # Numbered in the order in which they are written: a, c.
    assert found[0][1] == b"\x01\x02\x00\x01\x02ac"


def test_null_missing_and_whole() -> None:
    """A null variant; the value null; one that is missing, so null, too; and one that is no number."""
    metadata, mask = binaries(*[EMPTY] * 3, b"\x11\x00\x00"), pa.array([True, False, False, False])
    parts = [metadata, binaries(None, b"\0", None, b"\x04"), pa.array([None] * 4, pa.int64())]
    kinds = [
        pa.field(n, p.type)
        for n, p in zip(("metadata", "value", "typed_value"), parts, strict=True)
    ]
    array = pa.StructArray.from_arrays(parts, fields=kinds, mask=mask)
    wanted = [None, (b"\0", EMPTY), (b"\0", EMPTY), (b"\x04", b"\x11\x00\x00")]
    assert shown(array) == wanted
    assert shown(array.slice(1, 2)) == wanted[1:3]


def test_columns_without_typed_values_are_not_copied() -> None:
    value = binaries(b"\x04", b"\0")
    found = whole_variants(group(value=value, typed_value=pa.nulls(2, pa.int32())), "v")
    assert found.field("value").buffers()[2].address == value.buffers()[2].address


@pytest.mark.parametrize(
    ("typed", "value", "problem"),
    [
        (pa.array([1]), b"\0", "both a value and a typed value"),
        (pa.array([[{"value": b"\0"}]]), b"\0", "both a value and a typed value"),
        (pa.array([{"a": {"value": b"\0"}}]), b"\0", "a value that is no object"),
        (pa.array([{"a": {"value": b""}}]), None, "ends too early"),
        (pa.array([{"a": {"value": b"\x02\x01\x00\x05\x06\0"}}]), None, "ends too early"),
        (pa.array([{"a": {"value": b"\x02\x01\x07\x00\x01\0"}}]), None, "no name of the number 7"),
        (pa.array([{"a": {"value": b"\x03\x02\x00\x00\x01\x04"}}]), None, "overlap"),
        (pa.array([{"a": {"value": b"\x03\x01\x00\x01\xfc"}}]), None, "unknown type 63"),
        (pa.array([{"a": None}]), None, "no group"),
        (
            pa.array([{"x": {"value": b"\0"}}]),
            b"\x02\x01\x00\x00\x01\0",
            "stands in its value, too",
        ),
    ],
)
def test_malformed_variants_are_named(typed: pa.Array, value: bytes | None, problem: str) -> None:
    names = b"\x01\x01\x00\x01x"
    column = group(metadata=binaries(names), value=binaries(value), typed_value=typed)
    with pytest.raises(
        MalformedVariantError, match=f"column v holds a malformed VARIANT: .*{problem}"
    ):
        whole_variants(column, "v")


def test_values_that_are_nested_too_deep_are_refused() -> None:
    deep = b"\0"
    for _ in range(5000):
        deep = b"\x0f\x01" + bytes(4) + len(deep).to_bytes(4, "little") + deep
    typed = pa.array([{"a": {"value": deep}}])
    with pytest.raises(MalformedVariantError, match="recursion"):
        whole_variants(group(typed_value=typed), "v")


@pytest.mark.parametrize(
    "metadata", [b"", b"\x02\x00\x00", b"\x01\x01\x00", b"\x01\x02\x00\x02\x01ab"]
)
def test_malformed_metadata_is_named(metadata: bytes) -> None:
    typed = pa.array([{"a": {"value": b"\x02\x00\x00"}}])
    column = group(metadata=binaries(metadata), typed_value=typed)
    with pytest.raises(MalformedVariantError, match="its metadata"):
        whole_variants(column, "v")


VALUE, META = pa.field("value", pa.binary()), pa.field("metadata", pa.binary())


def typed(type_: pa.DataType) -> pa.DataType:
    return pa.struct([META, VALUE, pa.field("typed_value", type_)])


def inner(type_: pa.DataType) -> pa.DataType:
    return pa.struct([pa.field("typed_value", type_)])


def test_forms() -> None:
    assert shredded_form(pa.struct([META, VALUE])) is None
    for type_ in (pa.int8(), pa.decimal128(38, 2), pa.struct([("a", pa.struct([VALUE]))])):
        assert shredded_form(typed(type_)) is Form.SHREDDED, type_
    nested = pa.list_(inner(pa.struct([("a", inner(pa.uuid())), ("b", inner(pa.int8()))])))
    for type_ in (pa.time64("us"), pa.timestamp("ns"), nested):
        assert shredded_form(typed(type_)) is Form.SHREDDED_OTHER, type_


@pytest.mark.parametrize(
    ("type_", "reason"),
    [
        (pa.struct([VALUE]), "without a value"),
        (pa.struct([META]), "without a value"),
        (pa.int32(), "without a group of its own"),
        (pa.struct([META, VALUE, pa.field("x", pa.int8())]), "with other fields"),
        (pa.struct([META, pa.field("value", pa.string())]), "with values of string"),
        *(
            (typed(t), f"as {t}")
            for t in (pa.uint32(), pa.binary(4), pa.timestamp("ms"), pa.null())
        ),
        (typed(pa.list_(pa.int8())), "without a group of its own"),
        (typed(pa.struct([("a", pa.int8())])), "without a group of its own"),
        (typed(pa.struct([("a", pa.struct([META, VALUE]))])), "with other fields"),
        (typed(pa.struct([])), "can't be told apart"),
    ],
    ids=str,
)
def test_what_parquet_does_not_define_is_refused(type_: pa.DataType, reason: str) -> None:
    with pytest.raises(InvalidRequestError, match=re.escape(reason)):
        shredded_form(type_)


def check(values: list[Any], plan: Plan) -> None:
    array = group_of([MISSING, *values, MISSING], plan)
    for found in (whole_variants(array, "v"), whole_variants(array.slice(1, len(values)), "v")):
        rows = [row for row in found.to_pylist() if row is not None]
        assert [decode(row["metadata"], row["value"]) for row in rows] == values


@pytest.mark.parametrize("seeds", [60, pytest.param(5000, marks=pytest.mark.nightly)])
def test_random_values_are_what_they_were(seeds: int) -> None:
    first = int(os.environ.get("VERSIONED_SEED", "0"))
    for seed in range(first, first + seeds):
        draw = random.Random(seed)
        try:
            check([random_value(draw) for _ in range(4)], random_plan(draw))
        except Exception as error:
            raise AssertionError(f"VERSIONED_SEED={seed}: {error!r}") from error


@pytest.mark.parametrize("size", [70_000, pytest.param(1 << 24, marks=pytest.mark.nightly)])
def test_wide_objects_and_arrays(size: int) -> None:
    """More than 255 fields and elements, names of 64 KiB in all, and numbers of three or four bytes."""
    wide = {f"{'n' * 250}{at:04}": at for at in range(300)}
    plan: Plan = {"a": "string", "b": [None]}
    check([wide, list(range(300)), {"a": "x" * size, "b": [wide]}], plan)
    check([[1] * (size // 250)], ["long"])


def columns_of(folder: Path, declared: str) -> tuple[Column, ...]:
    return Catalog(folder).create_table("t", declared).schema.columns


def test_variants_of_segments_are_put_together_wherever_they_are(tmp_path: Path) -> None:
    """In a column, in structs of which not all fields are read, in arrays and in maps."""
    v = group_of([{"a": 1}, MISSING, [2], "x"], {"a": "long"})
    names = ["metadata", "value"]  # as Spark writes those that have nothing in common
    plain = pa.StructArray.from_arrays(
        [group_of([0, 1, 2, 3], None).field(name) for name in names], names
    )
    mask = pa.array([False] * 3 + [True])
    s = pa.StructArray.from_arrays([pa.array([5, 6, 7, 8]), v], ["n", "v"], mask=mask)
    ends = pa.array([0, 1, 1, 3, 4], pa.int32())
    lists = pa.ListArray.from_arrays(ends, s)
    maps = pa.MapArray.from_arrays(ends, pa.array(list("abcd")), v)
    struct = "STRUCT<n: BIGINT, v: VARIANT>"
    columns = columns_of(
        tmp_path, f"v VARIANT, s {struct}, l ARRAY<{struct}>, m MAP<STRING, VARIANT>, p VARIANT"
    )
    arrays = (v, s, lists, maps, plain)
    found = [
        with_whole_variants(array, column) for array, column in zip(arrays, columns, strict=True)
    ]
    for array, column in zip(found, columns, strict=True):
        assert array.type == to_arrow_type(column.type), column
        array.validate(full=True)

    def shown(value: Any) -> Any:
        match value:
            case {"metadata": metadata, "value": stored}:
                return (decode(metadata, stored),)
            case dict():
                return {key: shown(part) for key, part in value.items()}
            case list() | tuple():
                return [shown(part) for part in value]
            case _:
                return value

    variants = [({"a": 1},), None, ([2],), ("x",)]
    structs = [{"n": n, "v": variant} for n, variant in zip((5, 6, 7), variants, strict=False)] + [
        None
    ]
    assert [shown(array.to_pylist()) for array in found] == [
        variants,
        structs,
        [structs[:1], [], structs[1:3], structs[3:]],
        [[["a", variants[0]]], [], [["b", None], ["c", variants[2]]], [["d", variants[3]]]],
        [(0,), (1,), (2,), (3,)],
    ]


def test_what_is_stored_whole_is_taken_as_it_is(tmp_path: Path) -> None:
    (column,) = columns_of(tmp_path, "v VARIANT")
    whole = whole_variants(group_of([1, None], "long"), "v")
    assert not is_shredded(whole.type, column)
    assert with_whole_variants(whole, column) is whole
