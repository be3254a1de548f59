"""Writes that the jar leaves to Python: written here, committed as the jar wants it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql.datasource import WriterCommitMessage

from pyspark_versioned.sql import staging
from pyspark_versioned.sql.snapshots import open_snapshot, open_table
from pyspark_versioned.sql.write_questions import commit, plan_of
from pyspark_versioned.worker_errors import shows_errors
from pyspark_versioned.writer import PlannedWriter, records_of
from versioned_catalog.write.plan import WritePlan


@shows_errors
class JarWriter(PlannedWriter):
    """Writes rows, and commits them, or makes a table with them.

    Args:
        plan: how rows are written.
        request: of the question ``commit_write``, without segments.
    """

    def __init__(self, plan: WritePlan, request: Mapping[str, Any]) -> None:
        super().__init__(plan)
        self._request = dict(request)

    @staticmethod
    def of(request: Mapping[str, Any]) -> JarWriter:
        """The writer for what the jar wants committed."""
        made = request.get("creation")
        if made is not None:
            return JarWriter(staging.plan_rows(made), request)
        return JarWriter(plan_of(open_snapshot(request["table"]), request["mode"]), request)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Commit what all tasks wrote."""
        records, made = records_of(messages), self._request.get("creation")
        if made is not None:
            staging.make(made, records, self._request["commit_id"])
            return
        table, _ = open_table(self._request["table"])
        commit(self._request, table, self._plan, records)
