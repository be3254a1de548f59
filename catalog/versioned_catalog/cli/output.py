"""Print results as tables for people or as one JSON document for scripts, without secrets."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from versioned_catalog.storage.secrets import HIDDEN, without_credentials

if TYPE_CHECKING:
    import pyarrow as pa

STORAGE = "--storage"
STORAGE_VARIABLE = "VERSIONED_STORAGE"


def storage_values(arguments: Sequence[str], environment: Mapping[str, str]) -> frozenset[str]:
    """The values of all storage options, malformed ones included.

    They come from the raw arguments, since a usage error is reported before parsing has ended.
    """
    options = environment.get(STORAGE_VARIABLE, "").split()
    options += [after for at, after in pairwise(arguments) if at == STORAGE]
    options += [text.partition("=")[2] for text in arguments if text.startswith(f"{STORAGE}=")]
    return frozenset(value for option in options if (value := option.split("=", 1)[-1]))


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """Hide secrets, in any quoting, and the credentials in URLs."""
    for secret in sorted(secrets, key=len, reverse=True):
        for form in (secret, repr(secret)[1:-1], quote(secret, safe="")):
            text = _secret_pattern(form).sub(HIDDEN, text)
    return without_credentials(text)


def _secret_pattern(secret: str) -> re.Pattern[str]:
    # Hide a short value such as "1" only as a whole word, or every number would be garbled.
    edges = (r"(?<!\w)", r"(?!\w)") if len(secret) < 4 else ("", "")
    return re.compile(re.escape(secret).join(edges))


Row = Mapping[str, Any]

_JSON = "versioned_catalog.cli.json"
_UNLIMITED = 1_000_000
"""A width beyond any row, since rich truncates what does not fit."""


def json_option() -> click.Option:
    """The option ``--json`` of every command."""
    return click.Option(
        ["--json"],
        is_flag=True,
        expose_value=False,
        callback=_remember_json,
        help="Print one JSON document, also for an error (on stderr).",
    )


def _remember_json(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        context.meta[_JSON] = True


_QUIET, _VERBOSE = "versioned_catalog.cli.quiet", "versioned_catalog.cli.verbose"


def common_options() -> list[click.Option]:
    """The options of every command, which may also stand before it."""
    return [
        json_option(),
        click.Option(
            ["--quiet"],
            is_flag=True,
            expose_value=False,
            callback=_remember(_QUIET),
            help="Show no progress and no warnings.",
        ),
        click.Option(
            ["--verbose"],
            is_flag=True,
            expose_value=False,
            callback=_remember(_VERBOSE),
            help="Print progress as lines, also into a pipe, and where an error was raised.",
        ),
    ]


def _remember(key: str) -> Callable[[click.Context, click.Parameter, bool], None]:
    def remember(context: click.Context, _: click.Parameter, value: bool) -> None:
        if value:
            context.meta[key] = True
        if context.meta.get(_QUIET) and context.meta.get(_VERBOSE):
            raise click.UsageError("give only one of --quiet, --verbose", context)

    return remember


def is_quiet() -> bool:
    """Whether the user passed ``--quiet``."""
    return bool(click.get_current_context().meta.get(_QUIET))


def is_verbose() -> bool:
    """Whether the user passed ``--verbose``."""
    return bool(click.get_current_context().meta.get(_VERBOSE))


def warn(text: str, kind: str = "warning") -> None:
    """Print a warning or a note on stderr, unless the user passed ``--quiet``."""
    if not is_quiet():
        click.echo(f"{kind}: {printable(text)}", err=True)


def wants_json() -> bool:
    """Whether the user passed ``--json``."""
    return bool(click.get_current_context().meta.get(_JSON))


def show_rows(rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Print rows: every field as JSON, or ``columns`` as a table for people."""
    if wants_json():
        show_json(rows)
    else:
        print_table(rows, columns)


