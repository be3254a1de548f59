"""Logical types over their bases: their values, how Arrow's own types hold them, and what is refused."""

from __future__ import annotations

import datetime as dt
import math
import re
import uuid
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from every_type.kind import (
    NO_KEY,
    NO_PARTITION,
    NO_WIDER,
    Kind,
    Refusal,
    Value,
    Wider,
    texts,
)

UUIDS = (
    "00000000-0000-0000-0000-000000000000",
    "0188a5eb-7c1e-7d3f-9f2a-3b1c5d7e9f00",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
)
IDS = [uuid.UUID(text) for text in UUIDS]


def _unfit(sql: str, python: Any, needed: str) -> tuple[Value, Refusal]:
    return Value(sql, python, ""), Refusal(
        f"holds another value.* it must be {needed}", "leave out such"
    )


def _not_base(name: str, base: str) -> Refusal:
    """The refusal of a type that no value of the logical type is of."""
    return Refusal(
        f"can't be {name} and .*: {name} needs {base}", r"drop the logical type first \(alter"
    )


def _bytes(*values: bytes) -> tuple[Value, ...]:
    return tuple(Value(f"X'{value.hex()}'", value, value.hex().upper()) for value in values)


def _uuids(of: list[uuid.UUID]) -> pa.Array:
    storage = pa.array([each.bytes for each in of], pa.binary(16))
    return pa.ExtensionArray.from_storage(pa.uuid(), storage)


def _logical(
    name: str, base: str, arrow: pa.DataType, values: tuple[Value, ...], **more: Any
) -> Kind:
    no_key = Refusal(
        f"can't be {re.escape(name)}, since it is in the key of a map", "store a list of"
    )
    refused = {"widen": NO_WIDER, "map key": no_key, **more.pop("refused", {})}
    if arrow == pa.binary():
        more.setdefault("show", "hex({})")
    return Kind(
        *(f"{name} over {base.partition('<')[0]}", "logical", base, values, arrow),
        logical=name,
        refused=refused,
        **more,
    )


def _numbers(
    name: str, base: str, arrow: pa.DataType, greatest: int, own: pa.DataType, **more: Any
) -> Kind:
    """Numbers from 0 on."""
    make = Decimal if pa.types.is_decimal(arrow) else int
    values = tuple(
        Value(f"CAST({number} AS {base})", make(number), str(number)) for number in (0, 1, greatest)
    )
    unfit = _unfit(f"CAST(-1 AS {base})", make(-1), f"a number from 0 to {greatest}")
    return _logical(
        name, base, arrow, values, in_arrow=pa.array([0, 1, greatest], own), unfit=unfit, **more
    )


def _wider(sql: str, *numbers: int) -> dict[str, Any]:
    return {"wider": Wider(sql, numbers, tuple(map(str, numbers))), "refused": {"widen": None}}


NUMBERS = (
    _numbers(
        *("UINT8", "SMALLINT", pa.int16(), 255, pa.uint8()), **_wider("BIGINT", 0, 1, 255)
    ),
    _numbers(
        *("UINT16", "INT", pa.int32(), 65_535, pa.uint16()), **_wider("BIGINT", 0, 1, 65_535)
    ),
    _numbers(
        *("UINT32", "BIGINT", pa.int64(), 2**32 - 1, pa.uint32()),
        wider=Wider("DECIMAL(20,0)", (), ()),
        refused={"widen": _not_base("UINT32", "BIGINT")},
    ),
    _numbers(
        *("UINT64", "DECIMAL(20,0)", pa.decimal128(20, 0), 2**64 - 1, pa.uint64()),
        wider=Wider("DECIMAL(22,0)", (), ()),
        refused={"widen": _not_base("UINT64", r"DECIMAL\(20,0\)")},
    ),
    _numbers(
        *("OID", "BIGINT", pa.int64(), 2**32 - 1, pa.uint32()),
        wider=Wider("DECIMAL(20,0)", (), ()),
        refused={"widen": _not_base("OID", "BIGINT")},
    ),
    _logical(
        "ENUM('low', NULL, 'it\\'s', 'high')",
        "TINYINT",
        pa.int8(),
        tuple(Value(f"{at}Y", at, str(at)) for at in (1, 3, 4)),
        in_arrow=pa.DictionaryArray.from_arrays(
            pa.array([0, 2, 3], pa.int32()), ["low", None, "it's", "high"], ordered=True
        ),
        unfit=_unfit("2Y", 2, "the ordinal of a label, from 1 to 4"),
        **_wider("INT", 1, 3, 4),
    ),
    _logical(
        "FLOAT16",
        "FLOAT",
        pa.float32(),
        (
            Value("FLOAT('-Infinity')", -math.inf, "-Infinity"),
            Value("-1.5F", -1.5, "-1.5"),
            Value("FLOAT('5.9604645E-8')", 2.0**-24, "5.9604645E-8"),
            Value("65504F", 65504.0, "65504.0"),
            Value("FLOAT('NaN')", math.nan, "NaN"),
        ),
        in_arrow=pa.array([-math.inf, -1.5, 2.0**-24, 65504.0, math.nan], pa.float16()),
        unfit=_unfit("0.1F", 0.1, "a number that 16 bits hold exactly"),
        wider=Wider("DOUBLE", (), ()),
        refused={
            "widen": _not_base("FLOAT16", "FLOAT"), "key": NO_KEY, "partition": NO_PARTITION
        },
    ),
)  # fmt: skip

