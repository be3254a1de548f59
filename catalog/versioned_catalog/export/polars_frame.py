"""Rows as a lazy Polars frame, which reads the columns and rows of a query only."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from versioned_catalog.export.optional import require
from versioned_catalog.export.polars_filters import translate_polars
from versioned_catalog.export.pushdown import Pushdown
from versioned_catalog.export.readable import Readable


def to_polars(rows: Readable) -> Any:
    """A LazyFrame; each ``collect`` reads the rows again."""
    polars = require("polars", "to_polars()")
    plugins = require("polars.io.plugins", "to_polars()")
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
    polars = require("polars", "to_polars()")
    filters = None
    if predicate is not None and limit is None and rows.limit is None:
        filters = translate_polars(predicate, Pushdown(rows.columns))
    wanted = rows.restricted(columns, filters, limit)
    for batch in wanted.to_batches():
        frame = polars.from_arrow(batch)
        yield frame if predicate is None else frame.filter(predicate)
    yield polars.from_arrow(wanted.schema.empty_table())  # Polars wants one frame at least
