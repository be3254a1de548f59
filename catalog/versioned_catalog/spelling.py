"""Checks of names against a known set, and suggestions for misspelled ones."""

from __future__ import annotations

import difflib
import heapq
import re
from collections.abc import Iterable
from enum import Enum
from typing import TypeVar

from versioned_catalog.errors import InvalidRequestError

_Choice = TypeVar("_Choice", bound=Enum)

_CLOSE = 0.8
"""How similar a name must be to a known one to count as a typo, from 0 to 1."""


def one_of(kind: type[_Choice], text: object, what: str) -> _Choice:
    """Parse the value of a property or an option; ``what`` names it in errors.

    Raises:
        InvalidRequestError: ``text`` is none of the values of ``kind``.
    """
    try:
        return kind(text)
    except ValueError:
        *others, last = (repr(choice.value) for choice in kind)
        raise InvalidRequestError(
            f"{what} is {text!r}; it must be {', '.join(others)} or {last}",
            condition="INVALID_OPTION",
        ) from None


def meant(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a name resembles, ignoring case and separators.

    None if the name is known, resembles none, or has a dot and so is a user's own.
    """
    by_plain = {_plain(known_name): known_name for known_name in known}
    if name in by_plain.values() or "." in name:
        return None
    near = difflib.get_close_matches(_plain(name), by_plain, 1, _CLOSE)
    return by_plain[near[0]] if near else None


def listed(name: str, known: Iterable[str], most: int = 20, none: str = "none") -> str:
    """List known names, for the error about an unknown one.

    Args:
        name: the unknown name.
        known: the known names; if there are more than ``most``, the most similar ones come first.
        most: the maximum number of names listed.
        none: the result if there are none.
    """
    names = list(dict.fromkeys(known))
    if len(names) <= most:
        return ", ".join(names) or none
    return f"{', '.join(_nearest(name, names, most))} and {len(names) - most} more"


def _nearest(name: str, names: Iterable[str], count: int) -> list[str]:
    """Return the most similar names, by pairs of characters, then by matching sequences."""
    wanted = _plain(name)
    pairs = _pairs(wanted)
    near = heapq.nlargest(10 * count, names, key=lambda text: len(pairs & _pairs(_plain(text))))
    matcher = difflib.SequenceMatcher(b=wanted, autojunk=False)

    def similarity(text: str) -> float:
        matcher.set_seq1(_plain(text))
        return matcher.ratio()

    return heapq.nlargest(count, near, key=similarity)


def _pairs(text: str) -> set[str]:
    return {f"^{text[:1]}", *(text[at : at + 2] for at in range(len(text) - 1))}


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", name.casefold())
