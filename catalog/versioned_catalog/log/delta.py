"""Members of the segment records of keyed tables (FORMAT.md, section 13)."""

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
    """How the rows of a segment are ordered among those of others, and what they do to them.

    Args:
        order: (sequence, ordinal), if they are not those of the commit that added the segment.
        sequences: least and greatest sequence of the rows, if the file holds ``__sequence``.
        ops: number of rows of each operation type, if the file holds ``__op_type``; empty if all are
            PUT, each of another key.
        patch: IDs of the columns that PATCH rows assign; None if there are no such rows.
    """

    order: tuple[int, int] | None = None
    sequences: tuple[int, int] | None = None
    ops: Mapping[int, int] = field(default_factory=dict)
    patch: tuple[int, ...] | None = None

    @property
    def deletes_only(self) -> bool:
        """Whether all rows are tombstones."""
        return set(self.ops) == {DELETE}


PLAIN = Delta()
"""No such members."""


def delta_to_json(delta: Delta) -> dict[str, Json]:
    """The JSON members; empty ones are left out."""
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
        CorruptTableError: a member has another type, or contradicts another.
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
        raise CorruptTableError(
            "a segment that has PATCH rows must have the member 'patch', and no other segment may"
        )
    return delta


def delta_to_text(delta: Delta) -> str | None:
    """The members as one JSON text, as checkpoints hold them; None if there are none."""
    found = delta_to_json(delta)
    return json.dumps(found, separators=(",", ":")) if found else None


def delta_from_text(text: str | None) -> Delta:
    """The members in the JSON text of a checkpoint.

    Raises:
        CorruptTableError: it is not an object of such members.
    """
    if text is None:
        return PLAIN
    value = parse_json(text.encode(), "the column extra of a checkpoint")
    if not isinstance(value, dict):
        raise CorruptTableError("a value of the checkpoint's column 'extra' is not a JSON object")
    return delta_from_json(value)


def _pair(value: Json, name: str, most: int) -> tuple[int, int] | None:
    found = optional(value, name, list)
    if found is None:
        return None
    if len(found) != 2 or not all(type(one) is int and one >= 0 for one in found):
        raise CorruptTableError(f"the member {name!r} of a segment is not a pair of numbers")
    first, second = found
    if first >= VERSIONS or second >= most or (name == "sequences" and first > second):
        raise CorruptTableError(f"the member {name!r} of a segment is out of range")
    return first, second


def _ops(value: dict[str, Json]) -> dict[int, int]:
    known = {str(op): op for op in (PUT, DELETE, PATCH)}
    for key, rows in value.items():
        if key not in known or type(rows) is not int or not 0 <= rows <= SEGMENT_ROWS:
            raise CorruptTableError(
                "the member 'ops' of a segment holds an unknown operation type or an impossible count"
            )
    return {known[key]: rows for key, rows in value.items()}


def _ids(values: list[Json]) -> tuple[int, ...]:
    if not all(type(one) is int and one > 0 for one in values):
        raise CorruptTableError(
            "the member 'patch' of a segment lists a column that is not a positive column ID"
        )
    return tuple(values)
