"""Random operations for the model of keyed tables, with few keys, so that rows often meet."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from random import Random
from typing import Any

from histories import drive
from histories.drive import LONG, NAMES, VALUES, ddl, quoted, random_field, random_transform
from histories.keyed_naive import Keyed
from histories.naive import Field, find

# The same values in every type that another widens to, so that keys are equal across a widening.
KEYS: dict[str, list[Any]] = {
    "boolean": [True, False],
    "byte": [5, -7],
    "short": [5, -7, 300],
    "int": [5, -7, 2**31 - 1],
    "long": [5, -7, -(2**63)],
    "decimal(12,2)": [Decimal("5.00"), Decimal("-7.00"), Decimal("0.01")],
    "decimal(24,4)": [Decimal("5.0000"), Decimal("-7.0000"), Decimal("0.0001")],
    "string": ["abc", "a  ", LONG + "a", LONG + "b", "\U0010ffff" * 70],
    "char(3)": ["abc", "a"],
    "varchar(5)": ["abc", "a  ", "a"],
    "binary": [b"", b"\x00\xff", b"\xff" * 70],
    "date": [dt.date(2024, 2, 29), dt.date(1, 1, 1)],
    "timestamp": VALUES["timestamp"],
    "timestamp_ntz": [dt.datetime(2024, 2, 29), dt.datetime(1969, 1, 1, 0, 0, 0, 7)],
    "time(6)": VALUES["time(6)"],
    "interval day to second": VALUES["interval day to second"],
}
KEY_NAMES = ["k", "Key", "B c", "t"]
# Far from the ages of rows, so that no row expires while a test runs.
TTLS = {
    "3600 seconds": dt.timedelta(hours=1),
    "2880 minutes": dt.timedelta(days=2),
    "48 hours": dt.timedelta(days=2),
    "10 days": dt.timedelta(days=10),
}
DAYS = (-30, -5, 5)
PROPERTIES = [
    ("target_segment_bytes", "1", 0.3),
    ("auto_compact", "3", 0.15),
    ("isolation", "serializable", 0.15),
]


def times(now: dt.datetime, type_: str) -> list[Any]:
    """Values of a time index, some of them old enough to expire."""
    days = [now.date() + dt.timedelta(days) for days in DAYS]
    if type_ == "date":
        return days
    zone = dt.UTC if type_ == "timestamp" else None
    midnights = [dt.datetime(day.year, day.month, day.day, tzinfo=zone) for day in days]
    return [*midnights, (now - dt.timedelta(hours=12)).replace(tzinfo=zone)]


def values_of(model: Keyed, one: Field) -> list[Any]:
    """The values that a leaf is given, and compared with."""
    if one.key == model.time_index:
        return times(model.now, one.type)
    return KEYS[one.type] if one.key in model.row_key else VALUES[one.type]


# Tables


def declare(random: Random, model: Keyed) -> dict[str, Any]:
    """Give the model fields and keys, and return how to declare a table like it."""
    names = random.sample(KEY_NAMES, 4)
    keyed = random.random() < 0.93
    keys = [_key_field(random, model, names.pop(), list(KEYS)) for _ in range(random.randint(1, 3))]
    if not keyed:
        keys = []
    model.time_index = None
    more = []
    if not keyed or random.random() < 0.5:
        index = _key_field(random, model, names.pop(), ["timestamp", "timestamp_ntz", "date"])
        model.time_index = index.key
        more = [index]
        if keyed and random.random() < 0.2:
            keys.insert(random.randint(0, len(keys)), more.pop())
    model.primary_key = tuple(one.key for one in keys)
    values = [random_field(random, model, n, 2) for n in random.sample(NAMES, random.randint(0, 3))]
    fields = [*keys, *more, *values]
    random.shuffle(fields)
    model.fields, model.ttl, model.cut = tuple(fields), None, None
    said: dict[str, Any] = {"properties": {}}
    said["schema"] = ", ".join(f"{quoted(f)} {ddl(f.type)}{_null(random, f)}" for f in fields)
    if keyed:
        said["primary_key"] = [one.name for one in keys]
    if model.time_index is not None:
        said["time_index"] = next(f.name for f in fields if f.key == model.time_index)
    said["partitioned_by"] = random_partitions(random, model)
    for name, value, chance in PROPERTIES:
        if random.random() < chance:
            said["properties"][name] = value
    if not keyed:
        said["properties"]["row_changes"] = random.choice(["auto", "copy", "mark"])
    if keyed and model.time_index is not None and random.random() < 0.2:
        said["properties"]["ttl"] = text = random.choice(list(TTLS))
        model.ttl = TTLS[text]
    return said


def _key_field(random: Random, model: Keyed, name: str, types: list[str]) -> Field:
    return Field(next(model.keys), name, random.choice(types), nullable=False)


def _null(random: Random, one: Field) -> str:
    return " NOT NULL" if not one.nullable and random.random() < 0.5 else ""


def random_partitions(random: Random, model: Keyed) -> list[str]:
    """Transforms of columns of the row key, for the partitioning from then on."""
    keys = [find(model.fields, key) for key in model.row_key]
    chosen = random.sample(keys, min(len(keys), random.choice([0, 0, 1, 1, 2])))
    found = {one: random_transform(random, one.type) for one in chosen}
    model.fixed = frozenset(one.key for one in chosen)
    return [text.format(quoted(one)) for one, text in found.items() if text]


# Rows


def random_rows(
    random: Random, model: Keyed, *, partial: bool = False
) -> tuple[list[str], list[dict[str, Any]]]:
    """The columns to write, and rows of them."""
    given = [f for f in model.fields if random.random() < _chance(model, f, partial)]
    given = given or [model.fields[0]]
    count = random.choice([0, 1, 1, 2, 3, 4, 6])
    rows = [{f.name: random_value(random, model, f) for f in given} for _ in range(count)]
    return [f.name for f in given], rows


def _chance(model: Keyed, one: Field, partial: bool) -> float:
    """The probability that a column is given."""
    if one.key in model.row_key:
        return 0.99 if one.write_default is None else 1 if partial else 0.7
    if not one.nullable and one.write_default is None:
        return 0.97
    return 0.4 if partial else 0.8


def random_value(random: Random, model: Keyed, one: Field) -> Any:
    """A value as a user writes it; rarely null in a key."""
    if one.key not in model.row_key:
        return drive.random_value(random, one)
    return None if random.random() < 0.005 else random.choice(values_of(model, one))


def random_filters(random: Random, model: Keyed) -> tuple[Any, Any]:
    """A filter by name, and the same by key."""
    return drive.random_filters(random, model, lambda one: values_of(model, one))


def random_update(random: Random, model: Keyed) -> tuple[dict[Any, Any], list[tuple[Any, Any]]]:
    """Assignments by name, and the same by key; rarely of a column of the row key."""
    named, keyed = drive.random_update(random, model)
    pairs = [
        (name, assigned)
        for name, assigned in zip(named.items(), keyed, strict=True)
        if assigned[0][0] not in model.row_key
    ]
    if not pairs or random.random() < 0.05:
        return named, keyed
    return dict(name for name, _ in pairs), [assigned for _, assigned in pairs]
