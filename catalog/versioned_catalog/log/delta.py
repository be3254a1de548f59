"""What a segment of a keyed table says beside others (FORMAT.md, section 13)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import SEGMENT_ROWS, VERSIONS
from versioned_catalog.log.op_types import DELETE, PATCH, PUT
from versioned_catalog.schema.wire import Json, optional
from versioned_catalog.storage.json_text import parse_json


@dataclass(frozen=True)
class Delta:
    """How the rows of a segment stand to those of others.

    Args:
        order: (sequence, ordinal) where they are not those of the commit that added the segment.
        sequences: the least and the greatest sequence of its rows, which the file holds then.
        ops: how many rows there are of each type of operation, which the file holds then; empty where
            all are PUT, each of a key of its own.
        patch: the IDs of the columns that its PATCH rows assign; None where it has no such rows.
    """

    order: tuple[int, int] | None = None
    sequences: tuple[int, int] | None = None
    ops: Mapping[int, int] = field(default_factory=dict)
    patch: tuple[int, ...] | None = None

    @property
    def deletes_only(self) -> bool:
        """Whether there are tombstones and nothing else."""
        return set(self.ops) == {DELETE}


PLAIN = Delta()
"""That of a segment which says nothing."""


def delta_to_json(delta: Delta) -> dict[str, Json]:
    """The members of a segment record; what says nothing is left out."""
    out: dict[str, Json] = {}
    if delta.order is not None:
        out["order"] = list(delta.order)
    if delta.sequences is not None:
        out["sequences"] = list(delta.sequences)
    if delta.ops:
        out["ops"] = {str(op): rows for op, rows in delta.ops.items()}
    if delta.patch is not None:
        out["patch"] = {"columns": list(delta.patch)}
    return out


def delta_from_json(value: Json) -> Delta:
    """The members of a segment record.

    Raises:
        CorruptTableError: they are not as they must be.
    """
    patch = optional(value, "patch", dict)
    delta = Delta(
        _pair(value, "order", 2**31),
        _pair(value, "sequences", VERSIONS),
        _ops(optional(value, "ops", dict) or {}),
        None if patch is None else _ids(optional(patch, "columns", list) or []),
    )
    if delta == PLAIN:
        return PLAIN
    if (PATCH in delta.ops) != (delta.patch is not None):
        raise CorruptTableError("a segment has PATCH rows and no patch, or the other way round")
    return delta


def delta_to_text(delta: Delta) -> str | None:
    """The members as one JSON text, as checkpoints hold them; None where there are none."""
    found = delta_to_json(delta)
    return json.dumps(found, separators=(",", ":")) if found else None


def delta_from_text(text: str | None) -> Delta:
    """The members from what a checkpoint holds.

    Raises:
        CorruptTableError: they are not as they must be.
    """
    if text is None:
        return PLAIN
    value = parse_json(text.encode(), "what a checkpoint says of a segment")
    if not isinstance(value, dict):
        raise CorruptTableError("what a checkpoint says of a segment is no object")
    return delta_from_json(value)


def _pair(value: Json, name: str, most: int) -> tuple[int, int] | None:
    found = optional(value, name, list)
    if found is None:
        return None
    if len(found) != 2 or not all(type(one) is int and one >= 0 for one in found):
        raise CorruptTableError(f"the member {name!r} of a segment is no pair of numbers")
    first, second = found
    if first >= VERSIONS or second >= most or (name == "sequences" and first > second):
        raise CorruptTableError(f"the member {name!r} of a segment is out of range")
    return first, second


def _ops(value: dict[str, Json]) -> dict[int, int]:
    known = {str(op): op for op in (PUT, DELETE, PATCH)}
    for key, rows in value.items():
        if key not in known or type(rows) is not int or not 0 <= rows <= SEGMENT_ROWS:
            raise CorruptTableError("the member 'ops' of a segment counts what there is not")
    return {known[key]: rows for key, rows in value.items()}


def _ids(values: list[Json]) -> tuple[int, ...]:
    if not all(type(one) is int and one > 0 for one in values):
        raise CorruptTableError("a patch assigns columns by their IDs")
    return tuple(values)
