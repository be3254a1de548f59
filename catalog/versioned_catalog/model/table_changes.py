"""Changes of the table as a whole: its properties, partitioning, sort order and schema pins."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from versioned_catalog.errors import AlreadyExistsError, InvalidRequestError, NotFoundError
from versioned_catalog.model.analysis import AnalyzedColumn, analysis_text, analyzed_columns
from versioned_catalog.model.checks import Condition, by_id, check_name, checks_of
from versioned_catalog.model.evolution import (
    Evolution,
    Ref,
    Risk,
    SchemaChange,
    locate,
    quote_text,
    reference,
    value_text,
)
from versioned_catalog.model.identifiers import (
    parse_identifiers,
    with_identifiers,
    without_identifiers,
)
from versioned_catalog.model.keys import (
    ANALYZED,
    ASCENDING,
    CHECK_PREFIX,
    COMMENT,
    IDENTIFIER_FIELDS,
    IMPORT_OPTIONS,
    SORT_BY,
    TTL,
    Direction,
    check_not_key,
    parse_sort_by,
    parse_ttl,
)
from versioned_catalog.model.logical import LogicalType, parse_logical
from versioned_catalog.model.logical_columns import logical_path, with_logical
from versioned_catalog.model.partition_names import (
    field_names,
    shown_fields,
    split_name,
    with_names,
)
from versioned_catalog.model.partitioning import partition_fields
from versioned_catalog.model.pin_changes import check_seen, without_unneeded
from versioned_catalog.model.pins import PinnedSchema, check_pinned
from versioned_catalog.model.schema import PartitionField, Schema, SortField
from versioned_catalog.model.tokens import sql_string
from versioned_catalog.model.transforms import (
    Transform,
    parse_partitioning,
    parse_transform,
    render,
    render_field,
    result_type,
)
from versioned_catalog.model.type_text import quote
from versioned_catalog.model.types import is_compared
from versioned_catalog.model.widening import type_name
from versioned_catalog.spelling import listed

SortRefs = tuple[tuple[Ref, Direction], ...]
"""Columns, each with whether it descends; of other properties, the columns that they name."""


@dataclass(frozen=True, slots=True)
class SetProperty(SchemaChange[SortRefs | None]):
    """Set a property of the table; ``sort_by`` sets the sort order: ``"host, ts DESC"``.

    ``identifier_fields`` sets the columns that are declared to identify a row, and stores their IDs;
    ``logical_type.`` and the name of a column set its logical type, and store it by the column's ID;
    ``comment`` sets the table's comment, which an empty text removes.
    """

    key: str
    value: str

    kind = "property"

    def target(self, evolution: Evolution, time: dt.datetime) -> SortRefs | None:
        if not isinstance(self.key, str) or not isinstance(self.value, str) or not self.key:
            raise InvalidRequestError(
                f"the property {self.key!r} = {self.value!r} is not text; give both key and value as "
                "str"
            )
        check_not_key(self.key)
        path = logical_path(self.key)
        if path is not None:
            parse_logical(self.value)
            return ((reference(evolution, path), ASCENDING),)
        if self.key == IDENTIFIER_FIELDS:
            paths = parse_identifiers(self.value)
            return tuple((reference(evolution, path), ASCENDING) for path in paths)
        if self.key != SORT_BY:
            return None
        fields = parse_sort_by(self.value)
        return tuple((reference(evolution, path), way) for path, way in fields)

    def apply(self, target: SortRefs | None, evolution: Evolution) -> Evolution:
        if self._is_logical and target is not None:
            return _made_logical(target, parse_logical(self.value), evolution)
        if self.key == IDENTIFIER_FIELDS and target is not None:
            return _identified_by(target, evolution)
        if target is not None:
            return _sorted_by(target, evolution)
        if self.key == COMMENT:
            return _commented(self.value or None, evolution)  # IS NULL comes as an empty text
        return replace(evolution, properties={**evolution.properties, self.key: self.value})

    @property
    def _is_logical(self) -> bool:
        return logical_path(self.key) is not None

    def describe(self) -> str:
        return f"SET TBLPROPERTIES ({quote_text(self.key)} = {value_text(self.value)})"

    def clauses(self, before: Evolution, after: Evolution) -> list[str]:
        return [f"SET TBLPROPERTIES ({sql_string(self.key)} = {sql_string(self.value)})"]

    def detail(self, before: Evolution, after: Evolution) -> str:
        return f"{self.key} = {sql_string(self.value)}"

    def risk(self, before: Evolution, after: Evolution) -> Risk:
        if self._is_logical:
            return Risk.STORED_ROWS
        if self.key != TTL:
            return Risk.NONE
        old, new = parse_ttl(before.properties), parse_ttl(after.properties)
        shorter = new is not None and (old is None or new < old)
        return Risk.HIDDEN_ROWS if shorter else Risk.NONE


@dataclass(frozen=True, slots=True)
class UnsetProperty(SchemaChange[SortRefs | None]):
    """Remove a property, if it is set."""

    key: str

    kind = "property"

    def target(self, evolution: Evolution, time: dt.datetime) -> SortRefs | None:
        check_not_key(self.key)
        path = logical_path(self.key)
        if path is None or evolution.schema.visible.find(path) is None:
            return None
        return ((reference(evolution, path), ASCENDING),)

    def apply(self, target: SortRefs | None, evolution: Evolution) -> Evolution:
        if target is not None:
            return _made_logical(target, None, evolution)
        if self.key == SORT_BY:
            return _sorted_by((), evolution)
        if self.key == IDENTIFIER_FIELDS:
            return replace(evolution, properties=without_identifiers(evolution.properties))
        if self.key == COMMENT:
            return _commented(None, evolution)
        properties = {key: text for key, text in evolution.properties.items() if key != self.key}
        return replace(evolution, properties=properties)

    def describe(self) -> str:
        return f"UNSET TBLPROPERTIES ({quote_text(self.key)})"

    def clauses(self, before: Evolution, after: Evolution) -> list[str]:
        return [f"UNSET TBLPROPERTIES IF EXISTS ({sql_string(self.key)})"]

    def detail(self, before: Evolution, after: Evolution) -> str:
        return f"{self.key} unset"


def _commented(comment: str | None, evolution: Evolution) -> Evolution:
    """A table with a comment; earlier releases kept one as a property, too."""
    properties = {key: text for key, text in evolution.properties.items() if key != COMMENT}
    return replace(evolution, comment=comment, properties=properties)


@dataclass(frozen=True, slots=True)
class AddCheck(SchemaChange[tuple[Ref, ...]]):
    """Add a CHECK constraint.

    Args:
        name: its name, which no other constraint has, in any case.
        condition: what must not be false for any row.
    """

    name: str
    condition: Condition

    kind = "constraint"

    def target(self, evolution: Evolution, time: dt.datetime) -> tuple[Ref, ...]:
        check_name(self.name)
        return tuple(reference(evolution, path) for path in self.condition.columns)

    def apply(self, target: tuple[Ref, ...], evolution: Evolution) -> Evolution:
        if self.name.lower() in map(str.lower, checks_of(evolution.properties)):
            raise AlreadyExistsError(
                f"there is a constraint {self.name} already; drop it first, or give this one another "
                "name"
            )
        ids = [locate(evolution, ref) for ref in target]
        columns = {
            path: (by_id(column_id), evolution.schema.column(column_id).type)
            for path, column_id in zip(self.condition.columns, ids, strict=True)
        }
        text = self.condition.text(columns)
        properties = {**evolution.properties, CHECK_PREFIX + self.name: text}
        return replace(evolution, properties=properties)

    def risk(self, before: Evolution, after: Evolution) -> Risk:
        return Risk.STORED_ROWS

    def describe(self) -> str:
        return f"ADD CONSTRAINT {quote(self.name)} CHECK ({self.condition.shown()})"

    def clauses(self, before: Evolution, after: Evolution) -> list[str]:
        return [self.describe()]


@dataclass(frozen=True, slots=True)
class DropCheck(SchemaChange[None]):
    """Drop a CHECK constraint, by its name in any case."""

    name: str
    if_exists: bool = False

    kind = "constraint"

    def target(self, evolution: Evolution, time: dt.datetime) -> None:
        self._stored(evolution)

    def apply(self, target: None, evolution: Evolution) -> Evolution:
        key = self._stored(evolution)
        properties = {other: text for other, text in evolution.properties.items() if other != key}
        return replace(evolution, properties=properties)

    def _stored(self, evolution: Evolution) -> str | None:
        names = {name.lower(): name for name in checks_of(evolution.properties)}
        if self.name.lower() in names:
            return CHECK_PREFIX + names[self.name.lower()]
        shown = listed(self.name, sorted(names.values()), none="none so far")
        if evolution.schema.is_keyed:  # under which name the key was declared is not known
            raise InvalidRequestError(
                f"there is no CHECK constraint {self.name} ({shown}), and a primary key is set when a "
                "table is created and can't be changed; create another table",
                condition="NOT_SUPPORTED",
            )
        if self.if_exists:
            return None
        raise NotFoundError(f"there is no constraint {self.name} (the constraints: {shown})")

    def describe(self) -> str:
        return f"DROP CONSTRAINT {'IF EXISTS ' if self.if_exists else ''}{quote(self.name)}"

    def clauses(self, before: Evolution, after: Evolution) -> list[str]:
        return [self.describe()]


@dataclass(frozen=True, slots=True)
class RecordAnalysis(SchemaChange[None]):
    """Record what ANALYZE TABLE has found out.

    Args:
        found: column IDs with what was found.
    """

    found: tuple[tuple[int, AnalyzedColumn], ...]

    kind = "property"

    def target(self, evolution: Evolution, time: dt.datetime) -> None:
        return None

    def apply(self, target: None, evolution: Evolution) -> Evolution:
        columns = {**analyzed_columns(evolution.properties), **dict(self.found)}
        text = analysis_text(columns, evolution.schema.ids)
        return replace(evolution, properties={**evolution.properties, ANALYZED: text})

    def describe(self) -> str:
        return "ANALYZE TABLE"

    def clauses(self, before: Evolution, after: Evolution) -> list[str]:
        return []

    def detail(self, before: Evolution, after: Evolution) -> str:
        return f"{ANALYZED} = {sql_string(after.properties[ANALYZED])}"


@dataclass(frozen=True, slots=True)
class KeepImportOptions(SchemaChange[None]):
    """Keep the options of an import for the next one, beside those that others keep meanwhile.

    Args:
        members: those of the property that change, as JSON; None for those that are dropped.
        changed: the names of the options that are new, differ or are dropped.
    """

    members: tuple[tuple[str, str | None], ...]
    changed: tuple[str, ...]

    kind = "property"

    def target(self, evolution: Evolution, time: dt.datetime) -> None:
        return None

    def apply(self, target: None, evolution: Evolution) -> Evolution:
        document = _import_options(evolution.properties)
        for name, text in self.members:
            document.pop(name, None)
            if text is not None:
                document[name] = json.loads(text)
        properties = {k: text for k, text in evolution.properties.items() if k != IMPORT_OPTIONS}
        if document:
            text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            properties[IMPORT_OPTIONS] = text
        return replace(evolution, properties=properties)

    def describe(self) -> str:
        return f"KEEP IMPORT OPTIONS ({', '.join(self.changed)})"

    def clauses(self, before: Evolution, after: Evolution) -> list[str]:
        return []

    def detail(self, before: Evolution, after: Evolution) -> str:
        return f"import options: {', '.join(self.changed)}"


def _import_options(properties: Mapping[str, str]) -> dict[str, Any]:
    """The options that are kept; none if they are damaged, which only ``kept="forget"`` gets past."""
    try:
        document = json.loads(properties.get(IMPORT_OPTIONS, "{}"))
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


@dataclass(frozen=True, slots=True)
class SetPartitioning(SchemaChange[tuple[tuple[Ref, Transform, str | None], ...]]):
    """Set the partitioning of new segments (see ``transforms.parse_partitioning``); empty for none.

    A field may have a name, ``bucket(16, id) AS shard``.
    """

    texts: tuple[str, ...]

    kind = "partition"

    def target(
        self, evolution: Evolution, time: dt.datetime
    ) -> tuple[tuple[Ref, Transform, str | None], ...]:
        split = [split_name(text) for text in self.texts]
        fields = parse_partitioning([text for text, _ in split])
        return tuple(
            (reference(evolution, path), transform, name)
            for (path, transform), (_, name) in zip(fields, split, strict=True)
        )

    def apply(
        self, target: tuple[tuple[Ref, Transform, str | None], ...], evolution: Evolution
    ) -> Evolution:
        fields = tuple(
            PartitionField(locate(evolution, ref), render(transform))
            for ref, transform, _ in target
        )
        _check_once(fields, "partitioned", evolution.schema)
        after = _arranged(replace(evolution.schema, partitioning=fields), evolution)
        names = {
            field: name
            for field, (_, _, name) in zip(fields, target, strict=True)
            if name is not None
        }
        return replace(after, properties=with_names(after.schema, evolution.properties, names))

    def describe(self) -> str:
        return f"PARTITIONED BY ({', '.join(self.texts)})"

    def clauses(self, before: Evolution, after: Evolution) -> list[str]:
        old, new = (
            shown_fields(partition_fields(each.schema), field_names(each.schema, each.properties))
            for each in (before, after)
        )
        kept: list[str] = []
        for field in old:
            if len(kept) < len(new) and new[len(kept)] == field:
                kept.append(field)
        dropped = [split_name(field)[0] for field in old if field not in kept]
        return [f"DROP PARTITION FIELD {field}" for field in dropped] + [
            f"ADD PARTITION FIELD {field}" for field in new[len(kept) :]
        ]

    def detail(self, before: Evolution, after: Evolution) -> str:
        return ", ".join(self.texts) or "none"


def _made_logical(refs: SortRefs, logical: LogicalType | None, evolution: Evolution) -> Evolution:
    column_id = locate(evolution, refs[0][0])
    properties = with_logical(evolution.properties, column_id, logical)
    return replace(evolution, properties=properties)


def _identified_by(refs: SortRefs, evolution: Evolution) -> Evolution:
    ids = [locate(evolution, ref) for ref, _ in refs]
    properties = with_identifiers(evolution.properties, evolution.schema, ids)
    return replace(evolution, properties=properties)


def _sorted_by(refs: SortRefs, evolution: Evolution) -> Evolution:
    fields = tuple(SortField(locate(evolution, ref), way) for ref, way in refs)
    _check_once(tuple(SortField(field.source) for field in fields), "sorted", evolution.schema)
    return _arranged(replace(evolution.schema, sort_by=fields), evolution)


def _check_once(fields: tuple[PartitionField | SortField, ...], done: str, schema: Schema) -> None:
    for index, field in enumerate(fields):
        if field in fields[:index]:
            raise InvalidRequestError(
                f"the table would be {done} twice by {schema.path_text(field.source)}; name it once"
            )


def _arranged(schema: Schema, evolution: Evolution) -> Evolution:
    check_arrangement(schema)
    return replace(evolution, schema=schema)


def check_arrangement(schema: Schema) -> None:
    """Check the types of the columns that the table is partitioned and sorted by.

    Raises:
        InvalidRequestError: a transform does not apply to its column, or a sort column has no order.
    """
    for field in schema.partitioning:
        transform = parse_transform(field.transform)
        try:
            result_type(transform, schema.column(field.source).type)
        except InvalidRequestError as error:
            shown = render_field(schema.path(field.source), transform)
            raise InvalidRequestError(
                f"the table can't be partitioned by {shown}: {error}"
            ) from None
    for sort in schema.sort_by:
        type_ = schema.column(sort.source).type
        if not is_compared(type_):
            raise InvalidRequestError(
                f"the table can't be sorted by {schema.path_text(sort.source)}, which is "
                f"{type_name(type_)}; sort by columns that are not nested, such as a struct's fields"
            )


class _PinChange(SchemaChange[None]):
    """A change of the schema pins, which has no ALTER TABLE statement."""

    __slots__ = ()

    kind = "pin"

    def clauses(self, before: Evolution, after: Evolution) -> list[str]:
        raise InvalidRequestError(
            "a schema pin has no ALTER TABLE statement; use the procedures pin_schema and "
            "retire_schema",
            condition="NOT_SUPPORTED",
        )


@dataclass(frozen=True, slots=True)
class PinSchema(_PinChange):
    """Declare that a job uses an earlier schema, or change such a pin.

    Args:
        label: the name of the pin.
        pin: the pin, with the columns of its schema version.
    """

    label: str
    pin: PinnedSchema

    def target(self, evolution: Evolution, time: dt.datetime) -> None:
        return None

    def apply(self, target: None, evolution: Evolution) -> Evolution:
        check_seen(self.label, self.pin, evolution.schema)
        pins = {label: pin for label, pin in evolution.pins.items() if label != self.label}
        pins[self.label] = self.pin
        schema = without_unneeded(evolution.schema, pins.values())
        return replace(evolution, schema=schema, pins=pins)

    def describe(self) -> str:
        return f"PIN SCHEMA {self.pin.pin.schema_version} AS {quote(self.label)}"


@dataclass(frozen=True, slots=True)
class RetirePin(_PinChange):
    """Remove a pin, and the hidden columns that no other pin needs."""

    label: str

    def target(self, evolution: Evolution, time: dt.datetime) -> None:
        check_pinned(evolution.pins, self.label)

    def apply(self, target: None, evolution: Evolution) -> Evolution:
        if self.label not in evolution.pins:
            raise InvalidRequestError(f"the pin {self.label!r} no longer exists")
        pins = {label: pin for label, pin in evolution.pins.items() if label != self.label}
        schema = without_unneeded(evolution.schema, pins.values())
        return replace(evolution, schema=schema, pins=pins)

    def describe(self) -> str:
        return f"RETIRE SCHEMA {quote(self.label)}"
