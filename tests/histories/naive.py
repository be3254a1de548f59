"""A naive model of a table: lists of dictionaries, and the rules of the design in plain Python.

It imports nothing of the packages under test, so both can't be wrong together. A field is identified
by its ``key``, which is never reused; its name is only for display.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

# Types are text for leaves, and for nested ones ("struct", fields), ("array", field),
# ("map", key field, value field).
Type = Any

WIDER = {
    "byte": {"short", "int", "long", "double", "decimal(12,2)", "decimal(24,4)"},
    "short": {"int", "long", "double", "decimal(12,2)", "decimal(24,4)"},
    "int": {"long", "double", "decimal(12,2)", "decimal(24,4)"},
    "long": {"decimal(24,4)"},
    "float": {"double"},
    "decimal(12,2)": {"decimal(24,4)"},
    "date": {"timestamp_ntz"},
    "char(3)": {"varchar(5)", "string"},
    "varchar(5)": {"string"},
}


class Refused(Exception):
    """The model says that an operation must be refused."""


@dataclass(frozen=True)
class Field:
    """A column or nested field."""

    key: int
    name: str
    type: Type
    nullable: bool = True
    read_default: Any = None
    write_default: Any = None
    widest: Any = None


@dataclass
class Version:
    """The state of the table after one commit."""

    fields: tuple[Field, ...]
    rows: list[dict[int, Any]]
    fixed: frozenset[int] = frozenset()
    incarnation: int = 0


@dataclass
class Model:
    """A table with its history."""

    fields: tuple[Field, ...]
    rows: list[dict[int, Any]] = field(default_factory=list)
    fixed: frozenset[int] = frozenset()
    keys: Iterator[int] = field(default_factory=lambda: itertools.count(1000))
    past: list[Version] = field(default_factory=list)
    incarnation: int = 0
    tags: dict[str, int] = field(default_factory=dict)
    floor: int = 0

    def keeps(self, version: int) -> bool:
        """Whether a version is retained."""
        return version >= self.floor or version in self.tags.values()

    def may_widen(self, key: int) -> bool:
        """Whether a field may be widened as far as the table's layout is concerned."""
        return key not in self.fixed

    def commit(self) -> None:
        """Record the table as a version."""
        self.past.append(Version(self.fields, list(self.rows), self.fixed, self.incarnation))


def same(fields: tuple[Field, ...], others: tuple[Field, ...]) -> bool:
    """Whether two schemas are equal, with NaN equal to NaN; then an ALTER changes nothing."""
    return repr(fields) == repr(others)


def inner(type_: Type) -> tuple[Field, ...]:
    """The fields directly inside a type."""
    if isinstance(type_, str):
        return ()
    return type_[1] if type_[0] == "struct" else type_[1:]


def rewrap(type_: Type, fields: tuple[Field, ...]) -> Type:
    """A nested type with other fields."""
    return (type_[0], fields) if type_[0] == "struct" else (type_[0], *fields)


def walk(fields: tuple[Field, ...], above: tuple[Field, ...] = ()) -> Iterator[tuple[Field, ...]]:
    """Every field with its ancestors, itself last."""
    for one in fields:
        yield (*above, one)
        yield from walk(inner(one.type), (*above, one))


def edit(fields: tuple[Field, ...], key: int, change: Any) -> tuple[Field, ...]:
    """The fields after ``change`` was applied to the list that holds ``key``."""
    if any(f.key == key for f in fields):
        return tuple(change(fields))
    return tuple(
        replace(f, type=rewrap(f.type, edit(inner(f.type), key, change))) if inner(f.type) else f
        for f in fields
    )


def find(fields: tuple[Field, ...], key: int) -> Field:
    """The field with a key."""
    return next(path[-1] for path in walk(fields) if path[-1].key == key)


# Values


def as_type(value: Any, type_: Type) -> Any:
    """A stored leaf, converted to its current type."""
    if value is None or not isinstance(type_, str):
        return value
    if type_ == "double":
        return float(value)
    if type_.startswith("decimal"):
        scale = int(type_[:-1].split(",")[1])
        return Decimal(value).quantize(Decimal(1).scaleb(-scale))
    if type_ == "timestamp_ntz" and not isinstance(value, dt.datetime):
        return dt.datetime(value.year, value.month, value.day)
    if type_ in INTEGERS:
        return int(value)
    if type_ == "date" and isinstance(value, dt.datetime):
        return value.date()
    return value


INTEGERS = {"byte": 8, "short": 16, "int": 32, "long": 64}


