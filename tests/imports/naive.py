"""A naive model of a table that imports files: dicts and counters; it imports none of our code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

Rows = Counter[int]


@dataclass
class File:
    """A file: the values of its two columns by content; the last content is the newest."""

    contents: list[tuple[int, ...]]

    @property
    def now(self) -> int:
        """Number of the newest content."""
        return len(self.contents) - 1

    def values(self, column: str) -> Rows:
        """What the table shows if its column is read from ``a`` or ``b`` of the newest content."""
        return Counter(value + (1000 if column == "b" else 0) for value in self.contents[-1])


@dataclass(frozen=True)
class Segment:
    """Rows that were added together; a file if it was adopted in place."""

    rows: tuple[tuple[int, int], ...]
    file: str | None = None


@dataclass(frozen=True)
class State:
    """A version: its segments, and the contents of each file that were taken in, in place or not."""

    segments: tuple[Segment, ...] = ()
    taken: dict[str, frozenset[int]] = field(default_factory=dict)
    with_rows: frozenset[str] = frozenset()
    adopted: frozenset[str] = frozenset()

    @property
    def rows(self) -> Rows:
        """The rows that are shown."""
        found: Rows = Counter()
        for segment in self.segments:
            found.update(dict(segment.rows))
        return found


@dataclass(frozen=True)
class Outcome:
    """What an import says."""

    files: int
    known: int
    changed: tuple[str, ...]


def frozen(rows: Rows) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((value, count) for value, count in rows.items() if count))


def wants(state: State, name: str, file: File, again: str | None) -> str:
    """``new``, ``known`` or ``changed``: what an import does with a file."""
    taken = state.taken.get(name, frozenset())
    if file.now in taken:
        return "new" if again == "all" else "known"
    if not taken or name not in state.with_rows:
        return "new"
    return "changed" if again is None else "new"


def imported(
    state: State,
    files: dict[str, File],
    selected: Sequence[str],
    column: str,
    *,
    copy: bool,
    again: str | None,
) -> tuple[State, Outcome]:
    """The state after an import of some files."""
    segments, taken, with_rows = list(state.segments), dict(state.taken), set(state.with_rows)
    adopted = set(state.adopted)
    how = {name: wants(state, name, files[name], again) for name in selected}
    for name in (name for name, what in how.items() if what == "new"):
        file = files[name]
        if taken.get(name) and file.now not in taken[name]:
            segments = [one for one in segments if one.file != name]
        taken[name] = taken.get(name, frozenset()) | {file.now}
        rows = file.values(column)
        if rows:
            with_rows.add(name)
            if not copy:
                adopted.add(name)
            segments.append(Segment(frozen(rows), None if copy else name))
    outcome = Outcome(
        sum(what == "new" for what in how.values()),
        sum(what == "known" for what in how.values()),
        tuple(sorted(name for name, what in how.items() if what == "changed")),
    )
    return State(tuple(segments), taken, frozenset(with_rows), frozenset(adopted)), outcome


def is_refused(
    state: State, files: dict[str, File], selected: Sequence[str], again: str | None
) -> bool:
    """Whether an import would take a changed file whose old rows may be in other segments."""
    live = {one.file for one in state.segments}
    return again == "changed" and any(
        wants(state, name, files[name], None) == "changed"
        for name in selected
        if name in state.adopted and name not in live
    )


def deleted(state: State, values: set[int]) -> State:
    """The state without some rows; a segment of which rows are left is the table's own then."""
    segments = []
    for segment in state.segments:
        left = tuple((value, count) for value, count in segment.rows if value not in values)
        if left == segment.rows:
            segments.append(segment)
        elif left:
            segments.append(Segment(left))
    return replace(state, segments=tuple(segments))


def overwritten(state: State, rows: Rows) -> State:
    """The state with other rows."""
    return replace(state, segments=(Segment(frozen(rows)),) if rows else ())


def compacted(state: State) -> State:
    """The state with the same rows in segments of the table's own."""
    return overwritten(state, state.rows)
