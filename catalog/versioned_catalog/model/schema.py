"""A schema: an ordered list of columns with IDs, and the arrangement of the table."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, KeysView, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.interop import interop
from versioned_catalog.limits import TYPE_DEPTH
from versioned_catalog.model.ddl import parse_columns, render_columns
from versioned_catalog.model.hidden_columns import (
    check_key_type,
    check_time_index_type,
    is_hidden_name,
    visible,
)
from versioned_catalog.model.keys import ASCENDING, SORT_BY, Direction, parse_sort_by, take_key
from versioned_catalog.model.table_parser import TableStatement, parse_statement
from versioned_catalog.model.transforms import parse_partitioning, render
from versioned_catalog.model.type_text import (
    ColumnPath,
    has_control_characters,
    has_control_characters_in_storage,
    render_path,
)
from versioned_catalog.model.types import (
    FIRST_INTERNAL_ID,
    UNASSIGNED,
    Array,
    Atom,
    Column,
    Map,
    Struct,
    children,
    is_repeated,
    walk,
    with_children,
)
from versioned_catalog.spelling import listed


def arrangement(schema: Schema) -> list[str]:
    """Describe partitioning, keys and order, each in a phrase."""
    path_of = schema.path_text
    arranged = {
        "partitioned by": [
            f"{part.transform} of {path_of(part.source)}" for part in schema.partitioning
        ],
        "primary key": list(map(path_of, schema.primary_key)),
        "time index": [] if schema.time_index is None else [path_of(schema.time_index)],
        "sorted by": [path_of(part.source) + part.direction.sql for part in schema.sort_by],
    }
    return [f"{label} {', '.join(names)}" for label, names in arranged.items() if names]


INTERNAL_NAMES = ("__sequence", "__op_type", "__row_id", "__row_updated")
"""Physical names that are reserved at the top level (FORMAT.md, section 4.3)."""

_SHOWN = 20
"""The number of columns in a schema's ``repr``."""

_ONE_I = {0x130: "i", 0x131: "i"}
"""Spark treats dotted and dotless i as one letter, and fails on columns that differ by it."""


