"""What all commands share: the session, ``--json``, and failures as text and exit codes."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from traceback import format_exception
from typing import TYPE_CHECKING, Any

import click

from versioned_catalog.cli.output import (
    common_options,
    separate_lines,
    storage_values,
    without_secrets,
)
from versioned_catalog.cli.running import Interrupted
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
from versioned_catalog.spelling import meant

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from versioned_catalog.catalog import Catalog
    from versioned_catalog.table import Table

UNEXPECTED, USAGE, NOT_FOUND, REFUSED, TRY_AGAIN, STORAGE, INTERRUPTED = 1, 2, 3, 4, 5, 6, 130
PLANNED = 7
COMPLETE_VARIABLE = "_VERSIONED_COMPLETE"
"""What shells set to have a word completed; click derives it from the name of the program."""

BROKEN_PIPE = 141

MEANINGS = {
    0: "done",
    UNEXPECTED: "unexpected error: a bug in this program, please report it; of --all: a table failed; "
    "of doctor: a fault",
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
        message: Text of one line, or of several, of which all but the first are indented.
        commit_id: ID of the commit, where its outcome is unknown.
    """

    code: int
    kind: str
    message: str
    commit_id: str | None = None

    def json(self) -> str:
        """The error as JSON, for scripts."""
        document = {"error": self.message, "kind": self.kind, "exit_code": self.code}
        return json.dumps(document | ({"commit_id": self.commit_id} if self.commit_id else {}))


_GLOBAL = ("--warehouse", "--storage", "--root")
"""Options that stand before the command."""


def failure_of(error: Exception, secrets: Iterable[str] = ()) -> Failure:
    """Describe an exception as a ``Failure``, with ``secrets`` hidden in the message."""
    commit_id = error.commit_id if isinstance(error, CommitOutcomeUnknown) else None
    message = separate_lines(without_secrets(_message(error), secrets))
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
        case click.NoSuchOption(ctx=click.Context() as ctx, option_name=name) if name in _GLOBAL:
            return f"{name} goes before the command: versioned {name} ... {ctx.info_name}"
        case click.UsageError():
            command = error.ctx.command_path if error.ctx else "versioned"
            return f"{error.format_message()} (see: {command} --help)"
        case Interrupted():
            return error.message
        case click.Abort():
            return "interrupted"
        case _ if _code(error) == UNEXPECTED:
            return f"unexpected {type(error).__name__}: {error}"
        case _:
            return str(error)


@dataclass(frozen=True)
class Session:
    """Where a run of the command line finds tables; ``storage`` options may hold secrets."""

    warehouse: str | None
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)

    def catalog(self) -> Catalog:
        """Open the warehouse.

        Raises:
            click.UsageError: The user named no warehouse.
            InvalidRequestError: The folder can't hold a warehouse.
        """
        from versioned_catalog.catalog import Catalog

        if self.warehouse is None:
            raise click.UsageError(
                "no warehouse: give --warehouse before the command, or set VERSIONED_WAREHOUSE"
            )
        return Catalog(self.warehouse, self.storage)

    def check_warehouse(self) -> None:
        """Check that the folder is a warehouse: a mistyped folder would look like an empty one.

        Raises:
            NotFoundError: There is no warehouse.
        """
        from versioned_catalog.errors import NotFoundError
        from versioned_catalog.names.names import Names
        from versioned_catalog.storage.opening import open_store

        store = open_store(self.warehouse or "", self.storage)
        if Names(store).log.load().state is None:
            raise NotFoundError(f"there is no warehouse at {store.url}")

    def of_all(self, warehouse: str) -> Session:
        """The session of the warehouse of ``--all``; if that is empty, of ``--warehouse``.

        Raises:
            click.UsageError: The user named no warehouse.
            NotFoundError: There is no warehouse.
        """
        other = Session(warehouse or self.warehouse, self.storage)
        if other.warehouse is None:
            raise click.UsageError(
                "--all has no warehouse: give --all WAREHOUSE, or set VERSIONED_WAREHOUSE"
            )
        other.check_warehouse()
        return other

    def table(self, name: str) -> Table:
        """Load a table by its name or its folder.

        Raises:
            click.UsageError: It is a name, and the user named no warehouse.
            NotFoundError: There is no such table.
        """
        from versioned_catalog.catalog import Catalog

        if is_folder(name):
            return Catalog.load_path(name, self.storage)
        return self.catalog().load_table(name)

    def view_problems(self, table: str) -> list[str]:
        """Problems of the views that read a table; none for a folder or a branch, which none reads."""
        if is_folder(table) or not self.catalog().table_exists(table):
            return []
        return [problem.text for problem in self.catalog().view_problems(table)]