def fits(value: Any, type_: str) -> bool:
    """Whether a value of a wider type is one of a narrower type."""
    if value is None:
        return True
    if type_ in INTEGERS:
        if isinstance(value, float) and not math.isfinite(value):
            return False
        limit = 2 ** (INTEGERS[type_] - 1)
        return bool(value == int(value) and -limit <= value < limit)
    if type_ == "float":
        if not math.isfinite(value):
            return True
        try:
            return bool(as_stored(value, "float") == value)
        except OverflowError:
            return False
    if type_.startswith("decimal"):
        precision, scale = map(int, type_[8:-1].split(","))
        scaled = Decimal(value).scaleb(scale)
        return scaled == int(scaled) and abs(scaled) < 10**precision
    if type_ == "varchar(5)":
        return len(value) <= 5
    assert type_ == "date"
    return not isinstance(value, dt.datetime) or value.time() == dt.time()


def as_stored(value: Any, type_: Type) -> Any:
    """A leaf as it is written."""
    if value is None:
        return None
    if type_ == "float":
        return struct.unpack("f", struct.pack("f", value))[0]
    if type_ == "char(3)":
        return value.ljust(3)
    return value


def show(one: Field, holder: dict[int, Any]) -> Any:
    """The value of a field in a stored struct or row."""
    if one.key not in holder:
        return show_value(one.read_default, one.type)
    return show_value(holder[one.key], one.type)


def show_value(value: Any, type_: Type) -> Any:
    """A stored value, with its current type and names."""
    if value is None or isinstance(type_, str):
        return as_type(value, type_)
    if type_[0] == "struct":
        return {f.name: show(f, value) for f in type_[1]}
    if type_[0] == "array":
        return [show_value(item, type_[1].type) for item in value]
    return [(show_value(k, type_[1].type), show_value(v, type_[2].type)) for k, v in value]


def store_row(fields: tuple[Field, ...], given: dict[str, Any]) -> dict[int, Any]:
    """A row as it is stored; missing fields get their defaults."""
    out: dict[int, Any] = {}
    for one in fields:
        if one.name in given:
            out[one.key] = store(given[one.name], one)
        elif one.write_default is None and not one.nullable:
            raise Refused(f"{one.name} has no default")
        else:
            out[one.key] = as_stored(as_type(one.write_default, one.type), one.type)
    return out


def check_names(fields: tuple[Field, ...], names: list[str]) -> None:
    """Missing fields must have a default, even if there is no row."""
    for one in fields:
        if one.name not in names and one.write_default is None and not one.nullable:
            raise Refused(f"{one.name} has no default")


def store(value: Any, one: Field) -> Any:
    """A value as it is stored; a null that is not allowed is refused."""
    if value is None:
        if not one.nullable:
            raise Refused(f"null in {one.name}")
        return None
    if isinstance(one.type, str):
        return as_stored(value, one.type)
    if one.type[0] == "struct":
        return store_row(one.type[1], value)
    if one.type[0] == "array":
        return [store(item, one.type[1]) for item in value]
    return [(store(k, one.type[1]), store(v, one.type[2])) for k, v in value]


def own_values(fields: tuple[Field, ...], key: int, rows: list[dict[int, Any]]) -> list[Any]:
    """All values of a field whose parent is not null."""
    path = next(p for p in walk(fields) if p[-1].key == key)
    found = [show_raw(path[0], row) for row in rows]
    for above, below in itertools.pairwise(path):
        present = [value for value in found if value is not None]
        if above.type[0] == "struct":
            found = [show_raw(below, value) for value in present]
        elif above.type[0] == "array":
            found = [item for value in present for item in value]
        else:
            at = 0 if below.key == above.type[1].key else 1
            found = [pair[at] for value in present for pair in value]
    return found


def show_raw(one: Field, holder: dict[int, Any]) -> Any:
    """A field of a stored struct, unconverted."""
    return holder.get(one.key, one.read_default)


# Changes of schema


def alter(model: Model, changes: list[tuple[Any, ...]]) -> tuple[Field, ...]:
    """The fields after the changes of one ALTER.

    Raises:
        Refused: a change is not possible.
    """
    fields = model.fields
    for change in changes:
        fields = apply(model, fields, change)
    _check_whole(fields)
    before = {p[-1].key: p[-1] for p in walk(model.fields)}
    for path in walk(fields):
        now, then = path[-1], before.get(path[-1].key)
        if then is not None and then.nullable and not now.nullable:
            if any(v is None for v in own_values(model.fields, now.key, model.rows)):
                raise Refused(f"{now.name} holds nulls")
        if then is not None and is_narrower(then.type, now.type):
            if not all(fits(v, now.type) for v in own_values(model.fields, now.key, model.rows)):
                raise Refused(f"{now.name} holds values that do not fit")
        hosted = len(path) == 1 or path[-2].key in before
        if then is None and hosted and not now.nullable and now.read_default is None:
            raise Refused(f"{now.name} is new, and null in existing rows")
    return fields


