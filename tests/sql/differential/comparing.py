"""What a query answered, in a form that two answers are compared in."""

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
class Answer:
    """Rows, as a multiset, and the columns that they have.

    Attributes:
        columns: names and types.
        rows: each row as text, and how often it is there.
    """

    columns: tuple[tuple[str, str], ...]
    rows: Counter[str]


@dataclass(frozen=True)
class Failure:
    """An error, by Spark's name of it."""

    condition: str
    message: str


def ask(frame: DataFrame, *, exact: bool) -> Answer:
    """The rows of a frame.

    Args:
        frame: any.
        exact: whether -0.0 is not 0.0.
    """
    columns = tuple((f.name, f.dataType.simpleString()) for f in frame.schema.fields)
    rows = Counter(repr(_form(tuple(row), exact)) for row in frame.collect())
    return Answer(columns, rows)


def failure(error: Exception) -> Failure:
    """An error of Spark's, or of anything that it runs."""
    found = _CONDITION.search(str(error))
    return Failure(found[1] if found else type(error).__name__, str(error)[:2000])


def difference(ours: Answer | Failure, plain: Answer | Failure) -> str | None:
    """How two answers differ; None if they do not."""
    match ours, plain:
        case Failure(), Failure():
            if ours.condition == plain.condition:
                return None
            return f"ours fails with {ours.message}\n\nParquet with {plain.message}"
        case Failure(), Answer():
            return f"only ours fails: {ours.message}"
        case Answer(), Failure():
            return f"only Parquet fails: {plain.message}"
        case Answer(), Answer() if ours.columns != plain.columns:
            return f"columns: ours {ours.columns}, Parquet {plain.columns}"
        case Answer(), Answer() if ours.rows != plain.rows:
            extra, lacking = ours.rows - plain.rows, plain.rows - ours.rows
            return (
                f"{extra.total()} rows are ours alone, {lacking.total()} are Parquet's alone, of "
                f"{plain.rows.total()}\n  ours alone: {list(extra)[:_SHOWN]}\n"
                f"  Parquet alone: {list(lacking)[:_SHOWN]}"
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
