"""Turn an exception into one line of text and an exit code."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

import click

from versioned_catalog.cli.output import one_line
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
PLANNED = 7
BROKEN_PIPE = 141

MEANINGS = {
    0: "done",
    UNEXPECTED: "unexpected error: a bug in this program, please report it",
    USAGE: "wrong usage",
    NOT_FOUND: "not found: the table, namespace, column, version or tag",
    REFUSED: "refused: change the request",
    TRY_AGAIN: "conflict or unknown outcome: check, then try again",
    STORAGE: "corrupt table, or storage failure",
    PLANNED: "changes are planned (of plan)",
    INTERRUPTED: "interrupted",
    BROKEN_PIPE: "the reader of the output closed the pipe, as head does",
}
"""Meaning of each exit code."""


@dataclass(frozen=True)
class Failure:
    """An error as the command line reports it.

    Args:
        code: Exit code of the process.
        kind: Name of the exception's class.
        message: Text of one line.
        commit_id: ID of the commit, where its outcome is unknown.
    """

    code: int
    kind: str
    message: str
    commit_id: str | None = None

    def text(self) -> str:
        """The error line for people."""
        return f"error: {self.message}"

    def json(self) -> str:
        """The error as JSON, for scripts."""
        document = {"error": self.message, "kind": self.kind, "exit_code": self.code}
        return json.dumps(document | ({"commit_id": self.commit_id} if self.commit_id else {}))


def failure_of(error: Exception, secrets: Iterable[str] = ()) -> Failure:
    """Describe an exception as a ``Failure``, with ``secrets`` hidden in the message."""
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
