"""Import libraries that are not installed with this one."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from versioned_catalog.errors import InvalidRequestError


def require(library: str, method: str) -> Any:
    """Import an optional library for the method that needs it.

    Raises:
        InvalidRequestError: the library is not installed.
    """
    try:
        return import_module(library)
    except ModuleNotFoundError as error:
        if error.name != library:
            raise
        raise InvalidRequestError(
            f"{method} needs {library}, which is not installed: pip install {library}"
        ) from None
