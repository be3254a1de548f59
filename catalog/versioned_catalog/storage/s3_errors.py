"""What a server of S3 answered, from a response or from the error that it was turned into."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from versioned_catalog.storage.store import as_time

LASTING = frozenset(
    ("NoSuchBucket", "NoCredentialsError", "PartialCredentialsError", "ParamValidationError")
)
"""Errors that a retry does not cure, and after which nothing was done."""

_REFUSED = frozenset((400, 401, 403, 404, 405, 411, 413, 501))
"""Statuses which mean that nothing was done."""


def answer_of(error: BaseException | None) -> tuple[str, int | None, str]:
    """The code, HTTP status and message of an error; for one without an answer, its type as the code."""
    response = response_of(error)
    if "Error" in response:
        said = response["Error"]
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        return str(said.get("Code", "")), status, str(said.get("Message", ""))
    if isinstance(error, asyncio.TimeoutError):
        return "timed out", None, ""
    return type(error).__name__, None, str(error)


def response_of(error: BaseException | None) -> Mapping[str, Any]:
    """The response that an error was made from; empty if there was none."""
    at = error
    while at is not None:
        response = getattr(at, "response", None)
        if isinstance(response, Mapping) and "Error" in response:
            return response
        at = at.__cause__
    return {}


def date_of(response: Mapping[str, Any]) -> datetime | None:
    """The server's time in a response, in whole seconds; None if it has none."""
    text = response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    try:
        return None if text is None else as_time(parsedate_to_datetime(text))
    except ValueError:
        return None


def is_transient(error: BaseException) -> bool:
    """Whether a retry may succeed."""
    code, status, _ = answer_of(error)
    return code not in LASTING and (status is None or status >= 500 or status in (408, 429))


def is_refusal(code: str, status: int | None) -> bool:
    """Whether the request that was answered so surely had no effect."""
    return status in _REFUSED and code != "RequestTimeout"
