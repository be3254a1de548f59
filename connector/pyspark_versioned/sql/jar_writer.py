"""Writes that the jar leaves to Python."""

from __future__ import annotations

from pyspark.sql.datasource import WriterCommitMessage

from pyspark_versioned.sql import stage_requests
from pyspark_versioned.sql.protocol.base import Commit
from pyspark_versioned.sql.protocol.rows import PythonCommit
from pyspark_versioned.sql.snapshots import open_snapshot, open_table
from pyspark_versioned.sql.write_plans import of_stored_rows, plan_creation, plan_of
from pyspark_versioned.sql.write_requests import commit_records
from pyspark_versioned.worker_errors import shows_errors
from pyspark_versioned.writer import PlannedWriter, records_of
from versioned_catalog import InvalidRequestError
from versioned_catalog.write.plan import WritePlan


@shows_errors
class JarWriter(PlannedWriter):
    """Writes rows and commits them as the jar asks, or creates a table with them."""

    def __init__(self, plan: WritePlan, request: PythonCommit) -> None:
        super().__init__(plan)
        self._request = request

    @staticmethod
    def of(request: PythonCommit) -> JarWriter:
        """The writer for a commit of the jar."""
        if request.creation is not None:
            return JarWriter(plan_creation(request.creation), request)
        if request.write is not None:
            write = request.write
            plan = plan_of(open_snapshot(write.table), write.mode, write.change_column)
            return JarWriter(of_stored_rows(plan) if request.stored else plan, request)
        raise InvalidRequestError("the option commit names neither a write nor a table to create")

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Commit the segments of all tasks."""
        records, request = records_of(messages), self._request
        if request.creation is not None:
            stage_requests.create_staged(request.creation, records, request.commit_id)
        elif request.write is not None:
            table, _ = open_table(request.write.table)
            commit = Commit(request.commit_id, retry=False)
            commit_records(request.write, table, self._plan, records, commit)