@lru_cache(maxsize=16_384)
def name_key(name: str) -> str:
    """The key that names are compared by, regardless of case."""
    return name.translate(_ONE_I).lower().casefold()


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A field of a table's partitioning.

    Args:
        source: the ID of the column that the partition value is computed from.
        transform: ``identity``, ``days``, ``bucket(16)``, …: see ``model.transforms``.
    """

    source: int
    transform: str


@dataclass(frozen=True, slots=True)
class SortField:
    """A field of a table's sort order, by column ID."""

    source: int
    direction: Direction = ASCENDING


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The members of a schema beside its columns; see ``Schema``."""

    partitioning: tuple[PartitionField, ...] = ()
    sort_by: tuple[SortField, ...] = ()
    primary_key: tuple[int, ...] = ()
    time_index: int | None = None


def _check_void(column: Column, above: tuple[Column, ...]) -> None:
    """Refuse a VOID column that is not nullable, of which there could be no value."""
    if column.nullable or column.type is not Atom.VOID:
        return
    name = render_path((*(outer.name for outer in above), column.name))
    if above and isinstance(above[-1].type, Map):
        problem = "since keys of maps are not null; CAST the map to one with a type of keys"
    else:
        problem = "since it is NOT NULL; leave that out, or give the column a type"
    raise InvalidRequestError(
        f"the column {name} can't be VOID, which holds nulls only, {problem}",
        condition="NOT_SUPPORTED",
    )


@dataclass(frozen=True)
class Schema:
    """An ordered list of columns under one version number.

    Args:
        columns: the top-level columns, in order.
        version: the schema version.
        partitioning, sort_by: how new segments are partitioned and sorted.
        primary_key, time_index: the column IDs of the row key (FORMAT.md, section 13).

    >>> schema = catalog.create_table("t", "id BIGINT NOT NULL, place STRUCT<zip: STRING>").schema
    >>> schema.names
    ['id', 'place']
    >>> schema.get(("place", "zip")).id
    3
    >>> Schema.from_ddl("CREATE TABLE cpu (host STRING, usage INT, PRIMARY KEY (host))")
    Schema(version 0: host STRING NOT NULL, usage INT; primary key host)

    Raises:
        InvalidRequestError: names or IDs occur twice, a name is invalid, or the arrangement refers to
            a column that does not exist or has the wrong type.
    """

    columns: tuple[Column, ...]
    version: int = 0
    partitioning: tuple[PartitionField, ...] = ()
    sort_by: tuple[SortField, ...] = ()
    primary_key: tuple[int, ...] = ()
    time_index: int | None = None
    _by_id: dict[int, tuple[Column, tuple[Column, ...]]] = field(
        init=False, repr=False, compare=False, hash=False
    )

    def __repr__(self) -> str:
        """One line: the DDL of the first columns, and the arrangement."""
        columns = visible(self.columns)
        shown = render_columns(columns[:_SHOWN])
        more = len(columns) - _SHOWN
        text = shown + (f", and {more} more" if more > 0 else "")
        return f"Schema({'; '.join([f'version {self.version}: {text}', *arrangement(self)])})"

    def _repr_html_(self) -> str:
        """The columns and the arrangement, for notebooks."""
        facts = [f"version {self.version}", *arrangement(self)]
        html: str = interop("columns_html")("Schema", facts, visible(self.columns))
        return html

    def __post_init__(self) -> None:
        _check_names(self.columns, ())
        by_id: dict[int, tuple[Column, tuple[Column, ...]]] = {}
        for column, above in walk(self.columns):
            if column.id in by_id and column.id != UNASSIGNED:
                raise InvalidRequestError(f"column ID {column.id} occurs twice")
            if column.id >= FIRST_INTERNAL_ID or column.id < UNASSIGNED:
                raise InvalidRequestError(f"column ID {column.id} is out of range")
            _check_void(column, above)
            by_id[column.id] = (column, above)
        object.__setattr__(self, "_by_id", by_id)
        arranged: tuple[PartitionField | SortField, ...] = (*self.partitioning, *self.sort_by)
        for used in arranged:
            if used.source not in by_id:
                raise InvalidRequestError(
                    "the table is partitioned or sorted by a column that does not exist: ID "
                    f"{used.source}"
                )
            line = (*by_id[used.source][1], by_id[used.source][0])
            if any(column.hidden for column in line):
                raise InvalidRequestError(
                    f"can't partition or sort by {line[-1].physical_name} (ID {used.source}), which was "
                    "dropped and is kept for a schema pin"
                )
            if is_repeated(line):
                raise InvalidRequestError(
                    f"can't partition or sort by {self.path_text(used.source)}, since it is a list or "
                    "map or inside one; use columns that have one value per row"
                )
        self._check_key()

    def _check_key(self) -> None:
        if not self.row_key:
            return
        if len(set(self.primary_key)) < len(self.primary_key):
            raise InvalidRequestError("the primary key names a column twice; name it once")
        top = {column.id: column for column in self.columns}
        for column_id in self.row_key:
            if column_id not in top:
                raise InvalidRequestError(
                    f"the row key names column ID {column_id}, which is not a top-level column"
                )
            if top[column_id].hidden:
                raise InvalidRequestError(
                    f"the row key names column ID {column_id}, which is hidden"
                )
            check_key_type(top[column_id])
        if self.time_index is not None:
            check_time_index_type(top[self.time_index])
        if self.sort_by:
            raise InvalidRequestError(
                f"a table with a row key is sorted by it ({self._key_text()}) and by nothing else; "
                "leave out sort_by"
            )
        for part in self.partitioning:
            if self.primary_key and part.source not in self.row_key:
                raise InvalidRequestError(
                    f"a table with a primary key can't be partitioned by {self.path_text(part.source)}, "
                    "since versions of one row could be in several partitions; partition by "
                    f"columns of its row key ({self._key_text()})"
                )

    def _key_text(self) -> str:
        return ", ".join(map(self.path_text, self.row_key))

    @property
    def arrangement(self) -> Arrangement:
        """The members beside the columns."""
        return Arrangement(self.partitioning, self.sort_by, self.primary_key, self.time_index)

    @staticmethod
    def parse(ddl: str) -> Schema:
        """A schema from Spark's DDL: ``"ts TIMESTAMP NOT NULL, host STRING DEFAULT 'a'"``.

        Raises:
            InvalidRequestError: it does not parse, or a default does not fit its column.
        """
        return Schema(parse_columns(ddl))

    @staticmethod
    def from_ddl(ddl: str) -> Schema:
        """A schema from a CREATE TABLE statement, with its key, partitioning and sort order.

        ``-- id 2`` at the end of a line gives the ID of the column on it, in the first table that the
        text names (``-- table UUID``). ALTER TABLE ... ALTER COLUMN may follow, as in ``Table.ddl``. A
        schema has no properties, comment, constraints and computed columns: see ``create_from_ddl``.

        Raises:
            InvalidRequestError: it does not parse, or has what versioned tables do not support.
            NotFoundError: it names a column that does not exist.
        """
        return declared_schema(parse_statement(ddl))

    def __str__(self) -> str:
        """The columns as Spark's DDL."""
        return render_columns(visible(self.columns))

    @property
    def row_key(self) -> tuple[int, ...]:
        """The IDs of the primary key, then the time index if it is not among them."""
        last = () if self.time_index in (None, *self.primary_key) else (self.time_index,)
        return (*self.primary_key, *last)

    @property
    def is_keyed(self) -> bool:
        """Whether the table has a primary key, so that writes are upserts."""
        return bool(self.primary_key)

    @property
    def ids(self) -> KeysView[int]:
        """The IDs of all columns, nested ones too."""
        return self._by_id.keys()

    def numbered(self, version: int) -> Schema:
        """This schema under another version number, without checking it again."""
        if version == self.version:
            return self
        twin = copy.copy(self)
        object.__setattr__(twin, "version", version)
        vars(twin).pop("visible", None)
        return twin

    def same_but_version(self, other: Schema) -> bool:
        """Whether another schema is equal except for the version number."""
        return self == other.numbered(self.version)

    @cached_property
    def visible(self) -> Schema:
        """This schema without hidden columns; the same object if it has none."""
        if not any(column.hidden for column, _ in walk(self.columns)):
            return self
        return replace(self, columns=visible(self.columns))

    @property
    def names(self) -> list[str]:
        """The names of the top-level columns, in order."""
        return [column.name for column in self.columns]

    def column(self, column_id: int) -> Column:
        """Find a column by its ID, at any depth.

        Raises:
            NotFoundError: this schema has no column with that ID.
        """
        return self._entry(column_id)[0]

    def ancestors(self, column_id: int) -> tuple[Column, ...]:
        """The columns around a nested column, outermost first."""
        return self._entry(column_id)[1]

    def _entry(self, column_id: int) -> tuple[Column, tuple[Column, ...]]:
        try:
            return self._by_id[column_id]
        except KeyError:
            raise NotFoundError(
                f"there is no column with ID {column_id}", condition="COLUMN_NOT_FOUND"
            ) from None

    def find(self, path: ColumnPath) -> Column | None:
        """The column at a path of names, regardless of case, or None; never a hidden column."""
        return self._by_path.get(tuple(map(name_key, path)))

    @cached_property
    def _by_path(self) -> dict[ColumnPath, Column]:
        """Visible columns by the ``name_key`` of every name in their path."""
        return _paths(walk(self.columns))

    def get(self, path: ColumnPath) -> Column:
        """The column at a path of names, regardless of case.

        Raises:
            NotFoundError: it does not exist; the message lists the columns that do.
        """
        column = self.find(path)
        if column is None:
            raise NotFoundError(
                f"there is no column {render_path(path)}; the columns are {self._listing(path)}",
                condition="COLUMN_NOT_FOUND",
            )
        return column

    def _listing(self, path: ColumnPath) -> str:
        parent = self.find(path[:-1]) if len(path) > 1 else None
        columns = visible(children(parent.type) if parent else self.columns)
        return listed(render_path(path[-1:]), (render_path((c.name,)) for c in columns), 50)

    def path(self, column_id: int) -> ColumnPath:
        """The path of names of the column with this ID."""
        column, above = self._entry(column_id)
        return (*(c.name for c in above), column.name)

    def path_text(self, column_id: int) -> str:
        """The dotted path of the column with this ID."""
        return render_path(self.path(column_id))

    def physical_path(self, column_id: int) -> ColumnPath:
        """The path of physical names of the column with this ID."""
        column, above = self._entry(column_id)
        return (*(c.physical_name for c in above), column.physical_name)

    def replace_column(self, column_id: int, change: Callable[[Column], Column]) -> Schema:
        """This schema with ``change`` applied to one column, nested or not."""
        top = (*self.ancestors(column_id), self.column(column_id))[0]

        def changed(column: Column) -> Column:
            if column.id == column_id:
                return change(column)
            inner = children(column.type)
            if not inner:
                return column
            return replace(column, type=with_children(column.type, tuple(map(changed, inner))))

        return self._with_top(top, changed(top))

    def _with_top(self, old: Column, new: Column) -> Schema:
        """This schema with another column in the place of a top-level one."""
        at = self._positions[old.id]
        columns = (*self.columns[:at], new, *self.columns[at + 1 :])
        if self._arranges(old.id) or not _is_same_tree(old, new):
            return replace(self, columns=columns)
        # Checking all columns again would make an ALTER of many of them quadratic.
        twin = copy.copy(self)
        members = vars(twin)
        walked = list(walk((new,)))
        for line in walked:
            _check_void(*line)
        members["columns"] = columns
        members["_by_id"] = self._by_id | {column.id: (column, above) for column, above in walked}
        if "_by_path" in members:
            members["_by_path"] = self._by_path | _paths(walked)
        shown = members.pop("visible", None)
        if shown is self:
            members["visible"] = twin
        elif shown is not None and not new.hidden:
            (shown_new,) = visible((new,))
            members["visible"] = shown._with_top(shown.column(old.id), shown_new)
        return twin

    @cached_property
    def _positions(self) -> Mapping[int, int]:
        """The positions of the top-level columns by their IDs."""
        return {column.id: at for at, column in enumerate(self.columns)}

    def _arranges(self, top_id: int) -> bool:
        """Whether the row key, partitioning or order refer to a top-level column or one inside it."""
        fields: tuple[PartitionField | SortField, ...] = (*self.partitioning, *self.sort_by)
        return any(
            top_id == (*self.ancestors(source), self.column(source))[0].id
            for source in (*self.row_key, *(field.source for field in fields))
        )

    def edit_siblings(
        self, column_id: int, edit: Callable[[tuple[Column, ...]], tuple[Column, ...]]
    ) -> Schema:
        """This schema with ``edit`` applied to a column and its siblings."""
        above = self.ancestors(column_id)
        return self.edit_children(above[-1].id if above else None, edit)

    def edit_children(
        self, parent_id: int | None, edit: Callable[[tuple[Column, ...]], tuple[Column, ...]]
    ) -> Schema:
        """This schema with ``edit`` applied to the columns inside a parent (None: the top level)."""
        if parent_id is None:
            return replace(self, columns=edit(self.columns))

        def change(column: Column) -> Column:
            inner = children(column.type)
            if column.id == parent_id:
                return replace(column, type=with_children(column.type, edit(inner)))
            if not inner:
                return column
            return replace(column, type=with_children(column.type, tuple(map(change, inner))))

        return replace(self, columns=tuple(change(c) for c in self.columns))


