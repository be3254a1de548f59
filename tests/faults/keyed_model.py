"""A table with a primary key as the list of its commits, in plain Python without the project's code.

Every commit is recorded as requested, with its base version; its effect on rows is computed on the
snapshot of that version. So a history has one outcome, and any difference from it is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

Key = tuple[Any, ...]
Ask = Mapping[str, Any]
"""A request, as JSON: ``do``, and its arguments."""

PUT, PATCH, DELETE = "put", "patch", "delete"
KEY_PARTS = (0, 1)
"""The columns of the row key: the first ones of the table."""


@dataclass(frozen=True)
class Column:
    """A column.

    Args:
        id: identifies the column, whatever its name.
        name: its current name.
        read_default: what rows show that were written without the column.
        write_default: what a write stores that leaves the column out.
    """

    id: int
    name: str
    read_default: Any = None
    write_default: Any = None


@dataclass(frozen=True)
class Effect:
    """The effect of one commit on the row of one key.

    Args:
        version: the commit that made it live; a rollback can make it live again.
        kind: ``put``, ``patch`` or ``delete``.
        key: the row key.
        values: all values that it stores, by column.
        assigned: the columns that a patch assigns.
        born: the commit that first wrote it, if that is not ``version``.
    """

    version: int
    kind: str
    key: Key
    values: Mapping[int, Any] = field(default_factory=dict)
    assigned: frozenset[int] = frozenset()
    born: int = -1

    @property
    def origin(self) -> tuple[int, str, Key]:
        """The identity of the effect, whichever commit made it live."""
        return (self.version if self.born < 0 else self.born, self.kind, self.key)

    def again(self, version: int) -> Effect:
        """The same effect, made live by another commit."""
        return replace(self, version=version, born=self.origin[0])


@dataclass(frozen=True)
class Snapshot:
    """The table as of one version.

    Args:
        columns: the columns that it shows.
        effects: the live effects, in order.
        next_id: the ID of the next column.
        written: the keys whose rows this commit wrote or removed.
    """

    columns: tuple[Column, ...]
    effects: tuple[Effect, ...] = ()
    next_id: int = 1000
    written: frozenset[Key] = frozenset()

    @cached_property
    def rows(self) -> dict[Key, Mapping[int, Any]]:
        """The values of each row, by column."""
        found: dict[Key, Mapping[int, Any]] = {}
        for effect in self.effects:
            there = found.get(effect.key)
            if effect.kind == DELETE:
                found.pop(effect.key, None)
            elif effect.kind == PATCH and there is not None:
                new = {one: effect.values[one] for one in effect.assigned}
                found[effect.key] = {**there, **new}
            else:
                found[effect.key] = effect.values
        return found

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def column(self, name: str) -> Column:
        (found,) = (one for one in self.columns if one.name == name)
        return found

    def value(self, row: Mapping[int, Any], column: Column) -> Any:
        return row.get(column.id, column.read_default)

    @cached_property
    def shown(self) -> dict[Key, tuple[Any, ...]]:
        """The rows that a reader must see."""
        return {
            key: tuple(self.value(row, column) for column in self.columns)
            for key, row in self.rows.items()
        }

    def matching(self, where: Sequence[Any] | None) -> list[Key]:
        """The keys of the rows that match a condition."""
        if where is None:
            return list(self.rows)
        name, op, wanted = where
        column, test = self.column(name), _TESTS[op]
        values = ((key, self.value(row, column)) for key, row in self.rows.items())
        return [key for key, value in values if value is not None and test(value, wanted)]


_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": lambda value, wanted: bool(value == wanted),
    "<": lambda value, wanted: bool(value < wanted),
    ">=": lambda value, wanted: bool(value >= wanted),
    "in": lambda value, wanted: value in wanted,
}


def made(names: Iterable[str]) -> Snapshot:
    """A new table; its first columns are the row key."""
    return Snapshot(tuple(Column(at, name) for at, name in enumerate(names)))


def after(history: Sequence[Snapshot], base: int, ask: Ask) -> Snapshot:
    """The table after one more commit.

    Args:
        history: the table as of each version before.
        base: the base version of the commit.
        ask: the request.
    """
    return _DOES[ask["do"]](history, base, ask)


def is_late(history: Sequence[Snapshot], base: int, ask: Ask) -> bool:
    """Whether another commit wrote, since the base, a row that this commit reads."""
    touched = set(reads(history[base], ask))
    return any(touched & snapshot.written for snapshot in history[base + 1 :])


def reads(base: Snapshot, ask: Ask) -> list[Key]:
    """The keys of the rows that a commit reads in order to write them."""
    if ask["do"] not in ("delete", "update", "replace"):
        return []
    return base.matching(ask["where"])


def _grown(history: Sequence[Snapshot], effects: Iterable[Effect]) -> Snapshot:
    new = tuple(effects)
    now = history[-1]
    return replace(now, effects=now.effects + new, written=frozenset(effect.key for effect in new))


def _puts(history: Sequence[Snapshot], base: int, ask: Ask) -> Iterable[Effect]:
    """Rows bound by name to the columns of the base; missing columns get their defaults."""
    schema, names = history[base], ask["names"]
    given = [schema.column(name).id for name in names]
    defaults = {column.id: column.write_default for column in schema.columns}
    kind = PATCH if ask.get("partial") else PUT
    assigned = frozenset(given) - set(KEY_PARTS)
    last: dict[Key, Effect] = {}
    for row in ask["rows"]:
        values = {**defaults, **dict(zip(given, row, strict=True))}
        key = tuple(values[part] for part in KEY_PARTS)
        last[key] = Effect(len(history), kind, key, values, assigned)
    return last.values()


def _upsert(history: Sequence[Snapshot], base: int, ask: Ask) -> Snapshot:
    return _grown(history, _puts(history, base, ask))


def _delete(history: Sequence[Snapshot], base: int, ask: Ask) -> Snapshot:
    gone = history[base].matching(ask["where"])
    return _grown(history, (Effect(len(history), DELETE, key) for key in gone))


def _replace(history: Sequence[Snapshot], base: int, ask: Ask) -> Snapshot:
    """Put rows in place of those that match."""
    gone = [Effect(len(history), DELETE, key) for key in history[base].matching(ask["where"])]
    return _grown(history, (*gone, *_puts(history, base, ask)))


def _update(history: Sequence[Snapshot], base: int, ask: Ask) -> Snapshot:
    was = history[base]

    def changed() -> Iterable[Effect]:
        for key in was.matching(ask["where"]):
            old = was.rows[key]
            row = {column.id: was.value(old, column) for column in was.columns}
            for name, new in ask["set"].items():
                column = was.column(name)
                row[column.id] = _assigned(new, was.value(old, column))
            yield Effect(len(history), PUT, key, row)

    return _grown(history, changed())


def _assigned(new: Any, old: Any) -> Any:
    """The assigned value: the value itself, or ``["plus", n]`` added to the old one."""
    if not isinstance(new, list):
        return new
    return None if old is None else old + new[1]


def _overwrite(history: Sequence[Snapshot], base: int, ask: Ask) -> Snapshot:
    """Put rows in place of all rows of the base; rows added since then stay."""
    now = history[-1]
    newer = tuple(effect for effect in now.effects if effect.version > base)
    puts = tuple(_puts(history, base, ask)) if ask["rows"] else ()
    gone = (effect for effect in now.effects if effect.version <= base)
    written = frozenset(effect.key for effect in (*gone, *puts))
    return replace(now, effects=newer + puts, written=written)


def _compact(history: Sequence[Snapshot], _: int, __: Ask) -> Snapshot:
    return replace(history[-1], written=frozenset())


def _rollback(history: Sequence[Snapshot], _: int, ask: Ask) -> Snapshot:
    then, now, version = history[ask["to"]], history[-1], len(history)
    live = {effect.origin: effect for effect in now.effects}
    wanted = {effect.origin: effect for effect in then.effects}
    back = tuple(live.get(one) or e.again(version) for one, e in wanted.items())
    changed = [{**live, **wanted}[one].key for one in live.keys() ^ wanted.keys()]
    return Snapshot(then.columns, back, now.next_id, frozenset(changed))


def _alter(history: Sequence[Snapshot], base: int, ask: Ask) -> Snapshot:
    """Apply changes, which name columns by the schema of the base."""
    now, bound = history[-1], history[base]
    columns, next_id = list(now.columns), now.next_id
    for what, name, *rest in ask["changes"]:
        if what == "add":
            columns.append(Column(next_id, name, rest[0], rest[0]))
            next_id += 1
            continue
        at = next(i for i, one in enumerate(columns) if one.id == bound.column(name).id)
        if what == "drop":
            del columns[at]
        elif what == "rename":
            columns[at] = replace(columns[at], name=rest[0])
        elif what == "default":
            columns[at] = replace(columns[at], write_default=rest[0])
    return Snapshot(tuple(columns), now.effects, next_id)


def _nothing(history: Sequence[Snapshot], _: int, __: Ask) -> Snapshot:
    return replace(history[-1], written=frozenset())


_DOES: Mapping[str, Callable[[Sequence[Snapshot], int, Ask], Snapshot]] = {
    "upsert": _upsert,
    "delete": _delete,
    "update": _update,
    "replace": _replace,
    "overwrite": _overwrite,
    "compact": _compact,
    "rollback": _rollback,
    "alter": _alter,
    "fence": _nothing,
    "expire": _nothing,
    "tag": _nothing,
}