BYTES = (
    _logical(
        "UUID",
        "STRING",
        pa.string(),
        texts(*UUIDS),
        in_arrow=_uuids(IDS),
        unfit=_unfit(f"'{UUIDS[1].upper()}'", UUIDS[1].upper(), "32 hexadecimal digits in lower case"),
    ),
    _logical(
        "UUID",
        "BINARY",
        pa.binary(),
        _bytes(*(each.bytes for each in IDS)),
        in_arrow=_uuids(IDS),
        unfit=_unfit("X'00'", b"\0", "16 bytes"),
    ),
    _logical(
        "JSON",
        "STRING",
        pa.string(),
        texts('"a"', "[1, 2.5e3]", "null", "{}"),
        in_arrow=pa.ExtensionArray.from_storage(
            pa.json_(), pa.array(['"a"', "[1, 2.5e3]", "null", "{}"])
        ),
        unfit=_unfit("'{'", "{", "one JSON text"),
    ),
    _logical(
        "FIXED(2)",
        "BINARY",
        pa.binary(),
        _bytes(b"\0\0", b"ab", b"\xff\xff"),
        in_arrow=pa.array([b"\0\0", b"ab", b"\xff\xff"], pa.binary(2)),
        unfit=_unfit("X'00'", b"\0", "2 bytes"),
    ),
    _logical(
        "BITMASK(12)",
        "BINARY",
        pa.binary(),
        _bytes(b"\0\0", b"\1\0", b"\xff\x0f"),
        in_arrow=pa.array([b"\0\0", b"\1\0", b"\xff\x0f"], pa.binary(2)),
        unfit=_unfit("X'0010'", b"\0\x10", "2 bytes, in which bits after the first 12 are 0"),
    ),
    _logical(
        "IP",
        "BINARY",
        pa.binary(),
        _bytes(bytes(16), bytes(10) + b"\xff\xff\xc0\0\2\1", b"\xff" * 16),
        in_arrow=pa.array(
            [bytes(16), bytes(10) + b"\xff\xff\xc0\0\2\1", b"\xff" * 16], pa.binary(16)
        ),
        unfit=_unfit("X'C0000201'", b"\xc0\0\2\1", "16 bytes"),
    ),
)  # fmt: skip

NO_STRUCT = {
    "arrow: filter": Refusal(
        "can't be compared with a dict", "filter it by 'is null' or 'is not null'"
    ),
    "key": NO_KEY,
    "partition": NO_PARTITION,
    "widen": Refusal(
        "is a STRUCT, which can't be changed as a whole",
        "change a column inside it by its path",
        spark="NOT_SUPPORTED_CHANGE_COLUMN|CANNOT_UPDATE_FIELD",
    ),
}


