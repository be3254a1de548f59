"""A table: its versions, tags, branches and pins, and the rows that they show (FORMAT.md, section 9)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from .log import Log
from .marks import positions_of
from .merging import StoredRows, merge
from .narrowing import fitting
from .pins import seen, united
from .problems import Corrupt, Unavailable
from .projection import project_columns
from .row_ids import ROW_IDS, identities
from .schemas import as_stored, by_physical_name, visible
from .segment_records import Segment
from .segments import Places, read_segment
from .state import State
from .types import Column, arrow_field, constant, widen

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class SecondTable:
    """A table or branch as of its newest version when it was opened."""

    log: Log
    places: Places
    newest: State = field(repr=False)

    @property
    def version(self) -> int:
        return self.newest.version

    @property
    def versions(self) -> list[int]:
        """The retained versions at which the table exists."""
        retained = {*range(self.newest.floor, self.version + 1), *self.newest.tags.values()}
        return [
            version for version in sorted(retained) if not self.log.at(self.newest, version).dropped
        ]

    def branch(self, name: str) -> SecondTable:
        if name not in self.newest.branches:
            raise Unavailable(f"there is no branch {name}")
        branch = self.newest.branches[name]
        log = Log(
            self.log.folder,
            self.log.folder / "_versioned" / "branch" / branch["id"],
            branch["base"],
        )
        return SecondTable(log, self.places, log.load())

    def state(self, version: int | str | None = None, time: datetime | None = None) -> State:
        """The state at a version, tag or time, or the newest."""
        if isinstance(version, str):
            if version not in self.newest.tags:
                raise Unavailable(f"there is no tag {version}")
            version = self.newest.tags[version]
        if time is not None:
            version = self.log.version_at(self.newest, time)
        state = self.newest if version is None else self.log.at(self.newest, version)
        if state.dropped:
            raise Unavailable(f"the table was dropped at version {state.version}")
        return state

    def read(
        self,
        version: int | str | None = None,
        time: datetime | None = None,
        pin: str | None = None,
        nulls: bool = False,
        row_ids: bool = False,
    ) -> pa.Table:
        """The rows of a version, perhaps through a pin; ``nulls`` in place of what does not fit it.

        With ``row_ids``, the columns _row_id and _row_updated follow the others.
        """
        state = self.state(version, time)
        current = state.schema.columns
        columns = visible(current)
        if pin is not None:
            columns = self.pinned(pin, state, nulls)
            current = united(current, columns)
        identity = ROW_IDS if row_ids else ()
        stored, columns = as_stored(by_physical_name((*current, *identity))), (*columns, *identity)
        arrays = project_columns(self.rows(state, stored), stored, columns, fitting(nulls=nulls))
        return pa.Table.from_arrays(
            list(arrays.values()), schema=pa.schema(map(arrow_field, columns))
        )

    def pinned(self, pin: str, state: State, nulls: bool) -> tuple[Column, ...]:
        """The columns of a state as a pin of the newest state shows them."""
        if pin not in self.newest.pins:
            raise Unavailable(f"there is no pin {pin}")
        if state.table_uuid != self.newest.table_uuid:
            raise Unavailable(f"version {state.version} is of another incarnation than the pin")
        pinned = self.newest.schemas[self.newest.pins[pin]["schema_version"]]
        later = pinned.version > state.schema.version
        return seen(visible(pinned.columns), state.schema.columns, later=later, nulls=nulls)

    def rows(self, state: State, wanted: Sequence[Column]) -> pa.Table:
        """The rows of a state with the columns of its schema, hidden ones included, and perhaps more."""
        schema = state.schema
        fields = pa.schema([arrow_field(column) for column in wanted])
        parts = [self.stored(segment, state, wanted) for segment in state.segments.values()]
        if not parts:
            return fields.empty_table()
        columns = [column.id for column in wanted]
        rows = merge(parts, schema.row_key if schema.primary_key else None, columns)
        table = pa.Table.from_arrays([rows[column] for column in columns], schema=fields)
        return self.alive(table, state)

    def stored(self, segment: Segment, state: State, wanted: Sequence[Column]) -> StoredRows:
        """The rows of a segment in the wanted columns, without those that are marked as deleted."""
        schema, record = state.schema, segment.record
        table, columns = read_segment(segment, state, self.places)
        written = {column.id: column for column in state.schemas[record["schema_version"]].columns}
        constants = {}
        for column in wanted:
            if str(column.id) in record.get("constants", {}):
                source = written[column.id]
                values = constant(source.type, record["constants"][str(column.id)], table.num_rows)
                constants[column.id] = widen(values, str(source.type), str(column.type))
        shown = project_columns(table, columns, wanted) | constants
        if ROW_IDS[0].id in shown:
            shown |= identities(segment, table)
        if segment.path in state.marks and not schema.primary_key:
            marked = positions_of(state.marks[segment.path], self.places.table, record["rows"])
            deleted = set(marked)
            kept = pa.array([at for at in range(table.num_rows) if at not in deleted], pa.int64())
            return StoredRows(
                segment, table, {column: array.take(kept) for column, array in shown.items()}
            )
        return StoredRows(segment, table, shown)

    def alive(self, table: pa.Table, state: State) -> pa.Table:
        """The rows that have not outlived the TTL (section 13)."""
        bounds, settled = [], (self.log.settled(state) - EPOCH) // MICROSECOND
        if "ttl" in state.properties:
            bounds.append(settled - duration(state.properties["ttl"]))
        if "ttl_floor" in state.properties and int(state.properties["ttl_floor"]) <= settled:
            bounds.append(int(state.properties["ttl_floor"]))
        if state.schema.time_index is None or not bounds:
            return table
        (index,) = (
            at
            for at, column in enumerate(state.schema.columns)
            if column.id == state.schema.time_index
        )
        times = table.column(index).cast(pa.timestamp("us")).cast(pa.int64())
        return table.filter(pc.greater_equal(times, max(bounds)))


def duration(text: str) -> int:
    """Microseconds of a property such as ``30 days``."""
    match = re.fullmatch(r"(\d+)\s*(second|minute|hour|day|week)s?", text.strip().lower())
    if not match:
        raise Corrupt(f"the duration {text}")
    return timedelta(**{f"{match[2]}s": int(match[1])}) // MICROSECOND


def open_table(folder: str | Path, roots: Mapping[str, str | Path] | None = None) -> SecondTable:
    """The table in a local folder. ``roots`` are the folders of external roots by name."""
    place = Path(folder)
    log = Log(place, place / "_versioned")
    configured = {name: Path(root) for name, root in (roots or {}).items()}
    return SecondTable(log, Places(place, configured), log.load())
