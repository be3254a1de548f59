"""Which commits conflict, in plain Python, from the log's entries and FORMAT.md, section 11.

It imports nothing of the packages under test, and parses the JSON of entries itself.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pyroaring import BitMap64

from histories import naive
from histories.naive import Field, Model, Version, find, inner, own_values, walk

Row = dict[int, Any]
Marks = Mapping[str, frozenset[int]]
"""The positions of the marked rows of segments, by path."""
Place = tuple[str, int]
"""A row in storage: the path of its segment, and its position."""


@dataclass(frozen=True)
class Entry:
    """The effect of one commit, in the terms of section 11; marks of hidden rows change no row.

    Args:
        moved: the groups of a compaction: the segments that each replaced, those that hold their rows,
            and whether the rows are in the same order.
    """

    operation: str
    time: datetime
    added: frozenset[str]
    removed: frozenset[str]
    marked: Mapping[str, frozenset[int] | None]
    changes: bool
    fence: int | None
    floor: int | None
    moved: list[tuple[list[str], list[str], bool]] = field(default_factory=list)


@dataclass
class Log:
    """The commits of a table, as read before any of them expired.

    Args:
        entries: by version.
        live: the live segments of each version.
        marks: the marks of each version.
        rows: how many rows each segment has, also those that are marked.
        fence: the newest fence.
    """

    entries: list[Entry] = field(default_factory=list)
    live: list[frozenset[str]] = field(default_factory=list)
    marks: list[Marks] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    fence: int = 0

    def read(self, fetch: Callable[[str], bytes | None]) -> list[Entry]:
        """Read the commits that are not known yet.

        Args:
            fetch: reads a file of the table's folder.
        """
        start = len(self.entries)
        while (data := fetch(f"_versioned/log/{len(self.entries):020d}.json")) is not None:
            said = json.loads(data)
            added = frozenset(record["path"] for record in said.get("added", ()))
            removed = frozenset(said.get("removed", ()))
            marked = said.get("marked", {})
            hides = "resolved" in said["features"]["read"]
            resolves = bool(marked) and hides
            one = Entry(
                said["operation"],
                datetime.fromisoformat(said["time"].replace("Z", "+00:00")),
                added,
                removed,
                {} if hides else {path: _positions(mark) for path, mark in marked.items()},
                any(name in said for name in ("schema", "properties", "comment")) or resolves,
                said.get("fence"),
                said.get("floor"),
                _moved(said),
            )
            self.rows |= {record["path"]: record["rows"] for record in said.get("added", ())}
            anew = said["operation"] in ("create", "replace")
            before = frozenset() if anew else self.live[-1]
            assert removed <= before, "a commit removes segments that are not live"
            marks: Mapping[str, Any] = {} if anew else self.marks[-1]
            marks = {path: mark for path, mark in marks.items() if path not in removed}
            marks = {path: mark for path, mark in {**marks, **one.marked}.items() if mark}
            self.entries.append(one)
            self.live.append((before - removed) | added)
            self.marks.append(marks)
            assert marks.keys() <= self.live[-1], (
                "a commit marks rows of segments that are not live"
            )
            self.fence = max(self.fence, one.fence or 0)
        return self.entries[start:]

    def since(self, base: int) -> list[Entry]:
        """The commits after a version."""
        return self.entries[base + 1 :]


def _moved(said: dict[str, Any]) -> list[tuple[list[str], list[str], bool]]:
    groups = []
    removed, added = [*said.get("removed", ())], [one["path"] for one in said.get("added", ())]
    for inputs, outputs, *unordered in said.get("details", {}).get("moved", ()):
        groups.append((removed[:inputs], added[:outputs], not unordered))
        removed, added = removed[inputs:], added[outputs:]
    assert not groups or not (removed or added), "groups have all segments"
    return groups


def _positions(mark: dict[str, Any] | None) -> frozenset[int] | None:
    """The marked positions; the marks of tables as small as these are in the entry."""
    if mark is None:
        return None
    blob = base64.b64decode(mark["blob"])
    positions = frozenset(BitMap64.deserialize(blob[8:-4]))
    assert len(positions) == mark["rows"] > 0
    return positions


@dataclass
class Verdict:
    """The possible outcomes of a commit.

    Args:
        must: reasons why it must be refused.
        may: reasons why it may be refused.
        nothing: whether it changes nothing, so that it makes no commit.
    """

    must: list[str] = field(default_factory=list)
    may: list[str] = field(default_factory=list)
    nothing: bool = False


@dataclass
class Planned:
    """What was planned on an older version, as far as conflicts depend on it.

    Args:
        kind: ``append``, ``overwrite``, ``rewrite``, ``compact``.
        base: the version on which it was planned.
        then: the model of that version.
        added: the paths of the segments that it adds.
        removed: the paths of the segments that it removes; None for all of the base.
        rows: the rows that it writes, without copies.
        reads: the condition under which it read rows, by key; None for all rows.
        tombstones: whether it adds tombstones only.
        keys: the rows of a keyed table whose keys it read and writes; None for no check.
        marks: the rows that it marks.
    """

    kind: str
    base: int
    then: Model
    added: frozenset[str]
    removed: frozenset[str] | None
    rows: list[Row]
    reads: Any = None
    tombstones: bool = False
    keys: list[Row] | None = None
    marks: Marks = field(default_factory=dict)


def judge(
    planned: Planned,
    now: Model,
    log: Log,
    serializable: bool,
    key_of: Callable[[Model, Row], Any],
    *,
    copies: bool,
) -> Verdict:
    """The outcome, by section 11, of a commit that adds or removes segments.

    Args:
        planned: the commit.
        now: the newest model.
        log: all commits.
        serializable: whether the newest ``isolation`` is ``serializable``.
        key_of: returns the key of a row.
        copies: whether the newest ``row_changes`` is ``copy``.
    """
    outcome = Verdict()
    if planned.then.incarnation != now.incarnation:
        outcome.must.append("the table was replaced")
        return outcome
    entries = log.since(planned.base)
    changes = planned.added or planned.removed or planned.marks
    if planned.kind in ("rewrite", "compact") and not changes:
        outcome.nothing = True
        return outcome
    stubs = planned.base + 1 < now.floor
    removed = log.live[planned.base] if planned.removed is None else planned.removed
    if removed | planned.marks.keys() <= log.live[-1]:
        _marks(planned, log, outcome, stubs)
        if planned.removed is None and any(removed & entry.removed for entry in entries):
            outcome.may.append("4: a segment was gone in between")
    elif planned.kind in ("overwrite", "rewrite"):
        _moves(planned, removed, log, outcome, copies)
        if planned.base < now.floor:
            outcome.may.append("21: an entry, or a version before it, is expired")
    else:
        outcome.must.append("4: a segment that it removes or marks is gone")
    if (planned.added or planned.marks) and planned.base < log.fence:
        outcome.must.append("2: it is older than the fence")
    if planned.added:
        _fits(planned, now, outcome)
    if planned.kind == "compact":
        if any(entry.operation == "rollback" for entry in entries):
            outcome.must.append("13: a rollback came first")
        if stubs:
            outcome.may.append("13: an entry is expired")
    if planned.kind == "rewrite":
        if planned.added and not planned.tombstones:
            _copies(planned, now, outcome)
        if serializable:
            _serial(planned, now, log, outcome, stubs)
        if planned.keys is not None:
            _keys(planned, now, log, outcome, key_of, stubs)
    return outcome


def _moves(
    planned: Planned, removed: frozenset[str], log: Log, outcome: Verdict, copies: bool
) -> None:
    """Follow each row that it removes through the compactions since (note 21)."""
    whole = set(removed)
    places = {(path, at) for path, rows in planned.marks.items() for at in rows}
    for number, entry in enumerate(log.since(planned.base), planned.base + 1):
        if whole & entry.marked.keys():
            outcome.must.append("19: a segment that it replaces was marked")
        gone = entry.removed & (whole | {path for path, _ in places})
        if not gone:
            continue
        if entry.operation != "compact":
            outcome.must.append("4: rows that it removes or marks are gone")
            return
        marks = log.marks[number - 1]
        for inputs, outputs, in_order in entry.moved:
            if whole.issuperset(inputs):
                whole = (whole - {*inputs}) | {*outputs}
                continue
            if not in_order:
                if {*inputs} & (whole | {path for path, _ in places}):
                    outcome.must.append("21: a compaction has moved the rows into another order")
                    return
                continue
            held = {path: marks.get(path, frozenset()) for path in inputs}
            if any((path, at) in places for path, some in held.items() for at in some):
                outcome.must.append("19: a row that it marks was marked")
            old = [(p, at) for p in inputs for at in range(log.rows[p]) if at not in held[p]]
            new = [(path, at) for path in outputs for at in range(log.rows[path])]
            assert len(old) == len(new), "a compaction that moves rows has as many as before"
            to = dict(zip(old, new, strict=True))
            places |= {place for place in old if place[0] in whole}
            places = {
                to.get(place, place) for place in places if place[0] not in inputs or place in to
            }
            whole -= {*inputs}
        assert not entry.removed & (whole | {path for path, _ in places})
    if any(at in log.marks[-1].get(path, ()) for path, at in places):
        outcome.must.append("19: a row that it marks is marked")
    if places and planned.base < log.fence:
        outcome.must.append("2: it marks rows, and is older than the fence")
    if places and copies and not any(planned.marks.values()):
        outcome.must.append("21: rows would have to be marked")


def _marks(planned: Planned, log: Log, outcome: Verdict, stubs: bool) -> None:
    newest, removed = log.marks[-1], planned.removed
    if removed is None:
        removed = log.live[planned.base]
    if any(positions & newest.get(path, frozenset()) for path, positions in planned.marks.items()):
        outcome.must.append("19: a row that it marks is marked")
    for entry in log.since(planned.base):
        if removed & entry.marked.keys():
            outcome.must.append("19: a segment that it replaces was marked")
    if removed and stubs and any(log.marks):
        outcome.may.append("19: an entry is expired")


def _parents(fields: tuple[Field, ...]) -> dict[int, tuple[int, ...]]:
    return {path[-1].key: tuple(one.key for one in path[:-1]) for path in walk(fields)}


def _fits(planned: Planned, now: Model, outcome: Verdict) -> None:
    then = planned.then
    old, new = ({p[-1].key: p[-1] for p in walk(m.fields)} for m in (then, now))
    for key in old.keys() & new.keys():
        was, is_ = old[key].type, new[key].type
        if isinstance(was, str) and was != is_ and is_ not in naive.WIDER.get(was, ()):
            widest = new[key].widest
            held = widest is not None and (was == widest or widest in naive.WIDER.get(was, ()))
            values = own_values(then.fields, key, planned.rows)
            if held and all(naive.fits(value, is_) for value in values):
                outcome.may.append(f"8: {was} was narrowed to {is_}")
            else:
                outcome.must.append(f"8: {was} does not widen to {is_}")
        if old[key].nullable and not new[key].nullable and _in_key(then, key, planned):
            if any(value is None for value in own_values(then.fields, key, planned.rows)):
                outcome.must.append(f"1: {new[key].name} holds nulls")
            elif planned.kind in ("rewrite", "compact"):
                # Copies of rows that other commits replaced or hid may hold nulls.
                outcome.may.append(f"1: {new[key].name} of copied rows")
    above = _parents(now.fields)
    for key in new.keys() - old.keys():
        hosted = set(above[key]) <= old.keys()
        if not new[key].nullable and new[key].read_default is None and hosted:
            if not planned.tombstones:
                outcome.must.append(f"1: {new[key].name} would show null")


def _in_key(then: Model, key: int, planned: Planned) -> bool:
    return not planned.tombstones or key in getattr(then, "row_key", ())


def _copies(planned: Planned, now: Model, outcome: Verdict) -> None:
    old, new = ({p[-1].key for p in walk(m.fields)} for m in (planned.then, now))
    if came := new - old:
        past = now.past[: planned.base + 1]
        known = {path[-1].key for version in past for path in walk(version.fields)}
        if came & known:
            outcome.must.append("15: a column that the copies lack was brought back")


def _serial(planned: Planned, now: Model, log: Log, outcome: Verdict, stubs: bool) -> None:
    held = {*log.live[planned.base]}
    for number, entry in enumerate(log.since(planned.base), planned.base + 1):
        if entry.operation == "compact":
            held |= entry.added
            continue
        changed = entry.removed | entry.marked.keys()
        if entry.added or changed & held:
            outcome.may.append("7: segments came or went")
            before, after = now.past[number - 1], now.past[number]
            if _met(planned, now, before, after):
                outcome.must.append(
                    f"7: rows that match its condition were added or removed in {number}"
                )
    if stubs:
        outcome.may.append("7: an entry is expired")


def _met(planned: Planned, now: Model, before: Version, after: Version) -> bool:
    """Whether a row that matches the condition was added or removed concurrently."""
    old, new = {id(row) for row in before.rows}, {id(row) for row in after.rows}
    came = [row for row in after.rows if id(row) not in old]
    then_ids = {id(row) for row in planned.then.rows}
    gone = [row for row in before.rows if id(row) not in new and id(row) in then_ids]
    if planned.reads is None:
        return bool(came or gone)
    fields = [planned.then.fields, before.fields, after.fields, now.fields]
    try:
        found = [[find(some, keys[-1]) for some in fields] for c in planned.reads for keys, *_ in c]
    except StopIteration:
        return False  # a column is gone: the model can't decide
    if any(len({one.type for one in each if isinstance(one.type, str)}) != 1 for each in found):
        return False
    return any(naive.holds(planned.then.fields, row, planned.reads) for row in [*came, *gone])


def _keys(
    planned: Planned,
    now: Model,
    log: Log,
    outcome: Verdict,
    key_of: Callable[[Model, Row], Any],
    stubs: bool,
) -> None:
    assert planned.keys is not None
    mine = {key_of(now, row) for row in planned.keys}
    for number, entry in enumerate(log.since(planned.base), planned.base + 1):
        if entry.operation == "compact":
            continue
        if entry.removed:
            outcome.must.append(f"14: rows went in {number}")
        if entry.operation == "rollback" and entry.added:
            outcome.may.append("14: segments that came back hold rows that others replaced")
        written: Collection[Row] = getattr(now.past[number], "written", ())
        if entry.added and mine & {key_of(now, row) for row in written}:
            outcome.must.append(f"14: the same keys were written in {number}")
    if stubs:
        outcome.may.append("14: an entry is expired")


def may_rollback(base: int, log: Log, floor: int) -> Verdict:
    """The outcome of a rollback, by section 11."""
    outcome = Verdict()
    for entry in log.since(base):
        changed = entry.added or entry.removed or entry.marked
        if changed or entry.changes or entry.fence is not None:
            outcome.must.append(f"9: it was not seen ({entry.operation})")
    if base + 1 < floor:
        outcome.may.append("9: an entry is expired")
    return outcome


def may_alter(now: Model, changes: list[tuple[Any, ...]]) -> Verdict:
    """Whether all columns that an ALTER names exist; the model checks the rest."""
    outcome = Verdict()
    known = {path[-1].key for path in walk(now.fields)}
    siblings = {one.key: {s.key for s in some} for some in _lists(now.fields) for one in some}
    top = {one.key for one in now.fields}
    inside = {p[-1].key: {s.key for s in inner(p[-1].type)} for p in walk(now.fields)}
    for kind, key, *rest in changes:
        if kind == "add":
            new, after = rest
            beside = top if key is None else inside.get(key)
            if beside is None or (after not in (None, "first") and after not in beside):
                outcome.must.append("6: a column is gone")
            known |= {path[-1].key for path in walk((new,))}
            if beside is not None:
                beside.add(new.key)
                siblings |= dict.fromkeys(beside, beside)
            for path in walk((new,)):
                fields = {one.key for one in inner(path[-1].type)}
                inside[path[-1].key] = fields
                siblings |= dict.fromkeys(fields, fields)
        elif key not in known or (
            kind == "move" and rest[0] is not None and rest[0] not in siblings.get(key, ())
        ):
            outcome.must.append("6: a column is gone")
    return outcome


def _lists(fields: tuple[Field, ...]) -> list[tuple[Field, ...]]:
    return [fields, *(inner(p[-1].type) for p in walk(fields) if inner(p[-1].type))]
