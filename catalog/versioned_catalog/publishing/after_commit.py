"""Publishing after a commit, if the table asks for it."""

from __future__ import annotations

import logging

from versioned_catalog.handle import TableHandle
from versioned_catalog.iceberg.property import publishes
from versioned_catalog.publishing.publish import publish

_log = logging.getLogger(__name__)


def publish_if_asked(handle: TableHandle) -> None:
    """Publish the newest version if the property ``publish`` asks for it; failures are only logged.

    The commit is durable whatever happens here, and the next publication includes it.
    """
    state = handle.loaded.state
    if state is None or state.dropped:
        return
    try:
        if publishes(state.properties):
            # A handle of its own: the table goes on to show the version that was committed.
            publish(TableHandle(handle.log, handle.loaded, handle.name))
    except Exception as error:
        _log.warning("%s: version %s was not published: %s", handle.name, state.version, error)
