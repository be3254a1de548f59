"""Reading one segment by its plan: the loop that executors run."""

from __future__ import annotations
