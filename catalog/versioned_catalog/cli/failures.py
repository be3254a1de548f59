"""Errors as one line and an exit code."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

import click

from versioned_catalog.cli.escaping import one_line
from versioned_catalog.cli.secrets import without_secrets
from versioned_catalog.errors import (
    AlreadyExistsError,
    CommitConflictError,
    CommitOutcomeUnknown,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    StorageError,
    UnsupportedFeatureError,
)

UNEXPECTED, USAGE, NOT_FOUND, REFUSED, TRY_AGAIN, STORAGE, INTERRUPTED = 1, 2, 3, 4, 5, 6, 130
BROKEN_PIPE = 141

MEANINGS = {
    0: "done",
    UNEXPECTED: "unexpected: a fault of this program, please report it",
    USAGE: "wrong usage",
    NOT_FOUND: "not found: the table, namespace, column, version or tag",
    REFUSED: "refused: change the request",
    TRY_AGAIN: "conflict, or unknown outcome: look, and try again",
    STORAGE: "corrupt table, or the storage failed",
    INTERRUPTED: "interrupted",
    BROKEN_PIPE: "whoever read the output went away, as head does",
}
"""The exit codes."""


@dataclass(frozen=True)
class Failure:
    """What a run ends with that could not do what it was asked.

    Args:
        code: the exit code.
        kind: the type of the error.
        message: one line.
        commit_id: of the commit whose outcome is unknown.
    """

    code: int
    kind: str
    message: str
    commit_id: str | None = None

    def text(self) -> str:
        """The line for people."""
        return f"error: {self.message}"

    def json(self) -> str:
        """The line for scripts."""
        told = {"error": self.message, "kind": self.kind, "exit_code": self.code}
        return json.dumps(told | ({"commit_id": self.commit_id} if self.commit_id else {}))


def failure_of(error: Exception, secrets: Iterable[str] = ()) -> Failure:
    """What an error is told as.

    Args:
        error: any.
        secrets: what its message must not show.
    """
    commit_id = error.commit_id if isinstance(error, CommitOutcomeUnknown) else None
    message = one_line(without_secrets(_message(error), secrets))
    return Failure(_code(error), type(error).__name__, message, commit_id)


def _code(error: Exception) -> int:
    match error:
        case click.UsageError():
            return USAGE
        case click.Abort():
            return INTERRUPTED
        case NotFoundError():
            return NOT_FOUND
        case InvalidRequestError() | AlreadyExistsError() | UnsupportedFeatureError():
            return REFUSED
        case CommitConflictError() | CommitOutcomeUnknown():
            return TRY_AGAIN
        case CorruptTableError() | StorageError():
            return STORAGE
        case _:
            return UNEXPECTED


def _message(error: Exception) -> str:
    match error:
        case click.UsageError():
            command = error.ctx.command_path if error.ctx else "versioned"
            return f"{error.format_message()} (see: {command} --help)"
        case click.Abort():
            return "interrupted"
        case _ if _code(error) == UNEXPECTED:
            return f"unexpected {type(error).__name__}: {error}"
        case _:
            return str(error)
