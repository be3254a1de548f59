"""Random histories of two tables, as data: each step is SQL, and a SELECT of the rows after it.

In SQL, ``@t`` and ``@u`` are the tables, ``@t3`` is ``t`` as step 3 left it, and ``@v3`` that version.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from model.drive import ddl, quoted, random_transform
from model.naive import Field, find
from sql.differential import predicates
from sql.differential.alters import random_change
from sql.differential.columns import (
    KEYS,
    NAMES,
    PLAIN,
    carried,
    declared,
    random_type,
    random_value,
    shown_default,
    text,
)
from sql.differential.settings import Settings, random_settings


@dataclass(frozen=True)
class Step:
    """A statement on a table of ours.

    Attributes:
        number: of the step in its history.
        table: ``t`` or ``u``.
        statement: SQL.
        rows: a SELECT of the rows after it, where ``@t`` and ``@u`` are the tables before it.
        fields: the columns after it.
        settings: of the session, meanwhile.
    """

    number: int
    table: str
    statement: str
    rows: str
    fields: tuple[Field, ...]
    settings: Settings


@dataclass(frozen=True)
class Shape:
    """What is known of a table while its history is drawn.

    Attributes:
        key: the keys of the columns of the primary key; empty without one.
        fixed: the keys of columns that the table is arranged by.
        unique: the keys of columns that no two rows have alike.
    """

    fields: tuple[Field, ...]
    key: tuple[int, ...]
    fixed: frozenset[int]
    unique: tuple[int, ...]

    def named(self, keys: tuple[int, ...]) -> list[str]:
        """Columns by their keys, quoted."""
        return [quoted(find(self.fields, key)) for key in keys]


class Drawing:
    """A history while it is drawn."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._keys = itertools.count(1)
        self._ids = {"t": itertools.count(1), "u": itertools.count(1)}
        self._numbers = itertools.count()
        self._given: dict[str, list[str]] = {"t": [], "u": []}
        self._versions: dict[str, list[tuple[int, Shape]]] = {"t": [], "u": []}
        self.shapes: dict[str, Shape] = {}
        self.seen: dict[int, list[str]] = {}

    def kept(self, table: str) -> list[tuple[int, Shape]]:
        """The numbers of the steps that changed a table, and how it was after them."""
        return self._versions[table]

    def steps(self, count: int) -> Iterator[Step]:
        """A history: two tables, rows in both, and then whatever comes."""
        for table, rows in [("t", 30), ("u", 12)]:
            yield self._create(table)
            yield self._insert(table, rows)
        yield self._insert("t", 15)
        for _ in range(count):
            table = self._random.choices(["t", "u"], [5, 1])[0]
            kinds = {self._insert_some: 6, self._alter: 6, self._delete: 2, self._update: 3}
            kinds |= {self._merge: 3, self._overwrite: 1, self._compact: 1, self._roll_back: 1}
            made = self._random.choices(list(kinds), list(kinds.values()))[0](table)
            if made is not None:
                yield made

    def _step(self, table: str, statement: str, rows: str, shape: Shape) -> Step:
        number = next(self._numbers)
        self.shapes[table] = shape
        self._versions[table].append((number, shape))
        settings = random_settings(self._random, writing=True)
        return Step(number, table, statement, rows, shape.fields, settings)

    # Tables

    def _create(self, table: str) -> Step:
        random = self._random
        names = random.sample(NAMES, random.randint(4, 7))
        fields = [Field(next(self._keys), n, random_type(random, self._keys)) for n in names]
        fields = [replace(f, nullable=False) if random.random() < 0.15 else f for f in fields]
        one = Field(next(self._keys), "id", random.choice(["int", "long"]), nullable=False)
        fields.insert(random.randrange(len(fields) + 1), one)
        key, unique = (), (one.key,)
        if random.random() < 0.4:
            able = [f for f in fields if f.type in KEYS and f.key != one.key]
            key = (
                *(f.key for f in random.sample(able, min(len(able), random.choice([0, 1])))),
                one.key,
            )
            fields = [replace(f, nullable=False) if f.key in key else f for f in fields]
            unique = key
        shape = Shape(tuple(fields), key, frozenset(key), unique)
        clauses, arranged = self._arranged(shape)
        shape = replace(shape, fixed=shape.fixed | arranged)
        columns = declared(shape.fields, nullability=True)
        if key:
            columns += f", PRIMARY KEY ({', '.join(shape.named(key))})"
        empty = ", ".join(f"CAST(NULL AS {ddl(f.type)}) AS {quoted(f)}" for f in fields)
        statement = f"CREATE TABLE @{table} ({columns}){clauses}"
        return self._step(table, statement, f"SELECT {empty} WHERE false", shape)

    def _arranged(self, shape: Shape) -> tuple[str, frozenset[int]]:
        random = self._random
        plain = [f for f in shape.fields if isinstance(f.type, str) and f.type in PLAIN]
        if shape.key:
            plain = [f for f in plain if f.key in shape.key]
        fixed: set[int] = set()
        clauses, properties = "", {}
        if plain and random.random() < 0.5:
            one = random.choice(plain)
            transform = random_transform(random, one.type)
            if transform is not None:
                clauses += f" PARTITIONED BY ({transform.format(quoted(one))})"
                fixed.add(one.key)
        if plain and not shape.key and random.random() < 0.3:
            one = random.choice(plain)
            properties["sort_by"] = quoted(one) + random.choice([" ASC", " DESC"])
            fixed.add(one.key)
        if random.random() < 0.3:
            properties["target_segment_bytes"] = random.choice(["1", "2000"])
        if properties:
            told = ", ".join(f"{text(k)} = {text(v)}" for k, v in properties.items())
            clauses += f" TBLPROPERTIES ({told})"
        return clauses, frozenset(fixed)

    # Rows

    def _rows(self, shape: Shape, fields: tuple[Field, ...], count: int, ids: list[str]) -> str:
        """A SELECT of new rows; each column has few values, so that segments can be told apart."""
        random = self._random
        shown, chosen = [], []
        for n, f in enumerate(fields):
            if f.name == "id":
                shown.append(f"CAST(i{n} AS {f.type}) AS {quoted(f)}")
                chosen.append(ids)
                self.seen.setdefault(f.key, []).append(random.choice(ids))
                continue
            size = random.choice([1, 2, 3, 6])
            pool = [random_value(random, f.type, 0.15 if f.nullable else 0) for _ in range(size)]
            shown.append(f"array({', '.join(pool)})[i{n}] AS {quoted(f)}")
            if f.type in PLAIN:
                self.seen.setdefault(f.key, []).extend(pool)
            chosen.append([str(random.randrange(size)) for _ in range(count)])
        rows = ", ".join(f"({', '.join(row)})" for row in zip(*chosen, strict=True))
        names = ", ".join(f"i{n}" for n in range(len(fields)))
        return f"SELECT {', '.join(shown)} FROM VALUES {rows} AS made({names})"

    def _fresh(self, table: str, count: int) -> list[str]:
        made = [str(next(self._ids[table])) for _ in range(count)]
        self._given[table] += made
        return made

    def _some(self, table: str, count: int) -> list[str]:
        """IDs of new rows, and of rows that may be there."""
        old = self._given[table]
        again = self._random.sample(old, min(len(old), count // 2))
        return again + self._fresh(table, count - len(again))

    def _insert_some(self, table: str) -> Step:
        return self._insert(table, self._random.choice([1, 5, 10, 20]))

    def _insert(self, table: str, count: int) -> Step:
        shape = self.shapes[table]
        upserts = bool(shape.key) and self._random.random() < 0.6
        ids = self._some(table, count) if upserts else self._fresh(table, count)
        given = shape.fields
        if self._random.random() < 0.3:  # what is left out takes its default
            given = tuple(
                f
                for f in given
                if f.key in (*shape.unique, *shape.key)
                or not (f.nullable or f.write_default)
                or self._random.random() < 0.6
            )
        rows = self._rows(shape, given, count, ids)
        names = ", ".join(quoted(f) for f in given)
        statement = f"INSERT INTO @{table} ({names}) {rows}"
        return self._step(
            table, statement, upserted(table, shape, whole(shape, given, rows)), shape
        )

    def _overwrite(self, table: str) -> Step | None:
        shape = self.shapes[table]
        rows = self._rows(shape, shape.fields, 20, self._fresh(table, 20))
        if self._random.random() < 0.3 or shape.key:
            return self._step(table, f"INSERT OVERWRITE @{table} {rows}", rows, shape)
        where = predicates.comparison(self._random, predicates.scope(shape.fields, self.seen))
        if where is None:
            return None
        statement = f"INSERT INTO @{table} REPLACE WHERE {where} {rows}"
        kept = f"SELECT * FROM @{table} WHERE ({where}) IS NOT TRUE UNION ALL {rows}"
        return self._step(table, statement, kept, shape)

    def _where(self, table: str) -> str:
        scope = predicates.scope(self.shapes[table].fields, self.seen)
        other = "u" if table == "t" else "t"
        if self._random.random() < 0.2:
            found = predicates.in_other(self._random, scope, f"@{other}", self.shapes[other].fields)
            if found is not None:
                return found
        return predicates.predicate(self._random, scope)

    def _delete(self, table: str) -> Step:
        where = self._where(table)
        rows = f"SELECT * FROM @{table} WHERE ({where}) IS NOT TRUE"
        return self._step(table, f"DELETE FROM @{table} WHERE {where}", rows, self.shapes[table])

    def _assignments(self, shape: Shape) -> dict[int, str]:
        """Columns by their keys, and what they are set to."""
        random = self._random
        free = [f for f in shape.fields if f.key not in (*shape.unique, *shape.key)]
        chosen = random.sample(free, min(len(free), random.choice([1, 1, 2])))
        found: dict[int, str] = {}
        for one in chosen:
            like = [f for f in shape.fields if f.type == one.type and (f.nullable <= one.nullable)]
            found[one.key] = (
                quoted(random.choice(like))
                if random.random() < 0.3
                else random_value(random, one.type, 0.15 if one.nullable else 0)
            )
        return found

    def _update(self, table: str) -> Step | None:
        shape, where = self.shapes[table], self._where(table)
        sets = self._assignments(shape)
        if not sets:
            return None
        told = ", ".join(f"{quoted(find(shape.fields, k))} = {v}" for k, v in sets.items())
        columns = ", ".join(
            f"IF({where}, {sets[f.key]}, {quoted(f)}) AS {quoted(f)}"
            if f.key in sets
            else quoted(f)
            for f in shape.fields
        )
        statement = f"UPDATE @{table} SET {told} WHERE {where}"
        return self._step(table, statement, f"SELECT {columns} FROM @{table}", shape)

    def _merge(self, table: str) -> Step:
        random, shape = self._random, self.shapes[table]
        source = self._rows(shape, shape.fields, 10, self._some(table, 10))
        on = " AND ".join(f"o.{c} = s.{c}" for c in shape.named(shape.unique))
        of_own = predicates.qualified(predicates.scope(shape.fields, self.seen), "o")
        gone = predicates.predicate(random, of_own) if random.random() < 0.4 else "false"
        lost = predicates.predicate(random, of_own) if random.random() < 0.3 else "false"
        free = [f for f in shape.fields if f.key not in (*shape.unique, *shape.key)]
        sets = {f.key for f in free if random.random() < 0.6}
        clauses = [f"MERGE INTO @{table} o USING ({source}) s ON {on}"]
        if gone != "false":
            clauses.append(f"WHEN MATCHED AND {gone} THEN DELETE")
        if sets:
            names = [quoted(f) for f in free if f.key in sets]
            clauses.append(
                f"WHEN MATCHED THEN UPDATE SET {', '.join(f'{n} = s.{n}' for n in names)}"
            )
        inserts = random.random() < 0.7 or len(clauses) == 1
        if inserts:
            clauses.append("WHEN NOT MATCHED THEN INSERT *")
        if lost != "false":
            clauses.append(f"WHEN NOT MATCHED BY SOURCE AND {lost} THEN DELETE")
        columns = ", ".join(f"{'s' if f.key in sets else 'o'}.{quoted(f)}" for f in shape.fields)
        parts = [
            f"SELECT {columns} FROM @{table} o JOIN ({source}) s ON {on} "
            f"WHERE ({gone}) IS NOT TRUE",
            f"SELECT o.* FROM @{table} o LEFT ANTI JOIN ({source}) s ON {on} "
            f"WHERE ({lost}) IS NOT TRUE",
        ]
        if inserts:
            parts.append(f"SELECT s.* FROM ({source}) s LEFT ANTI JOIN @{table} o ON {on}")
        return self._step(table, " ".join(clauses), " UNION ALL ".join(parts), shape)

    # The rest

    def _compact(self, table: str) -> Step:
        strategy = self._random.choice(["auto", "full", "small"])
        statement = (
            f"CALL versioned.system.compact(table => '@name_{table}', strategy => '{strategy}')"
        )
        return self._step(table, statement, f"SELECT * FROM @{table}", self.shapes[table])

    def _roll_back(self, table: str) -> Step:
        number, shape = self._random.choice(self._versions[table][1:])
        statement = f"CALL versioned.system.rollback_to_version('@name_{table}', @v{number})"
        return self._step(table, statement, f"SELECT * FROM @{table}{number}", shape)

    def _alter(self, table: str) -> Step | None:
        shape = self.shapes[table]
        bound = shape.fixed | frozenset(shape.unique)
        found = random_change(self._random, shape.fields, bound, self._keys)
        if found is None:
            return None
        clause, fields = found
        columns = ", ".join(f"{_after(f, shape.fields)} AS {quoted(f)}" for f in fields)
        statement = f"ALTER TABLE @{table} {clause}"
        rows = f"SELECT {columns} FROM @{table}"
        return self._step(table, statement, rows, replace(shape, fields=fields))


def _after(field: Field, before: tuple[Field, ...]) -> str:
    old = next((f for f in before if f.key == field.key), None)
    if old is None:
        return shown_default(field)
    return carried(quoted(old), old.type, field.type)


def whole(shape: Shape, given: tuple[Field, ...], rows: str) -> str:
    """Rows of some columns with the defaults of the others."""
    if given == shape.fields:
        return rows
    columns = ", ".join(
        quoted(f) if f in given else f"{f.write_default or 'CAST(NULL AS ' + ddl(f.type) + ')'}"
        for f in shape.fields
    )
    return f"SELECT {columns} FROM ({rows})"


def upserted(table: str, shape: Shape, rows: str) -> str:
    """The rows of a table after an INSERT."""
    if not shape.key:
        return f"SELECT * FROM @{table} UNION ALL {rows}"
    names = ", ".join(quoted(f) for f in shape.fields)
    on = " AND ".join(f"o.{c} = s.{c}" for c in shape.named(shape.key))
    new = f"(SELECT * FROM ({rows}) AS new({names})) s"
    return f"SELECT o.* FROM @{table} o LEFT ANTI JOIN {new} ON {on} UNION ALL {rows}"
