"""Generated columns: properties that hold expressions by column ID (FORMAT.md, section 4.8)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.model.checks import column_ids, with_names
from versioned_catalog.model.keys import GENERATED_PREFIX
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.tokens import Cursor, TokenKind
from versioned_catalog.model.types import Atom

DECLARED_ONCE = (
    "a column is declared GENERATED when its table is created, since nothing was computed in the rows "
    "that are there; create another table with it and copy the rows (INSERT INTO ... SELECT), or add "
    "the column without GENERATED, and UPDATE it"
)
"""Why ALTER TABLE makes no generated or identity column, and what to do."""


def declares_generated(text: str) -> bool:
    """Whether the rest of an ALTER TABLE statement declares a generated or identity column.

    >>> declares_generated("ADD COLUMN d INT GENERATED ALWAYS AS (id * 2)")
    True
    >>> declares_generated("ADD COLUMN d INT COMMENT 'GENERATED ALWAYS'")
    False
    """
    if "GENERATED" not in text.upper():  # most texts, which may be many statements
        return False
    cursor = Cursor(text, "statement")
    while cursor.token.kind is not TokenKind.END and not cursor.at_symbol(";"):
        if cursor.accept_word("GENERATED"):
            if cursor.at_word("ALWAYS", "BY"):
                return True
        else:
            cursor.take()
    return False


@dataclass(frozen=True, slots=True)
class Generated:
    """A column whose values are computed from others in the same row.

    Args:
        column_id: the column.
        sql: the expression, with columns by their IDs (`` `#7` ``).
        zone: the time zone in which parts of a TIMESTAMP are taken.
    """

    column_id: int
    sql: str
    zone: str

    @property
    def in_region(self) -> bool:
        """Whether the zone is a region, of which libraries know the offsets by tables of their own."""
        return self.zone != "UTC" and _OFFSET.fullmatch(self.zone) is None

    @property
    def sources(self) -> tuple[int, ...]:
        """The IDs of the columns of the expression, each once."""
        return tuple(dict.fromkeys(column_ids(self.sql)))

    def shown(self, schema: Schema) -> str:
        """The expression with the current names of columns."""
        return with_names(self.sql, schema.path_text)


def generated_of(properties: Mapping[str, str]) -> tuple[Generated, ...]:
    """The generated columns of a table.

    Raises:
        CorruptTableError: a property does not hold an expression.
    """
    stored = (key for key in properties if key.startswith(GENERATED_PREFIX))
    return tuple(_parsed(key, properties[key]) for key in stored)


def _parsed(key: str, text: str) -> Generated:
    try:
        value = json.loads(text)
        return Generated(int(key.removeprefix(GENERATED_PREFIX)), value["sql"], value["zone"])
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptTableError(f"the property {key[:100]} does not hold an expression") from error


def zone_that_matters(columns: Iterable[Generated], schema: Schema) -> str | None:
    """The time zone in which columns take parts of a TIMESTAMP; None if none is computed from one."""
    for generated in columns:
        if any(schema.column(source).type is Atom.TIMESTAMP for source in generated.sources):
            return generated.zone
    return None


def property_of(generated: Generated) -> tuple[str, str]:
    """The property that holds a generated column."""
    text = json.dumps({"sql": generated.sql, "zone": generated.zone}, separators=(",", ":"))
    return f"{GENERATED_PREFIX}{generated.column_id}", text


def without_dropped(properties: Mapping[str, str], before: Schema, after: Schema) -> dict[str, str]:
    """The properties without those of generated columns that are dropped.

    Raises:
        InvalidRequestError: a column is dropped that a generated one is computed from.
    """
    kept = dict(properties)
    visible = after.visible
    for generated in generated_of(properties):
        column_id, missing = generated.column_id, set(generated.sources) - set(visible.ids)
        if column_id not in after.ids or (missing - set(after.ids)):
            if column_id in visible.ids:
                raise _needed(generated, min(missing), before)
            del kept[property_of(generated)[0]]
        elif missing and column_id in visible.ids:
            raise _needed(generated, min(missing), before)
    return kept


def _needed(generated: Generated, source: int, before: Schema) -> InvalidRequestError:
    name = before.path_text(source) if source in before.ids else f"#{source}"
    return InvalidRequestError(
        f"the column {name} can't be dropped, since {before.path_text(generated.column_id)} is "
        "computed from it; drop that column first, or both in one ALTER",
        condition="NOT_SUPPORTED",
    )


_UTC = frozenset({"UTC", "Z", "GMT", "Etc/UTC", "Etc/GMT"})
_OFFSET = re.compile(r"[+-](?:(?:0\d|1[0-7]):[0-5]\d|18:00)")


def zone_name(zone: str) -> str:
    """The name of a time zone as it is stored: ``UTC``, an offset such as ``+02:00``, or a region.

    Raises:
        InvalidRequestError: there is no such zone.
    """
    if zone in _UTC:
        return "UTC"
    if _OFFSET.fullmatch(zone):
        return zone
    try:
        ZoneInfo(zone)
    except (ValueError, OSError, ZoneInfoNotFoundError) as error:
        raise InvalidRequestError(
            f"{zone!r} is not the name of a time zone, in which parts of a TIMESTAMP could be taken; "
            "set spark.sql.session.timeZone to one such as UTC or Europe/Berlin",
            condition="INVALID_OPTION",
        ) from error
    return zone
