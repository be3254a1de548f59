"""A naive model of a table: its rows by column ID, and the effect of each operation on them.

It shares no code with the project. Schemas are the JSON of FORMAT.md, section 4.4.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

Json = dict[str, Any]

EPOCH = date(1970, 1, 1)
MISSING = object()


class ModelError(Exception):
    """The model can't explain a commit; the message is a finding."""


@dataclass(eq=False)
class Row:
    """A row as a commit wrote it, compared by identity.

    Args:
        values: its values by column ID; a struct is a mapping by the IDs of its fields.
    """

    values: Mapping[int, Any]


@dataclass(frozen=True)
class Snapshot:
    """A table at one version.

    Args:
        version: the version.
        schema: its schema.
        rows: the rows by their row key; without a primary key, by themselves.
    """

    version: int
    schema: Json
    rows: Mapping[Any, Row] = field(repr=False)

    @property
    def names(self) -> list[str]:
        return [column["name"] for column in self.schema["columns"]]

    def shown(self) -> list[list[Any]]:
        """The rows as a reader sees them."""
        columns = self.schema["columns"]
        return [[show(row.values, column) for column in columns] for row in self.rows.values()]


def from_text(text: Any, type_: Any) -> Any:
    """Parse a value text (FORMAT.md, section 4.2)."""
    if text is None or type_ == "string":
        return text
    if type_ in ("double", "float"):
        return float(text)
    if type_ == "boolean":
        return text == "true"
    if type_ == "date":
        return EPOCH + timedelta(days=int(text))
    if type_ == "timestamp_ntz":
        return datetime(1970, 1, 1) + timedelta(microseconds=int(text))
    return Decimal(text) if str(type_).startswith("decimal") else int(text)


def decoded(value: Any, column: Json) -> Any:
    """Parse a value of a journal, by the column's type at the time of the write."""
    type_ = column["type"]
    if value is None:
        return None
    if isinstance(type_, dict):
        return {one["id"]: decoded(value[one["name"]], one) for one in type_["fields"]}
    if type_ == "date":
        return date.fromisoformat(value)
    if type_ == "timestamp_ntz":
        return datetime.fromisoformat(value)
    return Decimal(value) if str(type_).startswith("decimal") else value


def show(values: Mapping[int, Any], column: Json) -> Any:
    """The value of a row in a column: its stored value in the current type, or the read default."""
    value = values.get(column["id"], MISSING)
    if value is MISSING:
        value = from_text(column.get("read_default"), column["type"])
    return _as_type(value, column["type"])


def _as_type(value: Any, type_: Any) -> Any:
    if value is None:
        return None
    if isinstance(type_, dict):
        return {one["name"]: show(value, one) for one in type_["fields"]}
    if type_ in ("double", "float"):
        return float(value)
    if type_ == "timestamp_ntz" and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    if str(type_).startswith("decimal"):
        scale = int(type_.rpartition(",")[2].rstrip(")"))
        return Decimal(value).quantize(Decimal(1).scaleb(-scale))
    return value


def column_named(schema: Json, path: str) -> Sequence[Json]:
    """The column of a dotted path, preceded by its parents."""
    found: list[Json] = []
    columns = schema["columns"]
    for name in path.split("."):
        one = next((one for one in columns if one["name"] == name), None)
        if one is None:
            raise ModelError(
                f"there is no column {path} in schema version {schema['schema_version']}"
            )
        found.append(one)
        columns = one["type"]["fields"] if isinstance(one["type"], dict) else []
    return found


def _order(value: Any) -> Any:
    """A sort key that orders values as Spark does: NaN is the greatest."""
    if isinstance(value, float):
        return (True, 0.0) if math.isnan(value) else (False, value)
    return value


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def matches(row: Row, where: Iterable[Sequence[Any]], schema: Json) -> bool:
    """Whether every condition is true for a row; null is not true."""
    for path, compare, *operand in where:
        *above, column = column_named(schema, path)
        value: Any = show(row.values, (above or [column])[0])
        if above:
            value = None if value is None else value[column["name"]]
        if compare in ("is null", "is not null"):
            if (value is None) != (compare == "is null"):
                return False
            continue
        if value is None:
            return False
        wanted = [
            _order(_as_type(decoded(one, column), column["type"]))
            for one in (operand[0] if compare == "in" else operand)
        ]
        value = _order(value)
        if not (value in wanted if compare == "in" else _COMPARE[compare](value, wanted[0])):
            return False
    return True


def key_of(values: Mapping[int, Any], schema: Json) -> tuple[Any, ...]:
    """The row key of a row."""
    return tuple(values[column_id] for column_id in schema["primary_key"])


def written(names: Sequence[str], row: Sequence[Any], schema: Json) -> dict[int, Any]:
    """The values that a row of a writer assigns, by column ID."""
    values = {}
    for name, value in zip(names, row, strict=True):
        (column,) = column_named(schema, name)
        values[column["id"]] = decoded(value, column)
    return values


