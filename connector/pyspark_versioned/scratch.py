"""The folder for data that does not fit in memory."""

from __future__ import annotations

import os


def scratch() -> str | None:
    """The first of Spark's folders for temporary files, or None."""
    return os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None
