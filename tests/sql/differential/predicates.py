"""Random expressions and conditions over columns; none fails for any row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from random import Random
from types import MappingProxyType

from histories.drive import quoted
from histories.naive import Field, Type
from sql.differential.columns import PLAIN, TEXTS, family, literal, random_value

TIMES = ("date", "timestamp", "timestamp_ntz")


@dataclass(frozen=True)
class Leaf:
    """A column or struct field as SQL, with values that were written to it."""

    sql: str
    type: Type
    seen: tuple[str, ...] = ()


def scope(
    fields: tuple[Field, ...], seen: Mapping[int, list[str]] = MappingProxyType({})
) -> list[Leaf]:
    """List the columns of a table and the fields of their structs.

    Args:
        fields: the columns of the table.
        seen: values as SQL, by the key of their column.
    """
    found: list[Leaf] = []

    def visit(above: str, inside: Iterable[Field]) -> None:
        for f in inside:
            found.append(Leaf(above + quoted(f), f.type, tuple(seen.get(f.key, ()))))
            if not isinstance(f.type, str) and f.type[0] == "struct":
                visit(f"{above}{quoted(f)}.", f.type[1])

    visit("", fields)
    return found


def qualified(leaves: list[Leaf], name: str) -> list[Leaf]:
    """Qualify columns with the name of their relation."""
    return [replace(leaf, sql=f"{name}.{leaf.sql}") for leaf in leaves]


def plain(leaves: list[Leaf]) -> list[Leaf]:
    """The columns that are not nested and can be compared and sorted."""
    return [leaf for leaf in leaves if leaf.type in PLAIN]


def of_family(leaves: list[Leaf], wanted: str) -> list[Leaf]:
    return [leaf for leaf in plain(leaves) if family(leaf.type) == wanted]


def some_literal(random: Random, leaf: Leaf) -> str:
    """A literal to compare a column with, sometimes of another comparable type."""
    if leaf.seen and random.random() < 0.6:
        return random.choice(leaf.seen)
    type_ = str(leaf.type)
    drawn, of = random.random(), family(type_)
    if of == "int" and drawn < 0.25:
        return random.choice(
            ["5L", "5.0BD", "5.5BD", "5.0D", "300", "-129", "2147483648L", "4294967301", "7S"]
        )
    if of == "decimal" and drawn < 0.25:
        return random.choice(["5", "5.00BD", "0.5D", "0.005BD", "1e30BD"])
    if of == "double" and drawn < 0.25:
        return random.choice(["0", "-0.0D", "float('NaN')", "0.5BD", "5L", "1e300D"])
    if of in TIMES and drawn < 0.4:
        day = random.choice(["2024-03-10", "1970-01-01", "1582-10-10", "2024-02-29"])
        return random.choice(
            [f"DATE'{day}'", f"TIMESTAMP'{day} 02:30:00'", f"TIMESTAMP_NTZ'{day} 00:00:00'"]
        )
    if of == "string" and drawn < 0.2:
        return random.choice(["'a '", "'abc  '", "'zo'", "''", "'5'"])
    same = [name for name in PLAIN if family(name) == of]
    chosen = random.choice([type_, type_, *same])
    return literal(random.choice(TEXTS[chosen]), chosen)


def comparison(random: Random, leaves: list[Leaf]) -> str | None:
    """A comparison of a column with a constant, as REPLACE WHERE allows."""
    candidates = plain(leaves)
    if not candidates:
        return None
    leaf = random.choice(candidates)
    assert isinstance(leaf.type, str)
    value = literal(random.choice(TEXTS[leaf.type]), leaf.type)
    return f"{leaf.sql} {random.choice(['=', '<', '>=', '<='])} {value}"


def predicate(random: Random, leaves: list[Leaf], depth: int = 2) -> str:
    """A random condition on rows."""
    drawn = random.random()
    if depth and drawn < 0.4:
        left, right = (predicate(random, leaves, depth - 1) for _ in range(2))
        return f"({left}) {random.choice(['AND', 'OR'])} ({right})"
    if depth and drawn < 0.47:
        return f"NOT ({predicate(random, leaves, depth - 1)})"
    leaf = random.choice(plain(leaves) if random.random() < 0.85 else leaves)
    return _about(random, leaf, leaves)


def _about(random: Random, leaf: Leaf, leaves: list[Leaf]) -> str:
    if random.random() < 0.1:
        return f"{leaf.sql} IS {random.choice(['', 'NOT '])}NULL"
    if not isinstance(leaf.type, str):
        return _about_nested(random, leaf)
    if leaf.type == "variant":
        return f"try_variant_get({leaf.sql}, '$.a', 'int') {random.choice(['=', '<'])} 6"
    if leaf.type == "boolean":
        return random.choice(
            [leaf.sql, f"NOT {leaf.sql}", f"{leaf.sql} = true", f"{leaf.sql} <=> NULL"]
        )
    special = _special(random, leaf)
    if special and random.random() < 0.35:
        return special
    op = random.choice(["=", "<", "<=", ">", ">=", "<>", "<=>"])
    if random.random() < 0.15:
        other = random.choice(of_family(leaves, family(leaf.type)))
        return f"{leaf.sql} {op} {other.sql}"
    values = [some_literal(random, leaf) for _ in range(3)]
    match random.choice(["op", "op", "op", "in", "not in", "between"]):
        case "op":
            return f"{leaf.sql} {op} {values[0]}"
        case "in":
            values += ["NULL"] if random.random() < 0.2 else []
            return f"{leaf.sql} IN ({', '.join(values)})"
        case "not in":
            return f"{leaf.sql} NOT IN ({', '.join(values)})"
        case _:
            return f"{leaf.sql} BETWEEN {values[0]} AND {values[1]}"


def _special(random: Random, leaf: Leaf) -> str | None:
    sql = leaf.sql
    match family(leaf.type):
        case "string":
            return random.choice(
                [
                    f"{sql} LIKE 'a%'",
                    f"{sql} LIKE '%b'",
                    f"{sql} NOT LIKE 'x%a'",
                    f"length({sql}) > 1",
                    f"upper({sql}) = 'A'",
                    f"trim({sql}) = 'a'",
                    f"startswith({sql}, 'a')",
                    f"contains({sql}, 'b')",
                    f"coalesce({sql}, 'a') = 'a'",
                ]
            )
        case "date":
            return random.choice([f"year({sql}) >= 1970", f"trunc({sql}, 'MM') = DATE'2024-02-01'"])
        case "timestamp" | "timestamp_ntz":
            return random.choice(
                [
                    f"hour({sql}) < 12",
                    f"CAST({sql} AS DATE) = DATE'2024-03-10'",
                    f"CAST({sql} AS DATE) <= DATE'1970-01-01'",
                    f"date_trunc('MONTH', {sql}) < TIMESTAMP'2024-03-01 00:00:00'",
                    f"CAST({sql} AS STRING) LIKE '2024-03%'",
                    f"year({sql}) IN (1969, 1582, 2024)",
                ]
            )
        case "int":
            return random.choice(
                [
                    f"{sql} % 2 = 1",
                    f"({sql} & 1) = 0",
                    f"CAST({sql} AS STRING) = '5'",
                    f"NOT {sql} > 5",
                ]
            )
        case "double":
            return random.choice([f"isnan({sql})", f"NOT {sql} > 0", f"NOT ({sql} = 0.0)"])
        case _:
            return f"NOT ({sql} > {some_literal(random, leaf)})"


def _about_nested(random: Random, leaf: Leaf) -> str:
    sql = leaf.sql
    match leaf.type[0]:
        case "struct":
            return f"{sql} IS NOT NULL"
        case "array":
            return random.choice(
                [
                    f"size({sql}) > 1",
                    f"exists({sql}, item -> item IS NULL)",
                    f"{sql}[0] IS NOT NULL",
                ]
                if leaf.type[1].type not in PLAIN
                else [
                    f"array_contains({sql}, {random_value(random, leaf.type[1].type, 0)})",
                    f"try_element_at({sql}, 1) = {random_value(random, leaf.type[1].type, 0)}",
                    f"size({sql}) > 1",
                ]
            ).replace(f"{sql}[0]", f"try_element_at({sql}, 1)")
        case _:
            key = literal(random.choice(TEXTS[leaf.type[1].type]), leaf.type[1].type)
            return random.choice([f"{sql}[{key}] IS NOT NULL", f"map_contains_key({sql}, {key})"])


def in_other(
    random: Random, leaves: list[Leaf], table: str, fields: tuple[Field, ...]
) -> str | None:
    """A random [NOT] IN subquery on another table."""
    pairs = matching(leaves, scope(fields))
    if not pairs:
        return None
    own, other = random.choice(pairs)
    where = predicate(random, scope(fields), 1)
    operator = random.choice(["IN", "IN", "NOT IN"])
    return f"{own.sql} {operator} (SELECT {other.sql} FROM {table} WHERE {where})"


def matching(left: list[Leaf], right: list[Leaf]) -> list[tuple[Leaf, Leaf]]:
    """Pairs of columns that can be compared."""
    return [(a, b) for a in plain(left) for b in plain(right) if family(a.type) == family(b.type)]


def expression(random: Random, leaves: list[Leaf]) -> str:
    """A random expression to select, often a plain column."""
    leaf = random.choice(leaves)
    if random.random() < 0.5:
        return leaf.sql
    sql = leaf.sql
    if not isinstance(leaf.type, str):
        return sql if leaf.type[0] == "struct" else f"size({sql})"
    if leaf.type == "variant":
        return random.choice(
            [
                f"to_json({sql})",
                f"schema_of_variant({sql})",
                f"try_variant_get({sql}, '$.b[0]', 'int')",
            ]
        )
    choices = [
        f"CASE WHEN {predicate(random, leaves, 1)} THEN {sql} END",
        f"coalesce({sql}, {random_value(random, leaf.type, 0)})",
        f"{sql} IS NULL",
    ]
    match family(leaf.type):
        case "string":
            choices += [
                f"concat({sql}, '|')",
                f"length({sql})",
                f"substr({sql}, 1, 2)",
                f"md5({sql})",
            ]
        case "int":
            choices += [f"{sql} % 7", f"CAST({sql} AS STRING)", f"CAST({sql} AS DECIMAL(20,0))"]
        case "double":
            choices += [f"{sql} + 0.5", f"CAST({sql} AS STRING)", f"{sql} <= 0", f"nanvl({sql}, 1)"]
        case "decimal":
            choices += [f"{sql} * 2", f"CAST({sql} AS DOUBLE)", f"round({sql}, 1)"]
        case "date" | "timestamp" | "timestamp_ntz":
            choices += [
                f"CAST({sql} AS STRING)",
                f"year({sql})",
                f"CAST({sql} AS DATE)",
                f"date_format({sql}, 'yyyy-MM-dd HH:mm')",
                f"unix_micros(CAST({sql} AS TIMESTAMP))",
                f"datediff({sql}, DATE'1970-01-01')",
            ]
        case "binary":
            choices += [f"hex({sql})", f"length({sql})"]
        case _:
            choices += [f"CAST({sql} AS STRING)"]
    return random.choice(choices)
