"""Changes of a partitioning in Iceberg's SQL: ``ADD PARTITION FIELD bucket(16, id)``."""

from __future__ import annotations

import re

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.transforms import (
    Transform,
    parse_partitioning,
    parse_transform,
    render_field,
)

_CHANGE = re.compile(
    r"\s*(?P<what>ADD|DROP)\s+PARTITION\s+FIELD\s+(?P<field>.+?)\s*"
    r"|\s*REPLACE\s+PARTITION\s+FIELD\s+(?P<old>.+?)\s+WITH\s+(?P<new>.+?)\s*",
    re.IGNORECASE | re.DOTALL,
)
_NAMED = re.compile(r"(?P<field>.+?)\s+AS\s+\S+", re.IGNORECASE | re.DOTALL)
_SINGULAR = re.compile(r"(year|month|day|hour)\s*\(", re.IGNORECASE)


def partition_fields(schema: Schema) -> list[str]:
    """The fields of a partitioning as a user writes them, such as ``days(ts)``."""
    return [
        render_field(schema.path(field.source), parse_transform(field.transform))
        for field in schema.partitioning
    ]


def changed_partitioning(schema: Schema, change: str, table: str) -> list[str]:
    """The fields of a partitioning after a change.

    Args:
        change: ``ADD PARTITION FIELD f``, ``DROP PARTITION FIELD f`` or
            ``REPLACE PARTITION FIELD f WITH g``.

    Raises:
        InvalidRequestError: it does not parse, adds a field that exists, or drops one that does not.
        NotFoundError: a column does not exist.
    """
    found = _CHANGE.fullmatch(change)
    if found is None:
        raise InvalidRequestError(
            f"{table}: {change!r} is not a change of the partitioning; write ADD PARTITION FIELD f, "
            "DROP PARTITION FIELD f or REPLACE PARTITION FIELD f WITH g"
        )
    fields = partition_fields(schema)
    if found["old"] is not None:
        fields[_index(schema, found["old"], fields, table)] = _new(schema, found["new"], table)
    elif found["what"].upper() == "ADD":
        fields.append(_new(schema, found["field"], table))
    else:
        del fields[_index(schema, found["field"], fields, table)]
    return fields


def _new(schema: Schema, text: str, table: str) -> str:
    if _NAMED.fullmatch(text):
        raise InvalidRequestError(
            f"{table}: the fields of a partitioning have no names; leave out AS"
        )
    source, transform = _key(schema, text)
    field = render_field(schema.path(source), transform)
    if any(
        (one.source, parse_transform(one.transform)) == (source, transform)
        for one in schema.partitioning
    ):
        raise InvalidRequestError(f"{table} is partitioned by {field} already")
    return field


def _index(schema: Schema, text: str, fields: list[str], table: str) -> int:
    has = [(field.source, parse_transform(field.transform)) for field in schema.partitioning]
    try:
        return has.index(_key(schema, text))
    except ValueError:
        raise InvalidRequestError(
            f"{table} is not partitioned by {text}; its fields are {', '.join(fields) or 'none'}"
        ) from None


def _key(schema: Schema, text: str) -> tuple[int, Transform]:
    """The column and the transform of a field; ``day(ts)`` is ``days(ts)``."""
    [(path, transform)] = parse_partitioning([_SINGULAR.sub(r"\1s(", text)])
    return schema.get(path).id, transform


def split_fields(text: str, what: str = "fields") -> tuple[str, ...]:
    """The fields of a partitioning, separated by commas; none for an empty text."""
    return split_outside(text, what) if text.strip() else ()


def split_outside(text: str, what: str) -> tuple[str, ...]:
    """Split a text at commas outside backticks and parentheses; ``what`` is the option, for the error.

    Raises:
        InvalidRequestError: a part is empty, or a backtick or parenthesis is not closed.
    """
    found: list[str] = []
    part, quoted, depth = "", False, 0
    for ch in text + ",":
        if ch == "`":
            quoted = not quoted
        depth += 0 if quoted else (ch == "(") - (ch == ")")
        if ch == "," and not quoted and not depth:
            found.append(part.strip())
            part = ""
        else:
            part += ch
    if quoted or depth or not all(found):
        raise InvalidRequestError(
            f"{what} is {text!r}; write names separated by commas", condition="INVALID_OPTION"
        )
    return tuple(found)
