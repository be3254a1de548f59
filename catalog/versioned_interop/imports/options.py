"""The options of an import, also as one text each for SQL and the command line."""

from __future__ import annotations

import codecs
import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.ddl import take_path
from versioned_catalog.model.schema import name_key
from versioned_catalog.model.tokens import Cursor, TokenKind
from versioned_catalog.model.type_text import parse_path, render_path
from versioned_catalog.model.types import Atom
from versioned_catalog.spelling import one_of
from versioned_interop.imports.disagreements import Dialect
from versioned_interop.imports.file_schema import LeafRules
from versioned_interop.imports.path_parts import FILE_FACTS, PathColumns
from versioned_interop.imports.provided import Names, Provided, SchemaSource, provided_schema
from versioned_interop.imports.text_files import UTF_8, CsvOptions, CsvReader, JsonReader
from versioned_interop.imports.text_formats import STANDARD, TextStyle, date_pattern

BATCH_FILES = 1000
"""Files that are adopted in one commit."""


class Again(enum.Enum):
    """Files that are imported again."""

    CHANGED = "changed"
    """Those that have changed since. A segment of the old file leaves the table."""
    ALL = "all"
    """All of them."""


_OF_CSV = ("delimiter", "header", "null", "quote", "escape", "decimal", "thousands", "skip_lines")
_OF_TEXT = ("encoding", "date_format", "timestamp_format")
_OF_BINARY = ("binary_as_string", "nanoseconds")
_FORMATS_OF: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_OF_CSV, ("csv",)),
    **dict.fromkeys(_OF_TEXT, ("csv", "json")),
    "binary_as_string": ("parquet",),  # other formats say which bytes are text
    "nanoseconds": ("parquet", "orc", "avro"),
}
"""The formats that an option is for, if not for all."""

KEPT = (
    *("schema", "strict", "aliases", "exclude", "format"),
    *("path_columns", "dir_columns", "file_columns"),
    *(*_OF_BINARY, *_OF_CSV, *_OF_TEXT),
)
"""The options that a table keeps for its next import."""


@dataclass(frozen=True)
class ImportOptions:
    """Arguments of ``Catalog.import_files``.

    Args:
        given: those that this call gives, not counting what is kept from earlier ones.
    """

    format: str | None = None
    copy: bool = False
    provided: Provided = field(default_factory=Provided)
    names: Names = field(default_factory=Names)
    evolve: bool = False
    paths: PathColumns = field(default_factory=PathColumns)
    rules: LeafRules = field(default_factory=LeafRules)
    csv: CsvOptions = field(default_factory=CsvOptions)
    skip_unreadable: bool = False
    batch_files: int = BATCH_FILES
    dialect: Dialect = Dialect.PYTHON
    again: Again | None = None
    given: frozenset[str] = frozenset()

    def check_format(self, format_: str) -> None:
        """Refuse options that have no meaning for files of a format.

        Raises:
            InvalidRequestError: naming one of them.
        """
        for name in KEPT:
            if name in self.given and format_ not in _FORMATS_OF.get(name, (format_,)):
                formats = " or ".join(map(str.upper, _FORMATS_OF[name]))
                raise InvalidRequestError(
                    f"{name} is an option of {formats}, and the files are {format_.upper()}; leave it "
                    "out",
                    condition="INVALID_OPTION",
                )

    def style(self, format_: type) -> TextStyle:
        """How values are written in text of the files of a reader."""
        if issubclass(format_, CsvReader):
            return self.csv.style
        if issubclass(format_, JsonReader):
            return replace(self.csv.style, decimal=STANDARD.decimal, thousands=STANDARD.thousands)
        return STANDARD


Texts = str | Sequence[str]


def import_options(
    *,
    format: str | None = None,
    copy: bool = False,
    schema: SchemaSource = None,
    strict: bool | None = None,
    aliases: Mapping[str, str] | None = None,
    exclude: Sequence[str] | None = None,
    evolve: bool = False,
    path_columns: bool | None = None,
    dir_columns: bool | Texts | None = None,
    file_columns: Texts | Mapping[str, str] | None = None,
    binary_as_string: bool | None = None,
    nanoseconds: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    null: Texts | None = None,
    quote: str | None = None,
    escape: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    skip_lines: int | None = None,
    encoding: str | None = None,
    date_format: str | None = None,
    timestamp_format: str | None = None,
    skip_unreadable: bool = False,
    batch_files: int = BATCH_FILES,
    dialect: Dialect = Dialect.PYTHON,
    again: str | None = None,
) -> ImportOptions:
    """Check the arguments of users.

    Raises:
        InvalidRequestError: one of them is invalid.
    """
    if nanoseconds not in (None, "refuse", "truncate"):
        raise _invalid("nanoseconds", "refuse or truncate", nanoseconds)
    if not isinstance(batch_files, int) or batch_files < 1:
        raise _invalid("batch_files", "a positive integer", batch_files)
    is_number = isinstance(skip_lines, int) and not isinstance(skip_lines, bool)
    if skip_lines is not None and (not is_number or skip_lines < 0):
        raise _invalid("skip_lines", "a number of lines", skip_lines)
    for name, flag in {"path_columns": path_columns, "header": header}.items():
        if not isinstance(flag, bool | None):
            raise _invalid(name, "true or false", flag)
    csv = CsvOptions(
        _character("delimiter", delimiter) or None,
        True if header is None else header,
        _texts("null", null) if null is not None else ("",),
        '"' if quote is None else _character("quote", quote),
        _character("escape", escape),
        skip_lines or 0,
        _codec(encoding),
        _style(decimal, thousands, date_format, timestamp_format),
    )
    _check_different(csv)
    return ImportOptions(
        format or None,
        copy,
        provided_schema(None if schema == "" else schema, strict=strict),
        Names.of(aliases, () if exclude is None else exclude),
        evolve,
        PathColumns(path_columns is not False, _folders(dir_columns), _file_columns(file_columns)),
        LeafRules(bool(binary_as_string), nanoseconds == "truncate"),
        csv,
        skip_unreadable,
        batch_files,
        dialect,
        None if again is None else one_of(Again, again, "again"),
    )


