"""Sending events: one run for each commit, from its first attempt to its end."""

from __future__ import annotations

import os
import sys
import uuid
from datetime import datetime
from pathlib import Path
from typing import Any

from versioned_catalog.interop import optional_import
from versioned_catalog.log.state import TableState
from versioned_catalog.observe.events import CommitEvent, CommitFailed, CommitStarted
from versioned_catalog.observe.hooks import Registration, observe

PURPOSE = "sending events of OpenLineage"
EXTRA = "'pyspark-versioned[lineage]'"

NAMESPACE = "OPENLINEAGE_NAMESPACE"
"""The environment variable with the namespace of jobs, which OpenLineage's integrations share."""


def enable(
    client: Any = None, *, namespace: str | None = None, job: str | None = None
) -> Registration:
    """Send events of OpenLineage for each commit of this process.

    Each commit is a run, whose ID is the commit ID if that is a UUID. It is sent as START when the
    commit is first tried, and as COMPLETE or FAIL at its end. If sending fails, that is logged.

    Args:
        client: an ``OpenLineageClient``; by default a new one, configured as its documentation says:
            ``openlineage.yml``, ``OPENLINEAGE_URL`` and such.
        namespace: the namespace of the jobs; by default ``OPENLINEAGE_NAMESPACE``, else ``default``.
        job: how the names of jobs begin; by default the ``application`` of ``committed_by``, else the
            name of the program. The operation and the table follow.

    Returns:
        A registration, whose ``remove()`` ends the events.

    Raises:
        InvalidRequestError: openlineage-python is not installed.
    """
    return observe(Lineage(client, namespace=namespace, job=job))


class Lineage:
    """The observer that sends events. See ``enable``."""

    def __init__(
        self, client: Any = None, *, namespace: str | None = None, job: str | None = None
    ) -> None:
        self._events = optional_import("openlineage.client.event_v2", PURPOSE, EXTRA)
        if client is None:
            client = optional_import("openlineage.client", PURPOSE, EXTRA).OpenLineageClient()
        self._client = client
        self._namespace = namespace or os.environ.get(NAMESPACE) or "default"
        self._job = job

    def __repr__(self) -> str:
        return "the events of OpenLineage"

    def started(self, commit: CommitStarted, /) -> None:
        """Send START."""
        self._emit("START", commit, commit.time, self._output(commit.location))

    def committed(self, commit: CommitStarted, event: CommitEvent, state: TableState, /) -> None:
        """Send COMPLETE, with the columns and what was written."""
        from versioned_interop.lineage.facets import dataset_facets, output_facets

        self._emit(
            "COMPLETE",
            commit,
            event.ended,
            self._output(
                commit.location,
                facets=dataset_facets(event, state),
                outputFacets=output_facets(event),
            ),
        )

    def unchanged(self, commit: CommitStarted, ended: datetime, /) -> None:
        """Send COMPLETE."""
        self._emit("COMPLETE", commit, ended, self._output(commit.location))

    def failed(self, failure: CommitFailed, /) -> None:
        """Send FAIL, with the error."""
        from versioned_interop.lineage.facets import error_facets

        started = failure.started
        output = self._output(started.location)
        self._emit("FAIL", started, failure.time, output, error_facets(failure.error))

    def _output(self, location: str, **facets: Any) -> Any:
        namespace, name = dataset_name(location)
        return self._events.OutputDataset(namespace=namespace, name=name, **facets)

    def _emit(
        self, kind: str, commit: CommitStarted, time: datetime, output: Any, run_facets: Any = None
    ) -> None:
        program = Path(sys.argv[0]).stem if sys.argv and sys.argv[0] else ""
        begins = self._job or commit.by.get("application") or program or "python"
        name = f"{begins}.{commit.operation}.{commit.table}"
        event = self._events.RunEvent(
            eventType=self._events.RunState[kind],
            eventTime=time.isoformat(),
            run=self._events.Run(runId=run_id(commit.commit_id), facets=run_facets or {}),
            job=self._events.Job(namespace=self._namespace, name=name, facets={}),
            inputs=[],
            outputs=[output],
            producer=PRODUCER,
        )
        self._client.emit(event)


PRODUCER = "urn:versioned:catalog"
"""How events say who produced them."""


def run_id(commit_id: str) -> str:
    """The ID of the run that a commit is: its own, if that is a UUID.

    >>> run_id("8a4f9a0e-2c39-4f0b-9a52-6f5a2b3a7c11")
    '8a4f9a0e-2c39-4f0b-9a52-6f5a2b3a7c11'
    >>> run_id("load of May") == run_id("load of May")
    True
    """
    try:
        return str(uuid.UUID(commit_id))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_OID, commit_id))


def dataset_name(location: str) -> tuple[str, str]:
    """The namespace and name of a dataset, by OpenLineage's rules for paths.

    >>> dataset_name("/lake/t"), dataset_name("s3://bucket/lake/t")
    (('file', '/lake/t'), ('s3://bucket', 'lake/t'))
    """
    scheme, separator, path = location.partition("://")
    if not separator:
        return "file", location
    bucket, _, name = path.partition("/")
    return f"{scheme}://{bucket}", name or "/"