def _in_defaults(path: tuple[Field, ...]) -> list[Any]:
    """The values of a field inside the defaults of those around it."""
    return [
        value
        for at, one in enumerate(path[:-1])
        for default in (one.read_default, one.write_default)
        for value in own_values(path[at:][:1], path[-1].key, [{one.key: default}])
    ]


def _check_whole(fields: tuple[Field, ...]) -> None:
    if not fields:
        raise Refused("no columns are left")
    for path in walk(fields):
        type_ = path[-1].type
        if not isinstance(type_, str) and type_[0] == "struct" and not type_[1]:
            raise Refused("a struct is left without fields")


def apply(model: Model, fields: tuple[Field, ...], change: tuple[Any, ...]) -> tuple[Field, ...]:
    """The fields after one change: (kind, key of the field or of its parent, …)."""
    kind, key, *rest = change
    match kind:
        case "add":
            new, after = rest
            return _add(fields, key, new, after)
        case "drop":
            gone = {p[-1].key for p in walk((find(fields, key),))}
            if gone & model.fixed:
                raise Refused("the table is arranged by it")
            return edit(fields, key, lambda fs: [f for f in fs if f.key != key])
        case "rename":
            return edit(fields, key, lambda fs: _renamed(fs, key, rest[0]))
        case "move":
            return edit(fields, key, lambda fs: _moved(fs, key, rest[0]))
        case "type":
            return _change(fields, key, lambda f: _widened(f, rest[0]))
        case "narrow":
            if key in model.fixed or key in getattr(model, "row_key", ()):
                raise Refused("the table is arranged by it")
            path = next(p for p in walk(fields) if p[-1].key == key)
            if is_narrower(path[-1].type, rest[0]):
                if not all(fits(value, rest[0]) for value in _in_defaults(path)):
                    raise Refused("a default around it does not fit")
            return _change(fields, key, lambda f: _narrowed(f, rest[0]))
        case "default":
            return _change(fields, key, lambda f: _defaulted(f, *rest))
        case "not null":
            return _change(fields, key, lambda f: replace(f, nullable=False))
        case "null":
            return _change(fields, key, lambda f: replace(f, nullable=True))
    raise AssertionError(kind)


def _change(fields: tuple[Field, ...], key: int, how: Any) -> tuple[Field, ...]:
    return edit(fields, key, lambda fs: [how(f) if f.key == key else f for f in fs])


def _add(
    fields: tuple[Field, ...], parent: int | None, new: Field, after: Any
) -> tuple[Field, ...]:
    if not new.nullable and new.read_default is None:
        raise Refused("NOT NULL without a default")

    def put(siblings: tuple[Field, ...]) -> list[Field]:
        if any(f.name.lower() == new.name.lower() for f in siblings):
            raise Refused("the name is taken")
        at = len(siblings)
        if after == "first":
            at = 0
        elif after is not None:
            at = next(i for i, f in enumerate(siblings) if f.key == after) + 1
        return [*siblings[:at], new, *siblings[at:]]

    if parent is None:
        return tuple(put(fields))
    return _change(fields, parent, lambda f: replace(f, type=("struct", tuple(put(f.type[1])))))


def _renamed(siblings: tuple[Field, ...], key: int, name: str) -> list[Field]:
    if any(f.name.lower() == name.lower() and f.key != key for f in siblings):
        raise Refused("the name is taken")
    return [replace(f, name=name) if f.key == key else f for f in siblings]


def _moved(siblings: tuple[Field, ...], key: int, after: int | None) -> list[Field]:
    moving = next(f for f in siblings if f.key == key)
    rest = [f for f in siblings if f.key != key]
    at = 0 if after is None else next(i for i, f in enumerate(rest) if f.key == after) + 1
    return [*rest[:at], moving, *rest[at:]]


def is_narrower(old: Type, new: Type) -> bool:
    """Whether a type may follow another one if all values fit."""
    return isinstance(old, str) and new != "char(3)" and old in WIDER.get(new, ())


def _widened(one: Field, type_: str) -> Field:
    if one.type == type_:
        return one
    if type_ not in WIDER.get(one.type, ()):
        raise Refused("it does not widen")
    widest = one.widest
    if widest is not None and (widest == type_ or type_ in WIDER.get(widest, ())):
        widest = None
    elif widest is not None and widest not in WIDER.get(type_, ()):
        raise Refused("segments may hold a type that neither widens to it nor it to")
    return replace(
        one,
        widest=widest,
        type=type_,
        read_default=as_type(one.read_default, type_),
        write_default=as_type(one.write_default, type_),
    )


def _narrowed(one: Field, type_: str) -> Field:
    """A type that is not wider, whatever it was when its ALTER was planned."""
    if not is_narrower(one.type, type_):
        return _widened(one, type_)
    if not (fits(one.read_default, type_) and fits(one.write_default, type_)):
        raise Refused("its default does not fit")
    narrow = replace(one, type=type_, widest=one.widest or one.type)
    return replace(
        narrow,
        read_default=as_type(one.read_default, type_),
        write_default=as_type(one.write_default, type_),
    )


