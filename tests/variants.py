"""A model of VARIANT, written from the Parquet format alone: values and groups as Python has them."""

from __future__ import annotations

import datetime as dt
import decimal
import random
import struct
import uuid
from typing import Any

import pyarrow as pa

EPOCH, UTC_EPOCH = dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MISSING = object()


def decode(metadata: bytes, value: bytes) -> Any:
    """A variant as Python has it."""
    assert metadata[0] & 15 == 1
    width = (metadata[0] >> 6) + 1

    def number(data: bytes, at: int, size: int) -> int:
        assert at + size <= len(data)
        return int.from_bytes(data[at : at + size], "little")

    count = number(metadata, 1, width)
    ends = [number(metadata, 1 + width * (1 + n), width) for n in range(count + 1)]
    text = metadata[1 + width * (count + 2) :]
    assert ends[0] == 0
    assert ends[-1] == len(text)
    names = [text[ends[n] : ends[n + 1]].decode() for n in range(count)]

    def read(at: int) -> tuple[Any, int]:
        """A value, and where it ends."""
        kind, header = value[at] & 3, value[at] >> 2
        match kind:
            case 0:
                return scalar(at, header)
            case 1:
                end = at + 1 + header
                return value[at + 1 : end].decode(), end
            case 2:
                large, id_size, size = header >> 4 & 1, (header >> 2 & 3) + 1, (header & 3) + 1
            case _:
                large, id_size, size = header >> 2 & 1, 0, (header & 3) + 1
        fields = number(value, at + 1, 4 if large else 1)
        ids = at + (5 if large else 2)
        offsets = ids + fields * id_size
        data = offsets + (fields + 1) * size
        parts = [read(data + number(value, offsets + n * size, size)) for n in range(fields)]
        end = data + number(value, offsets + fields * size, size)
        assert max((stop for _, stop in parts), default=end) == end
        if kind == 3:
            return [part for part, _ in parts], end
        keys = [names[number(value, ids + n * id_size, id_size)] for n in range(fields)]
        assert [key.encode() for key in keys] == sorted({key.encode() for key in keys})
        return dict(zip(keys, (part for part, _ in parts), strict=True)), end

    def scalar(at: int, header: int) -> tuple[Any, int]:
        at += 1
        if header < 3:
            return (None, True, False)[header], at
        if header in (8, 9, 10):
            end = at + 1 + 4 * 2 ** (header - 8)
            unscaled = int.from_bytes(value[at + 1 : end], "little", signed=True)
            return scaled(unscaled, value[at]), end
        if header in (15, 16):
            end = at + 4 + number(value, at, 4)
            raw = value[at + 4 : end]
            return raw.decode() if header == 16 else raw, end
        if header == 20:
            return uuid.UUID(bytes=value[at : at + 16]), at + 16
        layouts = {3: "b", 4: "h", 5: "i", 6: "q", 7: "d", 11: "i", 14: "f"}
        layout = layouts.get(header, "q")
        end = at + struct.calcsize(layout)
        (found,) = struct.unpack(f"<{layout}", value[at:end])
        match header:
            case 11:
                return EPOCH.date() + dt.timedelta(found), end
            case 12:
                return UTC_EPOCH + dt.timedelta(microseconds=found), end
            case 13:
                return EPOCH + dt.timedelta(microseconds=found), end
            case 17 | 18 | 19:
                return ({17: "time", 18: "utc ns", 19: "ns"}[header], found), end
            case _:
                return found, end

    found, end = read(0)
    assert end == len(value)
    return found


def scaled(unscaled: int, scale: int) -> decimal.Decimal:
    digits = tuple(map(int, str(abs(unscaled))))
    return decimal.Decimal((int(unscaled < 0), digits, -scale))


def dictionary(names: list[str]) -> bytes:
    """The metadata of some names, with numbers of four bytes."""
    encoded = [name.encode() for name in names]
    ends = [sum(map(len, encoded[:n])) for n in range(len(encoded) + 1)]
    numbers = struct.pack(f"<{len(ends) + 1}I", len(encoded), *ends)
    return b"\xc1" + numbers + b"".join(encoded)


