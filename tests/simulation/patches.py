"""Clocks, sleeps, random numbers and threads of the code under test, as the simulation has them.

They are replaced for actors only: other threads of the process, such as the test's, keep the real ones.
"""

from __future__ import annotations

import datetime as real_datetime
import importlib
import pkgutil
import random
import sys
import time
import types
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

import versioned_catalog
from simulation.scheduler import Simulation
from versioned_catalog.storage import clock, opening
from versioned_catalog.write import auto_maintain
from versioned_interop import imports

_running: list[Simulation] = []
"""The simulation that runs, if one does."""


def _actor() -> Any:
    return _running[-1].current if _running else None


class _DatetimeType(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, real_datetime.datetime)


class _Datetime(real_datetime.datetime, metaclass=_DatetimeType):
    """``datetime`` with the clock of the actor that runs."""

    @classmethod
    def now(cls, tz: real_datetime.tzinfo | None = None) -> Any:
        actor = _actor()
        if actor is None:
            return real_datetime.datetime.now(tz)
        return real_datetime.datetime.fromtimestamp(_running[-1].now + actor.skew, tz)


class InlineExecutor:
    """An executor that runs what it is given at once, in the thread of the caller."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def submit(self, work: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(work(*args, **options))
        except BaseException as error:
            future.set_exception(error)
        return future

    def map(self, work: Callable[..., Any], *values: Iterable[Any]) -> Iterator[Any]:
        return map(work, *values)

    def shutdown(self, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> InlineExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@contextmanager
def _alone(_: str) -> Iterator[bool]:
    # Two actors are two processes, and do not see each other's memory.
    yield True


def _executor(*args: Any, **options: Any) -> Any:
    return InlineExecutor() if _actor() is not None else ThreadPoolExecutor(*args, **options)


def _of_actor(real: Callable[..., Any], simulated: Callable[..., Any]) -> Callable[..., Any]:
    def choose(*args: Any, **options: Any) -> Any:
        actor = _actor()
        return real(*args, **options) if actor is None else simulated(actor, *args, **options)

    return choose


def _uuid4(actor: Any) -> uuid.UUID:
    drawn = uuid.UUID(int=actor.random.getrandbits(128), version=4)
    actor.ids.append(str(drawn))
    return drawn


def _opened(actor: Any, protocol: str, url: str, options: Any) -> Any:
    assert protocol == "sim", "actors open no other stores"
    return _running[-1].opened(actor, url)  # type: ignore[misc]


@cache
def _modules() -> tuple[types.ModuleType, ...]:
    names = [
        found.name
        for package in (versioned_catalog, imports)
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if ".cli" not in found.name
    ]
    return tuple(importlib.import_module(name) for name in names)


@cache
def _replacements() -> tuple[tuple[Any, str, Any], ...]:
    """What is replaced: the object, its attribute, and the value."""
    found: list[tuple[Any, str, Any]] = [
        (time, "sleep", _of_actor(time.sleep, lambda _, seconds: _running[-1].pause(seconds))),
        (time, "monotonic", _of_actor(time.monotonic, lambda _: _running[-1].now)),
        (
            random,
            "uniform",
            _of_actor(random.uniform, lambda actor, *ends: actor.random.uniform(*ends)),
        ),
        (uuid, "uuid4", _of_actor(uuid.uuid4, _uuid4)),
        (clock, "_steady", _of_actor(clock._steady, lambda _: _running[-1].now)),
        (auto_maintain, "alone", _alone),
        (opening, "_other", _of_actor(opening._other, _opened)),
    ]
    dates = types.SimpleNamespace(**vars(real_datetime) | {"datetime": _Datetime})
    for module in _modules():
        for name, value in list(vars(module).items()):
            if value is real_datetime.datetime:
                found.append((module, name, _Datetime))
            elif value is real_datetime:
                found.append((module, name, dates))
            elif value is ThreadPoolExecutor:
                found.append((module, name, _executor))
    return tuple(found)


@contextmanager
def simulated(simulation: Simulation) -> Iterator[None]:
    """Let the code under test see the simulation's clock, numbers and threads while actors run."""
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in _replacements()]
    interval = sys.getswitchinterval()
    _running.append(simulation)
    try:
        sys.setswitchinterval(1.0)  # the baton decides who runs
        for owner, name, value in _replacements():
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
        sys.setswitchinterval(interval)
        _running.pop()
