"""The errors that this project raises on purpose, by what the caller can do about them."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Literal, TypeVar

ConditionName = Literal[
    "ALREADY_EXISTS",
    "CHECK_VIOLATION",
    "COLUMN_ALREADY_EXISTS",
    "COLUMN_NOT_FOUND",
    "COMMIT_CONFLICT",
    "COMMIT_OUTCOME_UNKNOWN",
    "INVALID_NAME",
    "INVALID_OPTION",
    "INVALID_REQUEST",
    "INVALID_VALUE",
    "KEY_NOT_UPDATABLE",
    "NAMESPACE_NOT_FOUND",
    "NOT_FOUND",
    "NOT_SUPPORTED",
    "NULL_VALUE",
    "PROCEDURE_NOT_FOUND",
    "PYTHON_UNREACHABLE",
    "READ_ONLY",
    "SCHEMA_CHANGED",
    "STORAGE_FAILURE",
    "SYNTAX_ERROR",
    "TABLE_ALREADY_EXISTS",
    "TABLE_CORRUPT",
    "TABLE_NOT_FOUND",
    "UNSUPPORTED_FEATURE",
    "VALUE_TOO_LONG",
    "VERSION_NOT_FOUND",
    "VIEW_NOT_FOUND",
]

SQLSTATES: dict[ConditionName, str] = {
    "ALREADY_EXISTS": "42710",
    "CHECK_VIOLATION": "23514",
    "COLUMN_ALREADY_EXISTS": "42711",
    "COLUMN_NOT_FOUND": "42703",
    "COMMIT_CONFLICT": "40001",
    "COMMIT_OUTCOME_UNKNOWN": "40003",
    "INVALID_NAME": "42602",
    "INVALID_OPTION": "42616",
    "INVALID_REQUEST": "42000",
    "INVALID_VALUE": "22023",
    "KEY_NOT_UPDATABLE": "42808",
    "NAMESPACE_NOT_FOUND": "42704",
    "NOT_FOUND": "42704",
    "NOT_SUPPORTED": "0A000",
    "NULL_VALUE": "23502",
    "PROCEDURE_NOT_FOUND": "42883",
    "PYTHON_UNREACHABLE": "58000",
    "READ_ONLY": "42809",
    "SCHEMA_CHANGED": "55000",
    "STORAGE_FAILURE": "58030",
    "SYNTAX_ERROR": "42601",
    "TABLE_ALREADY_EXISTS": "42P07",
    "TABLE_CORRUPT": "XX001",
    "TABLE_NOT_FOUND": "42P01",
    "UNSUPPORTED_FEATURE": "0A000",
    "VALUE_TOO_LONG": "22001",
    "VERSION_NOT_FOUND": "42704",
    "VIEW_NOT_FOUND": "42P01",
}
"""The SQLSTATE of each error condition. Errors show a condition with the prefix ``VERSIONED_``."""


class VersionedError(Exception):
    """The base class of all errors that this project raises on purpose.

    Args:
        message: what was asked, what is wrong, and what to do.
        condition: a key of ``SQLSTATES``; the one of the error's class if omitted.
    """

    _default: ClassVar[ConditionName] = "INVALID_REQUEST"

    def __init__(self, message: object = "", *, condition: ConditionName | None = None) -> None:
        super().__init__(message)
        self._condition: ConditionName = condition or self._default

    @property
    def condition(self) -> str:
        """The error condition, as in SQL: ``VERSIONED_COMMIT_CONFLICT`` and such."""
        return f"VERSIONED_{self._condition}"

    @property
    def sqlstate(self) -> str:
        """The SQLSTATE of the condition: five characters."""
        return SQLSTATES[self._condition]

    def name_table(self, *names: str) -> None:
        """Prefix the message with the name of a table, unless it contains the name.

        Args:
            names: possible names of the table; the first one is the prefix.
        """
        message = str(self)
        if not any(mentions(message, name) for name in names):
            self.args = (f"{names[0]}: {message}", *self.args[1:])


class InvalidRequestError(VersionedError, ValueError):
    """The request is invalid: change it and try again."""


class NotFoundError(VersionedError, LookupError):
    """There is no such table, namespace, version or column."""

    _default = "NOT_FOUND"


class AlreadyExistsError(VersionedError):
    """The name is taken: choose another one, or drop the object that has it."""

    _default = "ALREADY_EXISTS"


class CommitConflictError(VersionedError):
    """Another commit conflicts with this one: nothing was written; plan it again on the new state."""

    _default = "COMMIT_CONFLICT"


class CommitOutcomeUnknown(VersionedError):
    """The store did not answer: the commit may have landed, or may still land.

    Args:
        message: what happened.
        commit_id: ask ``Table.find_commit(commit_id)`` later.
    """

    _default = "COMMIT_OUTCOME_UNKNOWN"

    def __init__(self, message: str, commit_id: str = "") -> None:
        super().__init__(message)
        self.commit_id = commit_id

    def __reduce__(self) -> tuple[type[CommitOutcomeUnknown], tuple[str, str]]:
        return type(self), (str(self), self.commit_id)


class SchemaChangedError(VersionedError):
    """A stream stopped at a schema change, as its options demand: start it anew."""

    _default = "SCHEMA_CHANGED"


class CorruptTableError(VersionedError):
    """Stored files are damaged or were changed by another program: restore or repair them."""

    _default = "TABLE_CORRUPT"


class UnsupportedFeatureError(VersionedError):
    """The table needs a feature that this version of the library does not support: upgrade."""

    _default = "UNSUPPORTED_FEATURE"


class StorageError(VersionedError):
    """The store failed or refused a request: check access, space and configuration, and try again."""

    _default = "STORAGE_FAILURE"


def mentions(message: str, name: str) -> bool:
    """Whether a message contains a name as a whole word."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message) is not None


@contextmanager
def naming_table(*names: str) -> Iterator[None]:
    """Add the name of a table to the errors of a block; see ``name_table``."""
    try:
        yield
    except VersionedError as error:
        error.name_table(*names)
        raise


_Class = TypeVar("_Class", bound=type)


def names_table_in_errors(names: Callable[[Any], tuple[str, ...]]) -> Callable[[_Class], _Class]:
    """Decorate a class whose public methods raise errors that name the table.

    ``names`` returns the possible names of an object's table; see ``VersionedError.name_table``.
    """

    def decorate(cls: _Class) -> _Class:
        for name, method in list(vars(cls).items()):
            if inspect.isfunction(method) and not name.startswith("_"):
                setattr(cls, name, _naming(method, names))
        return cls

    return decorate


def _naming(
    method: Callable[..., Any], names: Callable[[Any], tuple[str, ...]]
) -> Callable[..., Any]:
    @functools.wraps(method)
    def naming(self: Any, *args: Any, **kwargs: Any) -> Any:
        with naming_table(*names(self)):
            return method(self, *args, **kwargs)

    return naming
