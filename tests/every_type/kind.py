"""What a case of the matrix of types is: a type, its values, and the cells that refuse it.

The values of a kind ascend by Spark's order. ``refused`` maps a feature, or a path and a feature, to the
refusal; ``"*"`` stands for every feature. What is not named must work.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

Path = Literal["arrow", "sql", "source"]
PATHS: tuple[Path, ...] = ("arrow", "sql", "source")
FEATURES = (
    *("rows", "filter", "statistics", "default", "widen", "array", "map", "map key", "struct"),
    *("key", "partition", "changes", "pin", "publish", "import", "in arrow", "checked"),
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
class Refusal:
    """The error of a cell that is refused, which also names the table and the column.

    Args:
        reason: why, a pattern.
        way_out: what to do instead, a pattern.
        spark: a pattern of the error by which Spark refuses the statement before it gets to us.
    """

    reason: str
    way_out: str
    spark: str | None = None


@dataclass(frozen=True)
class Kind:
    """A type.

    Args:
        name: its name in the IDs of tests.
        group: types that the code treats alike; the short set has each group with each feature.
        sql: its name in SQL.
        values: its values, ascending; the least and the greatest are at its limits.
        arrow: the Arrow type of its rows.
        logical: the logical type over it.
        in_arrow: the values in Arrow's type of a logical type, if that is another than ``arrow``.
        unfit: a value that is refused, and why.
        spark_only: whether only Spark compares its values: no metadata does.
        alike: another value that Spark takes for equal to the first one.
        ordered: whether its values are compared, so that filters, bounds, keys and partitions use them.
        wider: a type that it widens to.
        from_arrow, from_spark: what an import makes of a file that PyArrow or Spark wrote.
        published: the values as PyIceberg reads them, if they are others.
        show: the SQL expression that makes a text of a value.
        refused: see above; None is a cell that works, though ``"*"`` or the feature is refused.
    """

    name: str
    group: str
    sql: str
    values: tuple[Value, ...]
    arrow: pa.DataType
    logical: str | None = None
    in_arrow: pa.Array | None = None
    unfit: tuple[Value, Refusal] | None = None
    ordered: bool = True
    spark_only: bool = False
    alike: Value | None = None
    wider: Wider | None = None
    from_arrow: Imported | None = None
    from_spark: Imported | None = None
    published: tuple[Any, ...] | None = None
    show: str = "CAST({} AS STRING)"
    refused: Mapping[str, Refusal | None] = field(default_factory=dict)

    def refusal(self, path: Path, feature: str) -> Refusal | None:
        """The expected refusal of a cell; None if it must work."""
        wanted = (f"{path}: {feature}", feature, f"{path}: *", "*")
        return next((self.refused[key] for key in wanted if key in self.refused), None)

    def properties(self, column: str) -> dict[str, str]:
        """The properties of a table that give a column of the type its logical type."""
        return {} if self.logical is None else {f"logical_type.{column}": self.logical}

    @property
    def features(self) -> tuple[str, ...]:
        """The features that the matrix tries."""
        return FEATURES if self.unfit else FEATURES[:-1]

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


def texts(*values: str) -> tuple[Value, ...]:
    return tuple(Value(f"'{text}'", text, text) for text in values)


NO_WIDER = Refusal(
    "only widenings that keep every value are allowed",
    "add a column, copy the values and drop the old column",
    spark="NOT_SUPPORTED_CHANGE_COLUMN",
)
NOT_COMPARED = Refusal(
    "can't be compared", "filter it by 'is null'", spark="ORDERING_TYPE|DATATYPE_MISMATCH"
)
NO_KEY = Refusal(
    "can't be in the row key as", "use whole numbers, decimals, text, binary, dates or"
)
NO_PARTITION = Refusal("can't be partitioned by x: identity does not apply to", "it applies to")
NO_PYTHON = Refusal(
    "is INTERVAL (YEAR|MONTH).*, which Spark can't pass to or from Python",
    "read and write it in SQL, with the jar and spark.versioned.io = native",
)
NO_DEFAULT = Refusal(
    "can't have a default|can't be a default",
    "leave it out",
    spark="INVALID_DEFAULT_VALUE.DATA_TYPE",
)
NO_ICEBERG = Refusal("whose files no Iceberg reader understands", "store it in another type")


def slug(name: str) -> str:
    """A name for IDs and tables."""
    return re.sub(r"\W+", "_", name).strip("_").lower()
