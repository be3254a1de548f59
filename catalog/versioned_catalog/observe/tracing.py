"""Spans and metrics of OpenTelemetry, where the application has imported its API.

Nothing here imports it. An application that traces has done so, and its module is found then; else each
call costs one look into ``sys.modules``.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import copy_context
from typing import Any, Final, ParamSpec, Protocol, TypeVar

from versioned_catalog.observe.failures import shareable_stack, shareable_text

SCOPE: Final = "versioned_catalog"
"""Name of the instrumentation scope of all spans and metrics."""

TRACEPARENT: Final = "TRACEPARENT"
"""The environment variable with the parent of a process's spans, as W3C Trace Context writes it."""

P = ParamSpec("P")
R = TypeVar("R")

Attribute = str | int | float | bool | None


class Span(Protocol):
    """A span that is open."""

    def set(self, **attributes: Attribute) -> None:
        """Add attributes; those that are None are left out."""


class _Silent:
    """The span of an application that does not trace."""

    def set(self, **attributes: Attribute) -> None:
        """Add nothing."""

    def __enter__(self) -> Span:
        return self

    def __exit__(self, *_: object) -> None:
        return None


_SILENT: Final = _Silent()


class _Recording:
    """A span of OpenTelemetry, which is the current one within its block.

    Args:
        trace: the module ``opentelemetry.trace``.
        current: whether spans that begin within the block become its children.
    """

    def __init__(
        self, trace: Any, name: str, attributes: Mapping[str, Attribute], *, current: bool = True
    ) -> None:
        self._trace = trace
        self._name = name
        self._attributes = dict(attributes)
        self._current = current
        self._entered: Any = None

    def set(self, **attributes: Attribute) -> None:
        """Add attributes."""
        self._attributes |= attributes

    def __enter__(self) -> Span:
        self._started = time.perf_counter()
        self._span = _tracer(self._trace).start_span(self._name)
        if self._current:
            # An error is recorded once, by the span's end below.
            self._entered = self._trace.use_span(
                self._span, record_exception=False, set_status_on_exception=False
            )
            self._entered.__enter__()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if self._entered is not None:
            self._entered.__exit__(kind, error, traceback)
        attributes = _present(self._attributes)
        self._span.set_attributes(attributes)
        if error is not None and not isinstance(error, GeneratorExit):
            _record(self._span, error, self._trace)
        self._span.end()
        seconds = time.perf_counter() - self._started
        _measure(self._name, seconds, is_failed=error is not None)


def _record(span: Any, error: BaseException, trace: Any) -> None:
    """Record an error as the conventions of OpenTelemetry say, but without values of rows."""
    kind, text = type(error), shareable_text(error)
    described = {
        "exception.type": f"{kind.__module__}.{kind.__qualname__}",
        "exception.message": text,
        "exception.stacktrace": shareable_stack(error),
    }
    span.add_event("exception", described)
    span.set_status(trace.Status(trace.StatusCode.ERROR, f"{kind.__name__}: {text}"))


def _present(attributes: Mapping[str, Attribute]) -> dict[str, str | int | float | bool]:
    return {f"versioned.{name}": value for name, value in attributes.items() if value is not None}


def _api(module: str) -> Any:
    """A module of OpenTelemetry's API; None if the application has not imported it."""
    return sys.modules.get(module)


def is_used() -> bool:
    """Whether the application has imported OpenTelemetry's API."""
    return "opentelemetry.trace" in sys.modules


def span(name: str, **attributes: Attribute) -> _Recording | _Silent:
    """Return a span as a context manager.

    Args:
        name: such as ``versioned.commit``.
        attributes: their names get the prefix ``versioned.``.
    """
    trace = _api("opentelemetry.trace")
    return _SILENT if trace is None else _Recording(trace, name, attributes)


def detached(name: str, **attributes: Attribute) -> _Recording | _Silent:
    """Return a span that is nobody's parent, for generators: others run between their steps."""
    trace = _api("opentelemetry.trace")
    return _SILENT if trace is None else _Recording(trace, name, attributes, current=False)


def spanned(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function so that each call is a span."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def traced(*args: P.args, **kwargs: P.kwargs) -> R:
            if _api("opentelemetry.trace") is None:
                return function(*args, **kwargs)
            with span(name):
                return function(*args, **kwargs)

        return traced

    return decorate


def carried(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that runs in the current span also in other threads."""
    if _api("opentelemetry.trace") is None:
        return function
    here = copy_context()

    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        return here.copy().run(function, *args, **kwargs)

    return run


def traceparent() -> str | None:
    """The current span as W3C Trace Context writes it, to go on in another process; None without one."""
    trace = _api("opentelemetry.trace")
    if trace is None:
        return None
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return os.environ.get(TRACEPARENT)
    flags = int(context.trace_flags)
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{flags:02x}"


def continuing(parent: str | None) -> Any:
    """Make a span of another process the parent of the spans in a block, as a context manager.

    Args:
        parent: from ``traceparent``; None for that of the environment, if there is no current span.
    """
    trace = _api("opentelemetry.trace")
    if trace is None:
        return nullcontext()
    if parent is None and trace.get_current_span().get_span_context().is_valid:
        return nullcontext()
    context = _span_context(trace, parent or os.environ.get(TRACEPARENT))
    return nullcontext() if context is None else _continued(trace, context)


@contextmanager
def _continued(trace: Any, context: Any) -> Iterator[None]:
    parent = trace.NonRecordingSpan(context)
    with trace.use_span(parent, record_exception=False, set_status_on_exception=False):
        yield


def _span_context(trace: Any, parent: str | None) -> Any:
    parts = (parent or "").split("-")
    if len(parts) != 4:
        return None
    try:
        trace_id, span_id, flags = (int(part, 16) for part in parts[1:])
    except ValueError:
        return None
    context = trace.SpanContext(trace_id, span_id, True, trace.TraceFlags(flags))
    return context if context.is_valid else None


def count(name: str, amount: int = 1, **labels: Attribute) -> None:
    """Add to a counter.

    Args:
        labels: attributes of the measurement; their names get the prefix ``versioned.``.
    """
    metrics = _api("opentelemetry.metrics")
    if metrics is not None:
        _instrument(metrics, "create_counter", name).add(amount, _present(labels))


def _measure(name: str, seconds: float, *, is_failed: bool) -> None:
    """Record how long a span took."""
    metrics = _api("opentelemetry.metrics")
    if metrics is not None:
        labels = {"versioned.span": name, "versioned.failed": is_failed}
        _instrument(metrics, "create_histogram", "versioned.duration", "s").record(seconds, labels)


_tracers: dict[object, Any] = {}
_instruments: dict[tuple[object, str], Any] = {}
"""Tracers by provider, and instruments by provider and name: a provider makes new ones at each call."""


def _tracer(trace: Any) -> Any:
    provider = trace.get_tracer_provider()
    if provider not in _tracers:
        _tracers[provider] = provider.get_tracer(SCOPE)
    return _tracers[provider]


def _instrument(metrics: Any, kind: str, name: str, unit: str = "") -> Any:
    key = (metrics.get_meter_provider(), name)
    if key not in _instruments:
        meter = metrics.get_meter(SCOPE)
        _instruments[key] = getattr(meter, kind)(name, unit=unit)
    return _instruments[key]
