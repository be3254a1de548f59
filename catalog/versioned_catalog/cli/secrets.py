"""Remove secrets from text that is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from urllib.parse import quote

from versioned_catalog.storage.credentials import HIDDEN, without_credentials

STORAGE = "--storage"
STORAGE_VARIABLE = "VERSIONED_STORAGE"


def storage_values(arguments: Sequence[str], environment: Mapping[str, str]) -> frozenset[str]:
    """The values of all storage options, malformed ones included.

    They come from the raw arguments, since a usage error is reported before parsing has ended.
    """
    given = environment.get(STORAGE_VARIABLE, "").split()
    given += [after for at, after in pairwise(arguments) if at == STORAGE]
    given += [one.partition("=")[2] for one in arguments if one.startswith(f"{STORAGE}=")]
    return frozenset(value for one in given if (value := _value(one)))


def _value(option: str) -> str:
    key, equals, value = option.partition("=")
    return value if equals else key


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """Hide secrets, in any quoting, and the credentials in URLs."""
    for secret in sorted(secrets, key=len, reverse=True):
        for form in (secret, repr(secret)[1:-1], quote(secret, safe="")):
            text = _pattern(form).sub(HIDDEN, text)
    return without_credentials(text)


def _pattern(secret: str) -> re.Pattern[str]:
    # Hide a short value such as "1" only as a whole word, or every number would be garbled.
    edges = (r"(?<!\w)", r"(?!\w)") if len(secret) < 4 else ("", "")
    return re.compile(re.escape(secret).join(edges))
