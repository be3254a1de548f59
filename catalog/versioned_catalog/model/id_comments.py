"""Comments of DDL that identify columns: ``-- id 2``, ``-- was host`` and ``-- new``.

A text names the tables whose column IDs it gives in lines ``-- table UUID`` before CREATE, one for each
environment. ``-- id 2 | 5`` gives the ID in the first and in the second of them, ``-`` for none; without
a bar, the ID is the same in all of them. A line on which several columns begin gives their IDs in order:
``-- id 6, 7 | 9, 10``.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.tokens import Cursor, line_comments
from versioned_catalog.model.type_text import parse_path, quote, render_path
from versioned_catalog.model.types import Column, walk

_NUMBER = r"(?:\d{1,10}|-(?=\s*(?:[,|]|$)))"
_GROUP = rf"{_NUMBER}(?:\s*,\s*{_NUMBER})*"
_IDS = re.compile(rf"id\s+({_GROUP}(?:\s*\|\s*{_GROUP})*)(\s*\|)?", re.IGNORECASE)
_WAS = re.compile(r"(?:.*,\s*)?was\s+(`(?:[^`]|``)+`|[^\s`,]+)", re.IGNORECASE)
_NEW = re.compile(r"(?:.*,\s*)?new", re.IGNORECASE)
_TABLE = re.compile(r"table\s+([0-9a-f]{2,}(?:-[0-9a-f]*)+)(?:\s.*)?", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class IdComments:
    """The parsed comments of a text; columns are identified by their position in pre-order.

    Args:
        tables: the UUIDs of the named tables, in lower case.
        ids: the IDs of a column, one for each named table; just one if no table is named.
        was: earlier names.
        new: columns that are declared new.
        lines: the line on which each column begins, from 1.
    """

    tables: tuple[str, ...] = ()
    ids: Mapping[int, tuple[int | None, ...]] = field(default_factory=dict)
    was: Mapping[int, str] = field(default_factory=dict)
    new: frozenset[int] = frozenset()
    lines: tuple[int, ...] = ()

    def of(self, at: int) -> dict[int, int]:
        """The IDs in one of the tables, by the position of the column."""
        return {
            index: column_id
            for index, ids in self.ids.items()
            if (column_id := ids[at]) is not None
        }


def named_table(line: str) -> str | None:
    """The UUID in a comment ``-- table <UUID>``; None if the line is no such comment.

    Raises:
        InvalidRequestError: the name is not a UUID.
    """
    text = line.strip()
    match = _TABLE.fullmatch(text[2:].strip()) if text.startswith("--") else None
    if match is None:
        return None
    name = match[1].lower()
    if not _UUID.fullmatch(name):
        raise InvalidRequestError(
            f"the comment -- table {match[1]} names no table: a UUID has 32 hexadecimal digits, as "
            "describe prints it; correct or remove the line"
        )
    return name


def read_comments(ddl: str, cursor: Cursor) -> IdComments:
    """Read the comments of a text whose columns the cursor has parsed.

    Raises:
        InvalidRequestError: a comment contradicts another one, or the columns on its line.
    """
    comments = line_comments(ddl)
    tables = _tables([text for offset, text in comments if offset < cursor.start])
    line_ends = [match.start() for match in re.finditer("\n", ddl)]
    begun: dict[int, list[int]] = {}
    for index, offset in enumerate(cursor.columns):
        begun.setdefault(bisect.bisect(line_ends, offset), []).append(index)
    ids: dict[int, tuple[int | None, ...]] = {}
    was: dict[int, str] = {}
    new: set[int] = set()
    for offset, text in comments:
        line = bisect.bisect(line_ends, offset)
        on_line, groups, earlier = begun.get(line, []), _groups(text), _WAS.fullmatch(text)
        if any(len(group) > len(on_line) for group in groups) or (earlier and not on_line):
            raise InvalidRequestError(
                f"the comment -- {text} in line {line + 1} names more columns than begin on that line; "
                "put each comment on the line of its column"
            )
        if groups:
            ids |= dict(zip(on_line, _by_column(groups, tables, text, line), strict=False))
        if earlier:
            was[on_line[0]] = _name(earlier[1])
        if on_line and _NEW.fullmatch(text):
            new.add(on_line[0])
    lines = tuple(bisect.bisect(line_ends, offset) + 1 for offset in cursor.columns)
    return IdComments(tables, ids, was, frozenset(new), lines)


def _tables(comments: Iterable[str]) -> tuple[str, ...]:
    named = [named_table(f"--{text}") for text in comments]
    tables = [uuid for uuid in named if uuid is not None]
    for uuid in tables:
        if tables.count(uuid) > 1:
            raise InvalidRequestError(f"the line -- table {uuid} is given twice; keep one of them")
    return tuple(tables)


def _groups(text: str) -> list[list[int | None]]:
    """The IDs that a comment gives: a list for each table."""
    match = _IDS.match(text)
    if match is None or (match[2] is None and not re.search(r"\d|\|", match[1])):
        return []
    if match[2] is not None:
        raise InvalidRequestError(
            f"the comment -- {text} has no IDs after its last bar; write - for a table that does not "
            "have the column"
        )
    return [
        [None if number.strip() == "-" else int(number) for number in group.split(",")]
        for group in match[1].split("|")
    ]


def _name(text: str) -> str:
    path = parse_path(text)
    if len(path) > 1:
        raise InvalidRequestError(
            f"the comment -- was {text} is a path; a column can't move to another parent, so write its "
            f"name alone, in backticks if it holds dots: -- was {quote(path[-1])}"
        )
    return path[0]


def _by_column(
    groups: list[list[int | None]], tables: Sequence[str], text: str, line: int
) -> list[tuple[int | None, ...]]:
    """The IDs of each column on a line, one for each named table."""
    count = max(1, len(tables))
    if len(groups) not in (1, count):
        raise InvalidRequestError(
            f"the comment -- {text} in line {line + 1} gives IDs of {len(groups)} tables, but "
            f"{len(tables) or 'no'} lines -- table UUID say which; add the lines that are missing, or "
            "leave out the IDs of the other tables"
        )
    every = groups * count if len(groups) == 1 else groups
    longest = max(map(len, every))
    padded = [group + [None] * (longest - len(group)) for group in every]
    return list(zip(*padded, strict=True))


def check_distinct(comments: IdComments, columns: tuple[Column, ...]) -> None:
    """Check that no comments give two columns the same ID.

    Raises:
        InvalidRequestError: naming both columns, or the one whose ID is 0.
    """
    paths = [(*(outer.name for outer in above), column.name) for column, above in walk(columns)]
    for at in range(max(1, len(comments.tables))):
        seen: dict[int, int] = {}
        for index, number in sorted(comments.of(at).items()):
            first = seen.setdefault(number, index)
            shown, other = (
                f"{render_path(paths[each])} (line {comments.lines[each]})"
                for each in (index, first)
            )
            if number == 0:
                raise InvalidRequestError(
                    f"{shown} has the comment -- id 0, but IDs begin with 1; remove the comment"
                )
            if first != index:
                raise InvalidRequestError(
                    f"the comment -- id {number} is on two columns, {other} and {shown}; leave it on "
                    "the one that has this ID in the table, and remove it from the other"
                )


def table_lines(tables: Sequence[str]) -> str:
    """The lines that name the tables of a text."""
    return "".join(f"-- table {uuid}\n" for uuid in tables)


def id_comment(
    columns: Sequence[Sequence[int | None]], was: str | None = None, new: bool = False
) -> str:
    """The comment of a line: for each table, the IDs of the columns that begin on the line.

    ``was`` and ``new`` are of the first column, and stay until all tables have it.
    """
    groups = [", ".join(_shown(ids)) for ids in zip(*columns, strict=True)]
    text = groups[0] if len(set(groups)) == 1 else " | ".join(groups)
    waits = None in columns[0]
    earlier = f", was {quote(was)}" if waits and was is not None else ""
    return f"-- id {text}{earlier}{', new' if waits and new else ''}"


def _shown(ids: Sequence[int | None]) -> Iterator[str]:
    return ("-" if column_id is None else str(column_id) for column_id in ids)
