"""One change of a plan: what it does, whether it is safe, and what it costs."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.evolution import changes
from versioned_catalog.evolution.bind import utc_now
from versioned_catalog.evolution.diff import Step, default_text
from versioned_catalog.evolution.to_sql import position_sql, statements
from versioned_catalog.expressions.filter_binding import bind_filter
from versioned_catalog.expressions.filters import Comparison, Op
from versioned_catalog.log.state import TableState
from versioned_catalog.pruning.segments import some_match
from versioned_catalog.schema.ddl import render_options, render_type
from versioned_catalog.schema.pins import PinnedSchema
from versioned_catalog.schema.seen import breaks
from versioned_catalog.schema.ttl import TTL, in_time_index, parse_ttl, ttl_cutoff
from versioned_catalog.types.paths import ColumnPath, quote, render_path
from versioned_catalog.types.tokens import sql_string


class Safety(enum.Enum):
    """How safe a change is."""

    SAFE = "safe"
    MAY_CONFLICT = "may conflict"
    DESTRUCTIVE = "destructive"


@dataclass(frozen=True)
class PlannedChange:
    """One change of a plan.

    Args:
        kind: ``add``, ``drop``, ``rename``, ``widen``, ``move``, ``default``, ``not null``,
            ``nullable``, ``comment``, ``property`` or ``partition``.
        path: the path of the column when the change is made; empty for the table.
        column_id: the ID of the column; None for a new one, and for the table.
        detail: what changes, for people.
        sql: the ALTER TABLE statements of the change.
        safety: DESTRUCTIVE if values are lost; MAY_CONFLICT if stored values can forbid the change.
        segments: live segments that hold the column: of a drop, those whose values are lost; of a NOT
            NULL, those that are checked; of a ``ttl``, those that may hold rows which it hides. No
            change rewrites data.
        rows: the rows in these segments.
        pins: what the change does to schema pins.
    """

    kind: str
    path: ColumnPath
    column_id: int | None
    detail: str
    sql: tuple[str, ...]
    safety: Safety = Safety.SAFE
    segments: int = 0
    rows: int = 0
    pins: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The change as JSON."""
        return {
            "kind": self.kind,
            "column": render_path(self.path) if self.path else None,
            "column_id": self.column_id,
            "detail": self.detail,
            "sql": list(self.sql),
            "safety": self.safety.value,
            "segments": self.segments,
            "rows": self.rows,
            "pins": list(self.pins),
        }


def planned_change(step: Step, state: TableState, table: str) -> PlannedChange:
    """Describe a step of a difference from a table, whose name as SQL is ``table``."""
    kind, path, detail = _described(step)
    safety, segments, rows = Safety.SAFE, 0, 0
    match step.change:
        case changes.DropColumn():
            safety = Safety.DESTRUCTIVE
            segments, rows = _holding(state, step.column_id)
        case changes.SetNotNull():
            safety = Safety.MAY_CONFLICT
            segments, rows = _holding(state, step.column_id)
        case changes.SetProperty(key, _) if key == TTL and _is_shorter(step):
            safety = Safety.DESTRUCTIVE
            segments, rows = _expiring(state, step)
    sql = tuple(statements(step.bound, step.before, step.after, table))
    pins = _touched_pins(state, step)
    return PlannedChange(kind, path, step.column_id, detail, sql, safety, segments, rows, pins)


def _holding(state: TableState, column_id: int | None) -> tuple[int, int]:
    """The number of live segments that hold a column, and of their rows."""
    core = state.segments.core
    versions = pc.unique(core["schema_version"]).to_pylist()
    held = [version for version in versions if column_id in state.schemas[version].ids]
    chosen = pc.is_in(core["schema_version"], value_set=pa.array(held, pa.int32()))
    rows = pc.sum(core["rows"].filter(chosen)).as_py()
    return pc.sum(chosen).as_py() or 0, rows or 0


def _is_shorter(step: Step) -> bool:
    """Whether a change of ``ttl`` hides rows, which compaction then deletes."""
    before, after = parse_ttl(step.before.properties), parse_ttl(step.after.properties)
    return after is not None and (before is None or after < before)


def _expiring(state: TableState, step: Step) -> tuple[int, int]:
    """The number of live segments that may hold rows which a ``ttl`` hides, and of their rows."""
    time_index, cut = state.schema.time_index, ttl_cutoff(step.after.properties, utc_now())
    if time_index is None or cut is None:
        return 0, 0
    index = state.schema.column(time_index)
    old = Comparison((index.name,), Op.LT, in_time_index(cut, index.type))
    chosen = some_match(state, bind_filter(old, lambda _: index))
    rows = pc.sum(state.segments.core["rows"].filter(chosen)).as_py()
    return pc.sum(chosen).as_py() or 0, rows or 0


def _described(step: Step) -> tuple[str, ColumnPath, str]:
    match step.change:
        case changes.AddColumn(path, first=first, after=after):
            added = step.after.schema.get(path)
            place = position_sql(first=first, after=after)
            text = f"{render_path(path)} {render_type(added.type)}{render_options(added)}{place}"
            return "add", path, text
        case changes.DropColumn(path):
            return "drop", path, render_path(path)
        case changes.RenameColumn(path, name):
            return "rename", path, f"{render_path(path)} -> {quote(name)}"
        case changes.MoveColumn(path, first, after):
            return "move", path, f"{render_path(path)}{position_sql(first=first, after=after)}"
        case changes.ChangeType(path, type_):
            old = render_type(step.before.schema.get(path).type)
            return "widen", path, f"{render_path(path)} {old} -> {render_type(type_)}"
        case changes.SetDefault(path) | changes.DropDefault(path):
            old, new = (
                default_text(evolution.schema.get(path)) or "none"
                for evolution in (step.before, step.after)
            )
            return "default", path, f"{render_path(path)} {old} -> {new}"
        case changes.SetNotNull(path):
            return "not null", path, render_path(path)
        case changes.DropNotNull(path):
            return "nullable", path, render_path(path)
        case changes.SetComment(path, text):
            shown = "none" if text is None else sql_string(text)
            return "comment", path, f"{render_path(path)} {shown}"
        case changes.SetProperty(key, value):
            return "property", (), f"{key} = {sql_string(value)}"
        case changes.UnsetProperty(key):
            return "property", (), f"{key} unset"
        case changes.SetPartitioning(texts):
            return "partition", (), ", ".join(texts) or "none"
        case changes.PinSchema() | changes.RetirePin():
            raise AssertionError("a CREATE TABLE statement declares no pins")


def _touched_pins(state: TableState, step: Step) -> tuple[str, ...]:
    """What a change does to each pin that it touches, such as ``billing: n is BIGINT, ...``."""
    return tuple(
        f"{label}: {effect}"
        for label, pinned in sorted(state.pinned_schemas.items())
        for effect in _effects(pinned, step)
    )


def _effects(pinned: PinnedSchema, step: Step) -> Iterator[str]:
    if isinstance(step.change, changes.DropColumn) and step.column_id in pinned.schema.ids:
        yield "stays, hidden, until it is retired"
    known = set(breaks(pinned.schema, step.before.schema))
    yield from (
        f"may fail, since {reason}"
        for reason in breaks(pinned.schema, step.after.schema)
        if reason not in known
    )
