"""Parse ``statements.sql`` and compare the results of its statements with the expected ones."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("statements.sql")


@dataclass(frozen=True)
class Statement:
    """A statement and its expected result.

    Args:
        sql: the statement.
        rows: the expected lines of its result; None if any result will do.
        error: a part of the expected error, or None if it must succeed.
    """

    sql: str
    rows: tuple[str, ...] | None
    error: str | None


def statements(text: str | None = None) -> list[Statement]:
    found: list[Statement] = []
    sql, rows, error = "", [], None

    def finish() -> None:
        if sql:
            shows = sql.startswith(("SELECT", "SHOW TABLES", "SHOW NAMESPACES", "SHOW PARTITIONS"))
            checked = rows or (shows and error is None)
            found.append(Statement(sql, tuple(rows) if checked else None, error))

    for line in (FILE.read_text() if text is None else text).splitlines():
        if line.startswith("-->"):
            rows.append(line[3:].strip())
        elif line.startswith("--!"):
            error = line[3:].strip()
        elif line.strip() and not line.startswith("--"):
            finish()
            assert line.endswith(";"), line
            sql, rows, error = line[:-1], [], None
    finish()
    return found


def check(statement: Statement, lines: Iterable[str], error: str | None) -> str | None:
    """Compare a result with the expected one; return the difference, or None if there is none.

    Args:
        statement: the statement that ran.
        lines: the lines of its result, with columns separated by tabs.
        error: its error, or None if it succeeded.
    """
    if statement.error is not None:
        if error is None:
            return f"{statement.sql}\n  did not fail"
        return None if statement.error.lower() in error.lower() else f"{statement.sql}\n  {error}"
    if error is not None:
        return f"{statement.sql}\n  {error}"
    shown = [" | ".join(cell.strip() for cell in line.split("\t")) for line in lines]
    shown = [_stripped(line) for line in shown]
    shown = [line for line in shown if line]
    wanted = [_stripped(line) for line in statement.rows or ()]
    if statement.sql.startswith("DESCRIBE ") and "EXTENDED" not in statement.sql:
        shown = shown[: len(wanted)]  # drops the metadata columns, which every table has
    if statement.rows is None or shown == wanted:
        return None
    return f"{statement.sql}\n  shows {shown}\n  not   {wanted}"


def _stripped(line: str) -> str:
    return line.rstrip(" |").replace(" | NULL", " | NULL")


def lines_of(statement: Statement, rows: Iterable[Any]) -> list[str]:
    """Render rows as the command line prints them."""
    hidden = "" if statement.sql.startswith("DESCRIBE ") else "NULL"
    found: list[str] = []
    for row in rows:
        cells = [hidden if cell is None else _text(cell) for cell in row]
        if statement.sql.startswith("SHOW TABLES"):
            cells = cells[1:2]
        found += "\t".join(cells).split("\n")
    return found


def _text(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case float():
            return "NaN" if value != value else repr(value)  # noqa: PLR0124
        case dt.datetime():
            return value.isoformat(" ")
        case list():
            return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        case _:
            return str(value)
