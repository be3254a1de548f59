"""Avro files are copied; what no column type holds is refused by name."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from imports.lake import Lake
from versioned_catalog import InvalidRequestError


def write(lake: Lake, name: str, fields: list[Any], rows: list[dict[str, Any]], **how: Any) -> None:
    schema = {"type": "record", "name": "R", "namespace": "n", "fields": fields}
    path = lake.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        fastavro.writer(out, schema, rows, **how)


def field(name: str, type_: Any) -> dict[str, Any]:
    return {"name": name, "type": type_}


def logical(type_: str, name: str, **others: Any) -> dict[str, Any]:
    return {"type": type_, "logicalType": name, **others}


def test_a_file_that_is_written_byte_by_byte(lake: Lake) -> None:
    schema = b'{"type":"record","name":"r","fields":[{"name":"n","type":["null","long"]}]}'
    assert len(schema) == 75
    header = b"Obj\x01\x02\x16avro.schema" + b"\x96\x01" + schema + b"\x00"
    sync = bytes(range(16))
    # Two records of the branches 1 (64, zigzag 128) and 0, of 4 bytes together.
    (lake.folder / "x.avro").write_bytes(header + sync + b"\x04\x08\x02\x80\x01\x00" + sync)
    lake.load(copy=True)
    assert str(lake.catalog.load_table("t").schema) == "n BIGINT"
    assert lake.rows() == [{"n": 64}, {"n": None}]


@pytest.mark.thorough
def test_logical_types(lake: Lake) -> None:
    at = dt.datetime(2024, 1, 31, 10, 30, 0, 123000)
    fields = [
        field("day", logical("int", "date")),
        field("ms", logical("int", "time-millis")),
        field("us", logical("long", "time-micros")),
        field("at", ["null", logical("long", "timestamp-millis")]),
        field("au", logical("long", "timestamp-micros")),
        field("lo", logical("long", "local-timestamp-micros")),
        field("d", logical("bytes", "decimal", precision=9, scale=2)),
        field("f", {"name": "F", "size": 5, **logical("fixed", "decimal", precision=10, scale=3)}),
        field("u", logical("string", "uuid")),
        field("odd", logical("int", "of-somebody")),
    ]
    row = {
        **{"day": dt.date(2024, 1, 31), "ms": dt.time(10, 30, 0, 5000), "us": dt.time(1, 2, 3, 4)},
        **{"at": at.replace(tzinfo=dt.UTC), "au": at.replace(tzinfo=dt.UTC), "lo": at},
        **{"d": Decimal("-12.34"), "f": Decimal("1234.567")},
        **{"u": uuid.UUID("12345678-1234-5678-1234-567812345678"), "odd": 7},
    }
    write(lake, "x.avro", fields, [row], codec="deflate")
    table = lake.load(copy=True)
    assert str(table.schema) == (
        "day DATE, ms TIME(6), us TIME(6), at TIMESTAMP, au TIMESTAMP, lo TIMESTAMP_NTZ, "
        "d DECIMAL(9,2), f DECIMAL(10,3), u STRING, odd INT"
    )
    (found,) = lake.rows()
    assert found == {**row, "u": "12345678-1234-5678-1234-567812345678"}


@pytest.mark.thorough
def test_unions_enums_fixed_and_nested_types(lake: Lake) -> None:
    point = {
        "type": "record",
        "name": "P",
        "fields": [field("x", "int"), field("id", logical("string", "uuid"))],
    }
    fields = [
        field("color", {"type": "enum", "name": "C", "symbols": ["RED", "BLUE"]}),
        field("hash", {"type": "fixed", "name": "H", "size": 2}),
        field("n", ["null", "int", "long"]),
        field("v", ["float", "double"]),
        field("p", ["null", point]),
        field("q", {"type": "array", "items": "n.P"}),
        field("m", {"type": "map", "values": ["null", {"type": "map", "values": "n.P"}]}),
        field("z", "null"),
    ]
    one = uuid.UUID(int=1)
    spot = {"x": 1, "id": one}
    rows = [
        {
            **{"color": "BLUE", "hash": b"\x00\xff", "n": 2**40, "v": 0.5, "p": spot, "z": None},
            **{"q": [spot, spot], "m": {"a": {"b": spot}, "c": None}},
        },
        {
            **{"color": "RED", "hash": b"ab", "n": None, "v": 1.5, "p": None},
            "q": [],
            "m": {},
            "z": None,
        },
    ]
    write(lake, "x.avro", fields, rows)
    table = lake.load(copy=True, schema="z INT")
    shown = {"x": 1, "id": str(one)}
    assert lake.rows() == [
        {
            **{"z": None, "color": "BLUE", "hash": b"\x00\xff", "n": 2**40, "v": 0.5, "p": shown},
            **{"q": [shown, shown], "m": [("a", [("b", shown)]), ("c", None)]},
        },
        {
            **{"z": None, "color": "RED", "hash": b"ab", "n": None, "v": 1.5, "p": None},
            "q": [],
            "m": [],
        },
    ]
    assert "p STRUCT<x: INT, id: STRING>" in str(table.schema)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("type_", "reason"),
    [
        (["int", "string"], "it is a union of int, string"),
        ({"name": "D", "size": 12, **logical("fixed", "duration")}, "Avro's type duration"),
        (logical("bytes", "big-decimal"), "Avro's type big-decimal"),
        (logical("bytes", "decimal", precision=50, scale=2), "decimal of 50 digits"),
        (
            {"type": "record", "name": "L", "fields": [field("next", ["null", "n.L"])]},
            "the record n.L holds itself",
        ),
        ({"type": "array", "items": ["int", "string"]}, "it is a union of int, string"),
    ],
)
def test_what_no_column_holds_is_refused_by_name_and_can_be_left_out(
    lake: Lake, type_: Any, reason: str
) -> None:
    values = {"D": bytes(12), "L": {"next": None}}
    value = values.get(type_.get("name", "") if isinstance(type_, dict) else "")
    if value is None:
        value = [1] if isinstance(type_, dict) and type_["type"] == "array" else b"\x01"
    value = 1 if isinstance(type_, list) else value
    if isinstance(type_, dict) and type_.get("logicalType") == "decimal":
        value = Decimal("0.01")
    write(lake, "x.avro", [field("a", "int"), field("b", type_)], [{"a": 1, "b": value}])
    with pytest.raises(InvalidRequestError) as caught:
        lake.load(copy=True)
    assert "b" in str(caught.value)
    assert reason in str(caught.value)
    lake.load(copy=True, exclude=["b"])
    assert lake.rows() == [{"a": 1}]


@pytest.mark.nightly
def test_nanoseconds_are_refused_or_cut(lake: Lake) -> None:
    write(
        lake, "x.avro", [field("t", logical("long", "timestamp-nanos"))], [{"t": 1_000_000_123_456}]
    )
    with pytest.raises(InvalidRequestError):
        lake.load(copy=True)
    lake.load(copy=True, nanoseconds="truncate", kept="ignore")
    assert lake.rows()[0]["t"] == dt.datetime(1970, 1, 1, 0, 16, 40, 123, dt.UTC)


@pytest.mark.nightly
def test_files_that_are_not_whole_or_in_place_are_refused(lake: Lake) -> None:
    write(lake, "x.avro", [field("a", "int")], [{"a": n} for n in range(1000)])
    with pytest.raises(InvalidRequestError, match="is AVRO, which can't be read in place"):
        lake.load()
    whole = (lake.folder / "x.avro").read_bytes()
    for data in (whole[:20], whole[:-30], b"no Avro at all"):
        (lake.folder / "x.avro").write_bytes(data)
        with pytest.raises(InvalidRequestError, match="it is no whole Avro file"):
            lake.load("u", copy=True)
    schema = fastavro.parse_schema("int")
    with (lake.folder / "x.avro").open("wb") as out:
        fastavro.writer(out, schema, [1])
    with pytest.raises(InvalidRequestError, match="its rows are no records"):
        lake.load("v", copy=True)


@pytest.mark.nightly
def test_avro_beside_the_other_rules_of_imports(lake: Lake) -> None:
    write(
        lake,
        "day=2024-01-01/x.avro",
        [field("N", "int"), field("s", "string")],
        [{"N": 1, "s": "7"}],
    )
    write(lake, "day=2024-01-02/y.avro", [field("n", "long")], [{"n": 2}])
    lake.load(copy=True, schema="s INT DEFAULT 9", aliases={"n": "number"})
    assert lake.rows() == [
        {"s": 7, "number": 1, "day": dt.date(2024, 1, 1)},
        {"s": 9, "number": 2, "day": dt.date(2024, 1, 2)},
    ]
    write(lake, "day=2024-01-03/z.avro", [field("s", "string")], [{"s": "x"}])
    with pytest.raises(
        InvalidRequestError, match="column s holds a value that is no INT: 'x' in row 1"
    ):
        lake.load(copy=True)
    assert lake.catalog.load_table("t").scan().to_arrow().schema.field("s").type == pa.int32()
