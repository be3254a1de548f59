"""Commits that the jar asks for again, because the worker died before it had responded."""

from __future__ import annotations

from pyspark_versioned.sql.protocol.base import Commit
from versioned_catalog import Table


def landed(commit: Commit, table: Table, since: int = -1) -> int | None:
    """The version of a commit if it has landed already, or None.

    Args:
        commit: the commit; one that is no retry cannot have landed.
        table: the table to look in.
        since: a version before the commit.
    """
    return table.find_commit(commit.id, since) if commit.retry else None
