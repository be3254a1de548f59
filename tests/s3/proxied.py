"""A fault-injecting proxy in its own process, and how tests control it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

from jar import ROOT
from s3.rules import Random, Rule, Rules
from s3.server import KEY, SECRET

TIMEOUTS = {"config_kwargs.read_timeout": 5, "config_kwargs.connect_timeout": 5}
"""Timeouts of clients in tests, in seconds."""

SETTLE_SECONDS = 15.0
"""More than the longest time for which a request is held back."""


class Seen(NamedTuple):
    """A request without its random parts, the fault that it met, and its status."""

    name: str
    fault: str | None
    status: int | None


@dataclass(frozen=True)
class Proxied:
    """A running proxy.

    Args:
        endpoint: its URL.
    """

    endpoint: str

    @property
    def options(self) -> dict[str, Any]:
        """Storage options for a new client that goes through the proxy."""
        unique = {"config_kwargs.user_agent_extra": uuid4().hex}
        return {"endpoint_url": self.endpoint, "key": KEY, "secret": SECRET, **TIMEOUTS, **unique}

    def set_rules(self, *rules: Rule, random: Random | None = None) -> None:
        """Replace the rules, and forget the requests so far."""
        body = json.dumps(Rules(rules, random).to_json()).encode()
        urllib.request.urlopen(f"{self.endpoint}/_proxy/rules", body, timeout=30).read()

    def seen(self) -> list[Seen]:
        """The requests since the last ``set_rules``, in order of arrival."""
        with urllib.request.urlopen(f"{self.endpoint}/_proxy/seen", timeout=30) as response:
            return [Seen(*one) for one in json.load(response)]

    def settle(self) -> None:
        """Wait until no request that was held back can reach the server any more.

        It gives up after ``SETTLE_SECONDS``, since a request may also be one that is never answered.
        """
        end = time.monotonic() + SETTLE_SECONDS
        while self._pending() and time.monotonic() < end:
            time.sleep(0.05)

    def _pending(self) -> int:
        with urllib.request.urlopen(f"{self.endpoint}/_proxy/pending", timeout=30) as response:
            return int(json.load(response))


@contextlib.contextmanager
def proxied(endpoint: str) -> Iterator[Proxied]:
    """Run a proxy in front of a server."""
    path = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(
        [sys.executable, "-m", "s3.proxy", endpoint],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    ) as process:
        try:
            assert process.stdout is not None
            yield Proxied(f"http://127.0.0.1:{int(process.stdout.readline())}")
        finally:
            process.kill()
