"""Random ALTER TABLE clauses, with the columns after each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from histories import naive
from histories.drive import ddl, in_key, quoted
from histories.naive import Field, edit, find, inner, walk
from sql.differential.columns import (
    FIELDS,
    NAMES,
    PLAIN,
    WIDER,
    converted,
    random_type,
    random_value,
)


def random_change(
    random: Random, fields: tuple[Field, ...], bound: frozenset[int], keys: Iterator[int]
) -> tuple[str, tuple[Field, ...]] | None:
    """A random ALTER clause and the columns after it; None if the drawn change is not possible.

    Args:
        random, fields, keys: the inputs of the draw.
        bound: the keys of columns that must stay and keep their types.
    """
    paths = [p for p in walk(fields) if not in_key(p)]
    named = [p for p in paths if len(p) == 1 or p[-2].type[0] == "struct"]
    path = random.choice(named)
    one, siblings = path[-1], inner(path[-2].type) if len(path) > 1 else fields
    where = ".".join(quoted(f) for f in path)
    match random.choice(
        ["add", "add", "add", "drop", "rename", "move", "type", "type", "type", "default"]
    ):
        case "drop" if one.key not in bound and len(siblings) > 1:
            return f"DROP COLUMN {where}", edit(
                fields, one.key, lambda fs: [f for f in fs if f.key != one.key]
            )
        case "rename" if one.name != "id":
            name = random.choice(NAMES if len(path) == 1 else FIELDS)
            if any(f.name.lower() == name.lower() for f in siblings):
                return None
            return f"RENAME COLUMN {where} TO `{name}`", naive.apply(
                naive.Model(()), fields, ("rename", one.key, name)
            )
        case "move" if len(siblings) > 1:
            after = random.choice([None, *(f.key for f in siblings if f.key != one.key)])
            position = "FIRST" if after is None else f"AFTER {quoted(find(fields, after))}"
            return f"ALTER COLUMN {where} {position}", naive.apply(
                naive.Model(()), fields, ("move", one.key, after)
            )
        case "type":
            candidates = [p for p in paths if p[-1].type in WIDER and p[-1].key not in bound]
            return _widening(random, fields, random.choice(candidates)) if candidates else None
        case "default" if len(path) == 1 and one.type in PLAIN and one.key not in bound:
            value = random_value(random, one.type, 0)
            new = tuple(replace(f, write_default=value) if f is one else f for f in fields)
            return f"ALTER COLUMN {where} SET DEFAULT {value}", new
        case "add":
            return _addition(random, fields, paths, keys)
    return None


def _widening(
    random: Random, fields: tuple[Field, ...], path: tuple[Field, ...]
) -> tuple[str, tuple[Field, ...]]:
    one, wider = path[-1], random.choice(WIDER[path[-1].type])

    def widened(f: Field) -> Field:
        read = f.read_default and converted(f.read_default, f.type, wider)
        written = f.write_default and converted(f.write_default, f.type, wider)
        return replace(f, type=wider, read_default=read, write_default=written)

    new = edit(fields, one.key, lambda fs: [widened(f) if f.key == one.key else f for f in fs])
    return f"ALTER COLUMN {'.'.join(quoted(f) for f in path)} TYPE {wider}", new


def _addition(
    random: Random, fields: tuple[Field, ...], paths: list[tuple[Field, ...]], keys: Iterator[int]
) -> tuple[str, tuple[Field, ...]] | None:
    structs = [p for p in paths if not isinstance(p[-1].type, str) and p[-1].type[0] == "struct"]
    parent = random.choice([(), (), *structs])
    siblings = inner(parent[-1].type) if parent else fields
    name = random.choice(FIELDS if parent else NAMES)
    if any(f.name.lower() == name.lower() for f in siblings):
        return None
    new = Field(next(keys), name, random_type(random, keys, 0 if parent else 1))
    words = ""
    if new.type in PLAIN and random.random() < 0.6:
        value = random_value(random, new.type, 0)
        stored = f"rpad({value}, 3, ' ')" if new.type == "char(3)" else value
        nullable = bool(parent) or random.random() < 0.7
        words = f"{'' if nullable else ' NOT NULL'} DEFAULT {value}"
        new = replace(new, read_default=stored, write_default=stored, nullable=nullable)
    after = random.choice([None, "first", *(f.key for f in siblings)])
    if after is not None:
        words += " FIRST" if after == "first" else f" AFTER {quoted(find(fields, after))}"
    where = ".".join(quoted(f) for f in (*parent, new))
    change = ("add", parent[-1].key if parent else None, new, after)
    return f"ADD COLUMN {where} {ddl(new.type)}{words}", naive.apply(
        naive.Model(()), fields, change
    )
