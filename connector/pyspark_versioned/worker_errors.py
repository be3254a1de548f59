"""Errors of Spark's Python workers: one line with a condition and a SQLSTATE, no traceback."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from versioned_catalog import VersionedError

_Class = TypeVar("_Class", bound=type)


def shows_errors(cls: _Class) -> _Class:
    """Decorate a class whose methods Spark calls in a worker."""
    for name, method in list(vars(cls).items()):
        if inspect.isfunction(method) and (not name.startswith("_") or name == "__init__"):
            setattr(cls, name, _wrapped(method))
    return cls


def _wrapped(method: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.isgeneratorfunction(method):

        @functools.wraps(method)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with _with_condition():
                yield from method(*args, **kwargs)

    else:

        @functools.wraps(method)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with _with_condition():
                return method(*args, **kwargs)

    return wrapped


@contextmanager
def _with_condition() -> Iterator[None]:
    """Add condition and SQLSTATE to the message of an error that leaves a worker.

    Spark only sends the text of an error. A worker ends with its first error, so hiding tracebacks hides
    no other one.
    """
    try:
        yield
    except VersionedError as error:
        if _in_worker() and not str(error).startswith("[VERSIONED_"):
            error.args = (
                f"[{error.condition}] {str(error).rstrip('.')}. SQLSTATE: {error.sqlstate}",
            )
            os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise


def _in_worker() -> bool:
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec is not None and spec.name.startswith("pyspark.")
