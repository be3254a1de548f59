"""Who commits and why: what an audit wants to know of an entry beside what it changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.entry import Commit

BY = "by"
"""The member of an entry's ``details``."""

FACTS = ("user", "application", "message")

_current: ContextVar[Mapping[str, str]] = ContextVar("versioned_catalog_committed_by")


@contextmanager
def committed_by(
    *, user: str | None = None, application: str | None = None, message: str | None = None
) -> Iterator[None]:
    """Say who makes the commits within the block, and why; ``history`` shows it.

    What an outer block says holds unless an inner one says otherwise.

    Args:
        user: who commits.
        application: the program or job that does.
        message: why.

    Raises:
        InvalidRequestError: one of them is no text.

    Examples:
        >>> table = catalog.create_table("t", "a INT")
        >>> with committed_by(user="ann", message="backfill of May"):
        ...     table.append(pa.table({"a": pa.array([1], pa.int32())}))
        1
        >>> table.inspect.history(limit=1)["message"].to_pylist()
        ['backfill of May']
    """
    given = dict(zip(FACTS, (user, application, message), strict=True))
    for name, text in given.items():
        if text is not None and not isinstance(text, str):
            raise InvalidRequestError(f"{name} is {text!r}; it must be a text")
    facts = {name: text for name, text in given.items() if text}
    token = _current.set({**_current.get({}), **facts})
    try:
        yield
    finally:
        _current.reset(token)


def current_facts() -> Mapping[str, str]:
    """Who commits here and why, by fact."""
    return _current.get({})


def signed(entry: Commit) -> Commit:
    """An entry that says who commits it."""
    facts = _current.get({})
    return replace(entry, details={**entry.details, BY: dict(facts)}) if facts else entry


def facts_of(details: Mapping[str, Any]) -> dict[str, str | None]:
    """What an entry says, by fact. Entries may hold anything there, so only texts count."""
    said = details.get(BY)
    found = said if isinstance(said, dict) else {}
    texts = ((name, found.get(name)) for name in FACTS)
    return {name: text if isinstance(text, str) else None for name, text in texts}
