"""Members of the records of segments that somebody else wrote (FORMAT.md, section 6.2)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.log.delta import PLAIN, Delta
from versioned_catalog.schema.id_map import IdMap, id_map_from_json, id_map_from_text
from versioned_catalog.schema.wire import Json, optional
from versioned_catalog.storage.json_text import parse_json
from versioned_catalog.storage.root_paths import PREFIX

Constants = Mapping[int, str | None]
"""Value texts of columns that a file does not hold, by column ID; None for null."""

_ID = re.compile(r"[1-9][0-9]{0,9}")


def constants_to_json(constants: Constants) -> Json:
    """The member ``constants`` of a record."""
    return {str(column_id): constants[column_id] for column_id in sorted(constants)}


def constants_from_json(value: Mapping[str, Json]) -> dict[int, str | None]:
    """Read the member ``constants`` of a record.

    Raises:
        CorruptTableError: it is not an object from column IDs to texts.
    """
    for key, text in value.items():
        if not _ID.fullmatch(key) or int(key) >= 2**31:
            raise CorruptTableError(f"a constant is of {key[:100]!r}, which is not a column ID")
        if not (text is None or isinstance(text, str)):
            raise CorruptTableError(f"the constant of the column ID {key} is neither text nor null")
    return {int(key): text for key, text in value.items()}


def constants_to_text(constants: Constants) -> str | None:
    """The constants as one JSON text, as checkpoints hold them; None if there are none."""
    if not constants:
        return None
    return json.dumps(constants_to_json(constants), ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=4096)
def constants_from_text(text: str | None) -> Constants:
    """The constants in the JSON text of a checkpoint.

    Raises:
        CorruptTableError: it is not an object from column IDs to texts.
    """
    if text is None:
        return {}
    value = parse_json(text, "the column constants of a checkpoint")
    if not isinstance(value, dict):
        raise CorruptTableError(
            "a value of the checkpoint's column 'constants' is not a JSON object"
        )
    return constants_from_json(value)


def id_maps_from_json(values: Sequence[Json]) -> list[IdMap]:
    """Read the member ``id_maps`` of an entry.

    Raises:
        CorruptTableError: one is not an ID map.
    """
    # One object for each different map, in whatever entries it stands.
    return [id_map_from_text(id_map_from_json(value).text) for value in values]


def id_map_at(value: Json, maps: Sequence[IdMap]) -> IdMap | None:
    """The map that the member ``id_map`` of a record names; None if it names none.

    Raises:
        CorruptTableError: its entry has no such map.
    """
    if not isinstance(value, dict):
        raise CorruptTableError(f"a segment record must be an object, not {str(value)[:100]!r}")
    index = optional(value, "id_map", int)
    if index is None:
        return None
    if not 0 <= index < len(maps):
        raise CorruptTableError(
            f"a segment has the ID map {str(index)[:50]}, which its entry lacks"
        )
    return maps[index]


def check_external(path: str, id_map: IdMap | None, constants: Constants, delta: Delta) -> None:
    """Refuse a record that contradicts itself.

    Raises:
        CorruptTableError: naming the segment.
    """
    if id_map is None:
        if path.startswith(PREFIX) or constants:
            raise CorruptTableError(f"the segment {path} needs an ID map, and its record has none")
        return
    if delta != PLAIN:
        raise CorruptTableError(f"the segment {path} has an ID map and is one of a keyed table")
    if not constants.keys().isdisjoint(id_map.columns):
        raise CorruptTableError(f"the segment {path} has a constant for a column that it holds")
