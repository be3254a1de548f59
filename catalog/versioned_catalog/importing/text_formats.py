"""Text as values of our types: ISO 8601 by default, or in a format of the provided schema."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.types.arrow import to_arrow_type
from versioned_catalog.types.types import Atom, DataType, Time

_LETTERS = {
    **{"yyyy": "%Y", "uuuu": "%Y", "yy": "%y", "MM": "%m", "M": "%m", "MMM": "%b", "MMMM": "%B"},
    **{"dd": "%d", "d": "%d", "HH": "%H", "H": "%H", "hh": "%I", "mm": "%M", "ss": "%S"},
    **{"a": "%p", "EEE": "%a", "EEEE": "%A", "XXX": "%z", "XX": "%z", "Z": "%z", "DDD": "%j"},
}
"""Letters of Java's (and Spark's and Drill's) date patterns, as ``strptime`` has them."""

_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*")


def strptime_format(pattern: str) -> str:
    """A format for ``strptime``, of a pattern with ``%`` or of Java's letters.

    Raises:
        InvalidRequestError: it has letters that are not supported.

    >>> strptime_format("dd.MM.yyyy HH:mm"), strptime_format("%d/%m/%Y")
    ('%d.%m.%Y %H:%M', '%d/%m/%Y')
    """
    if "%" in pattern:
        return pattern

    def translate(match: re.Match[str]) -> str:
        if match.group(1) is not None:
            return match.group(1).replace("''", "'")
        if match.group() not in _LETTERS:
            raise InvalidRequestError(
                f"the format {pattern!r} has {match.group()!r}, which is not supported; known are "
                f"{', '.join(_LETTERS)}, text in quotes, and the %-letters of strptime"
            )
        return _LETTERS[match.group()]

    return _TOKEN.sub(translate, pattern)


def parse_text(array: pa.Array, wanted: DataType, format_: str | None) -> pa.Array:
    """Texts as values of a type.

    Raises:
        ArrowException: a text is no value of the type.
        InvalidRequestError: the format is not supported.
    """
    target = to_arrow_type(wanted)
    trimmed = pc.utf8_trim_whitespace(array)
    if format_ is not None and (wanted in _DATED or isinstance(wanted, Time)):
        return _strptime(trimmed, wanted, target, strptime_format(format_))
    match wanted:
        case Atom.TIMESTAMP:
            return _instants(trimmed, target)
        case Atom.BINARY:
            return array.cast(target)
        case Atom.BYTE | Atom.SHORT | Atom.INT | Atom.LONG:
            return pc.replace_substring_regex(trimmed, r"^\+", "").cast(target)
        case _:
            return trimmed.cast(target)


_DATED = (Atom.DATE, Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ)


def _strptime(array: pa.Array, wanted: DataType, target: pa.DataType, format_: str) -> pa.Array:
    found = pc.strptime(array, format=format_, unit="us")
    if wanted is Atom.TIMESTAMP:
        return found.view(pa.int64()).view(target)
    if isinstance(wanted, Time):
        return found.cast(target)
    return found.cast(target)


def _instants(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Timestamps with an offset, or in UTC without one."""
    zoned = pc.match_substring_regex(array, r"(Z|[+-]\d\d:?\d\d)$")
    whole = pc.if_else(zoned, array, pc.binary_join_element_wise(array, "Z", ""))
    return whole.cast(target)
