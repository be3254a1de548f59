"""What becomes of a publication after a commit: it follows, or is withdrawn."""

from __future__ import annotations

import logging

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.handle import TableHandle
from versioned_catalog.iceberg.property import publishes
from versioned_catalog.log.head import Head
from versioned_catalog.log.state import TableState
from versioned_catalog.publishing.publish import publish
from versioned_catalog.publishing.withdrawal import unpublish, withdraw_earlier

_log = logging.getLogger(__name__)


def publish_if_asked(handle: TableHandle) -> None:
    """Publish the newest version if the property ``publish`` asks for it; failures are only logged.

    The commit is durable whatever happens here, and the next publication includes it. What is published
    is withdrawn where other engines would go on to read rows of an earlier incarnation of the table, or
    rows that a rollback took back.
    """
    state = handle.loaded.state
    if state is None or state.dropped:
        return
    try:
        if publishes(state.properties):
            _publish(handle, state)
        elif _began(state):
            withdraw_earlier(handle.store, state)
    except Exception as error:
        _log.warning("%s: version %s was not published: %s", handle.name, state.version, error)


def _publish(handle: TableHandle, state: TableState) -> None:
    # A handle of its own: the table goes on to show the version that was committed.
    newest = TableHandle(handle.log, handle.loaded, handle.name)
    try:
        publish(newest)
    except InvalidRequestError:
        if _began(state) or _rolled_back(handle, state.version):
            unpublish(handle.store)
        raise
    later = newest.refresh().loaded.state
    is_replaced = later is not None and later.table_uuid != state.table_uuid
    if later is not None and is_replaced and not later.dropped and not publishes(later.properties):
        # Whoever replaced the table may have withdrawn before we published.
        withdraw_earlier(handle.store, later)


def _began(state: TableState) -> bool:
    """Whether a version began an incarnation of the table after an earlier one."""
    return 0 < state.version == state.created_version


def _rolled_back(handle: TableHandle, version: int) -> bool:
    head = handle.log.head(version)
    return isinstance(head, Head) and head.operation == "rollback"