def _paths(walked: Iterable[tuple[Column, tuple[Column, ...]]]) -> dict[ColumnPath, Column]:
    """Those that are visible of some columns, each with its ancestors, by their paths."""
    return {
        tuple(name_key(c.name) for c in (*above, column)): column
        for column, above in walked
        if not any(c.hidden for c in (*above, column))
    }


def _is_same_tree(old: Column, new: Column) -> bool:
    """Whether two columns, and those inside them, differ in no ID or name, and none gets hidden."""

    def facts(root: Column) -> list[tuple[int, str, bool, int]]:
        return [(c.id, c.name, c.hidden, len(above)) for c, above in walk((root,))]

    return facts(old) == facts(new)


def declared_schema(statement: TableStatement) -> Schema:
    """The schema of a CREATE TABLE statement and the ALTER statements after it, which are parsed here.

    Raises:
        InvalidRequestError: an ALTER does not parse, or the key or a default does not fit.
        NotFoundError: the statements name a column that does not exist.
    """
    properties = statement.properties
    sort_by = properties.pop(SORT_BY, None)
    key = take_key(properties, statement.key_names, None)
    schema = key.apply(Schema(tuple(statement.columns)))
    fields = parse_partitioning(statement.partitioning)
    sorting = [] if sort_by is None else parse_sort_by(sort_by)
    schema = replace(
        schema,
        partitioning=tuple(PartitionField(schema.get(p).id, render(t)) for p, t in fields),
        sort_by=tuple(SortField(schema.get(path).id, way) for path, way in sorting),
    )
    for column_id, change in statement.alters(schema.get):
        schema = schema.replace_column(column_id, change)
    return schema


