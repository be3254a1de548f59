"""The text of bound filters for people, as in ``repr``."""

from __future__ import annotations

from versioned_catalog.expressions import filters
from versioned_catalog.expressions.literals import Literal
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.tokens import sql_string

_VALUES = 10
"""The number of values of an IN that are shown."""


def render_filter(bound: filters.BoundFilter, schema: Schema) -> str:
    """The SQL of a filter; a column that is not in the schema, such as a metadata column, is ``#ID``."""
    match bound:
        case filters.Compare(column_id, op, value):
            return f"{_name(column_id, schema)} {op.value} {_text(value)}"
        case filters.NullSafeEqual(column_id, value, negated):
            return _not(f"{_name(column_id, schema)} <=> {_text(value)}", negated=negated)
        case filters.In(column_id, values, has_null, negated):
            shown = [*map(_text, values[:_VALUES])]
            shown += [f"and {len(values) - _VALUES} more"] if len(values) > _VALUES else []
            shown += ["NULL"] if has_null else []
            return (
                f"{_name(column_id, schema)} {'NOT IN' if negated else 'IN'} ({', '.join(shown)})"
            )
        case filters.IsNull(column_id, negated):
            return f"{_name(column_id, schema)} IS {'NOT NULL' if negated else 'NULL'}"
        case filters.TextMatch(column_id, kind, text, negated):
            call = f"{kind.value}({_name(column_id, schema)}, {sql_string(text)})"
            return _not(call, negated=negated)
        case filters.And(parts):
            return " AND ".join(_inner(part, schema) for part in parts) or "TRUE"
        case filters.Or(parts):
            return " OR ".join(_inner(part, schema) for part in parts) or "FALSE"
        case filters.Always(value):
            return "NULL" if value is None else str(value).upper()


def _inner(bound: filters.BoundFilter, schema: Schema) -> str:
    text = render_filter(bound, schema)
    return f"({text})" if isinstance(bound, filters.And | filters.Or) else text


def _not(text: str, *, negated: bool) -> str:
    return f"NOT {text}" if negated else text


def _name(column_id: int, schema: Schema) -> str:
    return schema.path_text(column_id) if column_id in schema.ids else f"#{column_id}"


def _text(literal: Literal) -> str:
    value = literal.scalar.as_py()
    return sql_string(value) if isinstance(value, str) else str(value)