def show_table(table: pa.Table, columns: Sequence[str] | None = None) -> None:
    """Print an Arrow table. See ``show_rows``."""
    from versioned_catalog.maintain.column_tables import rows_of

    show_rows(rows_of(table), columns or table.column_names)


def show_object(fields: Row) -> None:
    """Print one object, one line per field."""
    if wants_json():
        show_json(fields)
    else:
        print_table([{"": k, " ": v} for k, v in fields.items()], ["", " "], header=False)


def show_report(summary: Row, name: str, rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Print rows, if there are any, and then the summary; in JSON, the rows are its member ``name``."""
    if wants_json():
        show_json({**summary, name: rows})
        return
    if rows:
        print_table(rows, columns)
    show_object(summary)


def show_commit(table: str, version: int) -> None:
    """Print the version that a commit produced."""
    if wants_json():
        show_json({"table": table, "version": version})
    else:
        click.echo(f"{printable(table)} is at version {version}")


def show_json(document: Row | Sequence[Row]) -> None:
    """Print a JSON document in ASCII, which every terminal and pipe can carry."""
    click.echo(json.dumps(_finite(document), indent=2, default=_json_value, allow_nan=False))


def show_line(row: Row) -> None:
    """Print one object of a stream of them as one line of JSON."""
    click.echo(json.dumps(_finite(row), default=_json_value, allow_nan=False))


def _finite(value: Any) -> Any:
    """The value with text instead of NaN and infinities, which JSON lacks."""
    match value:
        case float() if not math.isfinite(value):
            return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
        case dict():
            return {key: _finite(inner) for key, inner in value.items()}
        case list() | tuple():
            return list(map(_finite, value))
        case _:
            return value


def _json_value(value: object) -> str:
    match value:
        case datetime():
            return time_text(value)
        case date() | time():
            return value.isoformat()
        case bytes():
            return value.hex()
        case Decimal() | timedelta():
            return str(value)
        case _:
            raise TypeError(f"can't write a {type(value).__name__} as JSON")


def time_text(moment: datetime) -> str:
    """A time in UTC with microseconds, so that it identifies the same version again."""
    utc = moment.astimezone(UTC).replace(tzinfo=None)
    return f"{utc.isoformat(timespec='microseconds')}Z"


def print_table(rows: Sequence[Row], columns: Sequence[str], *, header: bool = True) -> None:
    """Print a table for people; it wraps at the width of a terminal and is never truncated."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=header)
    for name in columns:
        right = all(type(row[name]) is int for row in rows)
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell_text(row[name])) for name in columns))
    console = Console(width=None if sys.stdout.isatty() else _UNLIMITED)
    with console.capture() as rendered:
        console.print(table)
    for line in rendered.get().splitlines():
        click.echo(line.rstrip())


def cell_text(value: object) -> str:
    """The text of a value in a table for people; empty for null."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case datetime():
            return time_text(value)
        case bytes():
            return f"X'{value.hex()}'"
        case list():
            return ", ".join("null" if item is None else cell_text(item) for item in value)
        case dict():
            return ", ".join(f"{key}={cell_text(item)}" for key, item in value.items())
        case _:
            return printable(str(value))


def printable(text: str) -> str:
    """Escape every character that is not printable."""
    return "".join(ch if ch.isprintable() else ch.encode("unicode_escape").decode() for ch in text)


def one_line(text: str) -> str:
    """Collapse white space and line breaks to single spaces, and escape the rest."""
    return printable(" ".join(text.split()))


def separate_lines(text: str) -> str:
    """Escape a message of several lines, and indent all but the first one.

    Text of others, such as the name of a column, can't look like a line of its own.
    """
    lines = [printable(line.expandtabs().rstrip()) for line in text.strip().splitlines()]
    return "\n  ".join(line for line in lines if line)


def hours_of(span: timedelta | None) -> float | None:
    """A time span in hours."""
    return None if span is None else span / timedelta(hours=1)
