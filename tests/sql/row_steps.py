"""Random DELETE, UPDATE and MERGE statements, with the model's rows after each."""

from __future__ import annotations

from random import Random
from typing import Any

from histories import naive
from histories.drive import arrow_rows, quoted, random_filters, random_rows, random_value
from histories.naive import WIDER, Field, Model, Of, Refused
from versioned_catalog.model.ddl import parse_type
from versioned_catalog.model.sql_literals import constant, to_sql

# Types whose values compare equal in Spark exactly if they do in Python.
KEYS = ("boolean", "byte", "short", "int", "long", "date", "string")


def sql_literal(value: Any, type_: str) -> str:
    if value is None:
        return "NULL"
    parsed = parse_type(type_)
    literal = constant(value, parsed)
    assert literal is not None
    return to_sql(literal, parsed)


def sql_condition(model: Model, named: Any, keyed: Any) -> str:
    """Render an OR of ANDs as SQL."""
    if named is None:
        return "true"
    alternatives = [
        " AND ".join(_leaf(model, *pair) for pair in zip(*both, strict=True))
        for both in zip(named, keyed, strict=True)
    ]
    return " OR ".join(f"({one})" for one in alternatives)


def _leaf(model: Model, named: Any, keyed: Any) -> str:
    name, op, value = named
    type_ = naive.find(model.fields, keyed[0][-1]).type
    assert isinstance(type_, str)
    if op in ("in", "not in"):
        values = ", ".join(sql_literal(one, type_) for one in value)
        return f"{name} {op.upper()} ({values})"
    return f"{name} {op} {sql_literal(value, type_)}"


def some_filters(random: Random, model: Model) -> tuple[Any, Any]:
    """A random filter by names and the same one by keys; sometimes none, for all rows."""
    named, keyed = random_filters(random, model)
    return (None, None) if named is None or random.random() < 0.1 else (named, keyed)


def delete(random: Random, model: Model, table: str) -> tuple[str, list[dict[int, Any]]]:
    """A random DELETE, and the rows after it."""
    named, keyed = some_filters(random, model)
    statement = f"DELETE FROM {table} WHERE {sql_condition(model, named, keyed)}"
    return statement, naive.keep(model, keyed)


def update(random: Random, model: Model, table: str) -> tuple[str, list[dict[int, Any]]]:
    """A random UPDATE, and the rows after it.

    Raises:
        Refused: the model rejects the assignment, or all columns are nested.
    """
    plain = [f for f in model.fields if isinstance(f.type, str)]
    if not plain:
        raise Refused("all columns are nested")
    chosen = random.sample(plain, min(len(plain), random.choice([1, 1, 2])))
    assignments = [((one.key,), _assigned(random, plain, one)) for one in chosen]
    named, keyed = some_filters(random, model)
    rows = naive.update(model, assignments, keyed)
    sets = ", ".join(
        f"{quoted(one)} = {_right(model, one, value)}"
        for one, (_, value) in zip(chosen, assignments, strict=True)
    )
    return f"UPDATE {table} SET {sets} WHERE {sql_condition(model, named, keyed)}", rows


def _assigned(random: Random, plain: list[Field], one: Field) -> Any:
    fitting = [f.key for f in plain if f.type == one.type or one.type in WIDER.get(f.type, ())]
    return Of(random.choice(fitting)) if random.random() < 0.4 else random_value(random, one)


def _right(model: Model, one: Field, value: Any) -> str:
    if isinstance(value, Of):
        return quoted(naive.find(model.fields, value.key))
    assert isinstance(one.type, str)
    return sql_literal(value, one.type)


def merge(
    random: Random, model: Model, table: str, source: str
) -> tuple[Any, str, list[dict[int, Any]]]:
    """The rows of a source, a random MERGE of them, and the rows after it.

    Raises:
        Refused: the source has no column to join by, or lacks a column that an INSERT needs.
    """
    names, source_rows = random_rows(random, model)
    keys = [f for f in model.fields if f.type in KEYS and f.name in names]
    if not keys:
        raise Refused("no column to join by")
    key = random.choice(keys)
    distinct = {row[key.name]: row for row in source_rows}
    frame = arrow_rows(model, names, list(distinct.values()))
    matched, unmatched = random.choice(["update", "delete"]), random.choice(["insert", None])
    by_source = random.choice(["delete", None])
    rows = _merged(model, key, distinct, matched, unmatched, by_source)
    columns = [quoted(f) for f in model.fields if f.name in names]
    clauses = {
        "update": f"UPDATE SET {', '.join(f't.{c} = s.{c}' for c in columns)}",
        "insert": f"INSERT ({', '.join(columns)}) VALUES ({', '.join(f's.{c}' for c in columns)})",
        "delete": "DELETE",
    }
    statement = (
        f"MERGE INTO {table} t USING {source} s ON t.{quoted(key)} = s.{quoted(key)} "
        f"WHEN MATCHED THEN {clauses[matched]}"
    )
    if unmatched is not None:
        statement += f" WHEN NOT MATCHED THEN {clauses[unmatched]}"
    if by_source is not None:
        statement += f" WHEN NOT MATCHED BY SOURCE THEN {clauses[by_source]}"
    return frame, statement, rows


def _merged(
    model: Model, key: Field, source: dict[Any, Any], matched: str, unmatched: Any, by_source: Any
) -> list[dict[int, Any]]:
    rows, found = [], set()
    for row in model.rows:
        value = naive.show(key, row)
        if value is None or value not in source:
            rows += [] if by_source else [row]
            continue
        found.add(value)
        if matched == "update":
            by_name = {f.name: f for f in model.fields}
            new = {by_name[n].key: naive.store(v, by_name[n]) for n, v in source[value].items()}
            rows.append({**row, **new})
    if unmatched:
        naive.check_names(model.fields, list(next(iter(source.values()), {})) or _all(model))
        left = [row for value, row in source.items() if value is None or value not in found]
        rows += [naive.store_row(model.fields, row) for row in left]
    return rows


def _all(model: Model) -> list[str]:
    return [f.name for f in model.fields]
