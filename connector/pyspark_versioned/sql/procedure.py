"""Procedures: their parameters, their results, and the functions that run them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.protocol.base import Commit
from pyspark_versioned.sql.snapshots import landed, open_catalog
from versioned_catalog import Catalog, InvalidRequestError, Table
from versioned_catalog.model.type_text import parse_path
from versioned_catalog.names.names_log import Name

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a procedure; its type is Spark's DDL."""

    name: str
    type: str
    comment: str
    required: bool = True


def optional(name: str, type_: str, comment: str) -> Parameter:
    """A parameter that may be omitted."""
    return Parameter(name, type_, comment, required=False)


@dataclass(frozen=True)
class Invocation:
    """One call of a procedure; the name is its table's, or empty without a table."""

    request: messages.Call
    commit: Commit
    catalog: Catalog
    name: Name

    @property
    def arguments(self) -> Mapping[str, str | None]:
        """Value texts by parameter, None for null."""
        return self.request.arguments

    @property
    def table(self) -> Table:
        """The table, loaded again at each call."""
        return self.catalog.load_table(self.name)

    def landed(self, table: Table) -> int | None:
        """The version of the call's commit if it has landed already, or None."""
        return landed(self.commit, table)

    def text(self, parameter: str) -> str:
        """A required argument."""
        return self.arguments[parameter] or ""

    def number(self, parameter: str) -> int | None:
        """An integer, None for null."""
        text = self.arguments[parameter]
        return None if text is None else int(text)

    def hours(self, parameter: str, default: timedelta) -> timedelta:
        """A number of hours as a time span.

        Raises:
            InvalidRequestError: it is no number, or too large.
        """
        text = self.arguments[parameter]
        try:
            return default if text is None else timedelta(hours=float(text))
        except (OverflowError, ValueError):
            raise InvalidRequestError(f"{parameter} is {text}; give a number of hours") from None

    def items(self, parameter: str) -> list[str] | None:
        """An array, None for null."""
        text = self.arguments[parameter]
        return None if text is None else list(json.loads(text))

    def pairs(self, parameter: str) -> dict[str, str]:
        """A map; empty for null."""
        text = self.arguments[parameter]
        return {} if text is None else dict(zip(*json.loads(text), strict=True))

    def flag(self, parameter: str, default: bool) -> bool:
        """A boolean argument."""
        text = self.arguments[parameter]
        return default if text is None else text == "true"


def _none(call: Invocation) -> None:
    return None


@dataclass(frozen=True)
class Procedure:
    """A procedure of ``CALL <catalog>.system.<name>``.

    Args:
        description: one sentence for users.
        parameters: parameters in order.
        result: the columns of the result, as Spark's DDL.
        run: runs the procedure and yields the rows of the result.
        writes: whether the procedure changes the rows of the table, or of older versions.
        job: the Spark job to run first, through the data source; its rows are ``request.results`` of
            the next invocation. None for no job.
        statement: the statement that the session runs afterwards, in Spark's SQL; None for none.
    """

    description: str
    parameters: tuple[Parameter, ...]
    result: str
    run: Callable[[Invocation], Iterable[Row]]
    writes: bool = True
    job: Callable[[Invocation], messages.ProcedureJob | None] = _none
    statement: Callable[[Invocation], str | None] = _none


def one_commit(
    commit: Callable[[Table, Invocation], int], row: Callable[[Invocation, int, int], Row]
) -> Callable[[Invocation], Iterable[Row]]:
    """Run a procedure that is one commit; idempotent for a commit ID.

    Its result is one row, of the call and the versions before and after the commit.
    """

    def run(call: Invocation) -> Iterable[Row]:
        table = call.table
        done, before = call.landed(table), table.version
        if done is None:
            done = commit(table, call)
        else:
            before = done - 1
        yield row(call, before, done)

    return run


def rolled_back(call: Invocation, before: int, version: int) -> Row:
    """The result of a rollback: the versions, and what it has taken back beside rows."""
    table = call.table
    takes_back = () if version == before else table.differences(version - 1, version)
    return before, version, list(map(str, takes_back))


TAKES_BACK = "takes_back: ARRAY<STRING>"
"""The last column of the result of a rollback."""


def table_name(request: messages.Call, text: str) -> tuple[str, ...]:
    """A table's name in its catalog.

    Users may write the catalog's name before it, and leave out the current namespace.
    """
    catalog, parts = open_catalog(request.catalog), parse_path(text)
    within = (*request.namespace, *parts)
    if len(parts) == 1 and (catalog.table_exists(within) or not catalog.table_exists(parts)):
        return within
    is_full = parts[0] == request.catalog.name and not catalog.table_exists(parts)
    return parts[1:] if is_full else parts


TABLE = Parameter("table", "STRING", "the table's name, namespace first")
DRY_RUN = optional("dry_run", "BOOLEAN", "false deletes; true, the default, only reports")
FORCE = optional("force", "BOOLEAN", "true allows less than an hour")
