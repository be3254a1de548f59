"""The changes from a table to the one that a CREATE TABLE statement declares."""

from __future__ import annotations

import bisect
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model import changes
from versioned_catalog.model.bound_changes import finish, utc_now
from versioned_catalog.model.checks import Condition, by_id, checks_of
from versioned_catalog.model.column_ids import new_schema
from versioned_catalog.model.evolution import Evolution
from versioned_catalog.model.identifiers import shown_properties
from versioned_catalog.model.keys import COMMENT, LOGICAL_TYPE, SORT_BY, is_maintained
from versioned_catalog.model.logical_columns import (
    canonical_properties,
    logical_columns,
    logical_path,
)
from versioned_catalog.model.matching import Matching, match_columns, path_key
from versioned_catalog.model.schema import PartitionField, Schema, SortField, name_key
from versioned_catalog.model.sql_literals import constant_from_sql
from versioned_catalog.model.table_text import APPLIED_SCHEMA, Definition
from versioned_catalog.model.transforms import parse_transform, render_field, result_type
from versioned_catalog.model.type_text import ColumnPath, parse_path, render_path
from versioned_catalog.model.types import (
    Column,
    Evaluated,
    Map,
    Now,
    Struct,
    children,
    is_nested,
    walk,
)
from versioned_catalog.model.value_changes import default_text


@dataclass(frozen=True)
class Step:
    """One change of a difference.

    Args:
        change: the change by name.
        column_id: the column that it changes; None for the table, and for a new column.
        before, after: the table around the change.
    """

    change: changes.Change
    column_id: int | None
    before: Evolution
    after: Evolution

    def statements(self, table: str) -> list[str]:
        """The ALTER TABLE statements of the change. ``table`` is the table's name as SQL."""
        return self.change.statements(table, self.before, self.after)


def difference(
    evolution: Evolution,
    target: Definition,
    renames: Mapping[str, str] | None = None,
    allow_drop: Collection[str] = (),
    conditions: Mapping[str, Condition] | None = None,
) -> list[Step]:
    """The changes from a table to a declared one, in the order of one ALTER.

    Args:
        evolution: the table.
        target: the declared table.
        renames: new names by current paths.
        allow_drop: paths of columns that may be dropped; other drops are planned too, but must not
            look like renames.
        conditions: the parsed conditions of the declared constraints.

    Raises:
        InvalidRequestError: the table can't become the declared one, or a rename is ambiguous.
        NotFoundError: ``renames``, or a constraint, names a column that does not exist.
    """
    allowed = {path_key(parse_path(path)) for path in allow_drop}
    shown = evolution.schema.visible
    matching = match_columns(shown, target, renames or {}, allowed)
    _check_same_key(shown, target.schema, matching)
    differ = _Differ(evolution, target.schema, matching)
    differ.release_arrangement()
    missing = differ.release_checks(conditions or {})
    differ.release_logical(target.properties)
    differ.level(None, target.schema.columns)
    differ.arrange()
    differ.add_checks(missing)
    differ.properties(target.properties)
    differ.comment(target.comment or target.properties.get(COMMENT))
    finish(evolution, differ.current, evolution.schema.version + 1)
    return differ.steps


def difference_by_id(evolution: Evolution, target: Schema) -> list[Step]:
    """The changes from a table to other columns, matched by ID alone.

    Args:
        evolution: the table.
        target: the columns, and the partitioning and sort order by their IDs. IDs that the table does
            not have are of new columns.

    Raises:
        InvalidRequestError: the table can't become the declared one.
    """
    shown = evolution.schema.visible
    dropped = [
        column.id
        for column, above in walk(shown.columns)
        if column.id not in target.ids and all(ancestor.id in target.ids for ancestor in above)
    ]
    matching = Matching({column_id: column_id for column_id in target.ids & shown.ids}, dropped)
    differ = _Differ(evolution, target, matching)
    differ.release_arrangement()
    differ.level(None, target.columns)
    differ.arrange()
    finish(evolution, differ.current, evolution.schema.version + 1)
    return differ.steps