def _defaulted(one: Field, value: Any, planned: Type | None = None) -> Field:
    """Set a default that had the type ``planned`` when its ALTER was planned."""
    if isinstance(planned, str) and planned != one.type and one.type not in WIDER.get(planned, ()):
        raise Refused("the default had a type that does not widen to the column's")
    if value is None and not one.nullable:
        raise Refused("NULL for a NOT NULL column")
    return replace(one, write_default=as_stored(value, one.type))


# Filters


def holds(fields: tuple[Field, ...], row: dict[int, Any], filters: Any) -> bool:
    """Whether a filter (an OR of ANDs of (path of keys, op, value)) is true for a row."""
    return any(all(_leaf(fields, row, leaf) is True for leaf in conj) for conj in filters)


def _leaf(fields: tuple[Field, ...], row: dict[int, Any], leaf: Any) -> bool | None:
    keys, op, wanted = leaf
    value: Any = row
    siblings = fields
    for key in keys:
        one = next(f for f in siblings if f.key == key)
        value = show_raw(one, value) if value is not None else None
        siblings = inner(one.type)
    value = as_type(value, one.type)
    if op in ("in", "not in"):
        return _in(value, op, wanted)
    if value is None or wanted is None:
        return None
    a, b = order(value), order(wanted)
    return {
        "=": a == b,
        "==": a == b,
        "!=": a != b,
        "<": a < b,
        "<=": a <= b,
        ">": a > b,
        ">=": a >= b,
    }[op]


def _in(value: Any, op: str, wanted: list[Any]) -> bool | None:
    if value is None:
        return None
    found = any(w is not None and order(value) == order(w) for w in wanted)
    if not found and None in wanted:
        return None
    return found == (op == "in")


def order(value: Any) -> Any:
    """A sort key for comparisons: NaN is greatest, strings compare by their bytes."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    if isinstance(value, str):
        return value.encode()
    return value


# Changes of rows


@dataclass(frozen=True)
class Of:
    """The value of another top-level column, as it was before the update."""

    key: int


def keep(model: Model, filters: Any) -> list[dict[int, Any]]:
    """The rows that a DELETE keeps: those for which the filter is false or null."""
    return [row for row in model.rows if not passes(model, row, filters)]


def passes(model: Model, row: dict[int, Any], filters: Any) -> bool:
    """Whether a filter is true for a row; None matches all rows."""
    return filters is None or holds(model.fields, row, filters)


def update(model: Model, assignments: list[tuple[Any, Any]], filters: Any) -> list[dict[int, Any]]:
    """The rows after an UPDATE.

    Args:
        model: the table.
        assignments: (the keys that lead to a field, the value as written or ``Of``).
        filters: the rows to update; None for all.

    Raises:
        Refused: a value is null although that is not allowed.
    """
    fixed = {
        keys: store(value, find(model.fields, keys[-1]))
        for keys, value in assignments
        if not isinstance(value, Of)
    }
    return [
        _updated(model, row, assignments, fixed) if passes(model, row, filters) else row
        for row in model.rows
    ]


def _updated(
    model: Model, row: dict[int, Any], assignments: list[tuple[Any, Any]], fixed: Any
) -> dict[int, Any]:
    new = row
    for keys, value in assignments:
        stored = fixed.get(keys)
        if isinstance(value, Of):
            one = find(model.fields, keys[-1])
            old = as_type(show_raw(find(model.fields, value.key), row), one.type)
            stored = store(old, one) if _is_there(model, row, keys) else None
        new = _put(model, new, keys, stored)
    return new


def _is_there(model: Model, holder: dict[int, Any], keys: Any) -> bool:
    """Whether the struct around a field is not null."""
    for key in keys[:-1]:
        holder = show_raw(find(model.fields, key), holder)
        if holder is None:
            return False
    return True


def _put(model: Model, holder: dict[int, Any], keys: Any, stored: Any) -> dict[int, Any]:
    """A struct or row with one field set; a null struct stays null."""
    first, *rest = keys
    if not rest:
        return holder | {first: stored}
    inside = show_raw(find(model.fields, first), holder)
    return holder if inside is None else holder | {first: _put(model, inside, rest, stored)}


# Rollback


def rollback(model: Model, version: int) -> None:
    """Restore a version: fields, names and rows.

    Raises:
        Refused: the version belongs to another incarnation.
    """
    then = model.past[version]
    if then.incarnation != model.incarnation:
        raise Refused("the table was made anew since")
    model.fields, model.rows, model.fixed = then.fields, list(then.rows), then.fixed
