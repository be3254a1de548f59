"""Value text (FORMAT.md, section 4.2): values as they are written in metadata.

Values are Python's: bool, int, float, Decimal, str, bytes, date, aware datetime (timestamp), naive
datetime (timestamp_ntz), time, timedelta, dict by field name (struct), list, list of pairs or dict
(map).
A date or timestamp outside Python's years 1 to 9999 is an int: its days or microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.types import types
from versioned_catalog.types.tokens import clip, clip_repr
from versioned_catalog.types.type_text import render_type
from versioned_catalog.values.leaf_text import leaf_text, parse_leaf
from versioned_catalog.values.temporal import to_python_value

ValueText = str | list[Any] | dict[str, Any] | None


def encode(value: object, type_: types.DataType) -> ValueText:
    """The value text of a Python value; None gives None.

    Raises:
        InvalidRequestError: the value is not of the type.
    """
    try:
        return _encode(value, type_)
    except ValueError as error:
        raise InvalidRequestError(
            f"{clip_repr(value)} does not fit {render_type(type_)}: {error}"
        ) from None


def _encode(value: object, type_: types.DataType) -> ValueText:
    if value is None:
        return None
    match type_:
        case types.Struct(fields):
            values = as_fields(value, fields)
            return {field_key(f): _encode(values.get(f.name), f.type) for f in fields}
        case types.Array(element):
            return [_encode(item, element.type) for item in as_items(value)]
        case types.Map(key, item):
            return [[_encode(k, key.type), _encode(v, item.type)] for k, v in as_pairs(value)]
        case _:
            return leaf_text(value, type_)


def field_key(field: types.Column) -> str:
    """The key of a struct's field in value text: its ID, or ``:name`` while it has none."""
    return f":{field.name}" if field.id == types.UNASSIGNED else str(field.id)


def as_fields(value: object, fields: tuple[types.Column, ...]) -> Mapping[Any, Any]:
    """A struct's value by field name.

    Raises:
        ValueError: it is not a mapping, or has a key that names no field.
    """
    if not isinstance(value, Mapping):
        raise ValueError("a STRUCT needs a dict {field: value}")
    unknown = [name for name in value if name not in {field.name for field in fields}]
    if unknown:
        names = ", ".join(field.name for field in fields)
        raise ValueError(f"there is no field {clip_repr(unknown[0])}; the fields are {clip(names)}")
    return value


def as_items(value: object) -> Iterable[object]:
    """The items of an array's value. Raises ValueError if it is not a list."""
    if not isinstance(value, list | tuple):
        raise ValueError("an ARRAY needs a list")
    return value


def as_pairs(value: object) -> list[tuple[Any, Any]]:
    """The pairs of a map's value. Raises ValueError if it is neither a dict nor a list of pairs."""
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, list | tuple) and all(map(_is_pair, value)):
        return [(pair[0], pair[1]) for pair in value]
    raise ValueError("a MAP needs a dict or a list of (key, value) pairs")


def _is_pair(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2


def decode(text: ValueText, type_: types.DataType) -> object:
    """The Python value of value text. Maps are lists of pairs.

    A struct's field that the text does not name has its read default: it is newer than the text.

    Raises:
        CorruptTableError: it is not value text of the type.
    """
    return _decode(text, type_, to_python_value)


def decode_raw(text: ValueText, type_: types.DataType) -> object:
    """Like ``decode``, but temporal values are the stored integers."""
    return _decode(text, type_, lambda stored, _: stored)


def _decode(
    text: ValueText, type_: types.DataType, convert: Callable[[object, types.LeafType], object]
) -> object:
    if text is None:
        return None
    match type_:
        case types.Struct(fields):
            stored = _checked(text, dict, type_)
            return {f.name: _decode(_field_text(stored, f), f.type, convert) for f in fields}
        case types.Array(element):
            return [_decode(item, element.type, convert) for item in _checked(text, list, type_)]
        case types.Map(key, value):
            pairs = _checked(text, list, type_)
            if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
                raise _corrupt(text, type_)
            return [
                (_decode(k, key.type, convert), _decode(v, value.type, convert)) for k, v in pairs
            ]
        case _:
            try:
                return convert(parse_leaf(_checked(text, str, type_), type_), type_)
            except ValueError:
                raise _corrupt(text, type_) from None


def _field_text(stored: dict[str, Any], field: types.Column) -> ValueText:
    key = field_key(field)
    if key not in stored and field.read_default is not None:
        return parse_json(field.read_default.json)
    text: ValueText = stored.get(key)
    return text


def _checked(text: object, kind: type[Any], type_: types.DataType) -> Any:
    if not isinstance(text, kind):
        raise _corrupt(text, type_)
    return text


def _corrupt(text: object, type_: types.DataType) -> CorruptTableError:
    return CorruptTableError(f"{clip_repr(text)} is stored as a value of {render_type(type_)}")


def parse_json(text: str) -> ValueText:
    """The value text of a constant.

    Raises:
        CorruptTableError: it is not JSON, or not value text.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise CorruptTableError(f"a stored constant is not JSON: {clip(text)!r}") from None
    if value is None or isinstance(value, str | list | dict):
        return value
    raise CorruptTableError(f"a stored constant is not value text: {clip(text)!r}")


def constant_of(text: ValueText) -> types.Constant:
    """The constant of value text, which is not None."""
    return types.Constant(json.dumps(text, ensure_ascii=False, separators=(",", ":")))


def rekey(text: ValueText, old: types.DataType, new: types.DataType) -> ValueText:
    """The same value after its type's fields got other IDs; both types have the same shape.

    Constants that were built before the table assigned the IDs need it.
    """
    match old, new:
        case types.Struct(before), types.Struct(after) if isinstance(text, dict):
            return {
                field_key(b): rekey(text[field_key(a)], a.type, b.type)
                for a, b in zip(before, after, strict=True)
                if field_key(a) in text
            }
        case types.Array(a), types.Array(b) if isinstance(text, list):
            return [rekey(item, a.type, b.type) for item in text]
        case types.Map(key, value), types.Map(new_key, new_value) if isinstance(text, list):
            return [
                [rekey(k, key.type, new_key.type), rekey(v, value.type, new_value.type)]
                for k, v in text
            ]
        case _:
            return text
