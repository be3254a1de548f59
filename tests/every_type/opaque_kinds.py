"""Values that nothing compares: variants, shapes, and no values at all."""

from __future__ import annotations

import pyarrow as pa

from every_type.kind import (
    NO_DEFAULT,
    NO_ICEBERG,
    NO_KEY,
    NO_PARTITION,
    NO_WIDER,
    NOT_COMPARED,
    Imported,
    Kind,
    Refusal,
    Value,
    Wider,
)

_META, _PAIR = b"\x01\x01\x00\x01a", b"\x02\x01\x00\x00\x02\x0c\x01"
_VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={b"variant": b"true"}),
    ]
)


WKB = "0101000000000000000000F03F0000000000000040"


def _shape(name: str, srid: int) -> pa.DataType:
    mark = {b"srid": str(srid).encode(), name.encode(): b"true"}
    return pa.struct(
        [
            pa.field("srid", pa.int32(), nullable=False),
            pa.field("wkb", pa.binary(), nullable=False, metadata=mark),
        ]
    )


def _shapes(make: str, srid: int) -> tuple[Value, ...]:
    return (Value(make.format(f"X'{WKB}'"), {"srid": srid, "wkb": bytes.fromhex(WKB)}, WKB),)


_OPAQUE = {
    "filter": NOT_COMPARED,
    "default": NO_DEFAULT,
    "key": NO_KEY,
    "partition": NO_PARTITION,
    "widen": NO_WIDER,
    "publish": NO_ICEBERG,
}
OPAQUE = (
    Kind(
        "VARIANT",
        "opaque",
        "VARIANT",
        (
            Value("parse_json('{\"a\":1}')", {"value": _PAIR, "metadata": _META}, '{"a":1}'),
            Value(
                "parse_json('null')", {"value": b"\0", "metadata": b"\x01\x00\x00"}, "null"
            ),
        ),
        _VARIANT,
        ordered=False,
        from_arrow=Imported(
            "STRUCT<value: BINARY, metadata: BINARY>",
            ({"value": _PAIR, "metadata": _META}, {"value": b"\0", "metadata": b"\x01\x00\x00"}),
        ),
        show="to_json({})",
        refused={
            **_OPAQUE,
            "sql: map key": Refusal("nothing of ours", "", spark="INVALID_MAP_KEY_TYPE"),
            "source: map key": Refusal("nothing of ours", "", spark="INVALID_MAP_KEY_TYPE"),
        },
    ),
    *(
        Kind(
            f"{name}({srid})",
            "opaque",
            f"{name}({srid})",
            _shapes(make, srid),
            _shape(name.lower(), srid),
            ordered=False,
            from_arrow=Imported(
                "STRUCT<srid: INT, wkb: BINARY>", ({"srid": srid, "wkb": bytes.fromhex(WKB)},)
            ),
            from_spark=Imported("BINARY", (WKB,), "hex({})"),
            show="hex(st_asbinary({}))",
            refused=_OPAQUE,
        )
        for name, srid, make in (
            ("GEOMETRY", 0, "st_geomfromwkb({})"),
            ("GEOMETRY", 4326, "st_setsrid(st_geomfromwkb({}), 4326)"),
            ("GEOMETRY", 3857, "st_setsrid(st_geomfromwkb({}), 3857)"),
            ("GEOGRAPHY", 4326, "st_geogfromwkb({})"),
        )
    ),
)  # fmt: skip

NO_VOID_KEY = Refusal(
    "can't be VOID, which holds nulls only, since it is NOT NULL", "give the column a type"
)
NO_VOID_MAP_KEY = Refusal(
    "can't be VOID, which holds nulls only, since keys of maps are not null", "CAST the map"
)
VOID = (
    Kind(
        "VOID",
        "void",
        "VOID",
        (),
        pa.null(),
        ordered=False,
        wider=Wider("INT", (), ()),
        from_arrow=Imported("STRING", (None,)),
        from_spark=Imported("STRING", (None,)),
        refused={
            "default": NO_DEFAULT,
            "key": NO_VOID_KEY,
            "partition": NO_PARTITION,
            "map key": NO_VOID_MAP_KEY,
            "publish": NO_ICEBERG,
        },
    ),
)