def _struct(
    name: str,
    fields: Mapping[str, str],
    arrow: pa.DataType,
    *rows: tuple[str, Any, str],
    **more: Any,
) -> Kind:
    """A logical type over a struct, of which each row is its fields in SQL, in Python, and as shown."""
    base = f"STRUCT<{', '.join(f'{field}: {type_}' for field, type_ in fields.items())}>"
    names = [f"'{field}'" for field in fields]
    values = tuple(
        Value(f"named_struct({_joined(names, sql)})", dict(zip(fields, python, strict=True)), shown)
        for sql, python, shown in rows
    )
    *fine, unfit = values
    needed = more.pop("needed")
    return _logical(
        name,
        base,
        arrow,
        tuple(fine),
        spark_only=True,
        unfit=(unfit, _unfit("", None, needed)[1]),
        refused={**NO_STRUCT, **more.pop("refused", {})},
        **more,
    )


def _joined(names: list[str], sql: str) -> str:
    return ", ".join(part for pair in zip(names, sql.split("; "), strict=True) for part in pair)


_INT_RANGE = pa.struct(
    [("lower", pa.int32()), ("upper", pa.int32())]
    + [(name, pa.bool_()) for name in ("lower_inclusive", "upper_inclusive", "empty")]
)
STRUCTS = (
    _struct(
        "INTERVAL",
        {"months": "INT", "days": "INT", "microseconds": "BIGINT"},
        pa.struct([("months", pa.int32()), ("days", pa.int32()), ("microseconds", pa.int64())]),
        ("-1; 40; 0L", (-1, 40, 0), "{-1, 40, 0}"),
        ("0; 0; 0L", (0, 0, 0), "{0, 0, 0}"),
        ("1; -2; 3L", (1, -2, 3), "{1, -2, 3}"),
        ("NULL; -2; 3L", (None, -2, 3), ""),
        in_arrow=pa.array(
            [pa.MonthDayNano(each) for each in ((-1, 40, 0), (0, 0, 0), (1, -2, 3000))],
            pa.month_day_nano_interval(),
        ),
        needed="months, days and microseconds, none of them null",
    ),
    _struct(
        "NUMERIC",
        {"approximate": "DOUBLE", "exact": "STRING"},
        pa.struct([("approximate", pa.float64()), ("exact", pa.string())]),
        ("-0.5D; '-0.5'", (-0.5, "-0.5"), "{-0.5, -0.5}"),
        ("0D; '0'", (0.0, "0"), "{0.0, 0}"),
        (
            f"1.8446744073709552E19D; '{2**64 + 1}'",
            (float(2**64), str(2**64 + 1)),
            f"{{1.8446744073709552E19, {2**64 + 1}}}",
        ),
        ("1D; '1.0'", (1.0, "1.0"), ""),
        needed="digits without leading zeros",
    ),
    _struct(
        "RANGE",
        {
            **dict.fromkeys(("lower", "upper"), "INT"),
            **dict.fromkeys(("lower_inclusive", "upper_inclusive", "empty"), "BOOLEAN"),
        },
        _INT_RANGE,
        (
            *("NULL; NULL; false; false; true", (None, None, False, False, True)),
            "{null, null, false, false, true}",
        ),
        (
            *("NULL; 3; false; false; false", (None, 3, False, False, False)),
            "{null, 3, false, false, false}",
        ),
        ("-1; 3; true; false; false", (-1, 3, True, False, False), "{-1, 3, true, false, false}"),
        ("3; 3; true; false; false", (3, 3, True, False, False), ""),
        needed="empty and without bounds, or a lower bound below the upper one",
    ),
    _struct(
        "NDARRAY",
        {"lower_bounds": "ARRAY<INT>", "lengths": "ARRAY<INT>", "elements": "ARRAY<DATE>"},
        pa.struct(
            [
                *((name, pa.list_(pa.int32())) for name in ("lower_bounds", "lengths")),
                ("elements", pa.list_(pa.date32())),
            ]
        ),
        ("array(); array(); array()", ([], [], []), "{[], [], []}"),
        (
            "array(1, 0); array(1, 2); array(DATE'2024-02-29', NULL)",
            ([1, 0], [1, 2], [dt.date(2024, 2, 29), None]),
            "{[1, 0], [1, 2], [2024-02-29, null]}",
        ),
        ("array(1); array(2); array(NULL)", ([1], [2], [None]), ""),
        needed="a lower bound and a length for each of at most 32 dimensions",
    ),
)  # fmt: skip

LOGICAL = (*NUMBERS, *BYTES, *STRUCTS)
