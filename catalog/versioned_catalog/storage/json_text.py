"""Parsing JSON from untrusted files."""

from __future__ import annotations

import json
import re
from typing import Any

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import JSON_DEPTH, JSON_VALUES

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""An escaped surrogate. Two of them may form one character; one alone is not valid text."""


def parse_json(data: bytes | str, what: str) -> Any:
    """Parse JSON, in UTF-8, within limits.

    Raises:
        CorruptTableError: it is not JSON, holds a lone surrogate, or more values than allowed.
    """
    try:
        text = data if isinstance(data, str) else data.decode()
        if count_values(text) > JSON_VALUES:
            raise CorruptTableError(f"{what} holds more than {JSON_VALUES} values")
        value = json.loads(text)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise CorruptTableError(f"{what} is not JSON") from None
    return value


def count_values(text: str) -> int:
    """An upper bound of the number of values in JSON text."""
    return text.count(",") + text.count("[") + text.count("{")


def check_depth(value: Any, what: str) -> None:
    """Refuse a value that is nested too deep to be walked recursively.

    Raises:
        CorruptTableError: the value is nested too deep.
    """
    level = [value]
    for _ in range(JSON_DEPTH):
        level = [inner for one in level for inner in _inside(one)]
        if not level:
            return
    raise CorruptTableError(f"{what} is nested more than {JSON_DEPTH} deep")


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
