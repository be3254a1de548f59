"""Observability: log records, spans and metrics of OpenTelemetry, and hooks that see each commit.

Every other room reports to it, so it imports only errors. It imports no library of others, and costs
one look at ``sys.modules`` where nobody listens.
"""

from versioned_catalog.observe.events import CommitEvent, CommitFailed, CommitStarted, Observer
from versioned_catalog.observe.hooks import observe, on_commit
from versioned_catalog.observe.setup import SETUP, set_up

__all__ = [
    "SETUP",
    "CommitEvent",
    "CommitFailed",
    "CommitStarted",
    "Observer",
    "observe",
    "on_commit",
    "set_up",
]
