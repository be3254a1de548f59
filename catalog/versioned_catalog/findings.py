"""Findings about an installation: what ``versioned doctor`` and Spark's side of it report."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """Whether something is wrong."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Args:
        check: the subject.
        state: whether something is wrong; tables can't be used as they should be with a fault.
        text: what was found.
        remedy: what to do about it; empty if nothing is wrong.
    """

    check: str
    state: State
    text: str
    remedy: str = ""


def ok(check: str, text: str) -> Finding:
    """A finding that nothing is wrong."""
    return Finding(check, State.OK, text)


def warning(check: str, text: str, remedy: str) -> Finding:
    """A finding of what may become a problem."""
    return Finding(check, State.WARNING, text, remedy)


def fault(check: str, text: str, remedy: str) -> Finding:
    """A finding of what is wrong."""
    return Finding(check, State.FAULT, text, remedy)
