"""CSV and lines of JSON, read by PyArrow in blocks, and the types of their columns.

The first of these that all values of a column fit; empty ones are null and fit every type:

========================  ==========================================================================
``BOOLEAN``               ``true`` and ``false``, in any case
``BIGINT``                up to 18 digits, without leading zeros
``DOUBLE``                numbers of up to 15 digits before the point, without leading zeros; an exponent
``DATE``                  ``2024-01-31``
``TIMESTAMP_NTZ``         ``2024-01-31 12:30[:15[.123456]]``, with a blank or T; and dates
``TIMESTAMP``             the same with an offset or Z
``STRING``                everything else; also a column without any value
========================  ==========================================================================

So codes such as ``00123`` stay text, and a long number is never rounded.
"""

from __future__ import annotations

import csv as plain_csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, json

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.types import Atom
from versioned_catalog.storage.opening import open_file
from versioned_catalog.storage.store import Store
from versioned_interop.imports.file_schema import FileColumn, FileSchema, Kind
from versioned_interop.imports.text_formats import parse_text

_DAY = r"\d{4}-\d\d-\d\d"
_TIME = r"[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?"

_PATTERNS: dict[Atom, str] = {
    Atom.BOOLEAN: r"^(?i:true|false)$",
    Atom.LONG: r"^[+-]?(0|[1-9]\d{0,17})$",
    Atom.DOUBLE: r"^[+-]?((0|[1-9]\d{0,14})(\.\d+)?|\.\d+)([eE][+-]?\d{1,3})?$",
    Atom.DATE: rf"^{_DAY}$",
    Atom.TIMESTAMP_NTZ: rf"^{_DAY}({_TIME})?$",
    Atom.TIMESTAMP: rf"^{_DAY}{_TIME}(Z|[+-]\d\d:?\d\d)$",
}
_CHECKED = (Atom.DATE, Atom.TIMESTAMP_NTZ, Atom.TIMESTAMP)
"""Types whose patterns do not say that the value exists: there is no 31 February."""


@dataclass
class TextTyper:
    """Finds the type of one column.

    >>> typer = TextTyper()
    >>> typer.add(pa.array(["1", None, "2.5"]))
    >>> [type_.value for type_ in typer.types]
    ['double', 'string']
    """

    _left: list[Atom] = field(default_factory=lambda: list(_PATTERNS))
    _has_values: bool = False

    def add(self, values: pa.Array) -> None:
        """Take some values: strings, null where they are empty."""
        present = pc.drop_null(values)
        if not len(present):
            return
        self._has_values = True
        if self._left:
            trimmed = pc.utf8_trim_whitespace(present)
            self._left = [type_ for type_ in self._left if _fits(trimmed, type_)]

    @property
    def types(self) -> tuple[Atom, ...]:
        """The types that all values fit, the preferred one first; empty if there was no value."""
        return (*self._left, Atom.STRING) if self._has_values else ()


def _fits(values: pa.Array, type_: Atom) -> bool:
    if not pc.all(pc.match_substring_regex(values, _PATTERNS[type_])).as_py():
        return False
    if type_ not in _CHECKED:
        return True
    try:
        parse_text(values, type_, None)
    except pa.ArrowException:
        return False
    return True


BLOCK = 8 * 1024 * 1024
"""The bytes of text that are parsed at a time; the longest line of JSON is as long."""

_CODECS = {"gz": "gzip", "bz2": "bz2", "zst": "zstd", "lz4": "lz4"}


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """How CSV is written.

    Args:
        delimiter: between values; None for a tab in ``.tsv`` files and a comma in others.
        header: whether the first line names the columns; else they are ``f0``, ``f1``, ….
        null: the text of null; quoted, it is text.
        names: the names of columns by position, of files without a header; None where there is none.
    """

    delimiter: str | None = None
    header: bool = True
    null: str = ""
    names: tuple[str, ...] = ()

    def named(self, generated: Sequence[str]) -> list[str]:
        """The names of the columns of a file, from those that PyArrow gives them."""
        return [*self.names[: len(generated)], *generated[len(self.names) :]]


def _stream(store: Store, path: str) -> Any:
    source = open_file(store, path)
    raw = pa.OSFile(source) if isinstance(source, str) else pa.PythonFile(source, mode="r")
    codec = _CODECS.get(path.rpartition(".")[2].lower())
    return raw if codec is None else pa.CompressedInputStream(raw, codec)


def csv_schema(store: Store, path: str, options: CsvOptions) -> FileSchema:
    """The columns of a CSV file, with types that all its values fit.

    Raises:
        InvalidRequestError: it is no CSV.
    """
    typers: dict[int, TextTyper] = {}
    names: list[str] = []
    for batch in csv_batches(store, path, options):
        names = batch.schema.names
        for at, values in enumerate(batch.columns):
            typers.setdefault(at, TextTyper()).add(values)
    return tuple(_text_column(name, typers[at].types) for at, name in enumerate(names))


def _text_column(name: str, types: tuple[Atom, ...]) -> FileColumn:
    if not types:
        return FileColumn(name, Kind.VOID)
    return FileColumn(name, Kind.LEAF, type=types[0], candidates=types)


