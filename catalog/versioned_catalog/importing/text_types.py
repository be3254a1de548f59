"""The types of columns of text, found by a full pass over all values.

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

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.importing.text_formats import parse_text
from versioned_catalog.types.types import Atom

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
        known = pc.drop_null(values)
        if not len(known):
            return
        self._has_values = True
        if self._left:
            trimmed = pc.utf8_trim_whitespace(known)
            self._left = [one for one in self._left if _fits(trimmed, one)]

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
