"""One change of a plan: its effect, its safety, and its effects on pins."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from versioned_catalog.alteration import segments_holding
from versioned_catalog.log.state import TableState
from versioned_catalog.model.bound_changes import utc_now
from versioned_catalog.model.changes import RenameColumn
from versioned_catalog.model.diff import Step
from versioned_catalog.model.evolution import ColumnChange, Risk, is_hidden
from versioned_catalog.model.keys import in_time_index, ttl_cutoff
from versioned_catalog.model.pins import breaks
from versioned_catalog.model.schema import name_key
from versioned_catalog.model.type_text import ColumnPath, render_path
from versioned_catalog.model.types import children
from versioned_catalog.read.bounds import some_match
from versioned_catalog.read.filter_binding import bind_filter
from versioned_catalog.read.filters import Comparison, Op


class Safety(enum.Enum):
    """How safe a change is."""

    SAFE = "safe"
    MAY_SURPRISE = "may surprise"
    MAY_CONFLICT = "may conflict"
    DESTRUCTIVE = "destructive"


@dataclass(frozen=True)
class PlannedChange:
    """One change of a plan.

    Args:
        kind: ``add``, ``drop``, ``rename``, ``widen``, ``narrow``, ``move``, ``default``, ``not null``,
            ``nullable``, ``comment``, ``constraint``, ``property`` or ``partition``.
        path: the path of the column when the change is made; empty for the table.
        column_id: the ID of the column; None for a new one, and for the table.
        detail: a description for people.
        sql: the ALTER TABLE statements of the change.
        safety: DESTRUCTIVE if values are lost; MAY_CONFLICT if stored values can forbid the change;
            MAY_SURPRISE if a column takes the name of another one, whose readers get its values.
        segments: live segments that hold the column: of a drop, those whose values are lost; of a NOT
            NULL and a narrowing, those that are checked; of a constraint, all; of a ``ttl``, those that
            may hold rows which it hides. No change rewrites data.
        rows: the rows in these segments.
        pins: its effects on schema pins.
        surprise: what may surprise; empty otherwise.
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
    surprise: str = ""

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
            "surprise": self.surprise,
        }


def planned_change(step: Step, state: TableState, table: str) -> PlannedChange:
    """Describe a step of a difference from a table, whose name as SQL is ``table``."""
    change, surprise = step.change, _surprise(state, step)
    risk = change.risk(step.before, step.after)
    match risk:
        case Risk.NONE:
            safety = Safety.MAY_SURPRISE if surprise else Safety.SAFE
            segments, rows = 0, 0
        case Risk.STORED_NULLS | Risk.STORED_VALUES:
            safety, (segments, rows) = (
                Safety.MAY_CONFLICT,
                segments_holding(state, {step.column_id}),
            )
        case Risk.STORED_ROWS:
            safety = Safety.MAY_CONFLICT
            segments, rows = state.segments.count, state.segments.shown_rows
        case Risk.LOST_COLUMN:
            safety, (segments, rows) = Safety.DESTRUCTIVE, segments_holding(state, {step.column_id})
        case Risk.HIDDEN_ROWS:
            safety, (segments, rows) = Safety.DESTRUCTIVE, _segments_hidden_by_ttl(state, step)
    return PlannedChange(
        "narrow" if risk is Risk.STORED_VALUES else change.kind,
        change.path if isinstance(change, ColumnChange) else (),
        step.column_id,
        change.detail(step.before, step.after),
        tuple(step.statements(table)),
        safety,
        segments,
        rows,
        tuple(_pin_effects(state, step)),
        surprise,
    )


def _surprise(state: TableState, step: Step) -> str:
    """What a rename gives to those who read another column of the table; empty for nothing."""
    if not isinstance(step.change, RenameColumn) or step.column_id is None:
        return ""
    schema, column_id = state.schema.visible, step.column_id
    new_name = name_key(step.after.schema.column(column_id).name)
    above = schema.ancestors(column_id)
    for sibling in children(above[-1].type) if above else schema.columns:
        if sibling.id != column_id and name_key(sibling.name) == new_name:
            path = schema.path_text(sibling.id)
            return (
                f"{path} is another column now (id {sibling.id}); its readers get the values of "
                f"{schema.path_text(column_id)}"
            )
    return ""


def _segments_hidden_by_ttl(state: TableState, step: Step) -> tuple[int, int]:
    """The number of live segments that may hold rows which a ``ttl`` hides, and of their rows."""
    time_index, cut = state.schema.time_index, ttl_cutoff(step.after.properties, utc_now())
    if time_index is None or cut is None:
        return 0, 0
    index = state.schema.column(time_index)
    old = Comparison((index.name,), Op.LT, in_time_index(cut, index.type))
    chosen = some_match(state, bind_filter(old, lambda _: index))
    rows = pc.sum(state.segments.shown_counts.filter(chosen)).as_py()
    return pc.sum(chosen).as_py() or 0, rows or 0


def _pin_effects(state: TableState, step: Step) -> Iterator[str]:
    """The effect of a change on each pin, such as ``billing: n is BIGINT, ...``."""
    for label, pinned in sorted(state.pinned_schemas.items()):
        if step.column_id in pinned.schema.ids and is_hidden(step.after.schema, step.column_id):
            until = pinned.pin.until
            declared = "" if until is None else f" (it was declared until {until:%Y-%m-%d})"
            yield f"{label}: stays, hidden, until it is retired{declared}"
        earlier_reasons = set(breaks(pinned.schema, step.before.schema))
        yield from (
            f"{label}: may fail, since {reason}"
            for reason in breaks(pinned.schema, step.after.schema)
            if reason not in earlier_reasons
        )
