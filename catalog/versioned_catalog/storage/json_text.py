"""JSON that a stranger may have written."""

from __future__ import annotations

import json
import re
from typing import Any

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import JSON_DEPTH, JSON_VALUES

_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""What may be half a character; two of them may be a whole one."""


def parse_json(data: bytes | str, what: str) -> Any:
    """The value of some JSON.

    Args:
        data: UTF-8.
        what: where it stands, for errors.

    Raises:
        CorruptTableError: it is no JSON, holds half a character, or more values than are believed.
    """
    try:
        text = data if isinstance(data, str) else data.decode()
        if count_values(text) > JSON_VALUES:
            raise CorruptTableError(f"{what} holds more than {JSON_VALUES} values")
        value = json.loads(text)
        if _HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise CorruptTableError(f"{what} is not JSON") from None
    return value


def count_values(text: str) -> int:
    """How many values some JSON holds, or a few more."""
    return text.count(",") + text.count("[") + text.count("{")


def check_depth(value: Any, what: str) -> None:
    """Refuse a value that is nested too deep for whoever walks it later.

    Raises:
        CorruptTableError: it is.
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
