"""The functions that prepare each process, which the environment names."""

from __future__ import annotations

import os
from importlib import import_module
from threading import RLock

from versioned_catalog.errors import InvalidRequestError

SETUP = "VERSIONED_OBSERVE"
"""The environment variable that names functions as ``module:function``, separated by commas."""

_lock = RLock()
_running: tuple[int, str] | None = None
_done: tuple[int, str] | None = None


def set_up() -> None:
    """Call the functions that ``VERSIONED_OBSERVE`` names, once in each process.

    Spark starts Python processes of its own; their environment is how hooks, tracing and logging come
    into them. A process that was forked calls them again.

    Raises:
        InvalidRequestError: a function can't be imported, or failed.
    """
    global _done, _running  # noqa: PLW0603  once in each process
    names = os.environ.get(SETUP, "")
    if not names or _done == (os.getpid(), names):
        return
    with _lock:  # other threads wait, or commits of theirs would be missed
        wanted = (os.getpid(), names)
        if wanted in (_done, _running):
            return  # or by a function that opens tables itself
        _running = wanted
        try:
            for name in filter(None, map(str.strip, names.split(","))):
                _call(name)
            _done = wanted
        finally:
            _running = None


def _call(name: str) -> None:
    module, _, function = name.partition(":")
    try:
        if not function:
            raise ValueError("it names no function")
        getattr(import_module(module), function)()
    except Exception as error:
        raise InvalidRequestError(
            f"{SETUP} names {name!r}, which failed: {type(error).__name__}: {error}; name functions "
            "without arguments as module:function, separated by commas, or unset the variable",
            condition="INVALID_OPTION",
        ) from error
