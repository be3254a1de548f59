"""Which known name a misspelled one was meant to be."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

_CLOSE = 0.8
"""How much of a name must agree with a known one to be taken for a typo."""


def meant(name: str, known: Iterable[str]) -> str | None:
    """The known name that a name looks like, whatever its case and separators.

    Returns:
        None where the name is known itself, looks like none, or has a dot and so is somebody's own.
    """
    by_plain = {_plain(one): one for one in known}
    if name in by_plain.values() or "." in name:
        return None
    near = difflib.get_close_matches(_plain(name), by_plain, 1, _CLOSE)
    return by_plain[near[0]] if near else None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", name.casefold())
