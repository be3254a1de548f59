"""What is shown while a command runs: progress and warnings on stderr, and where Ctrl-C stopped it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from versioned_catalog.cli.output import is_quiet, is_verbose


class Interrupted(click.Abort):
    """Ctrl-C during long work.

    Args:
        message: what was done, and what to do.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@contextmanager
def show_progress(again: str) -> Iterator[Callable[[str, int, int], None]]:
    """Show progress on stderr: bars on a terminal, lines with ``--verbose``, else nothing.

    Args:
        again: after Ctrl-C, what stays, and what a second call does.

    Raises:
        Interrupted: Ctrl-C.
    """
    last = ""

    def report(step: str, done: int, total: int) -> None:
        nonlocal last
        last = f" at {step}: {done:,} of {total:,}"
        show(step, done, total)

    with _shown() as show:
        try:
            yield report
        except KeyboardInterrupt:
            raise Interrupted(f"interrupted{last}; {again}") from None


@contextmanager
def _shown() -> Iterator[Callable[[str, int, int], None]]:
    if is_verbose():
        yield _lines()
    elif is_quiet() or not sys.stderr.isatty():
        yield lambda step, done, total: None
    else:
        from versioned_catalog.progress import bars

        with bars(transient=True) as show:
            yield show


def _lines() -> Callable[[str, int, int], None]:
    """Print a line for each tenth of a step."""
    printed: dict[str, int] = {}

    def show(step: str, done: int, total: int) -> None:
        tenth = 10 * done // total if total else 10
        if printed.get(step) != tenth:
            printed[step] = tenth
            click.echo(f"{step}: {done:,} of {total:,}", err=True)

    return show
