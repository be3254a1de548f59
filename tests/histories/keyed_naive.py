"""A naive model of a keyed table: the model of a table whose rows have keys, and the last one wins.

It knows nothing about segments, tombstones or sequences: a write changes the existing rows, and
rows that are hidden for good are removed. ``alter``, ``update`` and ``rollback`` are those of ``naive``,
except for what a row key forbids.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field, replace
from typing import Any

from histories import naive
from histories.naive import Field, Model, Refused, Version, check_names, find, show, store_row

Row = dict[int, Any]
SEQUENCE = -1
"""The field of every committed row: the version that wrote it last."""
LAYERS = -2
"""The field of a row of partial upserts: (version, fields or None for all, row) of each write."""


@dataclass
class KeyedVersion(Version):
    """The state of a keyed table after one commit, and what it had hidden by then."""

    ttl: dt.timedelta | None = None
    cut: dt.datetime | None = None
    written: list[Row] = field(default_factory=list)


@dataclass
class Keyed(Model):
    """A keyed table; without a primary key, rows are only added, as in any other table.

    Args:
        primary_key, time_index: keys of fields.
        ttl: the age from which rows are hidden.
        cut: rows before this time are hidden for good; only a rollback moves it back.
        now: the time of everything.
        blind: keys that the next commit deletes, whether or not there are rows.
    """

    primary_key: tuple[int, ...] = ()
    time_index: int | None = None
    ttl: dt.timedelta | None = None
    cut: dt.datetime | None = None
    now: dt.datetime = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
    blind: list[Row] = field(default_factory=list)

    @property
    def row_key(self) -> tuple[int, ...]:
        """The primary key, then the time index if it is not in it."""
        more = self.time_index is not None and self.time_index not in self.primary_key
        return (*self.primary_key, *((self.time_index,) if more else ()))

    def may_widen(self, key: int) -> bool:
        """Whether every transform of a column of the row key applies to its wider types, too."""
        return True

    def commit(self) -> None:
        """Record the table as a version, without the rows that are too old by now."""
        written = self._written()
        if self.ttl is not None:
            self.cut = max(self.now - self.ttl, self.cut or self.now - self.ttl)
        if self.cut is not None:
            self.rows = [row for row in self.rows if _time(self, row) >= self.cut]
        self.rows = [row if SEQUENCE in row else self._numbered(row) for row in self.rows]
        version = KeyedVersion(
            self.fields, list(self.rows), self.fixed, self.incarnation, self.ttl, self.cut, written
        )
        self.past.append(version)

    def _written(self) -> list[Row]:
        """Rows with the keys that this commit wrote or deleted."""
        written, self.blind = list(self.blind), []  # copies of this model may share the list
        if self.primary_key and self.past and self.past[-1].incarnation == self.incarnation:
            before = self.past[-1].rows
            old, new = {id(row) for row in before}, {id(row) for row in self.rows}
            written += [row for row in before if id(row) not in new]
            written += [row for row in self.rows if id(row) not in old]
        return written

    def _numbered(self, row: Row) -> Row:
        version, new = len(self.past), row | {SEQUENCE: len(self.past)}
        if LAYERS in row:
            made = ((version if by is None else by, keys, one) for by, keys, one in row[LAYERS])
            new[LAYERS] = tuple(made)
        return new


def _time(model: Keyed, row: Row) -> dt.datetime:
    """The time index of a row; a time without a time zone is in UTC."""
    assert model.time_index is not None
    value = show(find(model.fields, model.time_index), row)
    if not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    return value if value.tzinfo else value.replace(tzinfo=dt.UTC)


def key_of(model: Keyed, row: Row) -> tuple[Any, ...]:
    """The key of a row, with its current values."""
    return tuple(show(find(model.fields, key), row) for key in model.row_key)


# Writes


def whole_rows(model: Keyed, names: list[str], given: list[dict[str, Any]]) -> list[Row]:
    """Rows as they are stored; missing fields get their defaults.

    Raises:
        Refused: a value is missing, or null although that is not allowed.
    """
    check_names(model.fields, names)
    return [store_row(model.fields, row) for row in given]


def upsert(model: Keyed, stored: list[Row], kept: list[Row] | None = None) -> list[Row]:
    """The rows after whole rows replaced those of the same keys, or those in ``kept``."""
    old = model.rows if kept is None else kept
    if not model.primary_key:
        return [*old, *stored]
    return list({key_of(model, row): row for row in (*old, *stored)}.values())


def patch(model: Keyed, names: list[str], given: list[dict[str, Any]]) -> list[Row]:
    """The rows after a partial upsert.

    Raises:
        Refused: a key column is missing, or ``whole_rows`` refuses a row.
    """
    return lay(model, assigned(model, names), whole_rows(model, names, given))


def assigned(model: Keyed, names: list[str]) -> set[int]:
    """The fields that a partial upsert assigns.

    Raises:
        Refused: a column of the key is left out.
    """
    keys = {f.key for f in model.fields if f.name in names}
    if not model.primary_key or not set(model.row_key) <= keys:
        raise Refused("the key is not there")
    return keys


def lay(model: Keyed, keys: set[int], stored: list[Row]) -> list[Row]:
    """The rows after some fields of the stored rows were replaced."""
    found = {key_of(model, row): row for row in model.rows}
    for row in stored:
        key = key_of(model, row)
        layer = (None, frozenset(keys), row)
        if key not in found:
            found[key] = row | {LAYERS: (layer,)}
            continue
        old = found[key]
        below = old.get(LAYERS, ((old.get(SEQUENCE), None, _anew(old)),))
        found[key] = _anew(old) | {k: row[k] for k in keys} | {LAYERS: (*below, layer)}
    return list(found.values())


def without_base(model: Keyed, base: int) -> list[Row]:
    """The rows without everything that was written up to a version."""
    found = []
    for row in model.rows:
        if LAYERS not in row:
            found += [row] if row[SEQUENCE] > base else []
            continue
        layers = [layer for layer in row[LAYERS] if layer[0] > base]
        if len(layers) == len(row[LAYERS]):
            found.append(row)
        elif layers:
            new = dict(layers[0][2])
            for _, keys, one in layers[1:]:
                new |= one if keys is None else {key: one[key] for key in keys}
            found.append(new | {LAYERS: tuple(layers), SEQUENCE: row[SEQUENCE]})
    return found


def update(model: Keyed, assignments: list[tuple[Any, Any]], filters: Any) -> list[Row]:
    """The rows after an UPDATE.

    Raises:
        Refused: it would change the key, or what ``naive.update`` refuses.
    """
    if model.primary_key and any(keys[0] in model.row_key for keys, _ in assignments):
        raise Refused("rows keep their keys")
    before = [_anew(row) if naive.passes(model, row, filters) else row for row in model.rows]
    return naive.update(replace(model, rows=before), assignments, filters)


def _anew(row: Row) -> Row:
    """A row that is written again, whatever its values become."""
    return {key: value for key, value in row.items() if key not in (SEQUENCE, LAYERS)}


# Changes of the table


def alter(model: Keyed, changes: list[tuple[Any, ...]]) -> tuple[Field, ...]:
    """The fields after the changes of one ALTER.

    Raises:
        Refused: a change is not possible.
    """
    for kind, key, *rest in changes:
        unordered = kind == "type" and rest[0] in ("float", "double")
        if key in model.row_key and (kind in ("drop", "null") or unordered):
            raise Refused("the row key can't be without it")
    return naive.alter(model, changes)


def set_ttl(model: Keyed, ttl: dt.timedelta | None) -> None:
    """Set or unset the age from which rows are hidden.

    Raises:
        Refused: rows have no time index.
    """
    if ttl is not None and model.time_index is None:
        raise Refused("there is no time index")
    model.ttl = ttl


def rollback(model: Keyed, version: int) -> None:
    """Restore a version; what was hidden since then is visible again.

    Raises:
        Refused: the version belongs to another incarnation.
    """
    naive.rollback(model, version)
    then = model.past[version]
    assert isinstance(then, KeyedVersion)
    model.ttl, model.cut = then.ttl, then.cut
