"""Every type of Spark 4.3 as data: its values at the limits, and the cells of the matrix that refuse it.

The values of a kind ascend by Spark's order. ``refused`` maps a feature, or a path and a feature, to a
part of the error; ``"*"`` stands for every feature. What is not named must work.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

import pyarrow as pa

Path = Literal["arrow", "sql", "source"]
PATHS: tuple[Path, ...] = ("arrow", "sql", "source")
FEATURES = (
    *("rows", "filter", "statistics", "default", "widen", "array", "map", "map key", "struct"),
    *("key", "partition", "changes", "pin", "publish", "import"),
)


@dataclass(frozen=True)
class Value:
    """One value.

    Args:
        sql: its literal in Spark's SQL.
        python: the value in Arrow rows.
        shown: the text that ``Kind.show`` makes of it.
    """

    sql: str
    python: Any
    shown: str


@dataclass(frozen=True)
class Wider:
    """What a type widens to: the type, and the values in it as Python and Spark show them."""

    sql: str
    python: tuple[Any, ...]
    shown: tuple[str, ...]


@dataclass(frozen=True)
class Imported:
    """What an import makes of a file with the type, if it is another: the type, and its values."""

    sql: str
    values: tuple[Any, ...]
    show: str = "CAST({} AS STRING)"


@dataclass(frozen=True)
class Kind:
    """A type.

    Args:
        name: its name in the IDs of tests.
        group: types that the code treats alike; the short set has each group with each feature.
        sql: its name in SQL.
        values: its values, ascending; the least and the greatest are at its limits.
        arrow: the Arrow type of its rows.
        spark_only: whether only Spark compares its values: no metadata does.
        alike: another value that Spark takes for equal to the first one.
        ordered: whether its values are compared, so that filters, bounds, keys and partitions use them.
        wider: a type that it widens to.
        from_arrow, from_spark: what an import makes of a file that PyArrow or Spark wrote.
        published: the values as PyIceberg reads them, if they are others.
        show: the SQL expression that makes a text of a value.
        refused: see above; an empty text is a cell that works, though ``"*"`` is refused.
    """

    name: str
    group: str
    sql: str
    values: tuple[Value, ...]
    arrow: pa.DataType
    ordered: bool = True
    spark_only: bool = False
    alike: Value | None = None
    wider: Wider | None = None
    from_arrow: Imported | None = None
    from_spark: Imported | None = None
    published: tuple[Any, ...] | None = None
    show: str = "CAST({} AS STRING)"
    refused: Mapping[str, str] = field(default_factory=dict)

    def refusal(self, path: Path, feature: str) -> str | None:
        """The expected refusal of a cell, a part of the error; None if it must work."""
        wanted = (f"{path}: {feature}", feature, f"{path}: *", "*")
        return next((self.refused[key] or None for key in wanted if key in self.refused), None)

    @property
    def last(self) -> Value:
        """Its greatest value; of a type without values, one of another type."""
        return self.values[-1] if self.values else Value("1", 1, "1")

    @property
    def python(self) -> list[Any]:
        return [value.python for value in self.values]

    @property
    def shown(self) -> list[str]:
        return [value.shown for value in self.values]


def _numbers(type_: str, *texts: str) -> tuple[Value, ...]:
    return tuple(Value(f"CAST('{text}' AS {type_})", int(text), text) for text in texts)


def _texts(*texts: str) -> tuple[Value, ...]:
    return tuple(Value(f"'{text}'", text, text) for text in texts)


UTC = dt.UTC
SECOND = dt.timedelta(seconds=1)
NO_TYPE = "can't be stored; cast it to a type that can, such as string"
NO_WIDER = "only widenings that keep every value are allowed|NOT_SUPPORTED_CHANGE_COLUMN"
NOT_COMPARED = r"can't be compared|ORDERING_TYPE|DATATYPE_MISMATCH"
NO_KEY = "can't be in the row key as"
NO_PARTITION = "identity does not apply to"
NO_PYTHON = "the column x.* is INTERVAL YEAR TO MONTH, which Spark can't pass to or from Python"
NO_DEFAULT = "can't have a default|can't be a default|INVALID_DEFAULT_VALUE.DATA_TYPE"
NO_ICEBERG = "no Iceberg reader"

INTEGERS = tuple(
    Kind(name, "number", name, _numbers(name, str(low), "-1", "0", str(high)), arrow, wider=wider)
    for name, low, high, arrow, wider in (
        ("TINYINT", -128, 127, pa.int8(),
         Wider("SMALLINT", (-128, -1, 0, 127), ("-128", "-1", "0", "127"))),
        ("SMALLINT", -32768, 32767, pa.int16(),
         Wider("DECIMAL(10,0)", (Decimal(-32768), Decimal(-1), Decimal(0), Decimal(32767)),
               ("-32768", "-1", "0", "32767"))),
        ("INT", -(2**31), 2**31 - 1, pa.int32(),
         Wider("DOUBLE", (-2147483648.0, -1.0, 0.0, 2147483647.0),
               ("-2.147483648E9", "-1.0", "0.0", "2.147483647E9"))),
        ("BIGINT", -(2**63), 2**63 - 1, pa.int64(),
         Wider("DECIMAL(20,0)", (Decimal(-(2**63)), Decimal(-1), Decimal(0), Decimal(2**63 - 1)),
               ("-9223372036854775808", "-1", "0", "9223372036854775807"))),
    )
)  # fmt: skip

FLOATS = (
    Kind(
        "FLOAT",
        "float",
        "FLOAT",
        (
            Value("FLOAT('-Infinity')", -math.inf, "-Infinity"),
            Value("-1.5F", -1.5, "-1.5"),
            Value("FLOAT('1.17549435E-38')", 1.1754943508222875e-38, "1.17549435E-38"),
            Value("FLOAT('3.4028235E38')", 3.4028234663852886e38, "3.4028235E38"),
            Value("FLOAT('NaN')", math.nan, "NaN"),
        ),
        pa.float32(),
        wider=Wider(
            "DOUBLE",
            (-math.inf, -1.5, 1.1754943508222875e-38, 3.4028234663852886e38, math.nan),
            ("-Infinity", "-1.5", "1.1754943508222875E-38", "3.4028234663852886E38", "NaN"),
        ),
        refused={"key": NO_KEY, "partition": NO_PARTITION},
    ),
    Kind(
        "DOUBLE",
        "float",
        "DOUBLE",
        (
            Value("DOUBLE('-Infinity')", -math.inf, "-Infinity"),
            Value("-0.5D", -0.5, "-0.5"),
            Value("DOUBLE('4.9E-324')", 5e-324, "4.9E-324"),
            Value("DOUBLE('1.7976931348623157E308')", 1.7976931348623157e308, "1.7976931348623157E308"),
            Value("DOUBLE('NaN')", math.nan, "NaN"),
        ),
        pa.float64(),
        refused={
            "key": NO_KEY,
            "partition": NO_PARTITION,
            "widen": NO_WIDER,
        },
    ),
)  # fmt: skip

_NINES = "9" * 38
DECIMALS = (
    Kind(
        "DECIMAL(38,10)",
        "number",
        "DECIMAL(38,10)",
        tuple(
            Value(f"CAST('{text}' AS DECIMAL(38,10))", Decimal(text), text)
            for text in (
                f"-{_NINES[:28]}.{_NINES[:10]}",
                "-0.0000000001",
                "0.0000000001",
                f"{_NINES[:28]}.{_NINES[:10]}",
            )
        ),
        pa.decimal128(38, 10),
        refused={"widen": NO_WIDER},
    ),
    Kind(
        "DECIMAL(5,2)",
        "number",
        "DECIMAL(5,2)",
        (
            Value("CAST(-999.99 AS DECIMAL(5,2))", Decimal("-999.99"), "-999.99"),
            Value("CAST(0 AS DECIMAL(5,2))", Decimal("0.00"), "0.00"),
            Value("CAST(999.99 AS DECIMAL(5,2))", Decimal("999.99"), "999.99"),
        ),
        pa.decimal128(5, 2),
        wider=Wider(
            "DECIMAL(20,4)",
            (Decimal("-999.9900"), Decimal("0.0000"), Decimal("999.9900")),
            ("-999.9900", "0.0000", "999.9900"),
        ),
    ),
)

TEXTS = (
    Kind(
        "STRING",
        "text",
        "STRING",
        _texts("", "A", "a", "a ", "é", "\U0001f600"),
        pa.string(),
        refused={"widen": NO_WIDER},
    ),
    Kind(
        "CHAR(3)",
        "text",
        "CHAR(3)",
        (
            Value("'A  '", "A  ", "A  "),
            Value("'a  '", "a  ", "a  "),
            Value("'a b'", "a b", "a b"),
            Value("'ééé'", "ééé", "ééé"),
        ),
        pa.string(),
        wider=Wider("VARCHAR(5)", ("A  ", "a  ", "a b", "ééé"), ("A  ", "a  ", "a b", "ééé")),
        from_arrow=Imported("STRING", ("A  ", "a  ", "a b", "ééé")),
        from_spark=Imported("STRING", ("A  ", "a  ", "a b", "ééé")),
    ),
    Kind(
        "VARCHAR(3)",
        "text",
        "VARCHAR(3)",
        _texts("", "A", "a", "a ", "ééé"),
        pa.string(),
        wider=Wider("STRING", ("", "A", "a", "a ", "ééé"), ("", "A", "a", "a ", "ééé")),
        from_arrow=Imported("STRING", ("", "A", "a", "a ", "ééé")),
        from_spark=Imported("STRING", ("", "A", "a", "a ", "ééé")),
    ),
    Kind(
        "BINARY",
        "text",
        "BINARY",
        (Value("X''", b"", ""), Value("X'00'", b"\0", "00"), Value("X'FF00'", b"\xff\0", "FF00")),
        pa.binary(),
        show="hex({})",
        refused={"widen": NO_WIDER},
    ),
)

COLLATED = tuple(
    Kind(
        f"STRING COLLATE {name}",
        "collated",
        f"STRING COLLATE {name}",
        tuple(Value(f"'{text}' COLLATE {name}", text, text) for text in ("a", "B")),
        pa.string(),
        spark_only=True,
        alike=None if alike is None else Value(f"'{alike}' COLLATE {name}", alike, alike),
        from_arrow=Imported("STRING", ("a", "B")),
        from_spark=Imported("STRING", ("a", "B")),
        refused={
            "arrow: filter": "can't be compared outside Spark, which knows the collation",
            "widen": NO_WIDER,
            "key": NO_KEY,
            "partition": NO_PARTITION,
        },
    )
    for name, alike in (
        ("UTF8_LCASE", "A"),
        ("UNICODE", None),
        ("UNICODE_CI", "A"),
        ("de_CI_AI", "Ä"),
        ("UNICODE_RTRIM", "a "),
    )
)

DATES = (
    Kind(
        "BOOLEAN",
        "text",
        "BOOLEAN",
        (Value("FALSE", False, "false"), Value("TRUE", True, "true")),
        pa.bool_(),
        refused={"widen": NO_WIDER},
    ),
    Kind(
        "DATE",
        "time",
        "DATE",
        tuple(
            Value(f"DATE'{day}'", dt.date.fromisoformat(day), day)
            for day in ("0001-01-01", "1582-10-05", "1969-12-31", "2024-02-29", "9999-12-31")
        ),
        pa.date32(),
        wider=Wider(
            "TIMESTAMP_NTZ",
            tuple(
                dt.datetime.fromisoformat(day)
                for day in ("0001-01-01", "1582-10-05", "1969-12-31", "2024-02-29", "9999-12-31")
            ),
            tuple(
                f"{day} 00:00:00"
                for day in ("0001-01-01", "1582-10-05", "1969-12-31", "2024-02-29", "9999-12-31")
            ),
        ),
    ),
    Kind(
        "TIMESTAMP",
        "time",
        "TIMESTAMP",
        tuple(
            Value(f"TIMESTAMP'{text}Z'", dt.datetime.fromisoformat(f"{text}+00:00"), text)
            for text in (
                *("0001-01-01 00:00:00", "1969-12-31 23:59:59.999999", "2024-02-29 12:00:00.5"),
                "9999-12-31 23:59:59.999999",
            )
        ),
        pa.timestamp("us", "UTC"),
        refused={"widen": NO_WIDER},
    ),
    Kind(
        "TIMESTAMP_NTZ",
        "time",
        "TIMESTAMP_NTZ",
        tuple(
            Value(f"TIMESTAMP_NTZ'{text}'", dt.datetime.fromisoformat(text), text)
            for text in (
                *("0001-01-01 00:00:00", "1969-12-31 23:59:59.999999", "2024-02-29 12:00:00.5"),
                "9999-12-31 23:59:59.999999",
            )
        ),
        pa.timestamp("us"),
        refused={"widen": NO_WIDER},
    ),
    Kind(
        "TIME(6)",
        "time",
        "TIME(6)",
        (
            Value("TIME'00:00:00'", dt.time(), "00:00:00"),
            Value("TIME'12:30:00.5'", dt.time(12, 30, 0, 500_000), "12:30:00.5"),
            Value("TIME'23:59:59.999999'", dt.time(23, 59, 59, 999_999), "23:59:59.999999"),
        ),
        pa.time64("us"),
        refused={"widen": NO_WIDER},
    ),
    Kind(
        "TIME(0)",
        "time",
        "TIME(0)",
        (
            Value("CAST(TIME'00:00:00' AS TIME(0))", dt.time(), "00:00:00"),
            Value("CAST(TIME'23:59:59' AS TIME(0))", dt.time(23, 59, 59), "23:59:59"),
        ),
        pa.time64("us"),
        from_arrow=Imported("TIME(6)", (dt.time(), dt.time(23, 59, 59))),
        from_spark=Imported("TIME(6)", ("00:00:00", "23:59:59")),
        refused={"widen": NO_WIDER},
    ),
)

_DAYS = dt.timedelta(days=106751990, seconds=14454, microseconds=775807)
_MOST = 2**63 - 1 - 86_400_000_000
_MICROSECONDS = (-_MOST, -1_000_000, 93_784_500_000, _MOST)
INTERVALS = (
    Kind(
        "INTERVAL DAY TO SECOND",
        "time",
        "INTERVAL DAY TO SECOND",
        tuple(
            Value(f"INTERVAL '{text}' DAY TO SECOND", python, f"INTERVAL '{text}' DAY TO SECOND")
            for text, python in (
                ("-106751990 04:00:54.775807", -_DAYS),
                ("-0 00:00:01", -SECOND),
                ("1 02:03:04.5", dt.timedelta(days=1, seconds=7384, microseconds=500_000)),
                ("106751990 04:00:54.775807", _DAYS),
            )
        ),
        pa.duration("us"),
        published=_MICROSECONDS,
        from_spark=Imported("BIGINT", tuple(map(str, _MICROSECONDS))),
        refused={"widen": NO_WIDER},
    ),
    Kind(
        "INTERVAL HOUR",
        "time",
        "INTERVAL HOUR",
        (
            Value("INTERVAL '-1' HOUR", -3600 * SECOND, "INTERVAL '-01' HOUR"),
            Value("INTERVAL '25' HOUR", 25 * 3600 * SECOND, "INTERVAL '25' HOUR"),
        ),
        pa.duration("us"),
        published=(-3_600_000_000, 90_000_000_000),
        from_arrow=Imported("INTERVAL DAY TO SECOND", (-3600 * SECOND, 25 * 3600 * SECOND)),
        from_spark=Imported("BIGINT", ("-3600000000", "90000000000")),
        refused={"widen": NO_WIDER},
    ),
    Kind(
        "INTERVAL YEAR TO MONTH",
        "months",
        "INTERVAL YEAR TO MONTH",
        tuple(
            Value(f"INTERVAL '{text}' YEAR TO MONTH", months, f"INTERVAL '{text}' YEAR TO MONTH")
            for text, months in (
                *(("-178956970-8", -(2**31)), ("-0-1", -1)),
                *(("1-2", 14), ("178956970-7", 2**31 - 1)),
            )
        ),
        pa.int32(),
        from_arrow=Imported("INT", (-(2**31), -1, 14, 2**31 - 1)),
        from_spark=Imported("INT", ("-2147483648", "-1", "14", "2147483647")),
        refused={
            "widen": NO_WIDER,
            "sql: key": NO_PYTHON,
            "sql: changes": NO_PYTHON,
            **{f"source: {feature}": NO_PYTHON for feature in FEATURES if feature != "import"},
        },
    ),
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
            "map key": "INVALID_MAP_KEY_TYPE",
            "arrow: map key": "",
            "arrow: import": "",
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
            ("GEOGRAPHY", 4326, "st_geogfromwkb({})"),
        )
    ),
)  # fmt: skip

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
            "key": NO_KEY,
            "partition": NO_PARTITION,
            "map key": "null",
            "publish": NO_ICEBERG,
        },
    ),
)

KINDS = (*INTEGERS, *FLOATS, *DECIMALS, *TEXTS, *COLLATED, *DATES, *INTERVALS, *OPAQUE, *VOID)


def slug(name: str) -> str:
    """A name for IDs and tables."""
    return re.sub(r"\W+", "_", name).strip("_").lower()
