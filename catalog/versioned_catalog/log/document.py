"""The JSON of entries, checkpoints and manifests: read within bounds, and written within them."""

from __future__ import annotations

import json

from versioned_catalog.errors import CorruptTableError, InvalidRequestError, UnsupportedFeatureError
from versioned_catalog.limits import ENTRY_BYTES, JSON_VALUES, check_version
from versioned_catalog.log.features import FORMAT, check_readable, features_from_json
from versioned_catalog.schema.wire import Json, member
from versioned_catalog.storage.json_text import count_values, parse_json


def load_json(data: bytes, what: str) -> dict[str, Json]:
    """Parse an object; its format version and features are checked before anything else is read.

    Raises:
        CorruptTableError: it is not a JSON object.
        UnsupportedFeatureError: this library does not implement its format version or a feature.
    """
    value = parse_json(data, what)
    if not isinstance(value, dict):
        raise CorruptTableError(f"{what} is not a JSON object")
    try:
        number, needed = member(value, "format", int), features_from_json(value).read
    except CorruptTableError as error:
        raise CorruptTableError(f"{what}: {error}") from None
    if number < 1:
        raise CorruptTableError(f"{what} has format version {number}; it must be 1 or higher")
    if number > FORMAT:
        raise UnsupportedFeatureError(
            f"{what} has format version {number}, and this library reads up to {FORMAT}; "
            "upgrade pyspark-versioned"
        )
    check_readable(needed, what)
    return value


def dump_json(value: Json) -> bytes:
    """Write JSON that every reader accepts.

    Raises:
        InvalidRequestError: it is too large, or holds an unpaired surrogate.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequestError(
            f"{text[error.start : error.end][:20]!r} in a name, comment or property is half a "
            "character (an unpaired surrogate); nothing was committed"
        ) from None
    values = count_values(text)
    if len(data) > ENTRY_BYTES or values > JSON_VALUES:
        raise InvalidRequestError(
            f"the commit takes {len(data)} bytes and {values} values of metadata, but the limits are "
            f"{ENTRY_BYTES} and {JSON_VALUES}; write fewer segments at once (larger ones, or fewer "
            "partitions), or shorten properties and comments"
        )
    return data


def hint_to_bytes(version: int) -> bytes:
    """The content of the hint."""
    return dump_json({"version": version})


def hint_from_bytes(data: bytes | None) -> int | None:
    """The version that a hint names, or None if it is missing or bad: a hint is never the truth."""
    try:
        version: int = member(parse_json(data or b"null", "the hint"), "version", int)
        return check_version(version)
    except CorruptTableError:
        return None
