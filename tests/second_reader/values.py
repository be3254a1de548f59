"""Random types, and random rows for any Arrow schema."""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Sequence
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

VARIANT = pa.struct(
    [pa.field("value", pa.binary(), False), pa.field("metadata", pa.binary(), False)]
)
SHAPE = pa.struct([pa.field("srid", pa.int32(), False), pa.field("wkb", pa.binary(), False)])
POINT = struct.pack("<BIdd", 1, 1, 4.0, 5.0)
LEAVES: dict[str, pa.DataType] = {
    **{"BOOLEAN": pa.bool_(), "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32()},
    **{"BIGINT": pa.int64(), "FLOAT": pa.float32(), "DOUBLE": pa.float64(), "STRING": pa.string()},
    **{"DECIMAL(5,2)": pa.decimal128(5, 2), "DECIMAL(38,10)": pa.decimal128(38, 10)},
    **{
        "CHAR(4)": pa.string(),
        "VARCHAR(4)": pa.string(),
        "BINARY": pa.binary(),
        "DATE": pa.date32(),
    },
    **{"TIMESTAMP": pa.timestamp("us", "UTC"), "TIMESTAMP_NTZ": pa.timestamp("us")},
    **{"TIME(6)": pa.time64("us"), "INTERVAL DAY TO SECOND": pa.duration("us")},
    **{"INTERVAL HOUR TO MINUTE": pa.duration("us"), "INTERVAL YEAR TO MONTH": pa.int32()},
    **{"STRING COLLATE UTF8_LCASE": pa.string(), "VOID": pa.null(), "VARIANT": VARIANT},
    "GEOMETRY(4326)": SHAPE,
}
WIDER = {
    **{"TINYINT": ["SMALLINT", "INT", "BIGINT", "DOUBLE", "DECIMAL(12,2)"]},
    **{
        "SMALLINT": ["INT", "BIGINT", "DOUBLE", "DECIMAL(10,0)"],
        "INT": ["BIGINT", "DOUBLE", "DECIMAL(12,2)"],
    },
    **{
        "BIGINT": ["DECIMAL(22,2)"],
        "FLOAT": ["DOUBLE"],
        "DECIMAL(5,2)": ["DECIMAL(7,3)", "DECIMAL(38,10)"],
    },
    **{"DATE": ["TIMESTAMP_NTZ"], "CHAR(4)": ["VARCHAR(4)", "VARCHAR(9)", "STRING"]},
    **{"VARCHAR(4)": ["VARCHAR(9)", "STRING"], "VARCHAR(9)": ["STRING"]},
    "VOID": ["INT", "STRING", "DECIMAL(5,2)", "VARIANT", "DATE"],
}
NARROWER = {
    **{"int16": ["TINYINT"], "int32": ["TINYINT", "SMALLINT"], "int64": ["TINYINT", "INT"]},
    **{"double": ["FLOAT", "INT", "TINYINT"], "decimal128(12, 2)": ["INT", "DECIMAL(5,2)"]},
    **{"decimal128(10, 0)": ["SMALLINT"], "decimal128(22, 2)": ["BIGINT"]},
    **{"decimal128(7, 3)": ["DECIMAL(5,2)"], "decimal128(38, 10)": ["DECIMAL(5,2)"]},
    **{"timestamp[us]": ["DATE"], "string": ["VARCHAR(4)", "VARCHAR(9)"]},
}
"""Narrower types by the Arrow types that they can come from, of which some are refused."""
DAYS = [dt.date(2024, 2, 29), dt.date(2026, 11, 1), dt.date(1, 1, 1), dt.date(1969, 12, 31)]
TIMES = [
    *(dt.datetime(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 0, 0, 1), dt.datetime(1900, 1, 1, 1)),
    *(dt.datetime(2026, 11, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)),
]
TEXTS = ["", "a", "b", "it's", "中文", "a b", "\t"]


def some_type(rng: Random, depth: int = 0) -> tuple[str, pa.DataType]:
    """A type in SQL and in Arrow, nested up to three deep."""
    if depth == 3 or rng.random() < 0.7:
        return rng.choice(list(LEAVES.items()))
    sql, arrow = some_type(rng, depth + 1)
    match rng.randrange(3):
        case 0:
            fields = {
                name: some_type(rng, depth + 1) for name in rng.sample("abcd", rng.randint(1, 3))
            }
            inner = ", ".join(f"{name}: {of}" for name, (of, _) in fields.items())
            return f"STRUCT<{inner}>", pa.struct([(name, of) for name, (_, of) in fields.items()])
        case 1:
            return f"ARRAY<{sql}>", pa.list_(arrow)
        case _:
            key = rng.choice(["STRING", "INT", "TINYINT"])
            return f"MAP<{key}, {sql}>", pa.map_(LEAVES[key], arrow)


def value(rng: Random, kind: pa.DataType) -> Any:
    """A value, often one that others have, of an Arrow type as tables show it."""
    if pa.types.is_null(kind):
        return None
    if kind == VARIANT:  # a small integer
        return {"value": bytes([0x0C, rng.randrange(9)]), "metadata": b"\x01\x00\x00"}
    if kind == SHAPE:
        return {"srid": 4326, "wkb": POINT}
    if pa.types.is_struct(kind):
        return {field.name: maybe(rng, field) for field in kind}
    if pa.types.is_map(kind):
        keys = {value(rng, kind.key_type) for _ in range(rng.randrange(3))}
        return [(key, maybe(rng, kind.item_field)) for key in sorted(keys)]
    if pa.types.is_list(kind):
        return [maybe(rng, kind.value_field) for _ in range(rng.randrange(3))]
    if pa.types.is_boolean(kind):
        return rng.random() < 0.5
    if pa.types.is_integer(kind):
        most = 2 ** (kind.bit_width - 1) - 1
        return rng.choice([*range(6), -1, most, -most - 1, rng.randint(-most, most)])
    if pa.types.is_floating(kind):
        return rng.choice(
            [0.0, -0.0, 0.5, 3.0, float("nan"), float("inf"), 1e30 if kind.bit_width == 64 else 2.0]
        )
    if pa.types.is_decimal(kind):
        most = 10 ** min(kind.precision, 18) - 1
        return Decimal(rng.choice([0, 1, -1, most, rng.randint(-most, most)])).scaleb(-kind.scale)
    if pa.types.is_string(kind):
        return rng.choice(TEXTS)
    if pa.types.is_binary(kind):
        return rng.choice([b"", b"\x00", b"ab", b"\xff\xfe"])
    if pa.types.is_date(kind):
        return rng.choice(DAYS)
    if pa.types.is_timestamp(kind):
        time = rng.choice(TIMES)
        return time.replace(tzinfo=dt.UTC) if kind.tz else time
    if pa.types.is_time(kind):
        return dt.time(rng.randrange(24), 0, 1, rng.choice([0, 999999]))
    if pa.types.is_duration(kind):
        return dt.timedelta(minutes=rng.randrange(-5, 5))
    raise AssertionError(kind)


def small_value(rng: Random, kind: pa.DataType) -> Any:
    """A value that fits most narrower types."""
    number = rng.randrange(1, 5)
    if pa.types.is_timestamp(kind):
        return dt.datetime(2024, 2, number)
    if pa.types.is_decimal(kind):
        return Decimal(number)
    return str(number) if pa.types.is_string(kind) else number


def maybe(rng: Random, field: pa.Field) -> Any:
    return None if field.nullable and rng.random() < 0.2 else value(rng, field.type)


def rows(rng: Random, schema: pa.Schema, count: int, keys: Sequence[str] = ()) -> pa.Table:
    """Random rows; the columns ``keys`` have few values."""
    columns = []
    for field in schema:
        source = Random(rng.choice("abcd") + field.name) if field.name in keys else None
        columns.append(
            pa.array(
                [value(Random(f"{field.name}{rng.randrange(4)}"), field.type) for _ in range(count)]
                if source
                else [maybe(rng, field) for _ in range(count)],
                field.type,
            )
        )
    return pa.Table.from_arrays(columns, schema=schema)