def is_folder(name: str) -> bool:
    """Whether text is a folder: no table name starts like one."""
    return name.startswith(("/", ".", "~")) or "://" in name


def version_of(text: str | None) -> int | str | None:
    """Parse a version number or a tag; a tag never consists of digits alone."""
    from versioned_catalog.commit.version_rules import version_or_tag

    return None if text is None else version_or_tag(text)


class Command(click.Command):
    """A command that takes ``--json``, ``--quiet`` and ``--verbose``."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.params += common_options()


all_option = click.option(
    "--all",
    "warehouse",
    metavar="[WAREHOUSE]",
    is_flag=False,
    flag_value="",
    help="All tables of this warehouse, by default of --warehouse, instead of TABLE.",
)
"""``--all`` of commands that take a table or a warehouse."""


def table_command(function: Callable[..., None]) -> click.Command:
    """Make a command whose first argument is TABLE; the function gets the session before it."""
    argument = click.argument("table", shell_complete=complete_table)
    return click.command(cls=Command)(argument(click.pass_obj(function)))


def complete_table(context: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """The names of tables of the warehouse that begin with what was typed; none without a warehouse.

    Names that a shell would not take as they are, such as those in backticks, are left out: it would
    run what they say.
    """
    from click.shell_completion import CompletionItem

    from versioned_catalog.cli.schema_files import all_tables

    options = context.find_root().params
    if is_folder(typed):
        return [CompletionItem(typed, type="dir")]
    session = Session(options.get("warehouse"), options.get("storage") or {})
    try:
        names = [name for name in all_tables(session.catalog()) if name.startswith(typed)]
    except Exception:  # a shell shows no errors while somebody types
        return []
    return [CompletionItem(name) for name in names if shlex.quote(name) == name]


_UNDO = "rollback takes back writes and ALTERs, undrop a DROP"
_TASKS = {
    **dict.fromkeys(("undo", "restore", "revert"), _UNDO),
    **dict.fromkeys(("select", "sql"), "query runs a SELECT"),
}
"""What to say of words that are no commands, and stand for what a command does."""


class Group(click.Group):
    """A group of commands that takes these options before the command, too."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; the error about a misspelled one names the nearest."""
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            near = meant(args[0], self.commands)
            hint = f"did you mean {near}?" if near else None
            hint = _TASKS.get(args[0], hint) if ctx.parent is None else hint
            ctx.fail(f"No such command {args[0]!r}{f'; {hint}' if hint else '.'}")
        return super().resolve_command(ctx, args)

    def __init__(self, *args: Any, **options: Any) -> None:
        # A missing command is a usage error of one line, not the whole help text.
        super().__init__(*args, **{"no_args_is_help": False, **options})
        self.params += common_options()


class Program(Group):
    """The program, which reports an error as one line on stderr."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        """Run the program, with the arguments of the process if ``args`` is None, then exit."""
        arguments = list(sys.argv[1:] if args is None else args)
        fixed = {"prog_name": self.name, "standalone_mode": False}
        try:
            code = super().main(arguments, *rest, **{**options, **fixed})
        except SystemExit as ended:
            # Click completes a word and exits; else click and rich exit only when stdout is closed.
            code = ended.code if COMPLETE_VARIABLE in os.environ else BROKEN_PIPE
        except Exception as error:  # reported with its type and its exit code
            secrets = storage_values(arguments, os.environ)
            failure = failure_of(error, secrets)
            text = failure.json() if "--json" in arguments else f"error: {failure.message}"
            click.echo(text, err=True)
            code = failure.code
            if "--verbose" in arguments:
                click.echo(without_secrets("".join(format_exception(error)), secrets), err=True)
        sys.exit(code)


def at_most_one(options: Mapping[str, object]) -> None:
    """Raise UsageError if more than one option is set; None and False mean not set."""
    if _number_set(options) > 1:
        raise _wrong(f"give only one of {', '.join(options)}")


def exactly_one(options: Mapping[str, object]) -> None:
    """Check that exactly one option is set. See ``at_most_one``."""
    if _number_set(options) != 1:
        raise _wrong(f"give one of {', '.join(options)}")


def _number_set(options: Mapping[str, object]) -> int:
    return sum(value is not None and value is not False for value in options.values())


def _wrong(message: str) -> click.UsageError:
    return click.UsageError(message, click.get_current_context())
