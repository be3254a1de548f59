"""The JSON of entries, checkpoints and manifests: read within bounds, checked, written within them."""

from __future__ import annotations

import json
import re
import zlib

from versioned_catalog.errors import CorruptTableError, InvalidRequestError, UnsupportedFeatureError
from versioned_catalog.limits import ENTRY_BYTES, JSON_VALUES, check_version
from versioned_catalog.log.features import CHECKSUMS, FORMAT, check_readable, features_from_json
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


CHECKSUM = "checksum"
"""The last member of a document: the checksum of the bytes before it (FORMAT.md, section 5.1)."""

_SEAL = re.compile(rb',"checksum":"(crc32:[0-9a-f]{8})"}\Z')


def checksum(data: bytes) -> str:
    """The checksum of bytes, as metadata records it."""
    return f"crc32:{zlib.crc32(data):08x}"


def check_attached(data: bytes, size: int, sum_: str, what: str, says: str, then: str = "") -> None:
    """Refuse a file beside the log that has another size or checksum than its entry says.

    Args:
        says: who recorded the size and the checksum, for the error; ``then`` is the way out.

    Raises:
        CorruptTableError: naming the file, both sizes and both checksums.
    """
    if len(data) != size or checksum(data) != sum_:
        raise CorruptTableError(
            f"{what} has {len(data)} bytes and the checksum {checksum(data)}, and {says} says {size} "
            f"and {sum_[:50]}{then}"
        )


def load_document(data: bytes, what: str) -> dict[str, Json]:
    """Parse an entry, a stub or the checkpoint of a warehouse, and check its checksum if it has one.

    Raises:
        CorruptTableError: it is not a JSON object, or was damaged since it was written.
        UnsupportedFeatureError: as ``load_json``.
    """
    seal = _SEAL.search(data, max(len(data) - 64, 0))
    if seal is not None:
        check_sum(checksum(data[: seal.start()]), seal[1].decode(), what)
    value = load_json(data, what)
    if seal is None and CHECKSUM in value:
        raise CorruptTableError(f"{what} is damaged: its checksum is not in its place at the end")
    if seal is None and CHECKSUMS in features_from_json(value).write:
        raise CorruptTableError(f"{what} is damaged: it lacks the checksum that its table needs")
    value.pop(CHECKSUM, None)
    return value


def check_sum(found: str, recorded: str, what: str) -> None:
    """Refuse a file whose bytes are not those that were written.

    Raises:
        CorruptTableError: naming the file and both checksums.
    """
    if found != recorded:
        raise CorruptTableError(
            f"{what} is damaged: its bytes have the checksum {found}, and it was written with "
            f"{recorded}; restore it from a copy"
        )


def dump_document(value: Json) -> bytes:
    """Write JSON that ends with its checksum. Raises InvalidRequestError as ``dump_json``."""
    data = dump_json(value, room=64)[:-1]
    return data + f',"{CHECKSUM}":"{checksum(data)}"}}'.encode()


def dump_json(value: Json, room: int = 0) -> bytes:
    """Write JSON that every reader accepts, also with ``room`` bytes of another member.

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
    if len(data) + room > ENTRY_BYTES or values > JSON_VALUES - 1:
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
