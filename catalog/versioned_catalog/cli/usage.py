"""Checks for mutually exclusive options."""

from __future__ import annotations

from collections.abc import Mapping

import click


def at_most_one(options: Mapping[str, object]) -> None:
    """Raise UsageError if more than one option is set; None and False mean not set."""
    if _given(options) > 1:
        raise _wrong(f"give only one of {', '.join(options)}")


def exactly_one(options: Mapping[str, object]) -> None:
    """Check that exactly one option is set. See ``at_most_one``."""
    if _given(options) != 1:
        raise _wrong(f"give one of {', '.join(options)}")


def _given(options: Mapping[str, object]) -> int:
    return sum(one is not None and one is not False for one in options.values())


def _wrong(message: str) -> click.UsageError:
    return click.UsageError(message, click.get_current_context())
