"""Text that users or storage hand over: files on this machine, and JSON."""

from __future__ import annotations

import codecs
import json
import os
import re
import stat
import uuid
from pathlib import Path
from typing import Any

from versioned_catalog.errors import CorruptTableError, InvalidRequestError, NotFoundError
from versioned_catalog.limits import ENTRY_BYTES, JSON_DEPTH, JSON_VALUES
from versioned_catalog.storage.failures import is_system_error, storage_error

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""An escaped surrogate. Two of them may form one character; one alone is not valid text."""


def parse_json(data: bytes | str, what: str) -> Any:
    """Parse JSON, in UTF-8, within limits.

    Raises:
        CorruptTableError: it is not JSON, holds a lone surrogate, or more values than allowed.
    """
    try:
        text = data if isinstance(data, str) else data.decode()
        if count_values(text) > JSON_VALUES:
            raise CorruptTableError(f"{what} holds more than {JSON_VALUES} values")
        value = json.loads(text)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise CorruptTableError(f"{what} is not JSON") from None
    return value


def count_values(text: str) -> int:
    """An upper bound of the number of values in JSON text."""
    return text.count(",") + text.count("[") + text.count("{")


def check_depth(value: Any, what: str) -> None:
    """Refuse a value that is nested too deep to be walked recursively.

    Raises:
        CorruptTableError: the value is nested too deep.
    """
    level = [value]
    for _ in range(JSON_DEPTH):
        level = [inner for parent in level for inner in _inside(parent)]
        if not level:
            return
    raise CorruptTableError(f"{what} is nested more than {JSON_DEPTH} deep")


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


_OTHER_ENCODINGS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_text(path: Path, what: str) -> str:
    """Read a file in UTF-8, with or without a byte order mark; lines end with ``\\n``.

    Args:
        path: the file.
        what: what it should be, for errors: ``a schema file``.

    Raises:
        NotFoundError: there is no such file, or it is a link to nothing.
        InvalidRequestError: it is a folder or a device, too large, or not text in UTF-8.
        StorageError: the disk fails or refuses.
    """
    data = _read(path, what)
    if data.startswith(_OTHER_ENCODINGS):
        raise InvalidRequestError(f"{path} is text in UTF-16; save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequestError(
            f"{path} is not text in UTF-8: byte {error.start + 1} is {data[error.start]:#04x}; save it "
            "as UTF-8"
        ) from None
    if "\0" in text:
        raise InvalidRequestError(
            f"{path} is not text: character {text.index(chr(0)) + 1} is NUL; if it is UTF-16, save it "
            "as UTF-8"
        )
    return text.replace("\r\n", "\n")


def _read(path: Path, what: str) -> bytes:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            kind = "a folder" if os.path.isdir(path) else "no regular file"
            raise InvalidRequestError(f"{path} is {kind}, where {what} was expected")
        size = path.stat().st_size
        if size > ENTRY_BYTES:
            raise InvalidRequestError(
                f"{path} has {size} bytes; {what} has up to {ENTRY_BYTES}, so it is another file"
            )
        return path.read_bytes()
    except OSError as error:
        if is_system_error(error):
            raise storage_error("read", str(path), error) from error
        if os.path.islink(path):
            raise NotFoundError(
                f"{path} is a link to {os.readlink(path)}, which is missing"
            ) from None
        raise NotFoundError(f"there is no file {path}, where {what} was expected") from None
    except ValueError as error:  # a NUL in the path
        raise InvalidRequestError(f"{str(path)!r} is no path of a file: {error}") from None


def write_text(path: Path, text: str) -> None:
    """Write a file in UTF-8, with the folders above it.

    Raises:
        StorageError: the disk fails or refuses, or the path is that of a folder.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode())
    except OSError as error:
        raise storage_error("write", str(path), error) from error


def replace_file(path: Path, data: bytes) -> None:
    """Write a file at once: who reads it meanwhile, or after a kill, finds the old or the new content.

    A link stays, and so do the permissions of a file that is there.

    Raises:
        OSError: it can't be written; the old file stays.
    """
    is_open = os.path.dirname(os.path.abspath(path)) in ("/dev", "/dev/fd")  # such as /dev/stdout
    if is_open or (path.exists() and not path.is_file()):
        path.write_bytes(data)  # a pipe or a device; for a folder, it fails
        return
    target = Path(os.path.realpath(path))
    scratch = target.with_name(f".{uuid.uuid4().hex}.new")
    try:
        scratch.write_bytes(data)
        if target.exists():
            scratch.chmod(stat.S_IMODE(target.stat().st_mode))
        scratch.replace(target)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
