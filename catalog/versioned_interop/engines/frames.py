"""Rows as a DuckDB relation, a lazy Polars frame or a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from versioned_catalog.interop import optional_import
from versioned_catalog.read.arrow_stream import Readable
from versioned_interop.engines.polars_filters import translate_polars
from versioned_interop.engines.pushdown import Pushdown


def to_duckdb(rows: Readable, connection: Any = None) -> Any:
    """A relation that reads the rows when it is queried: the columns and rows of a query only.

    Args:
        connection: of DuckDB; None for its default one.
    """
    duckdb = _require("duckdb", "to_duckdb()")
    # PyArrow's datasets take long to import.
    from versioned_interop.engines.duckdb import ScanDataset

    target = duckdb.default_connection() if connection is None else connection
    return target.from_arrow(ScanDataset(rows))


def to_pandas(rows: Readable, **options: Any) -> Any:
    """Read all rows to a DataFrame; ``options`` are those of ``pyarrow.Table.to_pandas``."""
    _require("pandas", "to_pandas()")
    return rows.to_arrow().to_pandas(**options)


def to_polars(rows: Readable) -> Any:
    """A LazyFrame that reads the columns and rows of a query only; each ``collect`` reads again."""
    polars = _require("polars", "to_polars()")
    plugins = _require("polars.io.plugins", "to_polars()")
    schema = polars.from_arrow(rows.schema.empty_table()).schema
    return plugins.register_io_source(
        partial(_frames, rows),
        schema=schema,
        is_pure=True,
        explain_name="versioned",
    )


def _frames(
    rows: Readable,
    columns: list[str] | None,
    predicate: Any,
    limit: int | None,
    _batch_size: int | None,
) -> Iterator[Any]:
    """The answer to what Polars asks of an IO source.

    ``columns`` include those of the predicate. The limit counts rows before the predicate. Polars does
    not evaluate the predicate again, so it is evaluated here: what is pushed down need not be exact.
    """
    polars = _require("polars", "to_polars()")
    filters = None
    if predicate is not None and limit is None and rows.limit is None:
        filters = translate_polars(predicate, Pushdown(rows.columns))
    wanted = rows.restricted(columns, filters, limit)
    for batch in wanted.to_batches():
        frame = polars.from_arrow(batch)
        yield frame if predicate is None else frame.filter(predicate)
    yield polars.from_arrow(wanted.schema.empty_table())  # Polars wants one frame at least


def _require(module: str, method: str) -> Any:
    return optional_import(module, method, module.partition(".")[0])