def write_defaults(schema: Json) -> dict[int, Any]:
    """The values that a write stores in columns that it omits."""
    return {
        column["id"]: from_text((column.get("write_default") or {}).get("value"), column["type"])
        for column in schema["columns"]
    }


def assigned(row: Row, assignments: Mapping[str, Any], schema: Json) -> Row:
    """A row after an UPDATE, whose assignments all see the row before it."""
    values = dict(row.values)
    for path, new in assignments.items():
        *above, column = column_named(schema, path)
        if isinstance(new, list):  # ["plus", 3]
            old = show(row.values, column)
            values[column["id"]] = None if old is None else old + new[1]
        elif not above:
            values[column["id"]] = decoded(new, column)
        else:
            top = above[0]["id"]
            struct = values.get(top)
            if struct is not None:
                values[top] = {**struct, column["id"]: decoded(new, column)}
    return Row(values)


def matched(where: Iterable[Sequence[Any]], base: Snapshot, named_in: Json) -> dict[Any, Row]:
    """The rows of a snapshot that match conditions, which use the names of another schema."""
    by_id = _renamed(where, named_in, base.schema)
    return {key: row for key, row in base.rows.items() if matches(row, by_id, base.schema)}


def _renamed(where: Iterable[Sequence[Any]], old: Json, new: Json) -> list[Sequence[Any]]:
    """Translate the column names in conditions from one schema to another."""
    if old["schema_version"] == new["schema_version"]:
        return list(where)
    found: list[Sequence[Any]] = []
    for path, *rest in where:
        ids = [column["id"] for column in column_named(old, path)]
        columns, names = new["columns"], []
        for one_id in ids:
            one = next((one for one in columns if one["id"] == one_id), None)
            if one is None:
                raise ModelError(f"{path} was dropped before the version that was evaluated")
            names.append(one["name"])
            columns = one["type"]["fields"] if isinstance(one["type"], dict) else []
        found.append([".".join(names), *rest])
    return found


REWRITES = ("delete", "update", "overwrite", "overwrite_where", "truncate")


def after(
    intent: Json, planned: Snapshot, base: Snapshot, before: Snapshot, back: Snapshot | None
) -> Mapping[Any, Row]:
    """The rows after a commit.

    Args:
        intent: the declared operation.
        planned: the version that the actor planned on, whose names the intent uses.
        base: the base version of the entry, on which conditions are evaluated.
        before: the version before the commit.
        back: the target of a rollback.

    Raises:
        ModelError: the commit should have been refused.
    """
    match intent["op"]:
        case "append":
            names, schema = intent["names"], planned.schema
            fresh = [
                Row({**write_defaults(schema), **written(names, row, schema)})
                for row in intent["rows"]
            ]
            return {**before.rows, **{row: row for row in fresh}}
        case "upsert":
            return _upserted(intent, planned.schema, before)
        case "delete_keys":
            keys = {
                key_of(written(intent["names"], row, planned.schema), planned.schema)
                for row in intent["rows"]
            }
            return {key: row for key, row in before.rows.items() if key not in keys}
        case "rollback":
            assert back is not None
            return back.rows
        case op if op in REWRITES:
            return _rewritten(intent, planned, base, before)
        case _:
            return before.rows


def _upserted(intent: Json, schema: Json, before: Snapshot) -> Mapping[Any, Row]:
    rows = dict(before.rows)
    for row_values in intent["rows"]:
        values = written(intent["names"], row_values, schema)
        key = key_of(values, schema)
        existing = rows.get(key) if intent.get("partial") else None
        rest = write_defaults(schema) if existing is None else existing.values
        rows[key] = Row({**rest, **values})
    return rows


def _rewritten(
    intent: Json, planned: Snapshot, base: Snapshot, before: Snapshot
) -> Mapping[Any, Row]:
    where = intent.get("where", [])
    matching = matched(where, base, planned.schema)
    lost = [key for key, row in matching.items() if before.rows.get(key) is not row]
    if lost:
        raise ModelError(
            f"{len(lost)} of the {len(matching)} rows that the {intent['op']} read at version "
            f"{base.version} were changed or removed before version {before.version + 1}, and it was "
            "not refused"
        )
    rows = dict(before.rows)
    if intent["op"] == "update":
        named = {
            _renamed([[path]], planned.schema, base.schema)[0][0]: new
            for path, new in intent["set"].items()
        }
        return rows | {key: assigned(row, named, base.schema) for key, row in matching.items()}
    for key in matching:
        del rows[key]
    if intent["op"] in ("overwrite", "overwrite_where"):
        for row_values in intent["rows"]:
            row = Row(
                {
                    **write_defaults(planned.schema),
                    **written(intent["names"], row_values, planned.schema),
                }
            )
            rows[row] = row
    return rows
