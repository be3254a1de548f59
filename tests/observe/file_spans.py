"""Functions for ``VERSIONED_OBSERVE`` that write what a process does to files.

The environment names them: ``SPANS``, or ``COLLECTOR`` for an endpoint; ``COMMITS``; and ``LOGS``.
"""

from __future__ import annotations

import logging
import os
from typing import Any


def start() -> Any:
    """Trace this process, and return the provider."""
    from opentelemetry import trace
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    provider = TracerProvider(resource=Resource.create({"service.name": "test"}))
    # A processor that exports at once: Spark ends its workers without notice.
    provider.add_span_processor(SimpleSpanProcessor(_exporter()))
    trace.set_tracer_provider(provider)
    return provider


def _exporter() -> Any:
    if endpoint := os.environ.get("COLLECTOR"):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        return OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces")
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter

    file = open(os.environ["SPANS"], "a")  # noqa: SIM115  as long as the process lives
    return ConsoleSpanExporter(out=file, formatter=lambda span: span.to_json(indent=None) + "\n")


def commits() -> None:
    """Append a line for each commit of this process."""
    from versioned_catalog import CommitEvent, on_commit

    def append(event: CommitEvent) -> None:
        with open(os.environ["COMMITS"], "a") as file:
            file.write(f"{event.table} {event.operation} {event.version} {event.rows}\n")

    on_commit(append)


def logs() -> None:
    """Append the records of all three packages."""
    handler = logging.FileHandler(os.environ["LOGS"])
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))
    for name in ("versioned_catalog", "versioned_interop", "pyspark_versioned"):
        logging.getLogger(name).addHandler(handler)
        logging.getLogger(name).setLevel(logging.INFO)
