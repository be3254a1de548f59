"""Errors on their way to the jar, which makes Spark's own of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from versioned_catalog.errors import VersionedError
from versioned_catalog.types.paths import render_path


def failure(error: VersionedError, request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer that an error is: its condition, SQLSTATE, and the message that users see.

    Args:
        error: what was raised.
        request: what was asked; the message names the table that it is about.
    """
    names = _names(request)
    if names:
        error.name_table(*names)
    told = {"condition": error.condition, "sqlstate": error.sqlstate, "message": str(error)}
    return {"error": told}


def _names(request: Mapping[str, Any]) -> tuple[str, ...]:
    """What the table of a request may be called; none where it is about no table."""
    match request:
        case {"arguments": arguments}:
            given = arguments.get("table")
            return () if given is None else (str(given),)
        case {"question": "procedure"}:
            return ()
        case {"table": {"name": str(name), "location": str(location)}}:
            return name, name.partition(".")[2] or name, location
        case {"catalog": {"name": catalog}, "name": name}:
            return render_path((catalog, *name)), render_path(name)
        case _:
            return ()
