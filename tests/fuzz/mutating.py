"""Random changes to bytes, texts and JSON, determined by a seed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

HUGE = 10**30
NUMBERS: list[Any] = [
    *(0, 1, -1, 2, 7, 99, 127, 128, 255, 256, 2**15, 2**16, 2**31 - 1, 2**31, 2**32, 2**53),
    *(2**62, 2**63 - 1, 2**63, 2**64, -(2**31), -(2**63), HUGE, -HUGE, 10**400, 0.5, -0.0, 1e308),
    *(float("nan"), float("inf")),
]
TEXTS: list[Any] = [
    *("", " ", "x", "0", "-1", "NaN", "Infinity", "null", "true", ".", "..", "../x", "/etc/passwd"),
    *("a/b", "a\\b", "C:\\x", "s3://b/k", "%2e%2e/x", "root:x/y", "data/x.parquet", "a\0b", "\n"),
    *("é", "e\u0301", "\u202e", "\ufeff", "\U0001f600", "\udc80", "İ", "ß", "x" * 300, "[" * 50),
    *("9" * 30, "9" * 5000, "1e999", "0x10", "decimal(38,38)", "decimal(99,1)", "char(0)", "int"),
    *("struct<", "bucket(0)", "bucket(9999999999)", "truncate(1)", "days", "identity"),
    *("0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z", "2024-02-30T00:00:00.0Z"),
    *("AA==", "====", "1.5", "-0", "253402300800000000", "-62135596800000001"),
]
OTHERS: list[Any] = [None, True, False, [], {}, [[]], [None], [1], {"a": 1}, [{}], {"id": 1}]


def bytes_of(random: Random, data: bytes, others: Sequence[bytes] = ()) -> bytes:
    """Some bytes after a few changes."""
    out = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        random.choice(_BYTES)(random, out, others)
    return bytes(out)


def _flip(random: Random, out: bytearray, _: Sequence[bytes]) -> None:
    if out:
        out[random.randrange(len(out))] ^= 1 << random.randrange(8)


def _put(random: Random, out: bytearray, _: Sequence[bytes]) -> None:
    if out:
        out[random.randrange(len(out))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, 34, 91, 123, 48))


def _near_end(random: Random, out: bytearray, _: Sequence[bytes]) -> None:
    """Change a byte near the end, where Parquet files have their footer."""
    if out:
        out[-1 - random.randrange(min(len(out), 3000))] = random.randrange(256)


def _cut(random: Random, out: bytearray, _: Sequence[bytes]) -> None:
    del out[random.randrange(len(out) + 1) :]


def _drop(random: Random, out: bytearray, _: Sequence[bytes]) -> None:
    start = random.randrange(len(out) + 1)
    del out[start : start + random.choice((1, 2, 8, 100))]


def _repeat(random: Random, out: bytearray, _: Sequence[bytes]) -> None:
    start = random.randrange(len(out) + 1)
    part = out[start : start + random.choice((1, 4, 30, 500))]
    out[start:start] = part * random.choice((1, 1, 2, 20))


def _splice(random: Random, out: bytearray, others: Sequence[bytes]) -> None:
    if others:
        other = random.choice(others)
        start, end = sorted(random.randrange(len(other) + 1) for _ in range(2))
        at = random.randrange(len(out) + 1)
        out[at : at + random.choice((0, end - start))] = other[start:end]


def _noise(random: Random, out: bytearray, _: Sequence[bytes]) -> None:
    at = random.randrange(len(out) + 1)
    out[at : at + random.randrange(5)] = random.randbytes(random.randrange(1, 9))


_BYTES: list[Callable[[Random, bytearray, Sequence[bytes]], None]] = [
    *(_flip, _flip, _put, _near_end, _near_end, _cut, _drop, _repeat, _splice, _noise),
]


def text_of(random: Random, text: str, words: Sequence[str]) -> str:
    """A text after a few changes, including inserted words of its grammar."""
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        at = random.randrange(len(text) + 1)
        end = min(len(text), at + random.choice((0, 0, 1, 2, 5, 20)))
        word = random.choice((*words, str(random.choice(TEXTS)), text[at:end] * 2, ""))
        text = text[:at] + word + text[end:]
    return text[:20_000]


def json_of(random: Random, value: Any, words: Sequence[Any] = ()) -> Any:
    """JSON after a few changes of its structure, for ``dumped``."""
    out = copy.deepcopy(value)
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        try:
            positions = list(_positions(out))
        except RecursionError:
            return out
        if not positions:
            return strange(random, words)
        holder, key = random.choice(positions)
        _change(random, holder, key, words)
    return out


def _positions(value: Any) -> Any:
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, child in inner:
        yield value, key
        yield from _positions(child)


def _change(random: Random, holder: Any, key: Any, words: Sequence[Any]) -> None:
    match random.randrange(8):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.insert(key, copy.deepcopy(random.choice(holder)))
        case 1:
            holder[str(random.choice(TEXTS))] = holder[key]
        case 2:
            other, position = random.choice(list(_positions(holder)))
            holder[key] = copy.deepcopy(other[position])
        case 3 if isinstance(holder[key], str):
            holder[key] = text_of(random, holder[key], [str(word) for word in words])
        case 3 if isinstance(holder[key], int):
            holder[key] = holder[key] + random.choice((-1, 1, 2, 2**31, 2**62))
        case 4 if isinstance(holder[key], dict | list) and random.random() < 0.2:
            for _ in range(random.choice((3, 90, 120, 400, 2000))):
                holder[key] = [holder[key]] if random.random() < 0.5 else {"type": holder[key]}
        case _:
            holder[key] = strange(random, words)


def strange(random: Random, words: Sequence[Any] = ()) -> Any:
    """A value of an unexpected type or range."""
    known = [NUMBERS, TEXTS, OTHERS, list(words) or TEXTS]
    return copy.deepcopy(random.choice(random.choice(known)))


def dumped(value: Any) -> bytes:
    """JSON as bytes; JSON that is too deep for that becomes nested brackets."""
    try:
        return json.dumps(value).encode()
    except (RecursionError, ValueError):
        return b"[" * 5000
