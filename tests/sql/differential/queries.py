"""Random queries on two tables, as data: in SQL ``@t`` and ``@u`` are the tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from model.drive import quoted
from model.naive import find
from sql.differential.columns import family
from sql.differential.histories import Shape
from sql.differential.predicates import (
    Leaf,
    expression,
    in_other,
    matching,
    of_family,
    plain,
    predicate,
    qualified,
    scope,
)
from sql.differential.settings import Settings, random_settings

WAYS = [*["SQL"] * 12, "io=python", "read_table", "load"]


@dataclass(frozen=True)
class Query:
    """A query, whose answer is a multiset of rows.

    Attributes:
        kind: which rule of the grammar made it.
        exact: whether -0.0 is not 0.0 in its answer: where no value stands for equal others.
        way: how the tables are read.
    """

    kind: str
    sql: str
    settings: Settings
    exact: bool = False
    way: str = "SQL"


@dataclass(frozen=True)
class Given:
    """What queries are drawn from."""

    random: Random
    shapes: dict[str, Shape]
    past: list[tuple[int, Shape]]
    seen: dict[int, list[str]]

    @property
    def t(self) -> list[Leaf]:
        """The columns of ``t``."""
        return scope(self.shapes["t"].fields, self.seen)

    @property
    def u(self) -> list[Leaf]:
        return scope(self.shapes["u"].fields, self.seen)


def whole_tables(given: Given) -> list[Query]:
    """Both tables, all rows."""
    return [
        Query("whole", f"SELECT * FROM @{name}", random_settings(given.random, writing=False), True)
        for name in ("t", "u")
    ]


def random_query(given: Given) -> Query:
    """A query of any kind."""
    kind = given.random.choice(KINDS)
    exact = kind in (filtered, projected)
    way = given.random.choice(WAYS)
    sql = kind(given)
    settings = random_settings(given.random, writing=False)
    return Query(kind.__name__, sql, settings, exact, _possible(way, sql))


def _possible(way: str, sql: str) -> str:
    """How the tables are read: by SQL in place of ``read_table`` where Spark fails over any UNION ALL.

    It finds no attribute (PushProjectionThroughUnion: "key not found") where a column of the result is a
    correlated scalar subquery.
    """
    return "SQL" if way == "read_table" and sql.endswith(") AS m FROM @t a") else way


def _where(given: Given, leaves: list[Leaf], chance: float = 0.7) -> str:
    if given.random.random() > chance:
        return ""
    return f" WHERE {predicate(given.random, leaves, given.random.choice([0, 1, 1, 2]))}"


def _columns(given: Given, leaves: list[Leaf], count: int) -> list[str]:
    return [expression(given.random, leaves) for _ in range(count)]


def _listed(columns: list[str]) -> str:
    return ", ".join(f"{one} AS c{n}" for n, one in enumerate(columns))


def _pick(given: Given, leaves: list[Leaf], count: int = 1) -> list[str]:
    able = [leaf.sql for leaf in plain(leaves)]
    return given.random.sample(able, min(len(able), count))


def filtered(given: Given) -> str:
    return f"SELECT * FROM @t{_where(given, given.t, 1)}"


def projected(given: Given) -> str:
    return f"SELECT {_listed(_columns(given, given.t, 3))} FROM @t{_where(given, given.t)}"


def risky(given: Given) -> str:
    """What fails for some rows, in ANSI mode or always: of all rows, so that the order is no matter."""
    leaf = given.random.choice(plain(given.t))
    match family(leaf.type):
        case "int" | "decimal":
            sql = given.random.choice([f"10 / {leaf.sql}", f"CAST({leaf.sql} AS TINYINT)"])
        case "double":
            sql = f"CAST({leaf.sql} AS INT)"
        case "string":
            sql = given.random.choice([f"CAST({leaf.sql} AS INT)", f"CAST({leaf.sql} AS DATE)"])
        case _:
            sql = f"CAST(CAST({leaf.sql} AS STRING) AS INT)"
    return f"SELECT {sql} AS c0 FROM @t"


def _aggregates(given: Given, leaves: list[Leaf]) -> list[str]:
    random = given.random
    made = ["count(*)", f"count({random.choice(plain(leaves)).sql})"]
    for leaf in random.sample(plain(leaves), min(3, len(plain(leaves)))):
        choices = [
            f"min({leaf.sql})",
            f"max({leaf.sql})",
            f"count(DISTINCT {leaf.sql})",
            f"array_sort(collect_set({leaf.sql}))",
            f"min({leaf.sql}) FILTER (WHERE {predicate(random, leaves, 1)})",
        ]
        if family(leaf.type) == "int":
            choices += [f"sum({leaf.sql} % 1000)", f"bit_xor({leaf.sql})"]
        if family(leaf.type) == "decimal":
            choices += [f"sum({leaf.sql})", f"sum(DISTINCT {leaf.sql})"]
        if leaf.type == "double":
            choices += [f"sum({leaf.sql})", f"avg({leaf.sql})"]
        made.append(random.choice(choices))
    return made


def grouped(given: Given) -> str:
    random, leaves = given.random, given.t
    keys = _pick(given, leaves, random.choice([1, 2]))
    by = ", ".join(keys)
    if random.random() < 0.4:
        by = random.choice(
            [f"ROLLUP ({by})", f"CUBE ({by})", f"GROUPING SETS (({by}), ({keys[0]}), ())"]
        )
    having = random.choice(["", "", " HAVING count(*) > 1", f" HAVING max({keys[0]}) IS NOT NULL"])
    shown = _listed(keys + _aggregates(given, leaves))
    return f"SELECT {shown} FROM @t{_where(given, leaves, 0.5)} GROUP BY {by}{having}"


def aggregated(given: Given) -> str:
    """Of the whole table, as metadata may answer."""
    leaf = given.random.choice(plain(given.t)).sql
    answered = given.random.sample(
        ["count(*)", f"count({leaf})", f"min({leaf})", f"max({leaf})"], 2
    )
    if given.random.random() < 0.5:
        return f"SELECT {_listed(answered)} FROM @t"
    return f"SELECT {_listed(_aggregates(given, given.t))} FROM @t{_where(given, given.t)}"


def _on(given: Given, left: list[Leaf], right: list[Leaf]) -> str:
    random, pairs = given.random, matching(left, right)
    a, b = random.choice(pairs)  # there are IDs on both sides
    found = f"{a.sql} {random.choice(['=', '=', '=', '=', '<=>'])} {b.sql}"
    if random.random() < 0.25:
        found += f" AND {predicate(random, [*left, *right], 1)}"
    return found


def joined(given: Given) -> str:
    random = given.random
    a, b = qualified(given.t, "a"), qualified(given.u, "b")
    how = random.choice(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
    shown = _listed(_columns(given, a, 2) + _columns(given, b, 2))
    return (
        f"SELECT {shown} FROM @t a {how} @u b ON {_on(given, a, b)}{_where(given, [*a, *b], 0.6)}"
    )


def half_joined(given: Given) -> str:
    a, b = qualified(given.t, "a"), qualified(given.u, "b")
    how = given.random.choice(["LEFT SEMI JOIN", "LEFT ANTI JOIN"])
    shown = _listed(_columns(given, a, 3))
    return f"SELECT {shown} FROM @t a {how} @u b ON {_on(given, a, b)}{_where(given, a, 0.5)}"


def star(given: Given) -> str:
    """A join with some rows of a small table by what the large one is arranged by."""
    random, shape = given.random, given.shapes["t"]
    fixed = [f for f in shape.fields if f.key in shape.fixed or f.key in shape.unique]
    a = [Leaf(f"a.{quoted(f)}", f.type) for f in fixed]
    b = qualified(given.u, "b")
    pairs = matching(a, b)
    if not pairs:
        return joined(given)
    own, other = random.choice(pairs)
    shown = _listed(_columns(given, qualified(given.t, "a"), 2))
    return (
        f"SELECT {shown} FROM @t a JOIN @u b ON {own.sql} = {other.sql} "
        f"WHERE {predicate(random, b, 0)}"
    )


def self_joined(given: Given) -> str:
    a, b = qualified(given.t, "a"), qualified(given.t, "b")
    key = [quoted(find(given.shapes["t"].fields, k)) for k in given.shapes["t"].unique]
    on = " AND ".join(f"a.{k} = b.{k}" for k in key)
    if given.random.random() < 0.4:
        on = _on(given, a, b)
    shown = _listed(_columns(given, a, 2) + _columns(given, b, 2))
    return f"SELECT {shown} FROM @t a JOIN @t b ON {on}{_where(given, [*a, *b], 0.6)}"


def time_travelled(given: Given) -> str:
    number, shape = given.random.choice(given.past)
    leaves = scope(shape.fields, given.seen)
    if given.random.random() < 0.5:
        return (
            f"SELECT {_listed(_columns(given, leaves, 3))} FROM @t{number}{_where(given, leaves)}"
        )
    a, b = qualified(given.t, "a"), qualified(leaves, "b")
    shown = _listed(_columns(given, a, 2) + _columns(given, b, 2))
    return f"SELECT {shown} FROM @t a LEFT JOIN @t{number} b ON {_on(given, a, b)}"


def windowed(given: Given) -> str:
    random, leaves, shape = given.random, given.t, given.shapes["t"]
    part = f"PARTITION BY {_pick(given, leaves)[0]} " if random.random() < 0.7 else ""
    order = _pick(given, leaves)[0]
    way = random.choice(["", " DESC", " ASC NULLS LAST", " DESC NULLS FIRST"])
    total = ", ".join(quoted(find(shape.fields, k)) for k in shape.unique)
    value = random.choice(plain(leaves)).sql
    functions = [
        f"rank() OVER ({part}ORDER BY {order}{way})",
        f"dense_rank() OVER ({part}ORDER BY {order}{way})",
        f"count({value}) OVER ({part}ORDER BY {order}{way})",
        f"max({value}) OVER ({part}ORDER BY {order}{way})",
        f"row_number() OVER ({part}ORDER BY {order}{way}, {total})",
        f"lag({value}) OVER ({part}ORDER BY {total})",
        f"min({value}) OVER ({part}ORDER BY {total} ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)",
    ]
    shown = _columns(given, leaves, 1) + random.sample(functions, 2)
    inside = f"SELECT {_listed(shown)} FROM @t{_where(given, leaves, 0.5)}"
    if random.random() < 0.3:
        ranked = f"SELECT *, {functions[4]} AS r FROM @t{_where(given, leaves, 0.4)}"
        return f"SELECT * FROM ({ranked}) WHERE r <= 2"
    return inside


def inside_others(given: Given) -> str:
    """IN, EXISTS and scalar subqueries, correlated and not."""
    random = given.random
    a, b = qualified(given.t, "a"), qualified(given.u, "b")
    shown = _listed(_columns(given, a, 3))
    own, other = random.choice(matching(a, b))
    where = predicate(random, b, 1)
    value = random.choice(plain(b))
    one = random.choice(of_family(a, family(value.type)) or [value])
    found = [
        in_other(random, a, "@u", given.shapes["u"].fields) or "true",
        f"EXISTS (SELECT 1 FROM @u b WHERE {own.sql} = {other.sql} AND {where})",
        f"NOT EXISTS (SELECT 1 FROM @u b WHERE {own.sql} = {other.sql} AND {where})",
        f"{own.sql} IN (SELECT {other.sql} FROM @u b WHERE {where}) OR {predicate(random, a, 1)}",
        f"(SELECT count(*) FROM @u b WHERE {own.sql} = {other.sql}) > 1",
    ]
    if one is not value:
        found += [
            f"{one.sql} >= (SELECT min({value.sql}) FROM @u b WHERE {where})",
            f"{one.sql} = (SELECT max({value.sql}) FROM @u b WHERE {own.sql} = {other.sql})",
        ]
    if random.random() < 0.2:
        return (
            f"SELECT {shown}, (SELECT max({value.sql}) FROM @u b WHERE {own.sql} = {other.sql}) AS m "
            f"FROM @t a"
        )
    if random.random() < 0.15:
        inside = f"SELECT {value.sql} AS v FROM @u b WHERE {own.sql} = {other.sql} AND {where}"
        return f"SELECT {shown}, v FROM @t a, LATERAL ({inside})"
    return f"SELECT {shown} FROM @t a WHERE {random.choice(found)}"


def distinct(given: Given) -> str:
    return f"SELECT DISTINCT {', '.join(_pick(given, given.t, 2))} FROM @t{_where(given, given.t)}"


def sets(given: Given) -> str:
    random = given.random
    pairs = random.sample(matching(given.t, given.u), 1)
    other = random.choice([pairs, [(a, a) for a, _ in pairs]])
    table = "@u" if other is pairs else "@t"
    leaves = given.u if other is pairs else given.t
    how = random.choice(
        ["UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"]
    )
    left = f"SELECT {_listed([a.sql for a, _ in pairs])} FROM @t{_where(given, given.t)}"
    right = f"SELECT {_listed([b.sql for _, b in other])} FROM {table}{_where(given, leaves)}"
    return f"({left}) {how} ({right})"


def limited(given: Given) -> str:
    random, shape = given.random, given.shapes["t"]
    total = ", ".join(quoted(find(shape.fields, k)) for k in shape.unique)
    way = random.choice(["", " DESC", " NULLS LAST"])
    first = "" if random.random() < 0.5 else f"{_pick(given, given.t)[0]}{way}, "
    count = random.choice([0, 1, 3, 10])
    if random.random() < 0.2:
        inside = f"SELECT 1 FROM @t{_where(given, given.t)} LIMIT {count}"
        return f"SELECT count(*) AS c FROM ({inside})"
    offset = f" OFFSET {random.choice([1, 5])}" if random.random() < 0.3 else ""
    where = _where(given, given.t, 0.6)
    return f"SELECT * FROM @t{where} ORDER BY {first}{total} LIMIT {count}{offset}"


def in_steps(given: Given) -> str:
    """Common table expressions that are used twice."""
    shape = given.shapes["t"]
    keys = [quoted(find(shape.fields, k)) for k in shape.unique]
    key, value = _pick(given, given.t)[0], _pick(given, given.t)[0]
    first = f"SELECT *, {key} AS k, {value} AS v FROM @t{_where(given, given.t)}"
    on = " AND ".join(f"a.{k} = b.{k}" for k in keys)
    return (
        f"WITH made AS ({first}), few AS (SELECT k, count(*) AS n, min(v) AS w FROM made GROUP BY k) "
        f"SELECT a.k, a.v, f.n, f.w FROM made a JOIN made b ON {on} LEFT JOIN few f ON a.k <=> f.k"
    )


def exploded(given: Given) -> str:
    random = given.random
    able = [leaf for leaf in given.t if _is_listed(leaf)]
    if not able:
        return grouped(given)
    leaf = random.choice(able)
    outer = random.choice(["", "OUTER "])
    if leaf.type[0] == "map":
        view, names = f"explode({leaf.sql})", ["made.k", "made.v"]
    else:
        view, names = f"posexplode({leaf.sql})", ["made.p", "made.v"]
    told = ", ".join(name.partition(".")[2] for name in names)
    a = qualified(given.t, "a")
    shown = _listed([*_columns(given, a, 1), *names])
    view = view.replace(leaf.sql, f"a.{leaf.sql}")
    return (
        f"SELECT {shown} FROM @t a LATERAL VIEW {outer}{view} made AS {told}{_where(given, a, 0.4)}"
    )


def _is_listed(leaf: Leaf) -> bool:
    return not isinstance(leaf.type, str) and leaf.type[0] in ("array", "map")


KINDS: list[Callable[[Given], str]] = [
    filtered,
    filtered,
    projected,
    risky,
    grouped,
    grouped,
    aggregated,
    joined,
    joined,
    half_joined,
    star,
    self_joined,
    time_travelled,
    windowed,
    inside_others,
    inside_others,
    distinct,
    sets,
    limited,
    in_steps,
    exploded,
]
