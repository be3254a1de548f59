"""Hidden columns: dropped, but kept for schema pins (FORMAT.md, section 4.6)."""

from __future__ import annotations

import re
from dataclasses import replace

from versioned_catalog.types.types import Column, children, is_nested, with_children

_PREFIX = "__hidden_"


def hidden_name(column_id: int) -> str:
    """The name of a hidden column."""
    return f"{_PREFIX}{column_id}"


def is_hidden_name(name: str) -> bool:
    """Whether a name is reserved for hidden columns."""
    return re.fullmatch(f"{_PREFIX}[0-9]+", name, re.IGNORECASE) is not None


def visible(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """The columns that are not hidden, each without hidden columns inside."""
    return tuple(
        replace(column, type=with_children(column.type, visible(children(column.type))))
        if is_nested(column.type)
        else column
        for column in columns
        if not column.hidden
    )