def _invalid(name: str, wanted: str, value: object) -> InvalidRequestError:
    return InvalidRequestError(
        f"{name} must be {wanted}, got {value!r}", condition="INVALID_OPTION"
    )


def _character(name: str, value: object) -> str:
    """A character of CSV, which PyArrow takes as one byte; empty for none."""
    if value is None or value == "":
        return ""
    if not isinstance(value, str) or len(value) != 1 or not value.isascii() or value in "\r\n\0":
        raise _invalid(name, "one ASCII character, and no line break", value)
    return value


def _texts(name: str, value: object) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise _invalid(name, "a text or a list of texts", value)
    return tuple(texts)


def _codec(name: object) -> str:
    """The name of a codec for text.

    Raises:
        InvalidRequestError: there is no such codec, or it is not for text.
    """
    if name in (None, ""):
        return UTF_8
    try:
        info = codecs.lookup(str(name))
        "".encode(info.name)
    except (LookupError, UnicodeError, ValueError):
        raise _invalid(
            "encoding", "the name of one that Python knows, such as latin-1 or cp1252", name
        ) from None
    return info.name


def _style(
    decimal: str | None, thousands: str | None, date: str | None, timestamp: str | None
) -> TextStyle:
    for format_, type_ in ((date, Atom.DATE), (timestamp, Atom.TIMESTAMP)):
        if format_:
            date_pattern(format_, type_)
    for name, value in (("decimal", decimal), ("thousands", thousands)):
        if value and (not isinstance(value, str) or len(value) != 1 or value in _OF_NUMBERS):
            raise _invalid(name, "one character that is no part of a number, such as ','", value)
    if thousands and thousands == (decimal or "."):
        raise InvalidRequestError(
            f"decimal and thousands are both {thousands!r}; give decimal=',' with thousands='.'",
            condition="INVALID_OPTION",
        )
    return TextStyle(decimal or ".", thousands or "", date or None, timestamp or None)


_OF_NUMBERS = "0123456789+-eE\r\n"


def _check_different(csv: CsvOptions) -> None:
    characters = {"delimiter": csv.delimiter, "quote": csv.quote, "escape": csv.escape}
    seen: dict[str, str] = {}
    for name, character in characters.items():
        if character and seen.setdefault(character, name) != name:
            raise InvalidRequestError(
                f"{seen[character]} and {name} are both {character!r}; quotes inside quotes may always "
                "be doubled, without escape",
                condition="INVALID_OPTION",
            )


def _folders(value: bool | Texts | None) -> tuple[str, ...] | None:
    """The names for folders without one; empty for those of Drill, None if they are no columns."""
    if isinstance(value, str):
        lower = value.strip().lower()
        value = {"": False, "false": False, "true": True}.get(lower) or (
            False if lower in ("", "false") else parse_paths(value)
        )
    if value is None or value is False:
        return None
    if value is True:
        return ()
    return _names("dir_columns", _texts("dir_columns", value)) or None


def _file_columns(value: Texts | Mapping[str, str] | None) -> dict[str, str]:
    """The names of columns by what they hold."""
    if value is None:
        return {}
    if isinstance(value, str):
        value = parse_file_columns(value)
    columns = dict(value) if isinstance(value, Mapping) else dict(zip(value, value, strict=True))
    for what in columns:
        if what not in FILE_FACTS:
            raise _invalid("file_columns", f"some of {', '.join(FILE_FACTS)}", what)
    names = _names("file_columns", columns.values())
    return dict(zip(columns, names, strict=True))


def _names(option: str, texts: Iterable[str]) -> tuple[str, ...]:
    """Names of columns at the top level."""
    names = []
    for text in texts:
        path = parse_path(text)
        if len(path) != 1:
            raise _invalid(option, "names of columns, not inside others", text)
        names.append(path[0])
    if len(set(map(name_key, names))) < len(names):
        raise _invalid(option, "different names", names)
    return tuple(names)


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


def parse_file_columns(text: str) -> dict[str, str]:
    """What is taken of each file, with the names of the columns.

    Raises:
        InvalidRequestError: it does not parse.

    >>> parse_file_columns("file_name, file_path = source")
    {'file_name': 'file_name', 'file_path': 'source'}
    """

    def take(cursor: Cursor) -> tuple[str, str]:
        what = render_path(take_path(cursor))
        return what, render_path(take_path(cursor)) if cursor.accept("=") else what

    return dict(_parsed(text, "list of file_columns", take))


T = TypeVar("T")


def _parsed(text: str | None, what: str, take: Callable[[Cursor], T]) -> list[T]:
    items: list[T] = []
    cursor = Cursor(text or "", what)
    while cursor.token.kind is not TokenKind.END:
        items.append(take(cursor))
        if not cursor.accept(","):
            cursor.expect_end()
    return items
