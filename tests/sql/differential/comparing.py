"""Results of queries in a form in which two of them can be compared."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.types import VariantVal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+)(?:\.[A-Z0-9_]+)*\]")
_SHOWN = 5


@dataclass(frozen=True)
class Result:
    """The columns and the multiset of rows of a result.

    Attributes:
        columns: names and types.
        rows: the number of occurrences of each row, as text.
    """

    columns: tuple[tuple[str, str], ...]
    rows: Counter[str]


@dataclass(frozen=True)
class Failure:
    """An error with its Spark error condition."""

    condition: str
    message: str


def collect_result(frame: DataFrame, *, exact: bool) -> Result:
    """Collect the result of a frame.

    Args:
        frame: the frame.
        exact: whether to distinguish -0.0 from 0.0.
    """
    columns = tuple((f.name, f.dataType.simpleString()) for f in frame.schema.fields)
    rows = Counter(repr(_form(tuple(row), exact)) for row in frame.collect())
    return Result(columns, rows)


def failure(error: Exception) -> Failure:
    """Describe an error of Spark, or of code that it runs."""
    found = _CONDITION.search(str(error))
    return Failure(found[1] if found else type(error).__name__, str(error)[:2000])


def difference(ours: Result | Failure, plain: Result | Failure) -> str | None:
    """Describe how two results differ; None if they are equal."""
    match ours, plain:
        case Failure(), Failure():
            if ours.condition == plain.condition:
                return None
            return f"ours fails with {ours.message}\n\nParquet with {plain.message}"
        case Failure(), Result():
            return f"only ours fails: {ours.message}"
        case Result(), Failure():
            return f"only Parquet fails: {plain.message}"
        case Result(), Result() if ours.columns != plain.columns:
            return f"columns: ours {ours.columns}, Parquet {plain.columns}"
        case Result(), Result() if ours.rows != plain.rows:
            extra, missing = ours.rows - plain.rows, plain.rows - ours.rows
            return (
                f"{extra.total()} rows only in ours, {missing.total()} only in Parquet, of "
                f"{plain.rows.total()}\n  only in ours: {list(extra)[:_SHOWN]}\n"
                f"  only in Parquet: {list(missing)[:_SHOWN]}"
            )
    return None


def _form(value: Any, exact: bool) -> Any:
    match value:
        case float():
            return "NaN" if math.isnan(value) else value if exact or value else 0.0
        case Row():
            return tuple((n, _form(v, exact)) for n, v in value.asDict().items())
        case dict():
            return sorted((repr(_form(k, exact)), _form(v, exact)) for k, v in value.items())
        case list() | tuple():
            return [_form(item, exact) for item in value]
        case bytearray():
            return bytes(value)
        case VariantVal():
            return value.toJson()
    return value
