"""Situations of Apache Iceberg: rows that bring their schema."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa

from conformance.lake import Lake, ids, refused, rows, shown
from conformance.registry import Situation, Source

SITUATIONS: list[Situation] = []
union = Source(
    "iceberg", "core/src/test/java/org/apache/iceberg/TestSchemaUnionByFieldName.java", SITUATIONS
)


@union.passes(
    "testAddTopLevelPrimitives", "Columns that the table lacks are added, each with its type."
)
def union_primitives(lake: Lake) -> None:
    table = lake.table("n INT", (1,))
    row = pa.table(
        {
            "n": pa.array([2], pa.int32()),
            "b": [True],
            "l": pa.array([2**40], pa.int64()),
            "f": pa.array([0.5], pa.float32()),
            "d": [dt.date(2026, 1, 31)],
            "ts": pa.array([dt.datetime(2026, 1, 31)], pa.timestamp("us")),
            "x": pa.array([Decimal("1.50")], pa.decimal128(9, 2)),
            "s": ["text"],
            "y": [b"\x01"],
        }
    )
    table.append(row, merge_schema=True)
    assert shown(table) == (
        "n INT, b BOOLEAN, l BIGINT, f FLOAT, d DATE, ts TIMESTAMP_NTZ, x DECIMAL(9,2), "
        "s STRING, y BINARY"
    )
    assert rows(table)[0] == (1, *[None] * 8)
    assert rows(table)[1][1:4] == (True, 2**40, 0.5)


@union.passes("testAddTopLevelListOfPrimitives", "A list that the table lacks is added.")
def union_list(lake: Lake) -> None:
    table = lake.table("n INT", (1,))
    table.append(pa.table({"l": [["a", None]]}), merge_schema=True)
    assert rows(table) == [(1, None), (None, ["a", None])]


@union.passes("testAddTopLevelMapOfPrimitives", "A map that the table lacks is added.")
def union_map(lake: Lake) -> None:
    table = lake.table("n INT", (1,))
    entry = pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))
    table.append(pa.table({"m": entry}), merge_schema=True)
    assert shown(table) == "n INT, m MAP<STRING, BIGINT>"
    assert rows(table) == [(1, None), (None, [("k", 1)])]


@union.passes(
    "testAddNestedLists", "Arrays of arrays of arrays are added with an ID on each level."
)
def union_nested_lists(lake: Lake) -> None:
    table = lake.table("n INT")
    table.append(pa.table({"l": [[[[[["deep"]]]]]]}), merge_schema=True)
    assert ids(table, "l", "l.element.element.element.element.element") == [2, 7]
    assert rows(table, "l") == [([[[[["deep"]]]]],)]


@union.passes(
    "testAddNestedStruct", "Structs within structs are added down to the innermost field."
)
def union_nested_structs(lake: Lake) -> None:
    table = lake.table("n INT")
    table.append(pa.table({"s1": [{"s2": {"s3": {"text": "x"}}}]}), merge_schema=True)
    assert shown(table) == "n INT, s1 STRUCT<s2: STRUCT<s3: STRUCT<text: STRING>>>"


@union.passes("testAddNestedMaps", "Maps of maps are added.")
def union_nested_maps(lake: Lake) -> None:
    table = lake.table("n INT")
    type_ = pa.map_(pa.string(), pa.map_(pa.string(), pa.string()))
    table.append(pa.table({"m": pa.array([[("a", [("b", "c")])]], type_)}), merge_schema=True)
    assert shown(table) == "n INT, m MAP<STRING, MAP<STRING, STRING>>"
    assert rows(table, "m") == [([("a", [("b", "c")])],)]


@union.passes(
    "testDetectInvalidTopLevelList", "An array of strings does not become one of integers."
)
def union_wrong_list(lake: Lake) -> None:
    table = lake.table("l ARRAY<STRING>")
    with refused("l.element"):
        table.append(pa.table({"l": [[1]]}), merge_schema=True)


@union.passes(
    "testDetectInvalidTopLevelMapValue", "The values of a map do not become integers from strings."
)
def union_wrong_map(lake: Lake) -> None:
    table = lake.table("m MAP<STRING, STRING>")
    entry = pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))
    with refused("m.value"):
        table.append(pa.table({"m": entry}), merge_schema=True)


@union.passes("testTypePromoteIntegerToLong", "Rows with BIGINT widen a column of INT.")
def union_long(lake: Lake) -> None:
    table = lake.table("a INT NOT NULL", (1,))
    table.append(pa.table({"a": [2**40]}), merge_schema=True)
    assert shown(table) == "a BIGINT NOT NULL"
    assert rows(table) == [(1,), (2**40,)]


@union.passes("testTypePromoteFloatToDouble", "Rows with DOUBLE widen a column of FLOAT.")
def union_double(lake: Lake) -> None:
    table = lake.table("a FLOAT", (0.5,))
    table.append(pa.table({"a": [0.1]}), merge_schema=True)
    assert rows(table) == [(0.1,), (0.5,)]
    assert shown(table) == "a DOUBLE"


@union.passes(
    "testIgnoreTypePromoteDoubleToFloat", "Rows with FLOAT leave a column of DOUBLE as it is."
)
def union_float(lake: Lake) -> None:
    table = lake.table("a DOUBLE", (0.1,))
    table.append(pa.table({"a": pa.array([0.5], pa.float32())}), merge_schema=True)
    assert rows(table) == [(0.1,), (0.5,)]
    assert shown(table) == "a DOUBLE"


@union.passes("testIgnoreTypePromoteLongToInt", "Rows with INT leave a column of BIGINT as it is.")
def union_int(lake: Lake) -> None:
    table = lake.table("a BIGINT", (2**40,))
    table.append(pa.table({"a": pa.array([1], pa.int32())}), merge_schema=True)
    assert rows(table) == [(1,), (2**40,)]
    assert shown(table) == "a BIGINT"


@union.passes(
    "testIgnoreTypePromoteDecimalToNarrowerPrecision",
    "Rows with a DECIMAL of fewer digits change no type.",
)
def union_narrow_decimal(lake: Lake) -> None:
    table = lake.table("a DECIMAL(20,1)", (Decimal("1.5"),))
    table.append(
        pa.table({"a": pa.array([Decimal("2.5")], pa.decimal128(10, 1))}), merge_schema=True
    )
    assert shown(table) == "a DECIMAL(20,1)"
    assert rows(table) == [(Decimal("1.5"),), (Decimal("2.5"),)]


@union.passes(
    "testTypePromoteDecimalToFixedScaleWithWiderPrecision",
    "Rows with a DECIMAL of more digits widen the column.",
)
def union_wide_decimal(lake: Lake) -> None:
    table = lake.table("a DECIMAL(20,1)", (Decimal("1.5"),))
    wide = pa.array([Decimal("999999999999999999999.5")], pa.decimal128(22, 1))
    table.append(pa.table({"a": wide}), merge_schema=True)
    assert shown(table) == "a DECIMAL(22,1)"
    assert rows(table) == [(Decimal("1.5"),), (Decimal("999999999999999999999.5"),)]


@union.passes(
    "testAddPrimitiveToNestedStruct",
    "A field is added to structs that are in an array in a struct.",
)
def union_field_in_list(lake: Lake) -> None:
    table = lake.table(
        "s STRUCT<t: STRUCT<l: ARRAY<STRUCT<v: STRING>>>>", ({"t": {"l": [{"v": "a"}]}},)
    )
    table.append(pa.table({"s": [{"t": {"l": [{"v": "b", "w": 1}]}}]}), merge_schema=True)
    assert rows(table) == [
        ({"t": {"l": [{"v": "a", "w": None}]}},),
        ({"t": {"l": [{"v": "b", "w": 1}]}},),
    ]


@union.passes("testReplaceListWithPrimitive", "An array does not become a string.")
def union_list_to_string(lake: Lake) -> None:
    table = lake.table("c ARRAY<STRING>")
    with refused("c is ARRAY<STRING>, and STRING does not widen to it"):
        table.append(pa.table({"c": ["x"]}), merge_schema=True)


@union.passes(
    "testMirroredSchemas",
    "Rows with the same columns in another order change nothing of the schema.",
)
def union_mirrored(lake: Lake) -> None:
    table = lake.table("s STRUCT<a: STRING, b: INT>, l ARRAY<STRING>, t STRING")
    before = table.schema
    row = {
        "t": ["x"],
        "l": [["y"]],
        "s": pa.array([{"b": 1, "a": "z"}], pa.struct([("b", pa.int32()), ("a", pa.string())])),
    }
    table.append(pa.table(row), merge_schema=True)
    assert table.refresh().schema == before
    assert rows(table) == [({"a": "z", "b": 1}, ["y"], "x")]


@union.passes(
    "addNewTopLevelStruct",
    "A struct beside a map of arrays of structs is added; the map keeps its IDs.",
)
def union_struct_beside_map(lake: Lake) -> None:
    table = lake.table("m MAP<STRING, ARRAY<STRUCT<s: STRING>>>")
    before = ids(table, "m.value.element.s")
    table.append(pa.table({"s1": [{"d1": {"d2": "x"}}]}), merge_schema=True)
    assert ids(table, "m.value.element.s") == before
    assert rows(table) == [(None, {"d1": {"d2": "x"}})]


@union.passes(
    "testAppendNestedLists",
    "A list of another name beside a nested list is added; neither gets the other's rows.",
)
def union_second_list(lake: Lake) -> None:
    table = lake.table("s STRUCT<t: STRUCT<l1: ARRAY<STRING>>>", ({"t": {"l1": ["a"]}},))
    table.append(pa.table({"s": [{"t": {"l2": ["b"]}}]}), merge_schema=True)
    assert rows(table) == [
        ({"t": {"l1": None, "l2": ["b"]}},),
        ({"t": {"l1": ["a"], "l2": None}},),
    ]
