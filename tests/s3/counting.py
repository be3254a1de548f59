"""Count the S3 requests that this process sends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from s3.server import Server
from versioned_catalog.storage.opening import open_store


class Requests:
    """Counts the requests to a server."""

    def __init__(self, server: Server) -> None:
        fs: Any = open_store("s3://warehouses/any", server.options)._fs  # type: ignore[attr-defined]
        fs.s3.meta.events.register("before-send.s3", self._count)
        self._fs = fs
        self._seen: Counter[str] = Counter()

    def _count(self, event_name: str, **_: Any) -> None:
        self._seen[event_name.rpartition(".")[2]] += 1

    def of(self, action: Callable[[], object]) -> dict[str, int]:
        """The number of requests of each kind that an action sends."""
        self._seen.clear()
        action()
        return dict(self._seen)
