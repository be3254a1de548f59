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
import json as plain_json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, starmap
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, json

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.arrow import one_array
from versioned_catalog.model.schema import name_key
from versioned_catalog.model.types import Array, Atom, DataType, Map, Struct
from versioned_catalog.storage.opening import open_file
from versioned_catalog.storage.store import Store
from versioned_interop.imports.conforming import BATCH_ROWS, Conforming, Target, conformed
from versioned_interop.imports.file_schema import (
    FileColumn,
    FileSchema,
    Kind,
    LeafRules,
    schema_of_arrow,
)
from versioned_interop.imports.json_maps import JsonMaps, with_maps
from versioned_interop.imports.text_formats import STANDARD, TextStyle, parse_text

_DAY = r"\d{4}-\d\d-\d\d"
_TIME = r"[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?"

_WHOLE = r"^[+-]?(0|[1-9]\d{0,17})$"
_NUMBER = r"^[+-]?((0|[1-9]\d{0,14})(\.\d+)?|\.\d+)([eE][+-]?\d{1,3})?$"

_PATTERNS: dict[Atom, str] = {
    Atom.BOOLEAN: r"^(?i:true|false)$",
    Atom.LONG: _WHOLE,
    Atom.DOUBLE: _NUMBER,
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

    style: TextStyle = STANDARD
    _left: list[Atom] = field(init=False)
    _has_values: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        formatted = [type_ for type_ in _CHECKED if self.style.format(type_) is not None]
        self._left = [*formatted, *(type_ for type_ in _PATTERNS if type_ not in formatted)]

    def add(self, values: pa.Array) -> None:
        """Take some values: strings, null where they are empty."""
        present = pc.drop_null(values)
        if not len(present):
            return
        self._has_values = True
        if self._left:
            trimmed = pc.utf8_trim_whitespace(present)
            self._left = [type_ for type_ in self._left if _fits(trimmed, type_, self.style)]

    @property
    def types(self) -> tuple[Atom, ...]:
        """The types that all values fit, the preferred one first; empty if there was no value."""
        return (*self._left, Atom.STRING) if self._has_values else ()


def _fits(values: pa.Array, type_: Atom, style: TextStyle) -> bool:
    if style.format(type_) is not None:
        return _is_formatted(values, type_, style)
    if type_ in (Atom.LONG, Atom.DOUBLE) and not style.plain_numbers:
        if not pc.all(
            pc.match_substring_regex(values, style.number(r"0|[1-9]\d*", _EXPONENT))
        ).as_py():
            return False
        values = style.plain(values)
    if not pc.all(pc.match_substring_regex(values, _PATTERNS[type_])).as_py():
        return False
    if type_ not in _CHECKED:
        return True
    try:
        parse_text(values, type_, None)
    except pa.ArrowException:
        return False
    return True


_EXPONENT = r"([eE][+-]?\d{1,3})?"


def _is_formatted(values: pa.Array, type_: Atom, style: TextStyle) -> bool:
    """Whether values are written in the format that a style has for a type."""
    try:
        parse_text(values, type_, None, style)
    except (pa.ArrowException, ValueError):
        return False
    return True


BLOCK = 8 * 1024 * 1024
"""The bytes of text that are parsed at a time; the longest line of JSON is as long."""

UTF_8 = "utf-8"

_CODECS = {"gz": "gzip", "bz2": "bz2", "zst": "zstd", "lz4": "lz4"}


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """How CSV is written.

    Args:
        delimiter: between values; None for a tab in ``.tsv`` files and a comma in others.
        header: whether the first line names the columns; else they are ``f0``, ``f1``, ….
        nulls: the texts of null; quoted, they are text.
        quote: around values; empty if there are no quotes.
        escape: before a character that stands for itself; empty for none.
        skip: how many lines come before the header or the first row.
        encoding: a codec of Python.
        style: how numbers, dates and timestamps are written.
        names: the names of columns by position, of files without a header; None where there is none.
    """

    delimiter: str | None = None
    header: bool = True
    nulls: tuple[str, ...] = ("",)
    quote: str = '"'
    escape: str = ""
    skip: int = 0
    encoding: str = UTF_8
    style: TextStyle = STANDARD
    names: tuple[str, ...] = ()


def open_stream(store: Store, path: str, encoding: str = UTF_8) -> Any:
    """The bytes of a file, decompressed and in UTF-8."""
    source = open_file(store, path)
    raw = pa.OSFile(source) if isinstance(source, str) else pa.PythonFile(source, mode="r")
    codec = _CODECS.get(path.rpartition(".")[2].lower())
    plain = raw if codec is None else pa.CompressedInputStream(raw, codec)
    return plain if encoding == UTF_8 else pa.transcoding_input_stream(plain, encoding, UTF_8)


@dataclass(frozen=True)
class CsvReader:
    """Reads CSV: all values are text, typed by a full pass."""

    options: CsvOptions

    def schemas(self, store: Store, path: str) -> list[FileSchema]:
        typers: dict[int, TextTyper] = {}
        names: list[str] = []
        for batch in self._rows(store, path):
            names = batch.schema.names
            for at, values in enumerate(batch.columns):
                typers.setdefault(at, TextTyper(self.options.style)).add(values)
        return [tuple(_text_column(name, typers[at].types) for at, name in enumerate(names))]

    def batches(
        self, store: Store, path: str, target: Target, constants: dict[str, pa.Scalar]
    ) -> Iterator[pa.RecordBatch]:
        place = partial(self._place, store, path)
        yield from _text_rows(self._rows(store, path), target, constants, place)

    def _rows(self, store: Store, path: str) -> Iterator[pa.RecordBatch]:
        """The rows as strings; at least one batch, which may be empty.

        Raises:
            InvalidRequestError: it is no CSV.
        """
        try:
            generated = self._open(store, path, {}).schema.names
            reader = self._open(store, path, dict.fromkeys(generated, pa.string()))
            has_batches, given = False, self.options.names
            names = [*given[: len(generated)], *generated[len(given) :]]
            for batch in reader:
                has_batches = True
                yield pa.RecordBatch.from_arrays(batch.columns, names)
            if not has_batches:
                yield pa.RecordBatch.from_arrays([pa.array([], pa.string()) for _ in names], names)
        except UnicodeError as error:
            raise InvalidRequestError(f"it is not in {self.options.encoding}: {error}") from None
        except pa.ArrowException as error:
            raise InvalidRequestError(f"it can't be read as CSV: {error}") from None

    def _open(self, store: Store, path: str, types: dict[str, Any]) -> Any:
        options = self.options
        return csv.open_csv(
            open_stream(store, path, options.encoding),
            csv.ReadOptions(
                block_size=BLOCK,
                use_threads=False,
                autogenerate_column_names=not options.header,
                skip_rows=options.skip,
            ),
            csv.ParseOptions(
                delimiter=self._delimiter(path),
                quote_char=options.quote or False,
                escape_char=options.escape or False,
                newlines_in_values=True,
            ),
            csv.ConvertOptions(
                column_types=types,
                null_values=list(options.nulls),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    def _delimiter(self, path: str) -> str:
        is_tabbed = ".tsv" in path.lower().rpartition("/")[2]
        return self.options.delimiter or ("\t" if is_tabbed else ",")

    def _place(self, store: Store, path: str, row: int) -> str:
        """Where a row is, counted from 0, for an error."""
        options, encoding = self.options, self.options.encoding
        with (
            suppress(plain_csv.Error, UnicodeError),
            open_stream(store, path, encoding) as stream,
        ):
            lines = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
            for _ in range(options.skip):
                lines.readline()
            records = plain_csv.reader(
                lines,
                delimiter=self._delimiter(path),
                quotechar=options.quote or None,
                quoting=plain_csv.QUOTE_MINIMAL if options.quote else plain_csv.QUOTE_NONE,
                escapechar=options.escape or None,
            )
            left, before = row + options.header, 0
            for record in records:
                if not record:  # PyArrow skips empty lines, too
                    before = records.line_num
                    continue
                if not left:
                    return f"line {options.skip + before + 1}"
                left, before = left - 1, records.line_num
        return f"row {row + 1}"


def _text_column(name: str, types: tuple[Atom, ...]) -> FileColumn:
    if not types:
        return FileColumn(name, Kind.VOID)
    return FileColumn(name, Kind.LEAF, type=types[0], candidates=types)


def json_tables(
    store: Store, path: str, encoding: str = UTF_8, maps: JsonMaps | None = None
) -> Iterator[JsonRows]:
    """The rows of ``json_blocks``."""
    return chain.from_iterable(json_blocks(store, path, encoding, maps))


def json_blocks(
    store: Store, path: str, encoding: str = UTF_8, maps: JsonMaps | None = None
) -> Iterator[list[JsonRows]]:
    """The rows of a file with lines of JSON; in each table, a column has one type.

    Tables in one list have rows of the same lines between them, in any order.

    Raises:
        InvalidRequestError: a line is no JSON object.
    """
    maps = JsonMaps() if maps is None else maps
    with open_stream(store, path, encoding) as stream:
        rest, line = b"", 1
        while block := _read(stream, encoding):
            whole, newline, after = (rest + block).rpartition(b"\n")
            if not newline:
                rest = after
                continue
            yield from _parsed(maps.rewritten(whole, line), line)
            line += whole.count(b"\n") + 1
            rest = after
        yield from _parsed(maps.rewritten(rest, line), line)


def _read(stream: Any, encoding: str) -> bytes:
    try:
        return bytes(stream.read(BLOCK))
    except UnicodeError as error:
        raise InvalidRequestError(f"it is not in {encoding}: {error}") from None


@dataclass(frozen=True)
class JsonRows:
    """Some lines of JSON.

    Args:
        table: the rows; numbers with a point or exponent, and those of many digits, are DOUBLE.
        text: the lines.
        lines: the number of each of them in the file.
        absent: the names of columns that these lines lack, and others of their block have.
    """

    table: pa.Table
    text: bytes
    lines: Sequence[int]
    absent: tuple[str, ...] = ()

    def with_columns(self, names: Iterable[str]) -> JsonRows:
        """The rows with nulls in those of the columns that they lack."""
        absent = tuple(name for name in names if name not in self.table.column_names)
        return replace(self, table=_with_nulls(self.table, absent), absent=absent)

    def with_exact_numbers(self) -> pa.Table:
        """The rows with all numbers as the texts that stand in the file.

        Raises:
            InvalidRequestError: they can't be told from what stands beside them.
        """
        quoted = _TOKENS.sub(_quoted, self.text)
        try:
            table = json.read_json(pa.py_buffer(quoted), json.ReadOptions(False, len(quoted) + 1))
            return _with_nulls(with_maps(_as_text(table, quoted)), self.absent)
        except pa.ArrowException as error:
            raise InvalidRequestError(
                f"the numbers from line {self.lines[0]} on can't be read as text: {error}"
            ) from None

    def place(self, row: int) -> str:
        """Where a row of the table is, counted from 0, for an error."""
        full = self.full_lines
        if len(full) == self.table.num_rows:
            return f"line {full[row]}"
        return f"row {row + 1} of those from line {self.lines[0]} on"

    @property
    def full_lines(self) -> list[int]:
        """The numbers of the lines that are not blank."""
        lines = zip(self.lines, self.text.split(b"\n"), strict=True)
        return [number for number, line in lines if line.strip()]


def _with_nulls(table: pa.Table, names: Iterable[str]) -> pa.Table:
    for name in names:
        table = table.append_column(name, pa.nulls(table.num_rows))
    return table


_TOKENS = re.compile(
    rb'"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+-]*|-?(?:NaN|Inf(?:inity)?)', re.DOTALL
)
"""Strings and numbers of JSON."""


def _quoted(match: re.Match[bytes]) -> bytes:
    token = match[0]
    return token if token.startswith(b'"') else b'"%b"' % token


def _parsed(text: bytes, line: int) -> Iterator[list[JsonRows]]:
    """The rows of some lines, which are halved if they can't be read together, nor by their kinds."""
    if not text.strip():
        return
    lines = text.split(b"\n")
    try:
        yield [_read_lines(text, range(line, line + len(lines)))]
        return
    except (pa.ArrowException, UnicodeDecodeError) as error:
        if len(lines) == 1:
            raise InvalidRequestError(f"line {line} is no JSON object: {error}") from None
    by_kind = _rows_by_kind(lines, line)
    if by_kind is not None:
        yield by_kind
        return
    half = len(lines) // 2
    yield from _parsed(b"\n".join(lines[:half]), line)
    yield from _parsed(b"\n".join(lines[half:]), line + half)


def _read_lines(text: bytes, lines: Sequence[int]) -> JsonRows:
    """Lines in which a column has values of one kind; raises ArrowException or UnicodeDecodeError."""
    str(text, "utf-8")  # PyArrow takes any bytes for strings
    table = json.read_json(pa.py_buffer(text), json.ReadOptions(False, len(text) + 1))
    return JsonRows(with_maps(_as_text(table, text)), text, lines)


_MOST_GROUPS = 128
"""The number of groups of lines up to which those of each are read together."""


def _rows_by_kind(lines: Sequence[bytes], first: int) -> list[JsonRows] | None:
    """One table for each group of lines in which a column has values of one kind.

    A line that lacks a column which another one has is null there, as if they were read together.

    Returns:
        None if there are too many groups, or a line can't be read.
    """
    try:
        groups = _grouped(lines)
        if groups is None:
            return None
        read = [
            _read_lines(b"\n".join(lines[at] for at in places), [first + at for at in places])
            for places in groups
        ]
    except (ValueError, RecursionError, pa.ArrowException):
        return None
    names = dict.fromkeys(name for rows in read for name in rows.table.column_names)
    return [rows.with_columns(names) for rows in read]


_Kinds = frozenset[tuple[tuple[str | None, ...], type]]
"""The kinds of the values of a line by their paths; nulls have none. The name of an element is None."""


def _grouped(lines: Sequence[bytes]) -> list[list[int]] | None:
    """The places of the lines of each group, without blank ones; None if there are too many groups."""
    group_of: dict[_Kinds, int] = {}
    groups: list[tuple[dict[tuple[str | None, ...], type], list[int]]] = []
    for at, text in enumerate(lines):
        if not text.strip():
            continue
        line = frozenset(_kinds(plain_json.loads(text)))
        group = group_of.get(line)
        if group is None:
            group = next(
                (
                    number
                    for number, (kinds, _) in enumerate(groups)
                    if all(kinds.get(path, kind) is kind for path, kind in line)
                ),
                len(groups),
            )
            if group == _MOST_GROUPS:
                return None
            if group == len(groups):
                groups.append(({}, []))
            groups[group][0].update(line)
            group_of[line] = group
        groups[group][1].append(at)
    return [places for _, places in groups]


def _kinds(
    value: object, path: tuple[str | None, ...] = ()
) -> Iterator[tuple[tuple[str | None, ...], type]]:
    """The kinds of a value of JSON and of those inside it, by their paths."""
    if value is None:
        return
    yield path, float if type(value) is int else type(value)
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _kinds(member, (*path, name))
    elif isinstance(value, list):
        for element in value:
            yield from _kinds(element, (*path, None))


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


@dataclass(frozen=True)
class JsonReader:
    """Reads lines of JSON; strings are text, whatever they look like."""

    rules: LeafRules
    encoding: str = UTF_8
    maps: JsonMaps = field(default_factory=JsonMaps)

    def schemas(self, store: Store, path: str) -> list[FileSchema]:
        schemas: dict[FileSchema, None] = {}
        for rows in json_tables(store, path, self.encoding, self.maps):
            columns = _with_numbers(schema_of_arrow(rows.table.schema, self.rules))
            if any(map(_has_long_numbers, rows.table.columns)):
                exact = rows.with_exact_numbers()
                arrays = map(one_array, exact.columns)
                columns = tuple(starmap(_without_long_numbers, zip(columns, arrays, strict=True)))
            schemas[columns] = None
        return list(schemas)

    def batches(
        self, store: Store, path: str, target: Target, constants: dict[str, pa.Scalar]
    ) -> Iterator[pa.RecordBatch]:
        for block in json_blocks(store, path, self.encoding, self.maps):
            read = [list(self._conformed(rows, target, constants)) for rows in block[1:]]
            first = self._conformed(block[0], target, constants)
            yield from first if not read else _in_order(block, [list(first), *read])

    def _conformed(
        self, rows: JsonRows, target: Target, constants: dict[str, pa.Scalar]
    ) -> Iterator[pa.RecordBatch]:
        """The rows as the target has them."""
        file = Conforming.of(schema_of_arrow(rows.table.schema, self.rules), target)
        is_exact = not any(_loses_digits(m.file, m.wanted.type) for m in file.matches)
        table = rows.table if is_exact else rows.with_exact_numbers()
        yield from _text_rows(table.to_batches(BATCH_ROWS), target, constants, rows.place)


def _in_order(
    block: Sequence[JsonRows], read: Iterable[Sequence[pa.RecordBatch]]
) -> list[pa.RecordBatch]:
    """The batches of each table of a block, with the rows in the order of the lines."""
    lines = np.concatenate([rows.full_lines for rows in block])
    flat = list(chain.from_iterable(read))
    table = pa.Table.from_batches([batch.select(flat[0].schema.names) for batch in flat])
    batches: list[pa.RecordBatch] = table.take(np.argsort(lines)).to_batches(BATCH_ROWS)
    return batches


def _with_numbers(columns: FileSchema) -> FileSchema:
    """The columns of JSON, where a whole number may be one of a column of others."""
    numbers = {Atom.LONG: (Atom.LONG, Atom.DOUBLE), Atom.DOUBLE: (Atom.DOUBLE,)}

    def widened(column: FileColumn) -> FileColumn:
        types: tuple[DataType, ...] = (
            numbers.get(column.type, ()) if isinstance(column.type, Atom) else ()
        )
        return replace(column, candidates=types, fields=_with_numbers(column.fields))

    return tuple(map(widened, columns))


_EXACT_DOUBLES = 1e15
"""Numbers below have up to 15 digits before the point, which a DOUBLE keeps."""


def _has_long_numbers(column: Any) -> bool:
    """Whether a column of JSON, or a part of one, may have numbers that a DOUBLE rounds."""
    values = one_array(column)
    arrow = values.type
    if pa.types.is_struct(arrow):
        return any(_has_long_numbers(values.field(at)) for at in range(arrow.num_fields))
    if pa.types.is_list(arrow):
        return _has_long_numbers(values.values)
    if pa.types.is_map(arrow):
        return _has_long_numbers(values.items)
    if not pa.types.is_floating(arrow):
        return False
    return bool(pc.any(pc.greater_equal(pc.abs(values), _EXACT_DOUBLES)).as_py())


def _without_long_numbers(column: FileColumn, exact: Any) -> FileColumn:
    """A column of JSON that is text if a DOUBLE would round some of its numbers, as in CSV."""
    match column.kind:
        case Kind.STRUCT:
            parts = zip(column.fields, range(exact.type.num_fields), strict=True)
            fields = tuple(_without_long_numbers(part, exact.field(at)) for part, at in parts)
            return replace(column, fields=fields)
        case Kind.ARRAY:
            return replace(column, fields=(_without_long_numbers(column.fields[0], exact.values),))
        case Kind.MAP:
            key, value = column.fields
            return replace(column, fields=(key, _without_long_numbers(value, exact.items)))
        case Kind.LEAF if column.type is Atom.DOUBLE:
            typer = TextTyper()
            typer.add(exact)
            if Atom.DOUBLE not in typer.types:
                return replace(column, type=Atom.STRING, candidates=(Atom.STRING,))
    return column


def _loses_digits(column: FileColumn, wanted: DataType) -> bool:
    """Whether DOUBLE numbers become another type, and would lose digits on the way."""
    match column.kind, wanted:
        case Kind.STRUCT, Struct(fields):
            by_key = {name_key(field.name): field.type for field in fields}
            parts = ((part, by_key.get(name_key(part.name))) for part in column.fields)
            # An alias may name a part: text is right for it, too.
            return any(type_ is None or _loses_digits(part, type_) for part, type_ in parts)
        case Kind.ARRAY, Array(element):
            return _loses_digits(column.fields[0], element.type)
        case Kind.MAP, Map(_, value):
            return _loses_digits(column.fields[1], value.type)
        case Kind.LEAF, _:
            return column.type is Atom.DOUBLE and wanted is not Atom.DOUBLE
    return False


def _text_rows(
    batches: Iterable[pa.RecordBatch],
    target: Target,
    constants: dict[str, pa.Scalar],
    place: Callable[[int], str],
) -> Iterator[pa.RecordBatch]:
    """The rows of batches with the same columns."""
    left = iter(batches)
    first = next(left, None)
    if first is not None:
        conforming = Conforming.of(schema_of_arrow(first.schema, LeafRules()), target)
        read = ((batch.num_rows, conforming.needed_arrays(batch)) for batch in chain([first], left))
        yield from conformed(conforming, read, constants, place)
