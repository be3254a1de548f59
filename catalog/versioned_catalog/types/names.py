"""Characters that names of columns, tables, namespaces and tags may not hold."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_CONTROL_IN_STORED = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def has_control_characters(name: str) -> bool:
    """Whether a new name holds a control character (U+0000-1F, U+007F-9F) or an unpaired surrogate."""
    return _CONTROL.search(name) is not None


def has_control_characters_in_storage(name: str) -> bool:
    """The same for a column name that metadata holds, where U+0080-9F were once allowed."""
    return _CONTROL_IN_STORED.search(name) is not None
