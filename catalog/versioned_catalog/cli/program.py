"""Base classes and checks of the commands: ``--json`` everywhere, and our own exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from versioned_catalog.cli.failures import BROKEN_PIPE, failure_of
from versioned_catalog.cli.output import json_option
from versioned_catalog.cli.secrets import storage_values
from versioned_catalog.spelling import meant


class Command(click.Command):
    """A command that takes ``--json``."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.params.append(json_option())


def table_command(function: Callable[..., None]) -> click.Command:
    """Make a command whose first argument is TABLE; the function gets the session before it."""
    return click.command(cls=Command)(click.argument("table")(click.pass_obj(function)))


class Group(click.Group):
    """A group of commands that takes ``--json`` before the command, too."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; the error about a misspelled one names the nearest."""
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            near = meant(args[0], self.commands)
            ctx.fail(f"No such command {args[0]!r}{f'; did you mean {near}?' if near else '.'}")
        return super().resolve_command(ctx, args)

    def __init__(self, *args: Any, **options: Any) -> None:
        # A missing command is a usage error of one line, not the whole help text.
        super().__init__(*args, **{"no_args_is_help": False, **options})
        self.params.append(json_option())


class Program(Group):
    """The program, which reports an error as one line on stderr."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        """Run the program, with the arguments of the process if ``args`` is None, then exit."""
        given = list(sys.argv[1:] if args is None else args)
        fixed = {"prog_name": self.name, "standalone_mode": False}
        try:
            code = super().main(given, *rest, **{**options, **fixed})
        except SystemExit:  # raised by click and rich only when stdout is closed
            code = BROKEN_PIPE
        except Exception as error:  # reported with its type and its exit code
            failure = failure_of(error, storage_values(given, os.environ))
            click.echo(failure.json() if "--json" in given else failure.text(), err=True)
            code = failure.code
        sys.exit(code)


def at_most_one(options: Mapping[str, object]) -> None:
    """Raise UsageError if more than one option is set; None and False mean not set."""
    if _given(options) > 1:
        raise _wrong(f"give only one of {', '.join(options)}")


def exactly_one(options: Mapping[str, object]) -> None:
    """Check that exactly one option is set. See ``at_most_one``."""
    if _given(options) != 1:
        raise _wrong(f"give one of {', '.join(options)}")


def _given(options: Mapping[str, object]) -> int:
    return sum(one is not None and one is not False for one in options.values())


def _wrong(message: str) -> click.UsageError:
    return click.UsageError(message, click.get_current_context())
