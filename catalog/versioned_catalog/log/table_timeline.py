"""The log of one table."""

from __future__ import annotations

from versioned_catalog.log.entry import Commit
from versioned_catalog.log.state import TableState
from versioned_catalog.log.timeline import Timeline

TableTimeline = Timeline[Commit, TableState]
