"""The schema of a pin over a snapshot (FORMAT.md, section 4.6)."""

from __future__ import annotations

from dataclasses import replace

from .problems import Unavailable
from .schemas import Columns
from .types import List, Map, Struct, Type, widens


def seen(pinned: Columns, current: Columns, *, later: bool, nulls: bool) -> Columns:
    """The columns of a pinned schema over those of a snapshot.

    ``later``: the pinned schema is the newer one; ``nulls``: null is shown for what does not fit.
    """
    by_id = {column.id: column for column in current}
    shown = []
    for column in pinned:
        now = by_id.get(column.id)
        if now is None and not later:
            raise Unavailable(f"the column {column.name} of the pinned schema was dropped")
        if now is not None:
            kind = seen_type(column.type, now.type, later=later, nulls=nulls)
            narrowed = nulls and isinstance(kind, str) and not widens(str(now.type), kind)
            nullable = column.nullable or now.nullable or narrowed
            column = replace(column, nullable=nullable, type=kind)
        shown.append(column)
    return tuple(shown)


def united(current: Columns, pinned: Columns) -> Columns:
    """The columns of a snapshot, and those of a pin that it lacks: segments may hold them."""
    by_id = {column.id: column for column in pinned}
    both = [
        replace(now, type=united_type(now.type, by_id[now.id].type)) if now.id in by_id else now
        for now in current
    ]
    ids = {column.id for column in current}
    return (*both, *(column for column in pinned if column.id not in ids))


def united_type(now: Type, pinned: Type) -> Type:
    match now, pinned:
        case Struct(current), Struct(fields):
            return Struct(united(current, fields))
        case List(current_element), List(element):
            return List(*united((current_element,), (element,)))
        case Map(now_key, now_value), Map(key, value):
            return Map(*united((now_key, now_value), (key, value)))
    return now


def seen_type(pinned: Type, now: Type, *, later: bool, nulls: bool) -> Type:
    match pinned, now:
        case Struct(fields), Struct(current):
            return Struct(seen(fields, current, later=later, nulls=nulls))
        case List(element), List(current_element):
            return List(*seen((element,), (current_element,), later=later, nulls=nulls))
        case Map(key, value), Map(now_key, now_value):
            return Map(*seen((key, value), (now_key, now_value), later=later, nulls=nulls))
    return pinned