def csv_batches(store: Store, path: str, options: CsvOptions) -> Iterator[pa.RecordBatch]:
    """The rows of a CSV file, as strings; at least one batch, which may be empty.

    Raises:
        InvalidRequestError: it is no CSV.
    """
    try:
        names = _csv_reader(store, path, options, {}).schema.names
        reader = _csv_reader(store, path, options, dict.fromkeys(names, pa.string()))
        has_batches = False
        named = options.named(names)
        for batch in reader:
            has_batches = True
            yield pa.RecordBatch.from_arrays(batch.columns, named)
        if not has_batches:
            yield pa.RecordBatch.from_arrays([pa.array([], pa.string()) for _ in named], named)
    except pa.ArrowException as error:
        raise InvalidRequestError(f"it can't be read as CSV: {error}") from None


def _csv_reader(store: Store, path: str, options: CsvOptions, types: dict[str, Any]) -> Any:
    convert = csv.ConvertOptions(
        column_types=types,
        null_values=[options.null],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    return csv.open_csv(
        _stream(store, path),
        csv.ReadOptions(
            block_size=BLOCK, use_threads=False, autogenerate_column_names=not options.header
        ),
        csv.ParseOptions(delimiter=_delimiter(path, options), newlines_in_values=True),
        convert,
    )


def _delimiter(path: str, options: CsvOptions) -> str:
    is_tabbed = ".tsv" in path.lower().rpartition("/")[2]
    return options.delimiter or ("\t" if is_tabbed else ",")


def csv_place(store: Store, path: str, options: CsvOptions, row: int) -> str:
    """Where a row of a CSV file is, counted from 0, for an error."""
    with suppress(plain_csv.Error, UnicodeDecodeError), _stream(store, path) as stream:
        lines = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        records = plain_csv.reader(lines, delimiter=_delimiter(path, options))
        left, before = row + options.header, 0
        for record in records:
            if not record:  # PyArrow skips empty lines, too
                before = records.line_num
                continue
            if not left:
                return f"line {before + 1}"
            left, before = left - 1, records.line_num
    return f"row {row + 1}"


def json_tables(store: Store, path: str) -> Iterator[JsonRows]:
    """The rows of a file with lines of JSON; in each table, a column has one type.

    Raises:
        InvalidRequestError: a line is no JSON object.
    """
    with _stream(store, path) as stream:
        rest, line = b"", 1
        while block := stream.read(BLOCK):
            whole, newline, after = (rest + block).rpartition(b"\n")
            if not newline:
                rest = after
                continue
            yield from _parsed(whole, line)
            line += whole.count(b"\n") + 1
            rest = after
        yield from _parsed(rest, line)


@dataclass(frozen=True)
class JsonRows:
    """Some lines of JSON.

    Args:
        table: the rows; numbers with a point or exponent, and those of many digits, are DOUBLE.
        text: the lines.
        line: the number of the first.
    """

    table: pa.Table
    text: bytes
    line: int

    def with_exact_numbers(self) -> pa.Table:
        """The rows with all numbers as the texts that stand in the file.

        Raises:
            InvalidRequestError: they can't be told from what stands beside them.
        """
        quoted = _TOKENS.sub(_quoted, self.text)
        try:
            table = json.read_json(pa.py_buffer(quoted), json.ReadOptions(False, len(quoted) + 1))
            return _as_text(table, quoted)
        except pa.ArrowException as error:
            raise InvalidRequestError(
                f"the numbers from line {self.line} on can't be read as text: {error}"
            ) from None

    def place(self, row: int) -> str:
        """Where a row of the table is, counted from 0, for an error."""
        lines = self.text.split(b"\n")
        full = [at for at, line in enumerate(lines) if line.strip()]
        if len(full) == self.table.num_rows:
            return f"line {self.line + full[row]}"
        return f"row {row + 1} of those from line {self.line} on"


_TOKENS = re.compile(
    rb'"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+-]*|-?(?:NaN|Inf(?:inity)?)', re.DOTALL
)
"""Strings and numbers of JSON."""


def _quoted(match: re.Match[bytes]) -> bytes:
    token = match[0]
    return token if token.startswith(b'"') else b'"%b"' % token


def _parsed(text: bytes, line: int) -> Iterator[JsonRows]:
    """The rows of some lines; halved where a column has values of different kinds."""
    if not text.strip():
        return
    try:
        str(text, "utf-8")  # PyArrow takes any bytes for strings
        table = json.read_json(pa.py_buffer(text), json.ReadOptions(False, len(text) + 1))
    except (pa.ArrowException, UnicodeDecodeError) as error:
        lines = text.split(b"\n")
        if len(lines) == 1:
            raise InvalidRequestError(f"line {line} is no JSON object: {error}") from None
        half = len(lines) // 2
        yield from _parsed(b"\n".join(lines[:half]), line)
        yield from _parsed(b"\n".join(lines[half:]), line + half)
        return
    yield JsonRows(_as_text(table, text), text, line)


def _as_text(table: pa.Table, text: bytes) -> pa.Table:
    """The table with strings where PyArrow took them for timestamps."""
    schema = pa.schema([field.with_type(_without_times(field.type)) for field in table.schema])
    if schema.equals(table.schema):
        return table
    options = json.ParseOptions(explicit_schema=schema)
    return json.read_json(pa.py_buffer(text), json.ReadOptions(False, len(text) + 1), options)


def _without_times(arrow: Any) -> pa.DataType:
    if pa.types.is_timestamp(arrow):
        return pa.string()
    if pa.types.is_struct(arrow):
        return pa.struct([field.with_type(_without_times(field.type)) for field in arrow])
    if pa.types.is_list(arrow):
        return pa.list_(_without_times(arrow.value_type))
    return arrow
