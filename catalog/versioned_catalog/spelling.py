"""Suggestions for misspelled names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

_CLOSE = 0.8
"""How similar a name must be to a known one to count as a typo, from 0 to 1."""


def meant(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a name resembles, ignoring case and separators.

    None if the name is known, resembles none, or has a dot and so is a user's own.
    """
    by_plain = {_plain(one): one for one in known}
    if name in by_plain.values() or "." in name:
        return None
    near = difflib.get_close_matches(_plain(name), by_plain, 1, _CLOSE)
    return by_plain[near[0]] if near else None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", name.casefold())
