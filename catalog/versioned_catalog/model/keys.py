"""The row key, the sort order, the order of stored columns, and the age of rows (``ttl``).

As in GreptimeDB, the order is: row key, other columns, internal columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.ddl import APPLIED_PROPERTIES, SOURCE, SOURCE_COLUMNS
from versioned_catalog.model.type_text import ColumnPath, parse_path, render_path
from versioned_catalog.model.types import Atom, Column, DataType

if TYPE_CHECKING:
    from versioned_catalog.model.schema import Schema

SORT_BY = "sort_by"
COMMENT = "comment"
"""The property by which a table's comment is set; it is no property of the table."""
"""The key of the property. The schema stores the sort order, by column ID."""

_PART = re.compile(r"(?:`(?:[^`]|``)*`|[^`,])+")
_FIELD = re.compile(
    r"(.+?)(?:\s+(ASC|DESC))?(?:\s+NULLS\s+(FIRST|LAST))?", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Direction:
    """How rows are sorted by a column.

    Args:
        descending: whether the greatest value comes first. Null is the least value.
        moves_nulls: whether nulls stand at the other end.
    """

    descending: bool = False
    moves_nulls: bool = False

    @property
    def nulls_first(self) -> bool:
        """Whether nulls come before values."""
        return self.descending is self.moves_nulls

    @property
    def sql(self) -> str:
        """What follows the column: ``DESC NULLS FIRST`` after a space; empty for ascending."""
        nulls = f" NULLS {'FIRST' if self.nulls_first else 'LAST'}" if self.moves_nulls else ""
        return (" DESC" if self.descending else "") + nulls


ASCENDING = Direction()


def parse_sort_by(text: str) -> list[tuple[ColumnPath, Direction]]:
    """Parse a sort order, such as ``host, ts DESC NULLS FIRST``, to column paths and directions.

    Raises:
        InvalidRequestError: it does not parse.
    """
    parts = _PART.findall(text)
    fields = [_FIELD.fullmatch(part.strip()) for part in parts]
    if ",".join(parts) != text or not fields or None in fields:
        raise InvalidRequestError(
            f"{SORT_BY} is {text[:100]!r}, which is not a sort order; write it as 'host, ts DESC', "
            "or unset the property"
        )
    return [
        (parse_path(field[1]), _direction(*field.groups()[1:]))
        for field in fields
        if field is not None
    ]


def _direction(order: str | None, nulls: str | None) -> Direction:
    descending = (order or "").upper() == "DESC"
    return Direction(descending, nulls is not None and (nulls.upper() == "FIRST") is descending)


def split_names(text: str, what: str) -> list[str]:
    """Split a list of column names, such as ``host, `a,b```; ``what`` names it in the error.

    Raises:
        InvalidRequestError: it is not a list of columns.
    """
    parts = _PART.findall(text)
    if ",".join(parts) != text or not all(part.strip() for part in parts) or not parts:
        raise InvalidRequestError(f"{what} is {text[:100]!r}; write it as 'host, ts'")
    return [part.strip() for part in parts]


def render_sort_by(schema: Schema) -> str:
    """The sort order of a schema by current column names; empty if it has none."""
    return ", ".join(
        schema.path_text(field.source) + field.direction.sql for field in schema.sort_by
    )


SEQUENCE = Column(2_147_483_646, "__sequence", Atom.LONG, False, physical_name="__sequence")
OP_TYPE = Column(2_147_483_647, "__op_type", Atom.BYTE, False, physical_name="__op_type")
"""The columns that a segment of a keyed table may hold beside the table's."""

ROW_ID = Column(2_147_483_540, "__row_id", Atom.LONG, True, physical_name="__row_id")
ROW_UPDATED = Column(2_147_483_539, "__row_updated", Atom.LONG, True, physical_name="__row_updated")
"""The columns that a segment of a table with row IDs may hold; their IDs are those of Iceberg's
``_row_id`` and ``_last_updated_sequence_number``."""

ROW_ID_COLUMNS = (ROW_ID, ROW_UPDATED)


def arranged_columns(schema: Schema) -> tuple[Column, ...]:
    """The columns of a schema in the order of the segments written under it."""
    key = tuple(schema.column(column_id) for column_id in schema.row_key)
    rest = (column for column in schema.columns if column.id not in schema.row_key)
    return (*key, *rest)


TTL = "ttl"
TTL_FLOOR = "ttl_floor"
"""The property that keeps rows hidden that an earlier ``ttl`` hid: microseconds since 1970."""

_DURATION = re.compile(r"(\d{1,9})\s*(second|minute|hour|day|week)s?", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


ANALYZED = "analyzed_columns"
"""The property with what ANALYZE TABLE has found out (FORMAT.md, section 7)."""

APPEND_ONLY = "append_only"
"""The property of tables whose rows are neither changed nor removed."""

ROW_IDS = "row_ids"
"""The property of tables without a primary key whose rows have IDs."""

VARIANT_SHREDDING = "variant_shredding"
"""The property that says whether Spark shreds the variants of new rows."""

CHECK_PREFIX = "__check."
"""How the properties of constraints begin; see ``checks``."""

PARTITION_PREFIX = "__partition."
"""How the properties begin that name fields of the partitioning; see ``partition_names``."""

GENERATED_PREFIX = "__generated."
"""How the properties of generated columns begin; see ``generated``."""

IDENTITY_PREFIX = "__identity."
"""How the properties of identity columns begin; see ``identity``."""

LOGICAL_PREFIX = "__logical."
"""How the properties begin that store the logical types of columns, by ID; see ``logical``."""

LOGICAL_TYPE = "logical_type."
"""How the properties begin by which users set and see them, by name."""

IDENTIFIER_FIELDS = "identifier_fields"
"""The property with the columns that are declared to identify a row, by name; see ``identifiers``."""

IDENTIFIERS = "__identifier_fields"
"""The property that stores them, by ID."""

IMPORT_OPTIONS = "__import_options"
"""The property that stores how files were imported, with columns by ID (FORMAT.md, section 6.3)."""

BY_COLUMN = (
    CHECK_PREFIX,
    PARTITION_PREFIX,
    GENERATED_PREFIX,
    IDENTITY_PREFIX,
    LOGICAL_PREFIX,
    IDENTIFIERS,
    IMPORT_OPTIONS,
)
"""How the properties begin that are about columns, which they name by ID."""

MAINTAINED = frozenset({TTL_FLOOR, ANALYZED, SOURCE, SOURCE_COLUMNS, APPLIED_PROPERTIES})
"""Properties that users neither see nor set."""


def user_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties that users set, without those that the table maintains."""
    return {key: text for key, text in properties.items() if not is_maintained(key)}


def is_maintained(key: str) -> bool:
    """Whether users neither see nor set a property: it is maintained, or is about columns."""
    return key in MAINTAINED or key.startswith(BY_COLUMN)


def parse_ttl(properties: Mapping[str, str]) -> timedelta | None:
    """The age from which rows are hidden, or None if there is no limit.

    Raises:
        InvalidRequestError: the property is not a duration.
    """
    return duration_of(properties, TTL, "unset it to keep all rows")


def is_set(properties: Mapping[str, str], key: str) -> bool:
    """Whether a property is ``true``; without it, it is ``false``.

    Raises:
        InvalidRequestError: the property is neither.
    """
    value = properties.get(key, "false")
    if value not in ("true", "false"):
        raise InvalidRequestError(
            f"the property {key} is {value!r}; it must be true or false",
            condition="INVALID_OPTION",
        )
    return value == "true"


def shreds_variants(properties: Mapping[str, str], *, keyed: bool = False) -> bool:
    """Whether variants of new rows are shredded where Spark writes them.

    Raises:
        InvalidRequestError: the property is neither ``off`` nor ``infer``, or ``infer`` for a table with
            a primary key, whose rows Python writes.
    """
    value = properties.get(VARIANT_SHREDDING, "off")
    if value not in ("off", "infer"):
        raise InvalidRequestError(
            f"the property {VARIANT_SHREDDING} is {value!r}; it must be off or infer",
            condition="INVALID_OPTION",
        )
    if value == "infer" and keyed:
        raise InvalidRequestError(
            f"the property {VARIANT_SHREDDING} is not for a table with a primary key, whose variants "
            "are written whole; leave one of them out",
            condition="INVALID_OPTION",
        )
    return value == "infer"


def duration_of(properties: Mapping[str, str], key: str, instead: str) -> timedelta | None:
    """The duration that a property says, or None if it is not set.

    Args:
        instead: what to do in place of a duration that is too long, for the error.

    Raises:
        InvalidRequestError: the property is not a duration.
    """
    text = properties.get(key)
    if text is None:
        return None
    match = _DURATION.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None or not int(match[1]):
        raise InvalidRequestError(
            f"the property {key} is {text!r}; write a number and a unit, as in '30 days' or '12 hours'",
            condition="INVALID_OPTION",
        )
    try:
        return timedelta(**{f"{match[2].lower()}s": int(match[1])})
    except OverflowError:
        raise InvalidRequestError(
            f"the property {key} is {text!r}, and more than {timedelta.max.days} days; {instead}",
            condition="INVALID_OPTION",
        ) from None


def check_ttl(properties: Mapping[str, str], schema: Schema) -> None:
    """Check that a table with a ``ttl`` has a time index.

    Raises:
        InvalidRequestError: it has none.
    """
    if parse_ttl(properties) is not None and schema.time_index is None:
        raise InvalidRequestError(
            f"the property {TTL} needs a time index, which is set when a table is created",
            condition="INVALID_OPTION",
        )


def hides_rows(properties: Mapping[str, str]) -> bool:
    """Whether rows of a table may be hidden by their age."""
    return TTL in properties or TTL_FLOOR in properties


def ttl_cutoff(properties: Mapping[str, str], time: datetime) -> datetime | None:
    """The time before which rows of a snapshot are hidden, or None if none are.

    ``time`` is the snapshot's, which is not in the future.
    """
    ttl, floor = parse_ttl(properties), _floor(properties, time)
    cuts = [] if floor is None else [floor]
    if ttl is not None:
        cuts.append(time - ttl if time - _EARLIEST > ttl else _EARLIEST)
    return max(cuts, default=None)


def _floor(properties: Mapping[str, str], time: datetime) -> datetime | None:
    """The time before which an earlier ``ttl`` hid rows.

    A time after the snapshot comes from a clock that was ahead. It is ignored, so no row is lost.
    """
    text = properties.get(TTL_FLOOR)
    if text is None or int(text) > (time - _EPOCH) // _MICROSECOND:
        return None
    return _EPOCH + int(text) * _MICROSECOND


def without_false_floor(properties: Mapping[str, str], time: datetime) -> dict[str, str]:
    """Properties without a ``ttl_floor`` after their snapshot, which would take effect later."""
    is_false = TTL_FLOOR in properties and _floor(properties, time) is None
    return {key: text for key, text in properties.items() if not (is_false and key == TTL_FLOOR)}


def with_ttl_floor(
    before: Mapping[str, str], time: datetime, after: dict[str, str]
) -> dict[str, str]:
    """The properties after an ALTER, extended so that a new ``ttl`` leaves hidden rows hidden.

    ``before`` and ``time`` are of the snapshot that is altered; the time is not in the future.
    """
    if before.get(TTL) == after.get(TTL):
        return after
    cut = ttl_cutoff(before, time)
    return after if cut is None else {**after, TTL_FLOOR: str((cut - _EPOCH) // _MICROSECOND)}


def in_time_index(cut: datetime, type_: DataType) -> date | datetime:
    """Convert a cutoff time to the type of the time index; a DATE is rounded up to a whole day."""
    match type_:
        case Atom.TIMESTAMP:
            return cut
        case Atom.TIMESTAMP_NTZ:
            return cut.replace(tzinfo=None)
        case _:
            day = cut.date()
            return day if cut.time() == datetime.min.time() else day + timedelta(days=1)


PRIMARY_KEY = "primary_key"
TIME_INDEX = "time_index"
KEY_PROPERTIES = (PRIMARY_KEY, TIME_INDEX)
"""The properties that show the row key. The schema stores it, by column ID."""


@dataclass(frozen=True)
class KeyNames:
    """A row key by column name: the primary key in order, empty for none, and the time index."""

    primary_key: tuple[ColumnPath, ...] = ()
    time_index: ColumnPath | None = None

    def apply(self, schema: Schema) -> Schema:
        """A new table's schema with this row key, whose columns become NOT NULL.

        Raises:
            NotFoundError: a column does not exist.
            InvalidRequestError: a column can't be in a row key.
        """
        key = tuple(_find(schema, path) for path in self.primary_key)
        time = None if self.time_index is None else _find(schema, self.time_index)
        columns = tuple(
            replace(column, nullable=False) if column.id in (*key, time) else column
            for column in schema.columns
        )
        return replace(schema, columns=columns, primary_key=key, time_index=time)


def key_names(schema: Schema) -> KeyNames:
    """The row key of a schema, by column name."""
    index = schema.time_index
    return KeyNames(
        tuple(map(schema.path, schema.primary_key)), None if index is None else schema.path(index)
    )


def _find(schema: Schema, path: ColumnPath) -> int:
    column = schema.get(path)
    if len(path) > 1:
        raise InvalidRequestError(
            f"{render_path(path)} can't be in the row key, since it is inside another column; store its "
            "value in a top-level column"
        )
    return column.id


def take_key(
    properties: dict[str, str], primary_key: Sequence[str], time_index: str | None
) -> KeyNames:
    """The row key of a new table, from the arguments or the properties.

    Args:
        properties: the table's properties; those of the row key are removed from them.
        primary_key, time_index: see ``Catalog.create_table``.

    Raises:
        InvalidRequestError: a name is invalid, or arguments and properties differ.
    """
    if isinstance(primary_key, str):
        raise InvalidRequestError(f"primary_key must be a list of columns, not {primary_key!r}")
    text = properties.pop(PRIMARY_KEY, None)
    key = tuple(map(parse_path, primary_key))
    if text is not None:
        named = tuple(map(parse_path, split_names(text, PRIMARY_KEY)))
        _check_same(PRIMARY_KEY, key, named, text)
        key = named
    time = None if time_index is None else parse_path(time_index)
    text = properties.pop(TIME_INDEX, None)
    if text is not None:
        _check_same(TIME_INDEX, time, parse_path(text), text)
        time = parse_path(text)
    return KeyNames(key, time)


def _check_same(name: str, argument: object, named: object, text: str) -> None:
    if argument and argument != named:
        raise InvalidRequestError(
            f"the property {name} is {text!r}, but another {name} is given; give one of them"
        )


def key_properties(schema: Schema) -> Mapping[str, str]:
    """The row key as properties, by current column names."""
    shown = {PRIMARY_KEY: ", ".join(map(schema.path_text, schema.primary_key))}
    if schema.time_index is not None:
        shown[TIME_INDEX] = schema.path_text(schema.time_index)
    return {key: text for key, text in shown.items() if text}


def check_not_key(key: str) -> None:
    """Check that a property of an existing table can be set.

    Raises:
        InvalidRequestError: it is the row key's, or one that the table maintains itself.
    """
    if key == TTL_FLOOR:
        raise InvalidRequestError(
            f"the property {key} can't be set, since the table maintains it; set {TTL}",
            condition="INVALID_OPTION",
        )
    if key.startswith(CHECK_PREFIX):
        raise InvalidRequestError(
            f"the property {key} can't be set, since constraints have such names; write ALTER TABLE ... "
            "ADD CONSTRAINT or DROP CONSTRAINT, or alter().add_check",
            condition="INVALID_OPTION",
        )
    if key.startswith(PARTITION_PREFIX):
        raise InvalidRequestError(
            f"the property {key} can't be set, since fields of the partitioning have such names; write "
            "ALTER TABLE ... REPLACE PARTITION FIELD f WITH f AS name",
            condition="INVALID_OPTION",
        )
    if key == IDENTIFIERS:
        raise InvalidRequestError(
            f"the property {key} can't be set, since the table maintains it; set {IDENTIFIER_FIELDS}",
            condition="INVALID_OPTION",
        )
    if key == IMPORT_OPTIONS:
        raise InvalidRequestError(
            f"the property {key} can't be set, since imports maintain it; pass the options to "
            "import_files, or kept='forget' to drop them",
            condition="INVALID_OPTION",
        )
    if key.startswith(GENERATED_PREFIX):
        raise InvalidRequestError(
            f"the property {key} can't be set, since generated columns have such names; write GENERATED "
            "ALWAYS AS in CREATE TABLE",
            condition="INVALID_OPTION",
        )
    if key.startswith(IDENTITY_PREFIX):
        raise InvalidRequestError(
            f"the property {key} can't be set, since identity columns have such names; write GENERATED "
            "ALWAYS AS IDENTITY in CREATE TABLE, or ALTER TABLE ... ALTER COLUMN c SYNC IDENTITY",
            condition="INVALID_OPTION",
        )
    if key.startswith(LOGICAL_PREFIX):
        raise InvalidRequestError(
            f"the property {key} can't be set, since the table maintains it; set {LOGICAL_TYPE} and the "
            "name of the column",
            condition="INVALID_OPTION",
        )
    if key == ANALYZED:
        raise InvalidRequestError(
            f"the property {key} can't be set, since the table maintains it; run ANALYZE TABLE",
            condition="INVALID_OPTION",
        )
    if key in KEY_PROPERTIES:
        raise InvalidRequestError(
            f"the property {key} is set when a table is created and can't be changed; create another "
            "table with the row key that you want, and copy the rows",
            condition="INVALID_OPTION",
        )
