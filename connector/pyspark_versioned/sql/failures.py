"""Errors on their way to the jar, which makes Spark's own of them."""

from __future__ import annotations

from typing import Any

from versioned_catalog import errors

_KINDS: dict[type[errors.VersionedError], str] = {
    errors.NotFoundError: "not_found",
    errors.AlreadyExistsError: "exists",
    errors.CommitConflictError: "conflict",
    errors.CommitOutcomeUnknown: "outcome_unknown",
    errors.CorruptTableError: "corrupt",
    errors.UnsupportedFeatureError: "unsupported",
    errors.StorageError: "storage",
    errors.InvalidRequestError: "invalid",
}


def failure(error: errors.VersionedError) -> dict[str, Any]:
    """The answer that an error is: its kind, and the message that users see."""
    kind = next((kind for known, kind in _KINDS.items() if isinstance(error, known)), "invalid")
    return {"error": {"kind": kind, "message": str(error)}}
