"""A driver of micro-batches as Spark's is, which dies between any two steps and starts again.

Before a batch runs, the offset where it ends is stored; after its rows are in the sink, that it is done.
A batch that was not done is run again between the same offsets. As in Spark, the first batch has no
stored start, so the source is asked where it starts; and the DataFrame is a new one, so the rows may
have other columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from histories.paused import Killed, Pause, over
from versioned_catalog import Table
from versioned_catalog.stream.offsets import Limits, Offset, Settings
from versioned_catalog.stream.row_stream import TableStream

Columns = dict[str, int]
"""The columns at some time: what each is called, and which column it is."""


@dataclass(frozen=True)
class Delivered:
    """The rows of a batch, and the columns of the DataFrame that it was read with."""

    columns: Columns
    rows: tuple[dict[str, Any], ...]

    @property
    def ids(self) -> list[int]:
        return sorted(row["id"] for row in self.rows)


@dataclass
class Checkpoint:
    """What outlives a driver: its checkpoint, and a sink that takes each batch once, by its number.

    Args:
        begun: the number of rows that there were before and after the source was asked where it starts.
    """

    offsets: list[str] = field(default_factory=list)
    done: int = 0
    sink: dict[int, Delivered] = field(default_factory=dict)
    begun: tuple[int, int] = (0, 0)

    def deliver(self, number: int, batch: Delivered) -> None:
        if number in self.sink:
            assert self.sink[number].ids == batch.ids, (
                f"batch {number} has other rows when run again"
            )
        else:
            self.sink[number] = batch


@dataclass
class Interruptions(Pause):
    """Others write at one step of a driver, and it dies at another.

    Args:
        write: what others do.
        write_at: the number of the step, counted from 0; None for never.
        steps: those after which the driver dies; None if it lives.
        kind: the kind of steps that count for this; empty for all.
    """

    write: Callable[[], object] = lambda: None
    write_at: int | None = None
    steps: int | None = None
    kind: str = ""
    seen: int = 0

    def strike(self, method: str) -> None:
        """Count one step: a storage call, or a write to the checkpoint or the sink."""
        if self.steps is not None and self.kind in ("", method):
            if not self.steps:
                raise Killed
            self.steps -= 1
        self.seen += 1
        if self.seen - 1 == self.write_at:
            self.write()


@dataclass
class Driver:
    """One life of the driver, from its start to its end or death.

    Args:
        count: the number of rows that are written so far.
    """

    table: Table
    columns: Columns
    settings: Settings
    checkpoint: Checkpoint
    pause: Interruptions
    count: Callable[[], int]

    def run(self, limits: Limits, batches: int) -> None:
        """Run some batches at most.

        Raises:
            Killed: the driver died.
        """
        own = self.checkpoint
        stream = over(self.table, datetime.now(UTC), self.pause).stream(self.settings)
        for number in range(own.done, own.done + batches):
            start = Offset.from_json(own.offsets[number - 1]) if number else self.first(stream)
            if len(own.offsets) == number:
                end = stream.latest(start, limits)
                if end == start and number:
                    return
                self.pause.strike("checkpoint")
                own.offsets.append(end.to_json())
            self.pause.strike("checkpoint")
            rows = stream.read(start, Offset.from_json(own.offsets[number])).to_pylist()
            self.finish(number, Delivered(self.columns, tuple(rows)))

    def first(self, stream: TableStream) -> Offset:
        before = self.count()
        found = stream.initial()
        if not self.checkpoint.offsets:
            self.checkpoint.begun = before, self.count()
        return found

    def finish(self, number: int, batch: Delivered) -> None:
        """Write the rows of a batch, then note that it is done."""
        self.pause.strike("sink")
        self.checkpoint.deliver(number, batch)
        self.pause.strike("checkpoint")
        self.checkpoint.done = number + 1


def check(
    delivered: list[Delivered], written: dict[int, dict[int, Any]], begun: tuple[int, int] = (0, 0)
) -> None:
    """Each row that was written must be there once, with what was written to the columns that are read.

    Args:
        written: the values by the row's ID, counted from 0, and by column.
        begun: rows before the first number must not be there, those between the two need not.
    """
    times = Counter(number for batch in delivered for number in batch.ids)
    doubled = sorted(number for number, count in times.items() if count > 1)
    assert not doubled, f"doubled: {doubled}"
    lost = sorted(set(range(begun[1], len(written))) - times.keys())
    assert not lost, f"lost: {lost}"
    assert times.keys() <= set(range(begun[0], len(written))), "rows that are not wanted"
    for batch in delivered:
        for row in batch.rows:
            own = written[row["id"]]
            expected = {name: own.get(column) for name, column in batch.columns.items()}
            assert row == expected, f"wrong: {row}, not {expected}"