def check_new_name(name: str) -> None:
    """Refuse a name that a new or renamed column can't have.

    Raises:
        InvalidRequestError: it holds control characters, or is reserved for hidden columns.
    """
    if has_control_characters(name):
        raise _control_characters(name)
    if is_hidden_name(name):
        raise InvalidRequestError(
            f"the column name {name!r} is reserved for hidden columns; choose another name",
            condition="INVALID_NAME",
        )


def _control_characters(name: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"the column name {name!r} holds control characters; choose another name",
        condition="INVALID_NAME",
    )


def _check_names(columns: Iterable[Column], above: ColumnPath) -> None:
    seen: dict[str, str] = {}
    for column in columns:
        here = (*above, column.name)
        if len(here) > TYPE_DEPTH + 1:
            raise InvalidRequestError(
                f"the column {render_path(here[:3])}… is nested more than {TYPE_DEPTH} deep; flatten it"
            )
        if not column.name:
            raise InvalidRequestError(
                f"a column in {render_path(above) or 'the table'} has no name"
            )
        if has_control_characters_in_storage(column.name):
            raise _control_characters(column.name)
        key = name_key(column.name)
        if key in seen:
            raise InvalidRequestError(
                f"the column {render_path(here)} occurs twice (also as {seen[key]}); "
                "names are compared regardless of case",
                condition="COLUMN_ALREADY_EXISTS",
            )
        seen[key] = column.name
        if isinstance(column.type, Struct | Array | Map):
            _check_names(children(column.type), here)
