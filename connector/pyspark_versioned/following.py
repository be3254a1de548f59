"""Run a streaming query through changes of the schema."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from versioned_catalog import SchemaChangedError

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter


def follow(build: Callable[[], DataStreamWriter], checkpoint: str | os.PathLike[str]) -> None:
    """Run a query that stops at changes of the schema, and build it anew after each.

    The query reads with the option ``schemaMode = stop``. A batch then ends at the ALTER, and the query
    that ``build`` makes next has the new columns. Rows are neither lost nor read twice.

    Args:
        build: makes the query: a DataFrame that is read anew, and how it is written.
        checkpoint: the query's checkpoint, which all of its runs share.

    Raises:
        StreamingQueryException: the query failed for another reason.
    """
    from pyspark.errors import StreamingQueryException

    while True:
        query = build().option("checkpointLocation", os.fspath(checkpoint)).start()
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            if f"[{_CONDITION}]" not in str(error):
                raise
        else:
            return


_CONDITION = SchemaChangedError("").condition
