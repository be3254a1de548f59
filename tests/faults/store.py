"""A store that records its calls and fails at a chosen one."""

from __future__ import annotations

import enum
import os
import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from versioned_catalog.errors import StorageError
from versioned_catalog.limits import ENTRY_BYTES
from versioned_catalog.storage.opening import folder_above
from versioned_catalog.storage.store import Put, Sink, Store, StoredFile


class Fault(enum.Enum):
    """What happens at a storage call."""

    FAIL_BEFORE = "fail before"
    FAIL_AFTER = "fail after"
    KILL_BEFORE = "kill before"
    KILL_AFTER = "kill after"
    LOST_REQUEST = "lost request"
    LOST_REPLY = "lost reply"
    REPLY_TAKEN = "took effect, answered taken"


@dataclass
class Plan:
    """Which call fails, and how; and a record of all calls.

    Args:
        at: the number of the call that fails, counted from 0; None for none.
        fault: how it fails.
        times: how many calls in a row fail.
    """

    at: int | None = None
    fault: Fault = Fault.FAIL_BEFORE
    times: int = 1
    calls: list[str] = field(default_factory=list)
    only: str | None = None


def shape(method: str, path: str) -> str:
    """A call without its random parts."""
    path = re.sub(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", path)
    path = re.sub(r"\d{20}", "N", path)
    path = re.sub(r"(data|marks)/[0-9]+-", r"\1/N-", path)
    return f"{method} {path}"


class FaultyStore(Store):
    """A store around another one."""

    def __init__(self, inner: Store, plan: Plan, prefix: str = "") -> None:
        self._inner = inner
        self._plan = plan
        self._prefix = prefix
        self.location = inner.location

    def child(self, path: str) -> Store:
        child = FaultyStore(self._inner.child(path), self._plan, f"{self._prefix}{path}/")
        return child.allow_roots(self.location.roots)

    def above(self, levels: int) -> Store | None:
        store = folder_above(self._inner, levels)
        return None if store is None else FaultyStore(store, self._plan)

    def _fault(self, method: str, path: str) -> Fault | None:
        """Count a call, and return what happens at it."""
        plan = self._plan
        name = shape(method, self._prefix + path)
        if plan.only is not None and not name.startswith(plan.only):
            return None
        number = len(plan.calls)
        plan.calls.append(name)
        if plan.at is not None and plan.at <= number < plan.at + plan.times:
            return plan.fault
        return None

    @contextmanager
    def _around(self, method: str, path: str) -> Iterator[None]:
        fault = self._fault(method, path)
        _strike(fault, Fault.FAIL_BEFORE, Fault.KILL_BEFORE)
        yield
        _strike(fault, Fault.FAIL_AFTER, Fault.KILL_AFTER)

    def read(self, path: str, limit: int = ENTRY_BYTES) -> bytes | None:
        with self._around("read", path):
            return self._inner.read(path, limit)

    def put_if_absent(self, path: str, data: bytes, dated: datetime | None = None) -> Put:
        fault = self._fault("put", path)
        _strike(fault, Fault.FAIL_BEFORE, Fault.KILL_BEFORE)
        if fault is Fault.LOST_REQUEST:
            return Put.UNKNOWN
        outcome = self._inner.put_if_absent(path, data, dated)
        _strike(fault, Fault.FAIL_AFTER, Fault.KILL_AFTER)
        if fault is Fault.LOST_REPLY:
            return Put.UNKNOWN
        return Put.TAKEN if fault is Fault.REPLY_TAKEN else outcome

    def overwrite(self, path: str, data: bytes) -> None:
        with self._around("overwrite", path):
            self._inner.overwrite(path, data)

    def list(self, folder: str, start: str = "") -> list[str]:
        with self._around("list", folder):
            return self._inner.list(folder, start)

    def walk(self, folder: str) -> Iterator[StoredFile]:
        with self._around("walk", folder):
            yield from self._inner.walk(folder)

    def files(self, folder: str) -> Sequence[StoredFile]:
        with self._around("files", folder):
            return self._inner.files(folder)

    def now(self) -> datetime:
        with self._around("now", ""):
            return self._inner.now()

    def delete(self, path: str) -> None:
        with self._around("delete", path):
            self._inner.delete(path)

    def delete_all(self, paths: Sequence[str]) -> None:
        for path in paths:
            self.delete(path)

    @contextmanager
    def create(self, path: str) -> Iterator[Sink]:
        fault = self._fault("create", path)
        _strike(fault, Fault.FAIL_BEFORE, Fault.KILL_BEFORE)
        with self._inner.create(path) as sink:
            yield sink
        _strike(fault, Fault.FAIL_AFTER, Fault.KILL_AFTER)

    def open(self, path: str) -> Any:
        with self._around("open", path):
            return self._inner.open(path)


def _strike(fault: Fault | None, fail: Fault, kill: Fault) -> None:
    if fault is fail:
        raise StorageError(f"planted: {fault.value}")
    if fault is kill:
        os.kill(os.getpid(), signal.SIGKILL)
