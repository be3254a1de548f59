"""Paths of column names: ``address.zip``, ``tags.element.name``, ``attrs.value.x``."""

from __future__ import annotations

import re

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.types.tokens import has_surrogate

ColumnPath = tuple[str, ...]

_PART = re.compile(r"`((?:[^`]|``)+)`|([^`.]+)")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_NAMES = re.compile(
    "ANTI|CHECK|CONSTRAINT|CROSS|EXCEPT|FALSE|FOREIGN|FROM|FULL|IF|INNER|INTERSECT|JOIN|LATERAL|LEFT|"
    "MINUS|NATURAL|NOT|NULL|ON|PRIMARY|RIGHT|SELECT|SEMI|SETMINUS|TABLE|TRUE|UNION|UNIQUE|USING|WHERE",
    re.IGNORECASE,
)
"""Words that begin another clause somewhere in Spark's grammar."""


def parse_path(path: str | tuple[str, ...] | list[str]) -> ColumnPath:
    """A path from dotted text, with backticks around names that hold dots, or from a tuple.

    Raises:
        InvalidRequestError: it is empty, or a backtick is not closed.
    """
    if not isinstance(path, str):
        parts = tuple(path) if isinstance(path, tuple | list) else ()
        if not parts or not all(isinstance(part, str) and part for part in parts):
            raise InvalidRequestError(f"{path!r} is not a valid name", condition="INVALID_NAME")
        _check_encodable("".join(parts))
        return parts
    _check_encodable(path)
    found: list[str] = []
    at = 0
    while True:
        match = _PART.match(path, at)
        if match is None:
            raise InvalidRequestError(
                f"{path!r} is not a valid name; write names that hold dots in backticks, as `a.b`.c",
                condition="INVALID_NAME",
            )
        quoted, plain = match.groups()
        found.append(quoted.replace("``", "`") if quoted is not None else plain)
        at = match.end()
        if at == len(path):
            return tuple(found)
        if path[at] != ".":
            raise InvalidRequestError(
                f"{path!r} is not a valid name: a dot is missing at {at}", condition="INVALID_NAME"
            )
        at += 1


def _check_encodable(text: str) -> None:
    if has_surrogate(text):
        raise InvalidRequestError(
            f"{text!r} holds half a character (an unpaired surrogate)", condition="INVALID_NAME"
        )


def quote(name: str) -> str:
    """A name in SQL, in backticks if it needs them."""
    plain = _PLAIN.fullmatch(name) and not _NOT_NAMES.fullmatch(name)
    return name if plain else "`" + name.replace("`", "``") + "`"


def render_path(path: ColumnPath) -> str:
    """The dotted text of a path."""
    return ".".join(quote(part) for part in path)


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_CONTROL_IN_STORED = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def has_control_characters(name: str) -> bool:
    """Whether a new name holds a control character (U+0000-1F, U+007F-9F) or an unpaired surrogate."""
    return _CONTROL.search(name) is not None


def has_control_characters_in_storage(name: str) -> bool:
    """The same for a column name that metadata holds, where U+0080-9F were once allowed."""
    return _CONTROL_IN_STORED.search(name) is not None
