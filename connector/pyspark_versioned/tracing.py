"""Spans in the processes that Spark starts: each continues that of the driver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from versioned_catalog.observe.setup import set_up
from versioned_catalog.observe.tracing import continuing, is_used

TRACE_PROPERTY = "traceparent"
"""The local property of Spark in which an application names the span that it is in."""


@contextmanager
def traced_task(parent: str | None = None) -> Iterator[None]:
    """Continue the span of the driver in a block of a task, or of the commit after it.

    Args:
        parent: the span in which the driver planned the task; None for the one that the application
            named in the local property ``traceparent``, else for the one of the environment.
    """
    set_up()
    with continuing(parent or _named_by_application()):
        yield


def _named_by_application() -> str | None:
    if not is_used():
        return None
    from pyspark import TaskContext

    task = TaskContext.get()
    name: str | None = None if task is None else task.getLocalProperty(TRACE_PROPERTY)
    return name
