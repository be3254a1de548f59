"""Commits that are asked for again, because the worker that was asked first died with its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from versioned_catalog import Table


def landed(request: Mapping[str, Any], table: Table, since: int = -1) -> int | None:
    """The version of a commit that is there already.

    Args:
        request: ``commit_id``; ``retry``, where it is not asked for the first time.
        table: where to look.
        since: a version before it.
    """
    return table.find_commit(request["commit_id"], since) if request.get("retry") else None
