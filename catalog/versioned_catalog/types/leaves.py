"""One description of every leaf type: a type without columns inside.

Code that handles values matches on the family, and reads the rest here. What only one type needs
stays where it is needed, such as the padding of CHAR.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

DAY_TIME_UNITS = {
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
}
"""The units of day-time intervals, largest first, in microseconds."""


class Family(enum.Enum):
    """Leaf types whose values are stored, compared and written as text in the same way."""

    BOOLEAN = enum.auto()
    INTEGER = enum.auto()
    FLOAT = enum.auto()
    DECIMAL = enum.auto()
    TEXT = enum.auto()
    BINARY = enum.auto()
    TEMPORAL = enum.auto()
    """Stored as an integer: days for dates, microseconds for all others."""
    OPAQUE = enum.auto()
    """Groups of bytes that are neither compared nor given defaults."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf type, or all leaf types that differ in their parameters only.

    Args:
        name: the name in FORMAT.md, without parameters.
        family: how its values are stored and compared.
        noun: what an error calls a value of it.
        arrow: the Arrow type; None where it depends on the parameters (see ``to_arrow_type``).
        range: the smallest and the largest stored integer; None if it is not stored as one.
        sql: the name in SQL; the upper-case ``name`` if empty.
        aliases: other names that SQL accepts.
    """

    name: str
    family: Family
    noun: str
    arrow: Any = None
    range: tuple[int, int] | None = None
    sql: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def sql_name(self) -> str:
        """The name in SQL, without parameters."""
        return self.sql or self.name.upper()

    @property
    def sql_names(self) -> tuple[str, ...]:
        """All names that SQL accepts."""
        return (self.sql_name, *self.aliases)


def _signed(bits: int) -> tuple[int, int]:
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


# PySpark recognizes a variant in Arrow data by these names and this metadata.
_VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={b"variant": b"true"}),
    ]
)
_INTEGER, _TEMPORAL = "a whole number", Family.TEMPORAL
_DATE = "a date (a datetime has one by .date())"
_UTC = pa.timestamp("us", tz="UTC")
_LOCAL = ("TIMESTAMP_LTZ",)
_TIME_OF_DAY = (0, DAY_TIME_UNITS["day"] - 1)

_ALL = (
    Leaf("boolean", Family.BOOLEAN, "a boolean", pa.bool_()),
    Leaf("byte", Family.INTEGER, _INTEGER, pa.int8(), _signed(8), "TINYINT", ("BYTE",)),
    Leaf("short", Family.INTEGER, _INTEGER, pa.int16(), _signed(16), "SMALLINT", ("SHORT",)),
    Leaf("int", Family.INTEGER, _INTEGER, pa.int32(), _signed(32), aliases=("INTEGER",)),
    Leaf("long", Family.INTEGER, _INTEGER, pa.int64(), _signed(64), "BIGINT", ("LONG",)),
    Leaf("float", Family.FLOAT, "a number", pa.float32(), aliases=("REAL",)),
    Leaf("double", Family.FLOAT, "a number", pa.float64()),
    Leaf("decimal", Family.DECIMAL, "a number", aliases=("DEC", "NUMERIC")),
    Leaf("string", Family.TEXT, "a string", pa.string()),
    Leaf("char", Family.TEXT, "a string", pa.string(), aliases=("CHARACTER",)),
    Leaf("varchar", Family.TEXT, "a string", pa.string()),
    Leaf("binary", Family.BINARY, "bytes (X'0A' in SQL)", pa.binary()),
    Leaf("date", _TEMPORAL, _DATE, pa.date32(), _signed(32)),
    Leaf("timestamp", _TEMPORAL, "a timestamp", _UTC, _signed(64), aliases=_LOCAL),
    Leaf("timestamp_ntz", _TEMPORAL, "a timestamp", pa.timestamp("us"), _signed(64)),
    Leaf("time", _TEMPORAL, "a time of day", pa.time64("us"), _TIME_OF_DAY),
    Leaf("interval", _TEMPORAL, "an interval", pa.duration("us"), _signed(64)),
    Leaf("variant", Family.OPAQUE, "another value", _VARIANT),
    Leaf("geometry", Family.OPAQUE, "another value"),
    Leaf("geography", Family.OPAQUE, "another value"),
)
LEAVES = {leaf.name: leaf for leaf in _ALL}
"""Every leaf type by its name in FORMAT.md."""
