"""Progress of long work: shown as bars in a terminal or a notebook, or handed to a caller's function."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from versioned_catalog.commit.table_handle import Progress, silent
from versioned_catalog.errors import InvalidRequestError

Reporting = Progress | bool
"""How callers ask for progress: True for bars, False for none, or a function that is called with the
name of a step, how much of it is done, and its total."""


@contextmanager
def reporting(progress: Reporting) -> Iterator[Progress]:
    """The function that long work calls, until the block ends.

    Raises:
        InvalidRequestError: ``progress`` is neither a flag nor a function.
    """
    if progress is True:
        with bars() as report:
            yield report
    elif progress is False:
        yield silent
    elif callable(progress):
        yield progress
    else:
        raise InvalidRequestError(
            "progress must be True, False or a function of the step, what is done and the total; got "
            f"{progress!r}",
            condition="INVALID_OPTION",
        )


@contextmanager
def bars(*, transient: bool = False) -> Iterator[Progress]:
    """Show a bar for each step on stderr, or below the cell of a notebook.

    Args:
        transient: whether they vanish at the end.
    """
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    # Without ipywidgets, rich shows nothing in a notebook, and warns.
    force = None if find_spec("ipywidgets") else False
    console = Console(stderr=True, force_jupyter=force)
    with Bars(console=console, transient=transient) as shown:
        tasks: dict[str, TaskID] = {}

        def report(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = shown.add_task(step, total=total)
            shown.update(tasks[step], completed=done, total=total)

        yield report
