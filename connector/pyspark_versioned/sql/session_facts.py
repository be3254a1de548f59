"""What the jar says about the session that commits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from versioned_catalog import committed_by
from versioned_catalog.commit.branch_rules import staging

STAGED = "staged"
"""The fact that names the setting by which a session stages its writes."""


@contextmanager
def authored(by: Mapping[str, str]) -> Iterator[None]:
    """Sign the commits within the block, and refuse those past what the session stages.

    Args:
        by: the facts of a ``Commit``.
    """
    facts = {name: text for name, text in by.items() if name != STAGED}
    with committed_by(**facts), staging(by.get(STAGED)):
        yield