def encode(value: Any, names: list[str]) -> bytes:
    """A value, with numbers of four bytes and as few types as possible."""
    match value:
        case None | True | False:
            return bytes([{None: 0, True: 1, False: 2}[value] << 2])
        case int():
            return struct.pack("<Bq", 6 << 2, value)
        case float():
            return struct.pack("<Bd", 7 << 2, value)
        case str():
            return struct.pack("<BI", 16 << 2, len(value.encode())) + value.encode()
        case list():
            parts = [encode(part, names) for part in value]
            return struct.pack("<BI", 3 | 7 << 2, len(parts)) + _ends(parts) + b"".join(parts)
        case _:
            keys = sorted(value, key=str.encode)
            parts = [encode(value[key], names) for key in keys]
            ids = struct.pack(f"<{len(keys)}I", *map(names.index, keys))
            return struct.pack("<BI", 2 | 31 << 2, len(keys)) + ids + _ends(parts) + b"".join(parts)


def _ends(parts: list[bytes]) -> bytes:
    ends = [sum(map(len, parts[:n])) for n in range(len(parts) + 1)]
    return struct.pack(f"<{len(ends)}I", *ends)


def names_in(value: Any) -> set[str]:
    match value:
        case dict():
            return set(value).union(*map(names_in, value.values()))
        case list():
            return set().union(*map(names_in, value))
        case _:
            return set()


Plan = str | dict[str, Any] | list[Any] | None
"""How a variant is shredded: a scalar type, fields, elements, or not."""

SCALARS: dict[str, tuple[type, pa.DataType]] = {
    "long": (int, pa.int64()),
    "double": (float, pa.float64()),
    "string": (str, pa.string()),
    "boolean": (bool, pa.bool_()),
}


def group_type(plan: Plan) -> pa.DataType:
    """The type of a group without metadata."""
    fields = [pa.field("value", pa.binary())]
    match plan:
        case str():
            fields.append(pa.field("typed_value", SCALARS[plan][1]))
        case dict():
            inner = [pa.field(key, group_type(part), nullable=False) for key, part in plan.items()]
            fields.append(pa.field("typed_value", pa.struct(inner)))
        case [part]:
            element = pa.field("element", group_type(part), nullable=False)
            fields.append(pa.field("typed_value", pa.list_(element)))
    return pa.struct(fields)


def shredded(value: Any, plan: Plan, names: list[str]) -> dict[str, Any]:
    """A value in a group."""
    if value is MISSING:
        return {}
    match plan:
        case str() if type(value) is SCALARS[plan][0]:
            return {"typed_value": value}
        case dict() if isinstance(value, dict):
            inner = {
                key: shredded(value.get(key, MISSING), part, names) for key, part in plan.items()
            }
            left = {key: part for key, part in value.items() if key not in plan}
            return {"typed_value": inner} | ({"value": encode(left, names)} if left else {})
        case [part] if isinstance(value, list):
            return {"typed_value": [shredded(one, part, names) for one in value]}
        case _:
            return {"value": encode(value, names)}


def group_of(values: list[Any], plan: Plan) -> pa.StructArray:
    """A shredded column of some values; ``MISSING`` is a null."""
    rows: list[dict[str, Any] | None] = []
    for value in values:
        names = sorted(names_in(value), reverse=True)
        found = shredded(value, plan, names) | {"metadata": dictionary(names)}
        rows.append(None if value is MISSING else found)
    metadata = pa.field("metadata", pa.binary(), nullable=False)
    return pa.array(rows, pa.struct([*group_type(plan), metadata]))


NAMES = ["a", "b", "c", "é", "long name", ""]


def random_value(draw: random.Random, depth: int = 3) -> Any:
    """A value as JSON has them."""
    kind = draw.randrange(8 if depth else 6)
    match kind:
        case 0:
            return None
        case 1:
            return draw.choice((True, False))
        case 2:
            return draw.choice((0, 1, -1, 127, -129, 2**31, -(2**63), draw.randrange(10**6)))
        case 3:
            return draw.choice((0.5, -1e300, 1.25))
        case 4 | 5:
            return draw.choice(("", "x", "é" * 40, "y" * 63, "z" * 64))
        case 6:
            return [random_value(draw, depth - 1) for _ in range(draw.choice((0, 1, 2, 5)))]
        case _:
            keys = draw.sample(NAMES, draw.randrange(len(NAMES)))
            return {key: random_value(draw, depth - 1) for key in keys}


def random_plan(draw: random.Random, depth: int = 3) -> Plan:
    """A way of shredding."""
    kind = draw.randrange(4 if depth else 2)
    if kind == 0:
        return None
    if kind == 1:
        return draw.choice(list(SCALARS))
    if kind == 2:
        return [random_plan(draw, depth - 1)]
    keys = draw.sample(NAMES, draw.randrange(1, 4))
    return {key: random_plan(draw, depth - 1) for key in keys}
