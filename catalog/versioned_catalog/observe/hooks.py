"""The observers of this process, and their calls."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from threading import Lock
from typing import Any, TypeVar

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.observe.events import CommitEvent, CommitFailed, CommitStarted, Observer
from versioned_catalog.observe.records import WARNING, record

Hook = TypeVar("Hook", bound=Callable[[CommitEvent], object])

_registered: tuple[Registration, ...] = ()
_lock = Lock()


class Registration:
    """An observer that is called until it is removed; as a context manager, until the block ends.

    An observer that was registered twice is called twice, until each registration is removed.
    """

    def __init__(self, observer: Observer) -> None:
        self.observer = observer

    def remove(self) -> None:
        """Stop calling the observer."""
        global _registered  # noqa: PLW0603  the observers of the process
        with _lock:
            _registered = tuple(other for other in _registered if other is not self)

    def __enter__(self) -> Registration:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class _Calling:
    """The observer that calls a hook."""

    def __init__(self, hook: Callable[[CommitEvent], object]) -> None:
        self._hook = hook

    def __repr__(self) -> str:
        return f"the hook {getattr(self._hook, '__qualname__', type(self._hook).__name__)}"

    def started(self, commit: CommitStarted, /) -> None:
        """Do nothing."""

    def committed(self, commit: CommitStarted, event: CommitEvent, state: Any, /) -> None:
        """Call the hook."""
        self._hook(event)

    def unchanged(self, commit: CommitStarted, ended: datetime, /) -> None:
        """Do nothing."""

    def failed(self, failure: CommitFailed, /) -> None:
        """Do nothing."""


def observe(observer: Observer) -> Registration:
    """Let an observer see the commits of this process, to all tables."""
    global _registered  # noqa: PLW0603  the observers of the process
    registration = Registration(observer)
    with _lock:
        _registered = (*_registered, registration)
    return registration


def on_commit(hook: Callable[[CommitEvent], object]) -> Registration:
    """Call a function after each acknowledged commit of this process, to any table.

    It is called in the thread that committed, when the commit is durable and visible; what it raises is
    logged as a warning and changes nothing. A process that dies between the two calls nothing: whoever
    must see every commit follows the table (docs/streaming.md).

    Args:
        hook: gets a ``CommitEvent``.

    Returns:
        A registration, whose ``remove()`` ends the calls; as a context manager it ends them with the
        block.

    Raises:
        InvalidRequestError: the hook can't be called.

    >>> import versioned_catalog as vc
    >>> table = catalog.create_table("t", "n BIGINT")
    >>> with vc.on_commit(lambda event: print(event.operation, event.version, event.rows)):
    ...     table.append(pa.table({"n": [1, 2]}))
    append 1 2
    1
    """
    if not callable(hook):
        raise InvalidRequestError(
            f"on_commit needs a function of one argument, got {hook!r}; give it a callable"
        )
    return observe(_Calling(hook))


def listened() -> bool:
    """Whether anybody observes the commits of this process."""
    return bool(_registered)


def notify(call: Callable[[Observer], None], table: str) -> None:
    """Call all observers; what one raises is logged."""
    for registration in _registered:
        try:
            call(registration.observer)
        except Exception as error:  # the commit is what it is
            record(
                WARNING,
                "%s: %r failed: %s: %s",
                table,
                registration.observer,
                type(error).__name__,
                error,
                table=table,
            )
