"""Where a task puts what does not fit in memory."""

from __future__ import annotations

import os


def scratch() -> str | None:
    """The first of the folders that Spark was given for what does not stay."""
    return os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None
