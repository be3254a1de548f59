"""Random histories of two tables, as data: each step is a statement and a SELECT of the rows after it.

In the SQL, ``@t`` and ``@u`` are the tables, ``@t3`` is ``t`` after step 3, and ``@v3`` is its version.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from histories.drive import ddl, quoted, random_transform
from histories.naive import Field, find
from sql.differential import predicates
from sql.differential.alters import random_change
from sql.differential.columns import (
    KEYS,
    NAMES,
    PLAIN,
    converted,
    declared,
    random_type,
    random_value,
    shown_default,
    text,
)
from sql.differential.settings import Settings, random_settings


@dataclass(frozen=True)
class Step:
    """A statement that changes a table of this format.

    Attributes:
        number: the position of the step in its history.
        table: ``t`` or ``u``.
        statement: the statement.
        rows: a SELECT of the rows after the statement, where ``@t`` and ``@u`` are the tables before it.
        fields: the columns after the statement.
        settings: the settings of the session while it runs.
    """

    number: int
    table: str
    statement: str
    rows: str
    fields: tuple[Field, ...]
    settings: Settings


@dataclass(frozen=True)
class Shape:
    """The state of a table while its history is generated.

    Attributes:
        key: the keys of the columns of the primary key; empty without one.
        fixed: the keys of columns of the primary key, partitioning or sort order.
        unique: the keys of columns whose values identify a row.
    """

    fields: tuple[Field, ...]
    key: tuple[int, ...]
    fixed: frozenset[int]
    unique: tuple[int, ...]

    def named(self, keys: tuple[int, ...]) -> list[str]:
        """The quoted names of columns, by their keys."""
        return [quoted(find(self.fields, key)) for key in keys]


class HistoryGenerator:
    """Generates a random history of two tables."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._keys = itertools.count(1)
        self._ids = {"t": itertools.count(1), "u": itertools.count(1)}
        self._numbers = itertools.count()
        self._used_ids: dict[str, list[str]] = {"t": [], "u": []}
        self._versions: dict[str, list[tuple[int, Shape]]] = {"t": [], "u": []}
        self.shapes: dict[str, Shape] = {}
        self.seen: dict[int, list[str]] = {}

    def changes(self, table: str) -> list[tuple[int, Shape]]:
        """The numbers of the steps that changed a table, each with the table's shape after it."""
        return self._versions[table]

    def steps(self, count: int) -> Iterator[Step]:
        """Yield a history: create two tables, insert rows into both, then ``count`` random steps."""
        for table, rows in [("t", 30), ("u", 12)]:
            yield self._create(table)
            yield self._insert(table, rows)
        yield self._insert("t", 15)
        for _ in range(count):
            table = self._random.choices(["t", "u"], [5, 1])[0]
            kinds = {self._insert_some: 6, self._alter: 6, self._delete: 2, self._update: 3}
            kinds |= {self._merge: 3, self._overwrite: 1, self._compact: 1, self._roll_back: 1}
            step = self._random.choices(list(kinds), list(kinds.values()))[0](table)
            if step is not None:
                yield step

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
            candidates = [f for f in fields if f.type in KEYS and f.key != one.key]
            key = (
                *(
                    f.key
                    for f in random.sample(candidates, min(len(candidates), random.choice([0, 1])))
                ),
                one.key,
            )
            fields = [replace(f, nullable=False) if f.key in key else f for f in fields]
            unique = key
        shape = Shape(tuple(fields), key, frozenset(key), unique)
        clauses, fixed = self._layout(shape)
        shape = replace(shape, fixed=shape.fixed | fixed)
        columns = declared(shape.fields, nullability=True)
        if key:
            columns += f", PRIMARY KEY ({', '.join(shape.named(key))})"
        empty = ", ".join(f"CAST(NULL AS {ddl(f.type)}) AS {quoted(f)}" for f in fields)
        statement = f"CREATE TABLE @{table} ({columns}){clauses}"
        return self._step(table, statement, f"SELECT {empty} WHERE false", shape)

    def _layout(self, shape: Shape) -> tuple[str, frozenset[int]]:
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
            pairs = ", ".join(f"{text(k)} = {text(v)}" for k, v in properties.items())
            clauses += f" TBLPROPERTIES ({pairs})"
        return clauses, frozenset(fixed)

    # Rows

    def _rows(self, shape: Shape, fields: tuple[Field, ...], count: int, ids: list[str]) -> str:
        """A SELECT of new rows; columns have few values, so that segments differ in their statistics."""
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
        return f"SELECT {', '.join(shown)} FROM VALUES {rows} AS indices({names})"

    def _new_ids(self, table: str, count: int) -> list[str]:
        ids = [str(next(self._ids[table])) for _ in range(count)]
        self._used_ids[table] += ids
        return ids

    def _mixed_ids(self, table: str, count: int) -> list[str]:
        """IDs of new rows, and of rows that the table may hold."""
        old = self._used_ids[table]
        again = self._random.sample(old, min(len(old), count // 2))
        return again + self._new_ids(table, count - len(again))

    def _insert_some(self, table: str) -> Step:
        return self._insert(table, self._random.choice([1, 5, 10, 20]))

    def _insert(self, table: str, count: int) -> Step:
        shape = self.shapes[table]
        upserts = bool(shape.key) and self._random.random() < 0.6
        ids = self._mixed_ids(table, count) if upserts else self._new_ids(table, count)
        inserted = shape.fields
        if self._random.random() < 0.3:  # omitted columns take their defaults
            inserted = tuple(
                f
                for f in inserted
                if f.key in (*shape.unique, *shape.key)
                or not (f.nullable or f.write_default)
                or self._random.random() < 0.6
            )
        rows = self._rows(shape, inserted, count, ids)
        names = ", ".join(quoted(f) for f in inserted)
        statement = f"INSERT INTO @{table} ({names}) {rows}"
        return self._step(
            table, statement, upserted(table, shape, whole(shape, inserted, rows)), shape
        )

    def _overwrite(self, table: str) -> Step | None:
        shape = self.shapes[table]
        rows = self._rows(shape, shape.fields, 20, self._new_ids(table, 20))
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
        """Random assignments: expressions by the key of their column."""
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
        assigned = ", ".join(f"{quoted(find(shape.fields, k))} = {v}" for k, v in sets.items())
        columns = ", ".join(
            f"IF({where}, {sets[f.key]}, {quoted(f)}) AS {quoted(f)}"
            if f.key in sets
            else quoted(f)
            for f in shape.fields
        )
        statement = f"UPDATE @{table} SET {assigned} WHERE {where}"
        return self._step(table, statement, f"SELECT {columns} FROM @{table}", shape)

    def _merge(self, table: str) -> Step:
        random, shape = self._random, self.shapes[table]
        source = self._rows(shape, shape.fields, 10, self._mixed_ids(table, 10))
        on = " AND ".join(f"o.{c} = s.{c}" for c in shape.named(shape.unique))
        target = predicates.qualified(predicates.scope(shape.fields, self.seen), "o")
        deleted = predicates.predicate(random, target) if random.random() < 0.4 else "false"
        unmatched = predicates.predicate(random, target) if random.random() < 0.3 else "false"
        free = [f for f in shape.fields if f.key not in (*shape.unique, *shape.key)]
        sets = {f.key for f in free if random.random() < 0.6}
        clauses = [f"MERGE INTO @{table} o USING ({source}) s ON {on}"]
        if deleted != "false":
            clauses.append(f"WHEN MATCHED AND {deleted} THEN DELETE")
        if sets:
            names = [quoted(f) for f in free if f.key in sets]
            clauses.append(
                f"WHEN MATCHED THEN UPDATE SET {', '.join(f'{n} = s.{n}' for n in names)}"
            )
        inserts = random.random() < 0.7 or len(clauses) == 1
        if inserts:
            clauses.append("WHEN NOT MATCHED THEN INSERT *")
        if unmatched != "false":
            clauses.append(f"WHEN NOT MATCHED BY SOURCE AND {unmatched} THEN DELETE")
        columns = ", ".join(f"{'s' if f.key in sets else 'o'}.{quoted(f)}" for f in shape.fields)
        parts = [
            f"SELECT {columns} FROM @{table} o JOIN ({source}) s ON {on} "
            f"WHERE ({deleted}) IS NOT TRUE",
            f"SELECT o.* FROM @{table} o LEFT ANTI JOIN ({source}) s ON {on} "
            f"WHERE ({unmatched}) IS NOT TRUE",
        ]
        if inserts:
            parts.append(f"SELECT s.* FROM ({source}) s LEFT ANTI JOIN @{table} o ON {on}")
        return self._step(table, " ".join(clauses), " UNION ALL ".join(parts), shape)

    # Maintenance and ALTER

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
        change = random_change(self._random, shape.fields, bound, self._keys)
        if change is None:
            return None
        clause, fields = change
        columns = ", ".join(f"{_converted(f, shape.fields)} AS {quoted(f)}" for f in fields)
        statement = f"ALTER TABLE @{table} {clause}"
        rows = f"SELECT {columns} FROM @{table}"
        return self._step(table, statement, rows, replace(shape, fields=fields))


def _converted(field: Field, before: tuple[Field, ...]) -> str:
    old = next((f for f in before if f.key == field.key), None)
    if old is None:
        return shown_default(field)
    return converted(quoted(old), old.type, field.type)


def whole(shape: Shape, inserted: tuple[Field, ...], rows: str) -> str:
    """Render rows of some columns with the defaults of the others added."""
    if inserted == shape.fields:
        return rows
    columns = ", ".join(
        quoted(f) if f in inserted else f"{f.write_default or 'CAST(NULL AS ' + ddl(f.type) + ')'}"
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
