"""Marks: the positions of deleted rows, as Roaring bitmaps (FORMAT.md, section 6.4)."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from pathlib import Path
from typing import Any

from .documents import members, read_bytes
from .problems import Corrupt

MAGIC = bytes.fromhex("D1D33964")
COOKIE = bytes.fromhex("3A300000")
PLACE = re.compile(r"_versioned/marks/\d+-[0-9a-f-]{32,36}\.puffin")


def check_mark(mark: Any, *, resolved: bool) -> dict[str, Any]:
    """A mark in the form of an entry; ``resolved`` says whether it must have that member."""
    what = "a mark"
    if isinstance(mark, dict) and mark.get("rows") == 0 and resolved:
        return members(mark, "rows resolved", "", what)
    where = "blob" if isinstance(mark, dict) and "blob" in mark else "path offset bytes"
    return members(mark, f"rows {where}" + (" resolved" if resolved else ""), "", what)


def containers(bitmap: bytes) -> list[int]:
    """The positions of a 32-bit Roaring bitmap, followed by the number of its bytes."""
    if bitmap[:4] != COOKIE:
        raise Corrupt("a bitmap with another cookie, such as that of run containers")
    (count,) = struct.unpack_from("<I", bitmap, 4)
    positions: list[int] = []
    end = 8 + 8 * count
    for number in range(count):
        high, least = struct.unpack_from("<HH", bitmap, 8 + 4 * number)
        (start,) = struct.unpack_from("<I", bitmap, 8 + 4 * count + 4 * number)
        if start != end:
            raise Corrupt("a bitmap whose containers do not follow each other")
        if least + 1 <= 4096:
            lows = list(struct.unpack_from(f"<{least + 1}H", bitmap, start))
            end = start + 2 * (least + 1)
        else:
            words = bitmap[start : start + 8192]
            lows = [
                8 * at + bit for at, byte in enumerate(words) for bit in range(8) if byte >> bit & 1
            ]
            end = start + 8192
        if len(lows) != least + 1 or lows != sorted(set(lows)) or end > len(bitmap):
            raise Corrupt("a bitmap with a container of another number of positions")
        positions += [high << 16 | low for low in lows]
    return [*positions, end]


def positions_of(mark: dict[str, Any], folder: Path, rows: int) -> list[int]:
    """The marked positions of a segment of ``rows`` rows."""
    if "blob" in mark:
        data = base64.b64decode(mark["blob"], validate=True)
    elif PLACE.fullmatch(mark["path"]):
        file = read_bytes(folder / mark["path"])
        data = file[mark["offset"] : mark["offset"] + mark["bytes"]]
    else:
        raise Corrupt(f"the path of a mark: {mark['path']}")
    try:
        positions = decode(data)
    except struct.error as error:
        raise Corrupt("a mark that is cut off") from error
    if (
        len(positions) != mark["rows"]
        or positions != sorted(set(positions))
        or positions[-1] >= rows
    ):
        raise Corrupt("a mark with other rows than it says")
    return positions


def decode(data: bytes) -> list[int]:
    length, bitmap = int.from_bytes(data[:4], "big"), data[8:-4]
    if len(data) < 20 or length != len(bitmap) + 4 or data[4:8] != MAGIC:
        raise Corrupt("a mark of another form")
    if zlib.crc32(data[4:-4]) != int.from_bytes(data[-4:], "big"):
        raise Corrupt("a mark with a wrong checksum")
    (count,) = struct.unpack_from("<Q", bitmap)
    at, positions = 8, []
    for _ in range(count):
        (high,) = struct.unpack_from("<I", bitmap, at)
        *lows, used = containers(bitmap[at + 4 :])
        positions += [high << 32 | low for low in lows]
        at += 4 + used
    if at != len(bitmap):
        raise Corrupt("a mark with bytes after its bitmap")
    return positions
