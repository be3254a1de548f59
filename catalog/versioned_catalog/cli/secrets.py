"""What must not be shown, taken out of text that is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from urllib.parse import quote

STORAGE = "--storage"
STORAGE_VARIABLE = "VERSIONED_STORAGE"
HIDDEN = "***"

_CREDENTIALS = re.compile(r"://[^/\s@]+@")


def storage_values(arguments: Sequence[str], environment: Mapping[str, str]) -> frozenset[str]:
    """The values of storage options, also of those that are written wrongly.

    They are read from the bare arguments, since wrong usage is told before anything is parsed.
    """
    given = environment.get(STORAGE_VARIABLE, "").split()
    given += [after for at, after in pairwise(arguments) if at == STORAGE]
    given += [one.partition("=")[2] for one in arguments if one.startswith(f"{STORAGE}=")]
    return frozenset(value for one in given if (value := _value(one)))


def _value(option: str) -> str:
    key, equals, value = option.partition("=")
    return value if equals else key


def without_credentials(text: str) -> str:
    """Text without the user and password of URLs."""
    return _CREDENTIALS.sub(f"://{HIDDEN}@", text)


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """Text without secrets, however they are quoted in it, and without credentials of URLs."""
    for secret in sorted(secrets, key=len, reverse=True):
        for form in (secret, repr(secret)[1:-1], quote(secret, safe="")):
            text = _pattern(form).sub(HIDDEN, text)
    return without_credentials(text)


def _pattern(secret: str) -> re.Pattern[str]:
    # A short value, as "1", is hidden where it stands alone: it would garble every other number.
    edges = (r"(?<!\w)", r"(?!\w)") if len(secret) < 4 else ("", "")
    return re.compile(re.escape(secret).join(edges))
