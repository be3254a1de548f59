"""Messages to JSON and back, checked member by member."""

from __future__ import annotations

import json
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from pyspark_versioned.sql.protocol.base import Message, SparkType, Variant
from versioned_catalog import InvalidRequestError

Convert = Callable[[Any, Sequence[bytes]], Any]
"""Decodes parsed JSON, which refers to the bytes by their indexes."""

T = TypeVar("T")


def wire_name(message: type) -> str:
    """The name of a message in JSON: ``PlanScan`` is ``plan_scan``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", message.__name__).lower()


def decode(hint: type[T], parsed: object, label: str, attachments: Sequence[bytes] = ()) -> T:
    """A message from JSON.

    Args:
        hint: the type of the message, or a list of messages.
        parsed: the JSON, parsed.
        label: the message in errors, as in ``the request plan_scan``.
        attachments: the bytes of which the JSON has the indexes.

    Raises:
        InvalidRequestError: a member is missing, unknown or of another type.
    """
    try:
        message: T = _decoder(cast(Any, hint))(parsed, attachments)
    except _Mismatch as mismatch:
        path = "".join(reversed(mismatch.path)).lstrip(".")
        raise InvalidRequestError(
            f"{label}: {f'the member {path}' if path else 'it'} {mismatch.problem}; the jar and "
            "pyspark_versioned must come from one release: use the jar that "
            "pyspark_versioned.jar_path() names"
        ) from None
    return message


def encode(response: object, attachments: list[bytes] | None = None) -> str:
    """Messages, alone or inside lists and objects, as the text of their JSON.

    It has the indexes of bytes, which are added to ``attachments``.
    """
    return json.dumps(response, default=lambda value: _plain(value, attachments))


def _plain(value: object, attachments: list[bytes] | None) -> object:
    """A value as JSON has it; its members may be messages."""
    match value:
        case Variant():
            return {**vars(value), "kind": wire_name(type(value))}
        case Message():
            return vars(value)
        case bytes() if attachments is not None:
            attachments.append(value)
            return len(attachments) - 1
        case Mapping():
            return dict(value)
        case Sequence():
            return list(value)
        case _:
            # Not the value itself, which may be a secret.
            raise TypeError(f"{type(value).__name__} has no form in JSON")


class _Mismatch(Exception):
    """JSON does not fit its type; ``path`` is collected from the innermost member outwards."""

    def __init__(self, problem: str, *path: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = list(path)


def _located(
    members: Iterable[tuple[str, Convert, Any]], attachments: Sequence[bytes]
) -> _Mismatch:
    """The mismatch of the first member that does not fit, with its step of the path.

    Members are decoded again, so that decoding what fits keeps no track of where it is.
    """
    for step, member, value in members:
        try:
            member(value, attachments)
        except _Mismatch as mismatch:
            return _Mismatch(mismatch.problem, *mismatch.path, step)
    raise AssertionError("all members fit")


_SCALARS = {str: "a string", int: "an integer", bool: "a boolean"}


@cache
def _decoder(hint: Any) -> Convert:
    if hint is Any or hint is SparkType:
        return _as_is
    if hint is bytes:
        return _decode_bytes
    if hint in _SCALARS:
        return _decode_scalar(hint)
    inner, optional = _without_none(hint)
    if optional:
        required = _decoder(inner)
        return lambda value, attachments: None if value is None else required(value, attachments)
    match get_origin(hint):
        case origin if origin is Sequence:
            return _decode_list(_decoder(get_args(hint)[0]))
        case origin if origin is Mapping:
            return _decode_map(_decoder(get_args(hint)[1]))
        case origin if origin is Union or origin is types.UnionType:
            return _decode_variant(get_args(hint))
        case _:
            return _decode_message(hint)


def _without_none(hint: Any) -> tuple[Any, bool]:
    """A type without ``None``, and whether it had it."""
    members = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else ()
    if type(None) not in members:
        return hint, False
    rest = tuple(member for member in members if member is not type(None))
    return Union[rest], True  # noqa: UP007  of a tuple


def _as_is(value: Any, attachments: Sequence[bytes]) -> Any:
    return value


def _decode_scalar(wanted: type) -> Convert:
    def decode_scalar(value: Any, attachments: Sequence[bytes]) -> Any:
        if type(value) is not wanted:
            raise _Mismatch(f"must be {_SCALARS[wanted]}")
        return value

    return decode_scalar


def _decode_bytes(value: Any, attachments: Sequence[bytes]) -> bytes:
    if type(value) is not int or not 0 <= value < len(attachments):
        raise _Mismatch("must be the index of an attachment")
    return attachments[value]


def _decode_list(item: Convert) -> Convert:
    def decode_list(value: Any, attachments: Sequence[bytes]) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise _Mismatch("must be a list")
        try:
            return tuple([item(element, attachments) for element in value])
        except _Mismatch:
            steps = ((f"[{at}]", item, element) for at, element in enumerate(value))
            raise _located(steps, attachments) from None

    return decode_list


def _decode_map(item: Convert) -> Convert:
    def decode_map(value: Any, attachments: Sequence[bytes]) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _Mismatch("must be an object")
        try:
            return {key: item(element, attachments) for key, element in value.items()}
        except _Mismatch:
            steps = ((f".{key}", item, element) for key, element in value.items())
            raise _located(steps, attachments) from None

    return decode_map


def _decode_variant(variants: Sequence[type]) -> Convert:
    by_kind = {wire_name(variant): _decoder(variant) for variant in variants}

    def decode_variant(value: Any, attachments: Sequence[bytes]) -> Any:
        kind = value.get("kind") if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in by_kind:
            raise _Mismatch(f"must be one of {', '.join(by_kind)}", ".kind")
        return by_kind[kind](value, attachments)

    return decode_variant


def _decode_message(message: type) -> Convert:
    hints = get_type_hints(message)
    kind = {"kind"} if issubclass(message, Variant) else set()
    names = [field.name for field in fields(message)]
    expected = {*names, *kind}
    # Messages may contain themselves, so the decoders of members are looked up at the first use.
    members: list[tuple[str, Convert]] = []

    def decode_message(value: Any, attachments: Sequence[bytes]) -> Any:
        if not isinstance(value, dict):
            raise _Mismatch("must be an object")
        if value.keys() != expected:
            for name in sorted(expected - value.keys()):
                raise _Mismatch("is missing", f".{name}")
            raise _Mismatch("is unknown", f".{min(value.keys() - expected)}")
        if not members:
            members.extend((name, _decoder(hints[name])) for name in names)
        try:
            return message(*[member(value[name], attachments) for name, member in members])
        except _Mismatch:
            steps = ((f".{name}", member, value[name]) for name, member in members)
            raise _located(steps, attachments) from None

    return decode_message
