"""The sort order of a table, as the text of the property ``sort_by``: ``host, ts DESC``."""

from __future__ import annotations

import re

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.paths import ColumnPath, parse_path

SORT_BY = "sort_by"
"""The key of the property. The schema stores the sort order, by column ID."""

_PART = re.compile(r"(?:`(?:[^`]|``)*`|[^`,])+")
_FIELD = re.compile(r"(.+?)(?:\s+(ASC|DESC))?", re.IGNORECASE | re.DOTALL)


def parse_sort_by(text: str) -> list[tuple[ColumnPath, bool]]:
    """Parse a sort order to column paths, each with whether it descends.

    Raises:
        InvalidRequestError: it does not parse.
    """
    parts = _PART.findall(text)
    fields = [_FIELD.fullmatch(part.strip()) for part in parts]
    if ",".join(parts) != text or not fields or None in fields:
        raise InvalidRequestError(
            f"{SORT_BY} is {text[:100]!r}, which is not a sort order; write it as 'host, ts DESC', "
            "or unset the property"
        )
    return [
        (parse_path(field[1]), (field[2] or "").upper() == "DESC")
        for field in fields
        if field is not None
    ]


def split_names(text: str, what: str) -> list[str]:
    """Split a list of column names, such as ``host, `a,b```; ``what`` names it in the error.

    Raises:
        InvalidRequestError: it is not a list of columns.
    """
    parts = _PART.findall(text)
    if ",".join(parts) != text or not all(part.strip() for part in parts) or not parts:
        raise InvalidRequestError(f"{what} is {text[:100]!r}; write it as 'host, ts'")
    return [part.strip() for part in parts]


def render_sort_by(schema: Schema) -> str:
    """The sort order of a schema by current column names; empty if it has none."""
    return ", ".join(
        schema.path_text(field.source) + (" DESC" if field.descending else "")
        for field in schema.sort_by
    )
