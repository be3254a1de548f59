"""Commands that all take ``--json``, and a program that ends with our exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from versioned_catalog.cli.failures import BROKEN_PIPE, failure_of
from versioned_catalog.cli.output import json_option
from versioned_catalog.cli.secrets import storage_values


class Command(click.Command):
    """A command with ``--json``."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.params.append(json_option())


class Group(click.Group):
    """Commands under one name; ``--json`` may stand before them, too."""

    command_class = Command

    def __init__(self, *args: Any, **options: Any) -> None:
        # Without a command, its help would be an error of many lines.
        super().__init__(*args, **{"no_args_is_help": False, **options})
        self.params.append(json_option())


class Program(Group):
    """The whole program: errors are one line on stderr."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        """Run, and exit.

        Args:
            args: those of the process, if None.
            rest, options: as click has them.
        """
        given = list(sys.argv[1:] if args is None else args)
        fixed = {"prog_name": self.name, "standalone_mode": False}
        try:
            code = super().main(given, *rest, **{**options, **fixed})
        except SystemExit:  # click and rich end so where stdout is closed, and nothing else does
            code = BROKEN_PIPE
        except Exception as error:  # told with its type and an exit code of its own
            failure = failure_of(error, storage_values(given, os.environ))
            click.echo(failure.json() if "--json" in given else failure.text(), err=True)
            code = failure.code
        sys.exit(code)
