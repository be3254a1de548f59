"""The sort order of a table as the text of its property ``sort_by``: ``host, ts DESC``."""

from __future__ import annotations

import re

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.paths import ColumnPath, parse_path

SORT_BY = "sort_by"
"""The property's key. It is kept in the schema, by column ID, not among the properties."""

_PART = re.compile(r"(?:`(?:[^`]|``)*`|[^`,])+")
_FIELD = re.compile(r"(.+?)(?:\s+(ASC|DESC))?", re.IGNORECASE | re.DOTALL)


def parse_sort_by(text: str) -> list[tuple[ColumnPath, bool]]:
    """The columns of a sort order, each with whether it descends.

    Raises:
        InvalidRequestError: it does not parse.
    """
    parts = _PART.findall(text)
    fields = [_FIELD.fullmatch(part.strip()) for part in parts]
    if ",".join(parts) != text or not fields or None in fields:
        raise InvalidRequestError(
            f"{SORT_BY} is {text[:100]!r}, which is no sort order; write it as 'host, ts DESC', "
            "or unset it to have none"
        )
    return [
        (parse_path(field[1]), (field[2] or "").upper() == "DESC")
        for field in fields
        if field is not None
    ]


def split_names(text: str, what: str) -> list[str]:
    """The names in a list of columns, as in ``host, `a,b```.

    Raises:
        InvalidRequestError: it is no such list; ``what`` it is, is told.
    """
    parts = _PART.findall(text)
    if ",".join(parts) != text or not all(part.strip() for part in parts) or not parts:
        raise InvalidRequestError(f"{what} is {text[:100]!r}; write it as 'host, ts'")
    return [part.strip() for part in parts]


def render_sort_by(schema: Schema) -> str:
    """The sort order of a schema, by its names of now; empty if it has none."""
    return ", ".join(
        schema.path_text(field.source) + (" DESC" if field.descending else "")
        for field in schema.sort_by
    )
