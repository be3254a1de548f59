"""Numbers and texts."""

from __future__ import annotations

import math
from decimal import Decimal

import pyarrow as pa

from every_type.kind import (
    NO_KEY,
    NO_PARTITION,
    NO_WIDER,
    Imported,
    Kind,
    Refusal,
    Value,
    Wider,
    texts,
)


def _numbers(type_: str, *texts: str) -> tuple[Value, ...]:
    return tuple(Value(f"CAST('{text}' AS {type_})", int(text), text) for text in texts)


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


def _decimals(precision: int, scale: int, *values: str) -> Kind:
    type_ = f"DECIMAL({precision},{scale})"
    return Kind(
        type_,
        "number",
        type_,
        tuple(Value(f"CAST('{text}' AS {type_})", Decimal(text), text) for text in values),
        pa.decimal128(precision, scale),
        refused={"widen": NO_WIDER},
    )


_WHOLE = f"{_NINES[:28]}.{_NINES[:10]}"
DECIMALS = (
    _decimals(38, 10, f"-{_WHOLE}", "-0.0000000001", "0.0000000001", _WHOLE),
    _decimals(38, 38, f"-0.{_NINES}", "0." + "0" * 38, f"0.{'0' * 37}1", f"0.{_NINES}"),
    _decimals(38, 0, f"-{_NINES}", "-1", "0", _NINES),
    _decimals(18, 6, "-999999999999.999999", "0.000001", "999999999999.999999"),
    _decimals(1, 0, "-9", "0", "9"),
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

TOO_LONG = Refusal(
    "a value has 4 characters",
    r"alter\(\)\.change_type\('x', 'varchar\(4\)'\)",
    spark="EXCEED_LIMIT_LENGTH",
)
TEXTS = (
    Kind(
        "STRING",
        "text",
        "STRING",
        texts("", "A", "a", "a ", "é", "\U0001f600"),
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
        unfit=(Value("'abcd'", "abcd", ""), TOO_LONG),
    ),
    Kind(
        "VARCHAR(3)",
        "text",
        "VARCHAR(3)",
        texts("", "A", "a", "a ", "ééé"),
        pa.string(),
        wider=Wider("STRING", ("", "A", "a", "a ", "ééé"), ("", "A", "a", "a ", "ééé")),
        from_arrow=Imported("STRING", ("", "A", "a", "a ", "ééé")),
        from_spark=Imported("STRING", ("", "A", "a", "a ", "ééé")),
        unfit=(Value("'abcd'", "abcd", ""), TOO_LONG),
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
            "arrow: filter": Refusal(
                "can't be compared outside Spark, which knows the collation",
                "filter it in Spark's SQL",
            ),
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
