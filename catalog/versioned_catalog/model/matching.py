"""Match the columns of a declared table with those of the table as it is.

The ID in a comment decides first, then an earlier name, then the name. A dropped and an added column
that could be one renamed column are refused, and so is an ID that may be on the wrong line: nothing is
guessed. A column that is declared new is not matched by name, nor is one that the column of its name
can't become, if that one may be dropped.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.schema import Schema, name_key
from versioned_catalog.model.table_text import Definition
from versioned_catalog.model.type_text import ColumnPath, parse_path, quote, render_path
from versioned_catalog.model.types import (
    Array,
    Column,
    DataType,
    Map,
    Struct,
    children,
    is_nested,
    walk,
)
from versioned_catalog.model.widening import type_name, widens


@dataclass(frozen=True)
class Matching:
    """Pairs of columns.

    Args:
        stored: the IDs of the table's columns by the IDs of the declared ones; added ones are absent.
        dropped: the IDs of the columns that are not declared, without those inside another one.
    """

    stored: dict[int, int] = field(default_factory=dict)
    dropped: list[int] = field(default_factory=list)


def match_columns(
    schema: Schema,
    target: Definition,
    renames: Mapping[str, str],
    allowed: Collection[ColumnPath],
) -> Matching:
    """Match the declared columns with those of a table.

    Args:
        schema: the table's schema.
        target: the declared table.
        renames: new names by current paths: ``{"place.lat": "latitude"}``.
        allowed: the paths of columns that may be dropped, as ``name_key``; these are not renamed.

    Raises:
        InvalidRequestError: a comment or a rename is wrong, or a rename is ambiguous.
        NotFoundError: ``renames`` names a column that does not exist.
    """
    matcher = _Matcher(schema, target, renames, allowed)
    matcher.siblings(schema.columns, target.schema.columns)
    matcher.check_renames_used()
    return matcher.matching


def check_comments(schema: Schema, target: Definition, renames: Mapping[str, str]) -> None:
    """Refuse IDs that may be on the wrong line, and renames by IDs in a text that names no table.

    Args:
        schema: the table's schema.
        target: the declared table.
        renames: new names by current paths.

    Raises:
        InvalidRequestError: naming the column whose comment it is.
        NotFoundError: ``renames`` names a column that does not exist.
    """
    matcher = _Matcher(schema, target, renames, ())
    matcher.check_comments_placed(schema.columns, target.schema.columns)
    if not target.tables:
        _check_ids_agree(schema, target, renames)


def _check_ids_agree(schema: Schema, target: Definition, renames: Mapping[str, str]) -> None:
    """Refuse a rename by an ID in a text that does not name the table of its IDs.

    They may be those of another table, whose columns have other IDs.

    Raises:
        InvalidRequestError: an ID is that of a column with another name.
        NotFoundError: ``renames`` names a column that does not exist.
    """
    confirmed = {schema.get(parse_path(old)).id for old in renames}
    for column, _ in walk(target.schema.columns):
        if column.id not in target.given_ids & schema.ids or column.id in confirmed:
            continue
        stored = schema.column(column.id).name
        earlier = target.renamed_from.get(column.id, column.name)
        if name_key(stored) not in (name_key(column.name), name_key(earlier)):
            raise InvalidRequestError(
                f"{target.schema.path_text(column.id)} has the comment -- id {column.id}, which is "
                f"{schema.path_text(column.id)} in this table, but nothing says of which table the IDs "
                f"are. If they are of this one, write -- table {target.table_uuid} as the first line; "
                f"for a rename alone, write -- was {quote(stored)}; if they are of another table, "
                "remove them"
            )


def path_key(path: ColumnPath) -> ColumnPath:
    """A path for comparison regardless of case."""
    return tuple(map(name_key, path))


class _Matcher:
    def __init__(
        self,
        schema: Schema,
        target: Definition,
        renames: Mapping[str, str],
        allowed: Collection[ColumnPath],
    ) -> None:
        self.matching = Matching()
        self._schema = schema
        self._target = target
        self._allowed = allowed
        self._renames = {schema.get(parse_path(old)).id: new for old, new in renames.items()}

    def check_comments_placed(self, old: tuple[Column, ...], new: tuple[Column, ...]) -> None:
        """Refuse an ID on a line of another name while the line of the column's name has none.

        Somebody who types a column between a line and its comment leaves the comment behind.
        """
        stored = {column.id: column for column in old}
        unmarked = {name_key(c.name): c for c in new if not self._is_marked(c)}
        for column in new:
            is_given = column.id in self._target.given_ids
            match = stored.get(column.id) if is_given else _named(column.name, stored)
            if match is None:
                continue
            other = unmarked.get(name_key(match.name))
            if is_given and other is not None and not self._is_confirmed(match, column):
                left, lines = self._shown(other), self._target.lines
                raise InvalidRequestError(
                    f"{self._shown(column)} (line {lines[column.id]}) has the comment -- id "
                    f"{column.id}, which is {self._schema.path_text(match.id)} in the table, but there "
                    f"still is {left} (line {lines[other.id]}), without an ID. Move the comment to "
                    f"{left}, or write -- new after {left} if it is another column from now on"
                )
            if type(match.type) is type(column.type) and is_nested(match.type):
                self.check_comments_placed(children(match.type), children(column.type))

    def _is_marked(self, column: Column) -> bool:
        """Whether a comment says which column a declared one is, in this table or in another."""
        target = self._target
        identified = target.given_ids | target.ids_elsewhere.keys() | target.renamed_from.keys()
        return column.id in identified | target.declared_new

    def _is_confirmed(self, stored: Column, declared: Column) -> bool:
        """Whether a rename by ID is also said by ``renames`` or ``-- was``."""
        new_name = self._renames.get(stored.id)
        earlier = self._target.renamed_from.get(declared.id)
        return (new_name is not None and name_key(new_name) == name_key(declared.name)) or (
            earlier is not None and name_key(earlier) == name_key(stored.name)
        )

    def siblings(self, old: tuple[Column, ...], new: tuple[Column, ...]) -> None:
        """Match the columns of one level, and those below them."""
        free = {column.id: column for column in old}
        pairs: dict[int, Column] = {}
        for find in (self._by_id, self._by_earlier_name, self._by_name):
            for column in new:
                match = None if column.id in pairs else find(column, free)
                if match is not None:
                    pairs[column.id] = free.pop(match.id)
        added = [column for column in new if column.id not in pairs]
        for column in added:
            self._check_earlier_name(column)
        added = [column for column in added if column.id not in self._target.declared_new]
        for column in free.values():
            self._check_dropped(column, added)
            self.matching.dropped.append(column.id)
        for column in new:
            if column.id in pairs:
                self._pair(pairs[column.id], column)

    def _pair(self, old: Column, new: Column) -> None:
        self.matching.stored[new.id] = old.id
        match old.type, new.type:
            case Struct(before), Struct(after):
                self.siblings(before, after)
            case (Array(), Array()) | (Map(), Map()):
                inside = zip(children(old.type), children(new.type), strict=True)
                for outer, inner in inside:
                    self._check_inner_id(outer, inner)
                    self._pair(outer, inner)

    def _by_id(self, column: Column, free: Mapping[int, Column]) -> Column | None:
        if column.id not in self._target.given_ids:
            return None
        if column.id in free:
            return free[column.id]
        if column.id in self._schema.ids:
            where = self._schema.path_text(column.id)
            raise InvalidRequestError(
                f"{self._shown(column)} has the comment -- id {column.id}, which is {where}; a column "
                "can't move to another parent, so remove the comment to add a new column"
            )
        raise InvalidRequestError(
            f"{self._shown(column)} has the comment -- id {column.id}, but the table has no such "
            "column: it was dropped, or the comment is of another table; remove the comment to add a "
            "new column",
            condition="COLUMN_NOT_FOUND",
        )

    def _check_inner_id(self, old: Column, new: Column) -> None:
        if new.id in self._target.given_ids and new.id != old.id:
            raise InvalidRequestError(
                f"the comment says that {self._shown(new)} has ID {new.id}, but it has ID {old.id}; "
                "correct the comment, or print the table again with its IDs"
            )

    def _by_earlier_name(self, column: Column, free: Mapping[int, Column]) -> Column | None:
        for column_id, new_name in self._renames.items():
            if column_id in free and name_key(new_name) == name_key(column.name):
                return free[column_id]
        earlier = self._target.renamed_from.get(column.id)
        return None if earlier is None else _named(earlier, free)

    def _by_name(self, column: Column, free: Mapping[int, Column]) -> Column | None:
        if column.id in self._target.declared_new:
            return None
        match = _named(column.name, free)
        if match is None or _may_be(match.type, column.type):
            return match
        replaces = path_key(self._schema.path(match.id)) in self._allowed
        return None if replaces else match

    def _check_earlier_name(self, column: Column) -> None:
        earlier = self._target.renamed_from.get(column.id)
        if earlier is not None:
            raise InvalidRequestError(
                f"{self._shown(column)} has the comment -- was {earlier}, but there is no such column "
                "beside it; remove the comment to add a new column",
                condition="COLUMN_NOT_FOUND",
            )

    def _check_dropped(self, old: Column, added: list[Column]) -> None:
        path = self._schema.path(old.id)
        if path_key(path) in self._allowed:
            return
        similar = [column for column in added if _may_be(old.type, column.type)]
        if similar:
            old_text, name = render_path(path), similar[0].name
            new_text = self._shown(similar[0])
            by_id = "" if self._target.ignores_ids else f"-- id {old.id} or "
            raise InvalidRequestError(
                f"it is ambiguous whether {old_text} ({type_name(old.type)}, id {old.id}) is renamed to "
                f"{new_text} ({type_name(similar[0].type)}), or dropped and {new_text} is new. For a "
                f"rename, write {by_id}-- was {quote(old.name)} after {new_text}, or give "
                f"renames={{{old_text!r}: {name!r}}}; to drop it with its values, allow that by name: "
                f"--allow-drop {old_text} or allow_drop=[{old_text!r}]"
            )

    def check_renames_used(self) -> None:
        """Refuse renames to names that are not declared."""
        matched = {old: new for new, old in self.matching.stored.items()}
        for old, name in self._renames.items():
            new = matched.get(old)
            if new is None or name_key(self._target.schema.column(new).name) != name_key(name):
                raise InvalidRequestError(
                    f"renames says that {self._schema.path_text(old)} becomes {name}, but the DDL has "
                    "no such column in its place; correct the one or the other"
                )

    def _shown(self, column: Column) -> str:
        return self._target.schema.path_text(column.id)


def _named(name: str, free: Mapping[int, Column]) -> Column | None:
    return next(
        (column for column in free.values() if name_key(column.name) == name_key(name)), None
    )


def _may_be(old: DataType, new: DataType) -> bool:
    """Whether a column of one type could have been altered to the other."""
    return type(old) is type(new) if is_nested(old) else widens(old, new)
