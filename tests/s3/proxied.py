"""A proxy as tests hold it: a process of its own, and what it is told."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

from jar import ROOT
from s3.rules import Random, Rule, Rules
from s3.server import KEY, SECRET, Server

PATIENCE = {"config_kwargs.read_timeout": 5, "config_kwargs.connect_timeout": 5}
"""Seconds that clients wait in tests."""


class Seen(NamedTuple):
    """A request that went through, without what is random; what happened to it, and its status."""

    name: str
    fault: str | None
    status: int | None


@dataclass(frozen=True)
class Proxied:
    """A proxy that runs.

    Args:
        endpoint: its URL.
    """

    endpoint: str

    @property
    def options(self) -> dict[str, Any]:
        """What a catalog is opened with that goes through it; each client is a new one."""
        fresh = {"config_kwargs.user_agent_extra": uuid4().hex}
        return {"endpoint_url": self.endpoint, "key": KEY, "secret": SECRET, **PATIENCE, **fresh}

    def tell(self, *rules: Rule, random: Random | None = None) -> None:
        """Go by these from now on, and forget what was seen."""
        told = json.dumps(Rules(rules, random).to_json()).encode()
        urllib.request.urlopen(f"{self.endpoint}/_proxy/rules", told, timeout=30).read()

    def seen(self) -> list[Seen]:
        """The requests since, in the order in which they came."""
        with urllib.request.urlopen(f"{self.endpoint}/_proxy/seen", timeout=30) as answer:
            return [Seen(*one) for one in json.load(answer)]


@contextlib.contextmanager
def proxied(server: Server) -> Iterator[Proxied]:
    """Run a proxy in front of a server."""
    path = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(
        [sys.executable, "-m", "s3.proxy", server.endpoint],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    ) as process:
        try:
            assert process.stdout is not None
            yield Proxied(f"http://127.0.0.1:{int(process.stdout.readline())}")
        finally:
            process.kill()
