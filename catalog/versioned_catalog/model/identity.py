"""Identity columns: properties that say which numbers are free (FORMAT.md, section 4.9)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.model.generated import generated_of
from versioned_catalog.model.keys import IDENTITY_PREFIX
from versioned_catalog.model.schema import Schema, name_key
from versioned_catalog.model.type_text import parse_path
from versioned_catalog.model.types import Atom, Column
from versioned_catalog.model.value_clauses import GREATEST, LEAST, Clause, Identity


@dataclass(frozen=True, slots=True)
class IdentityColumn:
    """An identity column of a table.

    Args:
        column_id: the column.
        identity: how it counts.
        next: the first number that is free.
    """

    column_id: int
    identity: Identity
    next: int

    def later(self, one: int, other: int) -> int:
        """The later of two numbers, in the order in which they are given."""
        return max(one, other) if self.identity.step > 0 else min(one, other)

    def left_from(self, number: int) -> int:
        """How many numbers there are from this one on, in a BIGINT."""
        step = self.identity.step
        distance = GREATEST - number if step > 0 else number - LEAST
        return max(0, distance // abs(step) + 1)

    def after(self, number: int) -> IdentityColumn:
        """The column once all numbers up to this one are taken; unchanged if they are already."""
        step, start = self.identity.step, self.identity.start
        beyond = start + ((number - start) // step + 1) * step
        return replace(self, next=self.later(self.next, beyond))


@dataclass(frozen=True, slots=True)
class Taken:
    """Numbers that a writer may give to its rows, and nobody else.

    Args:
        column_id: the identity column.
        first: the first number.
        count: how many there are.
        step: from one to the next.
    """

    column_id: int
    first: int
    count: int
    step: int

    @property
    def end(self) -> int:
        """The number after the last."""
        return self.first + self.step * self.count


def identities_of(properties: Mapping[str, str]) -> tuple[IdentityColumn, ...]:
    """The identity columns of a table.

    Raises:
        CorruptTableError: a property does not hold one.
    """
    stored = (key for key in properties if key.startswith(IDENTITY_PREFIX))
    return tuple(_parsed(key, properties[key]) for key in stored)


def _parsed(key: str, text: str) -> IdentityColumn:
    try:
        value = json.loads(text)
        always, numbers = value["always"], [value[name] for name in ("start", "step", "next")]
        if not isinstance(always, bool) or any(type(number) is not int for number in numbers):
            raise TypeError
        start, step, following = numbers
        column_id = int(key.removeprefix(IDENTITY_PREFIX))
        return IdentityColumn(column_id, Identity(always, start, step), following)
    except (ValueError, KeyError, TypeError, InvalidRequestError) as error:
        raise CorruptTableError(
            f"the property {key[:100]} does not hold an identity column"
        ) from error


def property_of(column: IdentityColumn) -> tuple[str, str]:
    """The property that holds an identity column."""
    identity = column.identity
    members = {"always": identity.always, "start": identity.start, "step": identity.step}
    text = json.dumps({**members, "next": column.next}, separators=(",", ":"))
    return f"{IDENTITY_PREFIX}{column.column_id}", text


def shown_clauses(properties: Mapping[str, str], schema: Schema) -> dict[str, Clause]:
    """How the values of columns are made, by their names; ``schema`` may lack some of them."""
    shown: dict[str, Clause] = {
        schema.column(column.column_id).name: column.shown(schema)
        for column in generated_of(properties)
        if {column.column_id, *column.sources} <= schema.ids
    }
    numbered = (column for column in identities_of(properties) if column.column_id in schema.ids)
    return shown | {schema.column(each.column_id).name: each.identity for each in numbered}


def with_identities(
    properties: Mapping[str, str], columns: Iterable[IdentityColumn]
) -> dict[str, str]:
    """The properties with other values of identity columns."""
    return {**properties, **dict(map(property_of, columns))}


def latest(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """Properties in which no number is free that was taken before.

    Args:
        before: the properties that other ones replace.
        after: these.
    """
    taken = {column.column_id: column.next for column in identities_of(before)}
    moved = (
        replace(column, next=column.later(column.next, taken[column.column_id]))
        for column in identities_of(after)
        if column.column_id in taken
    )
    return with_identities(after, moved)


def numbering_columns(
    columns: tuple[Column, ...], identities: Mapping[str, Identity]
) -> tuple[Column, ...]:
    """The columns of a new table; those that number rows are NOT NULL."""
    names = {name_key(name) for name in identities}
    return tuple(
        replace(column, nullable=False) if name_key(column.name) in names else column
        for column in columns
    )


def declared_identities(schema: Schema, columns: Mapping[str, Identity]) -> dict[str, str]:
    """The properties of identity columns that are declared, by their names.

    Raises:
        InvalidRequestError: a column can't number rows.
        NotFoundError: there is no such column.
    """
    found = [
        IdentityColumn(schema.get(parse_path(name)).id, identity, identity.start)
        for name, identity in columns.items()
    ]
    return dict(map(property_of, found))


def check_identities(properties: Mapping[str, str], schema: Schema) -> None:
    """Check that identity columns are as FORMAT.md says.

    Raises:
        InvalidRequestError: naming the column.
    """
    sources = {source for column in generated_of(properties) for source in column.sources}
    for identity in identities_of(properties):
        _check(schema.column(identity.column_id), schema, sources)


def _check(column: Column, schema: Schema, sources: set[int]) -> None:
    what = f"the identity column {schema.path_text(column.id)}"
    if schema.ancestors(column.id) or column.type is not Atom.LONG:
        problem = "is no BIGINT at the top level; declare it as one, or leave out AS IDENTITY"
    elif column.nullable:
        problem = "numbers every row, so it stays NOT NULL; leave out DROP NOT NULL"
    elif column.write_default is not None:
        problem = "has a DEFAULT, which no row would take; leave it out"
    elif schema.row_key:
        problem = (
            "can't number the rows of a table with a primary key, since a row that replaces another "
            "would get another number; leave out the key, or AS IDENTITY"
        )
    elif any(field.source == column.id for field in schema.partitioning):
        problem = "gets its numbers after rows are distributed; partition by another column"
    elif column.id in sources:
        problem = "gets its numbers after generated columns are computed; compute them from others"
    else:
        return
    raise InvalidRequestError(f"{what} {problem}", condition="NOT_SUPPORTED")


def without_dropped_identities(properties: Mapping[str, str], schema: Schema) -> dict[str, str]:
    """The properties without those of identity columns that a schema does not have any more."""
    gone = {
        property_of(column)[0]
        for column in identities_of(properties)
        if column.column_id not in schema.ids
    }
    return {key: text for key, text in properties.items() if key not in gone}