def replace_columns(evolution: Evolution, columns: Sequence[Column]) -> list[changes.Change]:
    """The changes that leave a table these columns, in this order, as ``REPLACE COLUMNS`` lists them.

    A column or field of the same name, in any case, keeps its ID and its values; the others are dropped
    and added. What the list does not say of a column that stays does not change: its default, its
    comment, and that it is NOT NULL. Columns have no IDs yet.

    Raises:
        InvalidRequestError: a type does not widen to the listed one, or a column can't be dropped.
    """
    (target, _), shown = new_schema(columns, 1, 0), evolution.schema.visible
    matching = Matching()
    _match_names(shown.columns, target.columns, matching)
    differ = _Differ(evolution, target, matching, keeps_options=True)
    differ.level(None, target.columns)
    finish(evolution, differ.current, evolution.schema.version + 1)
    return [step.change for step in differ.steps]


def _match_names(stored: Sequence[Column], declared: Sequence[Column], matching: Matching) -> None:
    """Add the pairs of columns of the same name, and those inside them."""
    by_name = {name_key(column.name): column for column in declared}
    for column in stored:
        target = by_name.get(name_key(column.name))
        if target is None:
            matching.dropped.append(column.id)
            continue
        matching.stored[target.id] = column.id
        if is_nested(column.type) and type(column.type) is type(target.type):
            _match_names(children(column.type), children(target.type), matching)


def _check_same_key(schema: Schema, target: Schema, matching: Matching) -> None:
    stored = tuple(matching.stored.get(column_id) for column_id in target.primary_key)
    index = target.time_index
    same_index = (None if index is None else matching.stored.get(index, -1)) == schema.time_index
    if stored != schema.primary_key or not same_index:
        raise InvalidRequestError(
            "the row key (PRIMARY KEY and time_index) is set when a table is created and can't be "
            "changed; create another table with the row key that you want, and copy the rows",
            condition="NOT_SUPPORTED",
        )


