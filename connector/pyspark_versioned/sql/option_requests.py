"""Requests that check options, and the declaration of a table that saveAsTable overwrites."""

from __future__ import annotations

from pyspark_versioned.option_names import Use, accepted
from pyspark_versioned.sql.declarations import parse_declaration
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.snapshots import open_table
from pyspark_versioned.writer import check_partitioning


def accept_options(request: messages.AcceptOptions) -> messages.Accepted:
    """Refuse options that no use honours, and return the others under their documented names."""
    uses = [Use(use) for use in request.uses]
    return messages.Accepted(accepted(request.options, uses, request.table, named=request.named))


def check_save(request: messages.CheckSave) -> messages.Done:
    """Refuse another format, place or partitioning than that of a table that saveAsTable overwrites."""
    declared = parse_declaration(request.declaration)
    table, state = open_table(request.table)
    check_partitioning(declared.partitioned_by or None, state.seen.schema, table.name)
    return messages.Done()


HANDLERS = (accept_options, check_save)
