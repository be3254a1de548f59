"""Unite two schemas that have changed apart since a common one, by column ID.

What only one side has changed is taken from that side. What both have changed to different things is a
conflict. Names play no part: a column that one side renamed and the other widened is both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from versioned_catalog.errors import CommitConflictError, InvalidRequestError
from versioned_catalog.model.hidden_columns import visible
from versioned_catalog.model.identity import latest
from versioned_catalog.model.keys import (
    CHECK_PREFIX,
    GENERATED_PREFIX,
    IDENTITY_PREFIX,
    LOGICAL_PREFIX,
    PARTITION_PREFIX,
    TTL_FLOOR,
)
from versioned_catalog.model.narrowing import newly_narrowed
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.transforms import parse_transform, result_type
from versioned_catalog.model.type_text import ColumnPath, render_path
from versioned_catalog.model.types import Column, Struct, children, is_nested, walk, with_children

T = TypeVar("T")

_ATTRIBUTES: Mapping[str, str] = {
    "name": "name",
    "nullable": "NOT NULL",
    "write_default": "default",
    "comment": "comment",
    "hidden": "visibility",
}
"""The attributes of a column that are taken from either side, and what errors call them."""


_ARRANGED = {"partitioning": "partitioning", "sort_by": "sort order"}
"""The parts of an arrangement that can change, and what errors call them."""


@dataclass(frozen=True)
class Sides:
    """What errors call the two sides."""

    main: str
    branch: str


@dataclass
class _Union:
    """The union so far: its conflicts are reported together."""

    sides: Sides
    conflicts: list[str] = field(default_factory=list)

    def error(self) -> CommitConflictError:
        """The error that lists the conflicts."""
        return CommitConflictError("; ".join(self.conflicts))

    def check(self) -> None:
        """Raise the error if there are conflicts."""
        if self.conflicts:
            raise self.error()

    def either(self, base: T, main: T, branch: T, what: str) -> T:
        """The value of the side that has changed it."""
        if branch in (main, base):
            return main
        if main != base:
            self.conflicts.append(f"{what} was changed on both sides")
        return branch

    def level(
        self,
        base: Sequence[Column],
        main: Sequence[Column],
        branch: Sequence[Column],
        above: ColumnPath,
    ) -> tuple[Column, ...]:
        """The columns inside a parent."""
        before, ours, theirs = (
            {column.id: column for column in side} for side in (base, main, branch)
        )
        columns: dict[int, Column] = {}
        for column_id in {**ours, **theirs}:
            column = self._column(
                before.get(column_id), ours.get(column_id), theirs.get(column_id), above
            )
            if column is not None:
                columns[column_id] = column
        shown = [*filter(lambda column: not column.hidden, columns.values())]
        if not shown and any(not column.hidden for column in main):
            what = f"fields of {render_path(above)}" if above else "columns"
            self.conflicts.append(f"both sides together have dropped all {what}")
        order = self._order([*before], [*ours], [*theirs], columns.keys(), above)
        return tuple(columns[column_id] for column_id in order)

    def _column(
        self, base: Column | None, main: Column | None, branch: Column | None, above: ColumnPath
    ) -> Column | None:
        """A column of the union; None if a side has dropped it."""
        match base, main, branch:
            case None, Column(), None:
                return main
            case None, None, Column():
                return branch
            case Column(), None, Column():
                self._check_dropped(base, branch, above, self.sides.main, self.sides.branch)
                return None
            case Column(), Column(), None:
                self._check_dropped(base, main, above, self.sides.branch, self.sides.main)
                return None
            case _, Column(), Column():
                return self._both(main if base is None else base, main, branch, above)
        return None

    def _check_dropped(
        self, base: Column, changed: Column, above: ColumnPath, dropping: str, changing: str
    ) -> None:
        if changed != base:
            what = render_path((*above, base.name))
            self.conflicts.append(
                f"the column {what} was dropped on {dropping} and changed on {changing}"
            )

    def _both(self, base: Column, main: Column, branch: Column, above: ColumnPath) -> Column:
        if branch in (main, base):
            return main
        if main == base:
            return branch
        path = (*above, base.name)
        where = f"the column {render_path(path)}"
        attributes: dict[str, Any] = {
            name: self.either(
                getattr(base, name), getattr(main, name), getattr(branch, name), f"{where}: {word}"
            )
            for name, word in _ATTRIBUTES.items()
        }
        if is_nested(base.type) and type(base.type) is type(main.type) is type(branch.type):
            inner = (children(base.type), children(main.type), children(branch.type))
            if isinstance(base.type, Struct):
                fields = self.level(*inner, path)
            else:  # an element, or a key and a value, which are never added or dropped
                fields = tuple(self._both(b, m, r, path) for b, m, r in zip(*inner, strict=True))
            attributes["type"] = with_children(base.type, fields)
            what = f"{where}: default"
            attributes["read_default"] = self.either(
                base.read_default, main.read_default, branch.read_default, what
            )
        else:
            attributes["type"], attributes["read_default"], attributes["widest"] = self.either(
                (base.type, base.read_default, base.widest),
                (main.type, main.read_default, main.widest),
                (branch.type, branch.read_default, branch.widest),
                f"{where}: type",
            )
            self._check_default(base, main, branch, where)
        both = replace(main, **attributes)
        if both.hidden and not both.nullable and both.write_default is None:
            self.conflicts.append(
                f"{where} was dropped on one side and is NOT NULL without a default on the other"
            )
        return both

    def _check_default(self, base: Column, main: Column, branch: Column, where: str) -> None:
        """Refuse a new type on one side beside a new default, in the old type, on the other."""
        for widened, other in ((main, branch), (branch, main)):
            is_set = other.write_default not in (base.write_default, widened.write_default, None)
            if widened.type != base.type and is_set:
                self.conflicts.append(f"{where}: one side changed its type and one set its default")

    def _order(
        self,
        base: Sequence[int],
        main: Sequence[int],
        branch: Sequence[int],
        left: Any,
        above: ColumnPath,
    ) -> list[int]:
        """The IDs of the columns in their order: new columns stand before the same column as before."""
        everywhere = {*base} & {*main} & {*branch} & {*left}
        before, ours, theirs = (
            [i for i in side if i in everywhere] for side in (base, main, branch)
        )
        what = f"the order of the fields of {render_path(above)}" if above else "the column order"
        order = [*self.either(before, ours, theirs, what)]
        for side in (main, branch):
            for at, column_id in enumerate(side):
                if column_id in order or column_id not in left:
                    continue
                following = next((i for i in side[at + 1 :] if i in order), None)
                order.insert(len(order) if following is None else order.index(following), column_id)
        return order


def united(base: Schema, main: Schema, branch: Schema, sides: Sides, version: int) -> Schema:
    """The schema with what both sides have changed since a common schema.

    Args:
        version: the version of the result.

    Raises:
        CommitConflictError: listing what both sides have changed.
    """
    union = _Union(sides)
    columns = union.level(base.columns, main.columns, branch.columns, ())
    arranged = {
        name: union.either(getattr(base, name), getattr(main, name), getattr(branch, name), word)
        for name, word in _ARRANGED.items()
    }
    shown = {column.id for column, _ in walk(visible(columns))}
    for name, word in _ARRANGED.items():
        for part in arranged[name]:
            if part.source not in shown:
                path = (branch if part.source in branch.ids else main).path_text(part.source)
                union.conflicts.append(f"the {word} names {path}, which was dropped on one side")
    if not union.conflicts:
        try:
            schema = replace(main, columns=columns, version=version, **arranged)
            for part in schema.partitioning:
                result_type(parse_transform(part.transform), schema.column(part.source).type)
            return schema
        except InvalidRequestError as error:
            union.conflicts.append(str(error))
    raise union.error()


def united_properties(
    base: Mapping[str, str],
    main: Mapping[str, str],
    branch: Mapping[str, str],
    sides: Sides,
    schema: Schema,
) -> dict[str, str]:
    """The properties with what both sides have changed since a common state.

    Args:
        schema: of the common state; errors name its columns.

    Raises:
        CommitConflictError: listing what both sides have changed.
    """
    union = _Union(sides)
    properties: dict[str, str] = {}
    taken = latest(branch, main)
    for key in {**base, **main, **branch}:
        values = base.get(key), main.get(key), branch.get(key)
        if key == TTL_FLOOR:
            value = max(filter(None, values[1:]), key=int, default=None)
        elif key.startswith(IDENTITY_PREFIX):
            value = taken.get(key) if key in branch else None
        else:
            value = union.either(*values, _property_text(key, schema))
        if value is not None:
            properties[key] = value
    union.conflicts += _fields_of_two_names(properties)
    union.check()
    return properties


_OF_COLUMNS = {
    CHECK_PREFIX: "the constraint {}",
    GENERATED_PREFIX: "how the column {} is generated",
    LOGICAL_PREFIX: "the logical type of the column {}",
    PARTITION_PREFIX: "the partition field {}",
}
"""What errors call properties that users do not see by these names, by their prefixes."""


def _property_text(key: str, schema: Schema) -> str:
    for prefix, text in _OF_COLUMNS.items():
        if key.startswith(prefix):
            name = key.removeprefix(prefix)
            is_known = name.isdecimal() and int(name) in schema.ids
            return text.format(schema.path_text(int(name)) if is_known else name)
    return f"the property {key}"


def _fields_of_two_names(properties: Mapping[str, str]) -> Iterator[str]:
    """What both sides have named differently: a field of the partitioning has one name."""
    names: dict[str, str] = {}
    for key, text in properties.items():
        if key.startswith(PARTITION_PREFIX):
            name = key.removeprefix(PARTITION_PREFIX)
            other = names.setdefault(text, name)
            if other != name:
                yield f"one field of the partitioning is called {other} and {name}"


def united_comment(
    base: str | None, main: str | None, branch: str | None, sides: Sides
) -> str | None:
    """The comment of the table that one side has changed since a common state.

    Raises:
        CommitConflictError: both sides have changed it to different ones.
    """
    union = _Union(sides)
    comment = union.either(base, main, branch, "the comment")
    union.check()
    return comment


def tightened(before: Schema, after: Schema) -> list[str]:
    """The columns of both schemas that only the later one refuses nulls in, or that it narrowed."""
    narrowed = newly_narrowed(before, after)
    return [
        after.path_text(column_id)
        for column_id in sorted(before.ids & after.ids)
        if (before.column(column_id).nullable and not after.column(column_id).nullable)
        or column_id in narrowed
    ]