class _Differ:
    """Collect changes, each applied to the result of those before it."""

    def __init__(
        self,
        evolution: Evolution,
        target: Schema,
        matching: Matching,
        *,
        keeps_options: bool = False,
    ) -> None:
        self._keeps_options = keeps_options
        self.steps: list[Step] = []
        self.current = evolution.begin()
        self._target = target
        self._ids = dict(matching.stored)
        self._dropped = frozenset(matching.dropped)
        self._new: set[int] = set()
        self._time = utc_now()

    @property
    def _schema(self) -> Schema:
        return self.current.schema.visible

    def _emit(self, change: changes.Change, column_id: int | None = None) -> None:
        before = self.current
        self.current = change.bind(before, self._time).apply(before)
        self.steps.append(Step(change, column_id, before, self.current))

    # Columns

    def level(self, parent: int | None, targets: tuple[Column, ...]) -> None:
        """The changes of the columns inside a parent, and below."""
        dropped = [column.id for column in self._siblings(parent) if column.id in self._dropped]
        taken = {name_key(column.name) for column in targets}
        for column_id in [*dropped]:
            if name_key(self._schema.column(column_id).name) not in taken:
                continue
            if len(self._siblings(parent)) == 1:  # a table or struct needs a column at every step
                self._renamed(column_id, self._spare(column_id, taken))
                continue
            dropped.remove(column_id)
            self._emit(changes.DropColumn(self._schema.path(column_id)), column_id)
        matched = [column for column in targets if column.id in self._ids]
        self._rename(parent, {self._ids[column.id]: column.name for column in matched})
        self._order(parent, targets)
        for column_id in dropped:
            self._emit(changes.DropColumn(self._schema.path(column_id)), column_id)
        for column in targets:
            self._column(column)

    def _siblings(self, parent: int | None) -> tuple[Column, ...]:
        return (
            self._schema.columns if parent is None else children(self._schema.column(parent).type)
        )

    def _rename(self, parent: int | None, names: Mapping[int, str]) -> None:
        pending = {i: name for i, name in names.items() if self._schema.column(i).name != name}
        while pending:
            taken = {name_key(self._schema.column(i).name): i for i in names}
            free = [i for i, name in pending.items() if taken.get(name_key(name), i) == i]
            if free:
                for column_id in free[:1]:
                    self._renamed(column_id, pending.pop(column_id))
            else:  # a cycle: one of its columns takes another name first
                column_id = next(iter(pending))
                used = {name_key(column.name) for column in self._siblings(parent)}
                self._renamed(column_id, self._spare(column_id, used))

    def _spare(self, column_id: int, used: Collection[str]) -> str:
        """A temporary name for a column whose name another column takes."""
        spare = f"{self._schema.column(column_id).name}_{column_id}"
        while name_key(spare) in used:
            spare += "_"
        return spare

    def _renamed(self, column_id: int, name: str) -> None:
        self._emit(changes.RenameColumn(self._schema.path(column_id), name), column_id)

    def _order(self, parent: int | None, targets: tuple[Column, ...]) -> None:
        """Add columns, and move as few of the others as possible."""
        order = [column.id for column in self._siblings(parent)]
        positions = [order.index(self._ids[c.id]) for c in targets if c.id in self._ids]
        staying = {order[position] for position in _longest_increasing(positions)}
        previous: int | None = None
        for column in targets:
            if column.id not in self._ids:
                self._add(parent, column, previous)
            elif self._ids[column.id] not in staying:
                column_id = self._ids[column.id]
                after = None if previous is None else self._schema.column(previous).name
                path = self._schema.path(column_id)
                self._emit(changes.MoveColumn(path, after is None, after), column_id)
            previous = self._ids[column.id]

    def _add(self, parent: int | None, column: Column, previous: int | None) -> None:
        siblings = [sibling.id for sibling in self._siblings(parent)]
        behind = siblings[0 if previous is None else siblings.index(previous) + 1 :]
        first, after = False, None
        if any(sibling_id not in self._dropped for sibling_id in behind):
            first = previous is None
            after = None if previous is None else self._schema.column(previous).name
        above: ColumnPath = () if parent is None else self._schema.path(parent)
        default = changes.UNSET if column.write_default is None else column.write_default
        path = (*above, column.name)
        self._emit(
            changes.AddColumn(
                path, column.type, default, column.nullable, column.comment, first, after
            )
        )
        added = self._schema.get(path)
        pairs = zip(walk((column,)), walk((added,)), strict=True)
        self._ids |= {declared.id: stored.id for (declared, _), (stored, _) in pairs}
        self._new |= {declared.id for declared, _ in walk((column,))}

    def _column(self, target: Column) -> None:
        """The changes of one column that stays, and of those inside it."""
        if target.id in self._new:
            return
        column_id = self._ids[target.id]
        column = self._schema.column(column_id)
        match column.type, target.type:
            case Struct(), Struct(fields):
                self.level(column_id, fields)
            case old, new if is_nested(old) and type(old) is type(new):
                for inner in children(new):
                    self._column(inner)
            case old, new if old != new:
                if isinstance(column.write_default, Now | Evaluated):
                    self._emit(changes.DropDefault(self._schema.path(column_id)), column_id)
                narrows = not self._keeps_options
                change = changes.ChangeType(self._schema.path(column_id), new, narrows)
                self._emit(change, column_id)
        self._options(column_id, target)

    def _options(self, column_id: int, target: Column) -> None:
        column, path = self._schema.column(column_id), self._schema.path(column_id)
        if self._keeps_options:
            if target.write_default is not None and default_text(column) != default_text(target):
                self._emit(_set_default(path, column, target), column_id)
            if not target.nullable and column.nullable:
                self._emit(changes.SetNotNull(path), column_id)
            if target.comment and column.comment != target.comment:
                self._emit(changes.SetComment(path, target.comment), column_id)
            return
        if default_text(column) != default_text(target):
            default = target.write_default
            self._emit(
                changes.DropDefault(path)
                if default is None
                else _set_default(path, column, target),
                column_id,
            )
        if column.nullable != target.nullable and not self._is_key(column_id):
            change = changes.DropNotNull(path) if target.nullable else changes.SetNotNull(path)
            self._emit(change, column_id)
        if (column.comment or None) != (target.comment or None):
            self._emit(changes.SetComment(path, target.comment), column_id)

    def _is_key(self, column_id: int) -> bool:
        above = self._schema.ancestors(column_id)
        return (
            bool(above) and isinstance(above[-1].type, Map) and above[-1].type.key.id == column_id
        )

    # The table

    def release_arrangement(self) -> None:
        """Take dropped columns, and those whose new type forbids it, out of partitioning and order."""
        schema = self._schema
        partitioning = [
            field
            for field in schema.partitioning
            if not self._is_dropped(field.source) and self._applies(field)
        ]
        if len(partitioning) < len(schema.partitioning):
            self._partition([(field.source, field.transform) for field in partitioning])
        sort_by = [field for field in schema.sort_by if not self._is_dropped(field.source)]
        if len(sort_by) < len(schema.sort_by):
            self._sort(sort_by)

    def _is_dropped(self, column_id: int) -> bool:
        above = (column.id for column in self._schema.ancestors(column_id))
        return not self._dropped.isdisjoint((*above, column_id))

    def _applies(self, field: PartitionField) -> bool:
        """Whether a field of the partitioning applies to the declared type of its column, too."""
        declared = {old: new for new, old in self._ids.items()}[field.source]
        try:
            result_type(parse_transform(field.transform), self._target.column(declared).type)
        except InvalidRequestError:
            return False
        return True

    def arrange(self) -> None:
        """Partition and sort as declared."""
        declared = [(self._ids[f.source], f.transform) for f in self._target.partitioning]
        if declared != [(field.source, field.transform) for field in self._schema.partitioning]:
            self._partition(declared)
        sort_by = [SortField(self._ids[f.source], f.direction) for f in self._target.sort_by]
        if tuple(sort_by) != self._schema.sort_by:
            self._sort(sort_by)

    def release_checks(self, declared: Mapping[str, Condition]) -> dict[str, Condition]:
        """Drop constraints that are not declared, or say something else; return those to add."""
        stored = checks_of(self.current.properties)
        missing = dict(declared)
        for name, text in stored.items():
            other = next((each for each in declared if each.lower() == name.lower()), None)
            if other is not None and self._stored_form(declared[other]) == text:
                del missing[other]
            else:
                self._emit(changes.DropCheck(name))
        return missing

    def _stored_form(self, condition: Condition) -> str:
        """A declared condition by the IDs of the table; columns without one keep their names."""
        columns = {}
        for path in condition.columns:
            column = self._target.get(path)
            stored = self._ids.get(column.id)
            text = render_path(path) if stored is None else by_id(stored)
            columns[path] = (text, column.type)
        return condition.text(columns)

    def add_checks(self, missing: Mapping[str, Condition]) -> None:
        """Add constraints."""
        for name, condition in missing.items():
            self._emit(changes.AddCheck(name, condition))

    def release_logical(self, declared: Mapping[str, str]) -> None:
        """Drop logical types that are not declared, so that the types of their columns can change."""
        paths = filter(None, map(logical_path, declared))
        columns = (self._target.find(path) for path in paths)
        kept = {self._ids.get(column.id) for column in columns if column is not None}
        for column_id in logical_columns(self.current.properties):
            if column_id not in kept and column_id in self._schema.visible.ids:
                path = self._schema.path_text(column_id)
                self._emit(changes.UnsetProperty(f"{LOGICAL_TYPE}{path}"))

    def _partition(self, fields: Iterable[tuple[int, str]]) -> None:
        texts = (render_field(self._schema.path(i), parse_transform(text)) for i, text in fields)
        self._emit(changes.SetPartitioning(tuple(texts)))

    def _sort(self, fields: list[SortField]) -> None:
        texts = [self._schema.path_text(f.source) + f.direction.sql for f in fields]
        change = changes.SetProperty(SORT_BY, ", ".join(texts))
        self._emit(change if texts else changes.UnsetProperty(SORT_BY))

    def properties(self, declared: Mapping[str, str]) -> None:
        """Set and unset properties.

        Raises:
            InvalidRequestError: a declared property is one that the library maintains.
        """
        for key in sorted(filter(is_maintained, declared)):
            raise InvalidRequestError(
                f"the property {key} can't be set, since the table maintains it; leave it out",
                condition="INVALID_OPTION",
            )
        current = shown_properties(self.current.properties, self._schema)
        declared = canonical_properties(declared, self._schema.visible)
        for key in sorted({*current, *declared} - {APPLIED_SCHEMA, COMMENT}):
            if key not in declared:
                self._emit(changes.UnsetProperty(key))
            elif current.get(key) != declared[key]:
                self._emit(changes.SetProperty(key, declared[key]))

    def comment(self, text: str | None) -> None:
        """Set or remove the table's comment."""
        if text != self.current.comment:
            change = changes.SetProperty(COMMENT, text) if text else changes.UnsetProperty(COMMENT)
            self._emit(change)


def _set_default(path: ColumnPath, column: Column, target: Column) -> changes.SetDefault:
    """The declared default; fields inside it are matched by name."""
    return changes.SetDefault(path, constant_from_sql(default_text(target) or "NULL", column.type))


def _longest_increasing(numbers: list[int]) -> list[int]:
    """A longest increasing subsequence of distinct numbers."""
    ends: list[int] = []
    chains: list[list[int]] = []
    for number in numbers:
        at = bisect.bisect_left(ends, number)
        chain = [*(chains[at - 1] if at else []), number]
        if at == len(ends):
            ends.append(number)
            chains.append(chain)
        else:
            ends[at], chains[at] = number, chain
    return chains[-1] if chains else []
