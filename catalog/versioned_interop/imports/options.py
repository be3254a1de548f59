"""The options of an import, also as one text each for SQL and the command line."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.ddl import take_path
from versioned_catalog.model.tokens import Cursor, TokenKind
from versioned_catalog.model.type_text import render_path
from versioned_catalog.spelling import one_of
from versioned_interop.imports.disagreements import Dialect
from versioned_interop.imports.file_schema import LeafRules
from versioned_interop.imports.provided import Names, Provided, SchemaSource, provided_schema
from versioned_interop.imports.text_files import CsvOptions

BATCH_FILES = 1000
"""Files that are adopted in one commit."""


class Again(enum.Enum):
    """Files that are imported again."""

    CHANGED = "changed"
    """Those that have changed since. A segment of the old file leaves the table."""
    ALL = "all"
    """All of them."""


@dataclass(frozen=True)
class ImportOptions:
    """Arguments of ``Catalog.import_files``."""

    format: str | None = None
    copy: bool = False
    provided: Provided = field(default_factory=Provided)
    names: Names = field(default_factory=Names)
    evolve: bool = False
    path_columns: bool = True
    rules: LeafRules = field(default_factory=LeafRules)
    csv: CsvOptions = field(default_factory=CsvOptions)
    skip_unreadable: bool = False
    batch_files: int = BATCH_FILES
    dialect: Dialect = Dialect.PYTHON
    again: Again | None = None


def import_options(
    *,
    format: str | None = None,
    copy: bool = False,
    schema: SchemaSource = None,
    strict: bool | None = None,
    aliases: Mapping[str, str] | None = None,
    exclude: Sequence[str] = (),
    evolve: bool = False,
    path_columns: bool = True,
    binary_as_string: bool = False,
    nanoseconds: str = "refuse",
    delimiter: str | None = None,
    header: bool = True,
    null: str = "",
    skip_unreadable: bool = False,
    batch_files: int = BATCH_FILES,
    dialect: Dialect = Dialect.PYTHON,
    again: str | None = None,
) -> ImportOptions:
    """Check the arguments of users.

    Raises:
        InvalidRequestError: one of them is invalid.
    """
    if nanoseconds not in ("refuse", "truncate"):
        raise InvalidRequestError(
            f"nanoseconds must be refuse or truncate, got {nanoseconds!r}",
            condition="INVALID_OPTION",
        )
    if not isinstance(batch_files, int) or batch_files < 1:
        raise InvalidRequestError(
            f"batch_files must be a positive integer, got {batch_files!r}",
            condition="INVALID_OPTION",
        )
    return ImportOptions(
        format,
        copy,
        provided_schema(schema, strict=strict),
        Names.of(aliases, exclude),
        evolve,
        path_columns,
        LeafRules(binary_as_string, nanoseconds == "truncate"),
        CsvOptions(delimiter, header, null),
        skip_unreadable,
        batch_files,
        dialect,
        None if again is None else one_of(Again, again, "again"),
    )


def parse_aliases(text: str | None) -> dict[str, str]:
    """Aliases.

    Raises:
        InvalidRequestError: it does not parse.

    >>> parse_aliases("plz = zip, `a.b`.c = d")
    {'plz': 'zip', '`a.b`.c': 'd'}
    """

    def take(cursor: Cursor) -> tuple[str, str]:
        old = render_path(take_path(cursor))
        cursor.expect("=")
        return old, render_path(take_path(cursor))

    return dict(_parsed(text, "list of aliases", take))


def parse_paths(text: str | None) -> list[str]:
    """Columns.

    Raises:
        InvalidRequestError: it does not parse.

    >>> parse_paths("a, b.c")
    ['a', 'b.c']
    """
    return _parsed(text, "list of columns", lambda cursor: render_path(take_path(cursor)))


T = TypeVar("T")


def _parsed(text: str | None, what: str, take: Callable[[Cursor], T]) -> list[T]:
    items: list[T] = []
    cursor = Cursor(text or "", what)
    while cursor.token.kind is not TokenKind.END:
        items.append(take(cursor))
        if not cursor.accept(","):
            cursor.expect_end()
    return items
