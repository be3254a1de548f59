"""Random queries on two tables, as data: in their SQL, ``@t`` and ``@u`` are the tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from histories.drive import quoted
from histories.naive import find
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

READ_PATHS = [*["SQL"] * 12, *["io=python"] * 2, "load"]


@dataclass(frozen=True)
class Query:
    """A query, whose result is a multiset of rows.

    Attributes:
        kind: the function of this module that generated it.
        exact: whether to distinguish -0.0 from 0.0 in its result; not if it picks one of equal values.
        read_path: how the tables are read.
    """

    kind: str
    sql: str
    settings: Settings
    exact: bool = False
    read_path: str = "SQL"


@dataclass(frozen=True)
class Inputs:
    """The inputs from which queries are generated."""

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


def whole_tables(inputs: Inputs) -> list[Query]:
    """Queries of all rows of both tables."""
    return [
        Query(
            "whole", f"SELECT * FROM @{name}", random_settings(inputs.random, writing=False), True
        )
        for name in ("t", "u")
    ]


def random_query(inputs: Inputs) -> Query:
    """A random query of any kind."""
    kind = inputs.random.choice(KINDS)
    exact = kind in (filtered, projected)
    read_path = inputs.random.choice(READ_PATHS)
    sql = kind(inputs)
    settings = random_settings(inputs.random, writing=False)
    return Query(kind.__name__, sql, settings, exact, read_path)


def _where(inputs: Inputs, leaves: list[Leaf], chance: float = 0.7) -> str:
    if inputs.random.random() > chance:
        return ""
    return f" WHERE {predicate(inputs.random, leaves, inputs.random.choice([0, 1, 1, 2]))}"


def _columns(inputs: Inputs, leaves: list[Leaf], count: int) -> list[str]:
    return [expression(inputs.random, leaves) for _ in range(count)]


def _listed(columns: list[str]) -> str:
    return ", ".join(f"{one} AS c{n}" for n, one in enumerate(columns))


def _pick(inputs: Inputs, leaves: list[Leaf], count: int = 1) -> list[str]:
    candidates = [leaf.sql for leaf in plain(leaves)]
    return inputs.random.sample(candidates, min(len(candidates), count))


def filtered(inputs: Inputs) -> str:
    return f"SELECT * FROM @t{_where(inputs, inputs.t, 1)}"


def projected(inputs: Inputs) -> str:
    return f"SELECT {_listed(_columns(inputs, inputs.t, 3))} FROM @t{_where(inputs, inputs.t)}"


def failing(inputs: Inputs) -> str:
    """An expression that fails for some rows, over all rows, so that their order does not matter."""
    leaf = inputs.random.choice(plain(inputs.t))
    match family(leaf.type):
        case "int" | "decimal":
            sql = inputs.random.choice([f"10 / {leaf.sql}", f"CAST({leaf.sql} AS TINYINT)"])
        case "double":
            sql = f"CAST({leaf.sql} AS INT)"
        case "string":
            sql = inputs.random.choice([f"CAST({leaf.sql} AS INT)", f"CAST({leaf.sql} AS DATE)"])
        case _:
            sql = f"CAST(CAST({leaf.sql} AS STRING) AS INT)"
    return f"SELECT {sql} AS c0 FROM @t"


def _aggregates(inputs: Inputs, leaves: list[Leaf]) -> list[str]:
    random = inputs.random
    aggregates = ["count(*)", f"count({random.choice(plain(leaves)).sql})"]
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
        aggregates.append(random.choice(choices))
    return aggregates


def grouped(inputs: Inputs) -> str:
    random, leaves = inputs.random, inputs.t
    keys = _pick(inputs, leaves, random.choice([1, 2]))
    by = ", ".join(keys)
    if random.random() < 0.4:
        by = random.choice(
            [f"ROLLUP ({by})", f"CUBE ({by})", f"GROUPING SETS (({by}), ({keys[0]}), ())"]
        )
    having = random.choice(["", "", " HAVING count(*) > 1", f" HAVING max({keys[0]}) IS NOT NULL"])
    shown = _listed(keys + _aggregates(inputs, leaves))
    return f"SELECT {shown} FROM @t{_where(inputs, leaves, 0.5)} GROUP BY {by}{having}"


def aggregated(inputs: Inputs) -> str:
    """Aggregates of the whole table, some of which metadata can answer."""
    leaf = inputs.random.choice(plain(inputs.t)).sql
    from_metadata = inputs.random.sample(
        ["count(*)", f"count({leaf})", f"min({leaf})", f"max({leaf})"], 2
    )
    if inputs.random.random() < 0.5:
        return f"SELECT {_listed(from_metadata)} FROM @t"
    return f"SELECT {_listed(_aggregates(inputs, inputs.t))} FROM @t{_where(inputs, inputs.t)}"


def _on(inputs: Inputs, left: list[Leaf], right: list[Leaf]) -> str:
    random, pairs = inputs.random, matching(left, right)
    a, b = random.choice(pairs)  # never empty: both tables have IDs
    found = f"{a.sql} {random.choice(['=', '=', '=', '=', '<=>'])} {b.sql}"
    if random.random() < 0.25:
        found += f" AND {predicate(random, [*left, *right], 1)}"
    return found


def joined(inputs: Inputs) -> str:
    random = inputs.random
    a, b = qualified(inputs.t, "a"), qualified(inputs.u, "b")
    how = random.choice(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
    shown = _listed(_columns(inputs, a, 2) + _columns(inputs, b, 2))
    return (
        f"SELECT {shown} FROM @t a {how} @u b ON {_on(inputs, a, b)}{_where(inputs, [*a, *b], 0.6)}"
    )


def semi_joined(inputs: Inputs) -> str:
    a, b = qualified(inputs.t, "a"), qualified(inputs.u, "b")
    how = inputs.random.choice(["LEFT SEMI JOIN", "LEFT ANTI JOIN"])
    shown = _listed(_columns(inputs, a, 3))
    return f"SELECT {shown} FROM @t a {how} @u b ON {_on(inputs, a, b)}{_where(inputs, a, 0.5)}"


def star(inputs: Inputs) -> str:
    """A join with a filtered small table on a partition, sort or key column of the large one."""
    random, shape = inputs.random, inputs.shapes["t"]
    fixed = [f for f in shape.fields if f.key in shape.fixed or f.key in shape.unique]
    a = [Leaf(f"a.{quoted(f)}", f.type) for f in fixed]
    b = qualified(inputs.u, "b")
    pairs = matching(a, b)
    if not pairs:
        return joined(inputs)
    own, other = random.choice(pairs)
    shown = _listed(_columns(inputs, qualified(inputs.t, "a"), 2))
    return (
        f"SELECT {shown} FROM @t a JOIN @u b ON {own.sql} = {other.sql} "
        f"WHERE {predicate(random, b, 0)}"
    )


def self_joined(inputs: Inputs) -> str:
    a, b = qualified(inputs.t, "a"), qualified(inputs.t, "b")
    key = [quoted(find(inputs.shapes["t"].fields, k)) for k in inputs.shapes["t"].unique]
    on = " AND ".join(f"a.{k} = b.{k}" for k in key)
    if inputs.random.random() < 0.4:
        on = _on(inputs, a, b)
    shown = _listed(_columns(inputs, a, 2) + _columns(inputs, b, 2))
    return f"SELECT {shown} FROM @t a JOIN @t b ON {on}{_where(inputs, [*a, *b], 0.6)}"


def time_travelled(inputs: Inputs) -> str:
    number, shape = inputs.random.choice(inputs.past)
    leaves = scope(shape.fields, inputs.seen)
    if inputs.random.random() < 0.5:
        return (
            f"SELECT {_listed(_columns(inputs, leaves, 3))} FROM @t{number}{_where(inputs, leaves)}"
        )
    a, b = qualified(inputs.t, "a"), qualified(leaves, "b")
    shown = _listed(_columns(inputs, a, 2) + _columns(inputs, b, 2))
    return f"SELECT {shown} FROM @t a LEFT JOIN @t{number} b ON {_on(inputs, a, b)}"


def windowed(inputs: Inputs) -> str:
    random, leaves, shape = inputs.random, inputs.t, inputs.shapes["t"]
    part = f"PARTITION BY {_pick(inputs, leaves)[0]} " if random.random() < 0.7 else ""
    order = _pick(inputs, leaves)[0]
    direction = random.choice(["", " DESC", " ASC NULLS LAST", " DESC NULLS FIRST"])
    total = ", ".join(quoted(find(shape.fields, k)) for k in shape.unique)
    value = random.choice(plain(leaves)).sql
    functions = [
        f"rank() OVER ({part}ORDER BY {order}{direction})",
        f"dense_rank() OVER ({part}ORDER BY {order}{direction})",
        f"count({value}) OVER ({part}ORDER BY {order}{direction})",
        f"max({value}) OVER ({part}ORDER BY {order}{direction})",
        f"row_number() OVER ({part}ORDER BY {order}{direction}, {total})",
        f"lag({value}) OVER ({part}ORDER BY {total})",
        f"min({value}) OVER ({part}ORDER BY {total} ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)",
    ]
    shown = _columns(inputs, leaves, 1) + random.sample(functions, 2)
    inside = f"SELECT {_listed(shown)} FROM @t{_where(inputs, leaves, 0.5)}"
    if random.random() < 0.3:
        ranked = f"SELECT *, {functions[4]} AS r FROM @t{_where(inputs, leaves, 0.4)}"
        return f"SELECT * FROM ({ranked}) WHERE r <= 2"
    return inside


def with_subqueries(inputs: Inputs) -> str:
    """IN, EXISTS and scalar subqueries, correlated and not."""
    random = inputs.random
    a, b = qualified(inputs.t, "a"), qualified(inputs.u, "b")
    shown = _listed(_columns(inputs, a, 3))
    own, other = random.choice(matching(a, b))
    where = predicate(random, b, 1)
    value = random.choice(plain(b))
    one = random.choice(of_family(a, family(value.type)) or [value])
    found = [
        in_other(random, a, "@u", inputs.shapes["u"].fields) or "true",
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


def distinct(inputs: Inputs) -> str:
    return (
        f"SELECT DISTINCT {', '.join(_pick(inputs, inputs.t, 2))} FROM @t{_where(inputs, inputs.t)}"
    )


def set_operations(inputs: Inputs) -> str:
    random = inputs.random
    pairs = random.sample(matching(inputs.t, inputs.u), 1)
    other = random.choice([pairs, [(a, a) for a, _ in pairs]])
    table = "@u" if other is pairs else "@t"
    leaves = inputs.u if other is pairs else inputs.t
    how = random.choice(
        ["UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"]
    )
    left = f"SELECT {_listed([a.sql for a, _ in pairs])} FROM @t{_where(inputs, inputs.t)}"
    right = f"SELECT {_listed([b.sql for _, b in other])} FROM {table}{_where(inputs, leaves)}"
    return f"({left}) {how} ({right})"


def limited(inputs: Inputs) -> str:
    random, shape = inputs.random, inputs.shapes["t"]
    total = ", ".join(quoted(find(shape.fields, k)) for k in shape.unique)
    direction = random.choice(["", " DESC", " NULLS LAST"])
    first = "" if random.random() < 0.5 else f"{_pick(inputs, inputs.t)[0]}{direction}, "
    count = random.choice([0, 1, 3, 10])
    if random.random() < 0.2:
        inside = f"SELECT 1 FROM @t{_where(inputs, inputs.t)} LIMIT {count}"
        return f"SELECT count(*) AS c FROM ({inside})"
    offset = f" OFFSET {random.choice([1, 5])}" if random.random() < 0.3 else ""
    where = _where(inputs, inputs.t, 0.6)
    return f"SELECT * FROM @t{where} ORDER BY {first}{total} LIMIT {count}{offset}"


def with_common_tables(inputs: Inputs) -> str:
    """Common table expressions that are used twice."""
    shape = inputs.shapes["t"]
    keys = [quoted(find(shape.fields, k)) for k in shape.unique]
    key, value = _pick(inputs, inputs.t)[0], _pick(inputs, inputs.t)[0]
    first = f"SELECT *, {key} AS k, {value} AS v FROM @t{_where(inputs, inputs.t)}"
    on = " AND ".join(f"a.{k} = b.{k}" for k in keys)
    return (
        f"WITH base AS ({first}), few AS (SELECT k, count(*) AS n, min(v) AS w FROM base GROUP BY k) "
        f"SELECT a.k, a.v, f.n, f.w FROM base a JOIN base b ON {on} LEFT JOIN few f ON a.k <=> f.k"
    )


def exploded(inputs: Inputs) -> str:
    random = inputs.random
    candidates = [leaf for leaf in inputs.t if _is_listed(leaf)]
    if not candidates:
        return grouped(inputs)
    leaf = random.choice(candidates)
    outer = random.choice(["", "OUTER "])
    if leaf.type[0] == "map":
        view, names = f"explode({leaf.sql})", ["items.k", "items.v"]
    else:
        view, names = f"posexplode({leaf.sql})", ["items.p", "items.v"]
    aliases = ", ".join(name.partition(".")[2] for name in names)
    a = qualified(inputs.t, "a")
    shown = _listed([*_columns(inputs, a, 1), *names])
    view = view.replace(leaf.sql, f"a.{leaf.sql}")
    where = _where(inputs, a, 0.4)
    return f"SELECT {shown} FROM @t a LATERAL VIEW {outer}{view} items AS {aliases}{where}"


def _is_listed(leaf: Leaf) -> bool:
    return not isinstance(leaf.type, str) and leaf.type[0] in ("array", "map")


KINDS: list[Callable[[Inputs], str]] = [
    filtered,
    filtered,
    projected,
    failing,
    grouped,
    grouped,
    aggregated,
    joined,
    joined,
    semi_joined,
    star,
    self_joined,
    time_travelled,
    windowed,
    with_subqueries,
    with_subqueries,
    distinct,
    set_operations,
    limited,
    with_common_tables,
    exploded,
]
