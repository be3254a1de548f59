"""A snapshot: one version of one table, which never changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError, names_table_in_errors
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain import column_tables, metadata_tables
from versioned_catalog.model.checks import shown_checks
from versioned_catalog.model.generated import generated_of, zone_that_matters
from versioned_catalog.model.identifiers import shown_properties
from versioned_catalog.model.identity import shown_clauses
from versioned_catalog.model.keys import key_properties, render_sort_by
from versioned_catalog.model.logical_columns import shown_logical
from versioned_catalog.model.partitioning import partition_fields
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.table_text import Definition, render_table, sql_name
from versioned_catalog.model.type_text import parse_path
from versioned_catalog.read.scan import Scan
from versioned_catalog.read.scan_columns import bind_filters, projected_columns
from versioned_catalog.storage.store import Store


@names_table_in_errors(lambda snapshot: (snapshot.name, snapshot.store.url))
@dataclass(frozen=True, eq=False, repr=False)
class Snapshot:
    """One version of a table: its schema, properties and rows. Later commits do not change it.

    Args:
        store: the store of the table's folder.
        state: the table's metadata at that version.
        name: the table's name in errors.

    >>> table = catalog.create_table("readings", "id BIGINT, celsius DOUBLE")
    >>> table.append(pa.table({"id": [1, 2], "celsius": [20.5, 21.0]}))
    1
    >>> before = table.snapshot()
    >>> table.alter().rename_column("celsius", "temperature").commit()
    2
    >>> before
    Snapshot('readings', version=1)
    >>> before.schema.names
    ['id', 'celsius']
    >>> before.scan(filters=[("celsius", ">", 20.9)]).to_arrow().to_pylist()
    [{'id': 2, 'celsius': 21.0}]
    >>> print(before.ddl(ids=True), end="")
    -- table ...
    CREATE TABLE readings (
      id BIGINT,  -- id 1
      celsius DOUBLE  -- id 2
    )
    USING versioned;
    """

    store: Store
    state: TableState
    name: str

    def __repr__(self) -> str:
        return f"Snapshot({self.name!r}, version={self.version})"

    @property
    def version(self) -> int:
        """The commit version of the snapshot."""
        return self.state.version

    @property
    def schema(self) -> Schema:
        """The schema at this version, without hidden columns; through a pin, its schema."""
        return self.state.seen.schema

    @property
    def properties(self) -> dict[str, str]:
        """The table properties at this version; the sort order and the key are among them."""
        sort_by = render_sort_by(self.schema)
        properties = shown_properties(self.state.properties, self.schema)
        properties |= {"sort_by": sort_by} if sort_by else {}
        return {**properties, **key_properties(self.schema)}

    @property
    def logical_types(self) -> dict[str, str]:
        """The logical types of columns, by their paths; see ``Alteration.set_logical``."""
        return shown_logical(self.state.properties, self.schema)

    @property
    def primary_key(self) -> list[str]:
        """Paths of the primary key columns, in key order; empty without a primary key."""
        return list(map(self.schema.path_text, self.schema.primary_key))

    @property
    def time_index(self) -> str | None:
        """Path of the time index column; None without one."""
        index = self.schema.time_index
        return None if index is None else self.schema.path_text(index)

    @property
    def comment(self) -> str | None:
        """The table comment; None without one."""
        return self.state.comment

    @property
    def tags(self) -> dict[str, int]:
        """Versions by the names that ``Table.set_tag`` gave them."""
        return dict(self.state.tags)

    @property
    def partitioning(self) -> list[str]:
        """Partition transforms of new segments, such as ``["days(ts)"]``."""
        return partition_fields(self.schema)

    def definition(self, name: str | None = None) -> Definition:
        """Return the definition of this version for CREATE TABLE; ``name`` as for ``ddl``."""
        path = sql_name(self.name) if name is None else parse_path(name)
        properties = shown_properties(self.state.properties, self.schema)
        ids = frozenset(self.schema.ids)
        uuid = self.state.table_uuid
        stored = self.state.properties
        return Definition(
            path,
            self.schema,
            properties,
            self.comment,
            ids,
            table_uuid=uuid,
            tables=(uuid,),
            clauses=shown_clauses(stored, self.schema),
            checks=shown_checks(stored, self.schema),
            zone=zone_that_matters(generated_of(stored), self.state.schema),
        )

    def ddl(self, ids: bool = False, *, name: str | None = None) -> str:
        """The CREATE TABLE statement of this version, one column a line.

        ALTER TABLE statements follow it for what CREATE TABLE can't express, such as the default of a
        nested field. A DEFAULT is the write default. Spark accepts every statement.

        Args:
            ids: add a line that names the table, ``-- table UUID``, and a comment with the column ID to
                each line, such as ``-- id 2``.
            name: the table's name in the statement, such as ``versioned.db.t``; None for its own.
        """
        return render_table(self.definition(name), ids=ids)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filters: Any = None,
        *,
        prune: bool = True,
        limit: int | None = None,
    ) -> Scan:
        """Scan the rows of this snapshot. See ``Table.scan``."""
        if limit is not None and (
            not isinstance(limit, int) or isinstance(limit, bool) or limit < 0
        ):
            raise InvalidRequestError(f"limit must be a non-negative integer, got {limit!r}")
        shown = list(self.schema.columns)
        if columns is not None:
            shown = projected_columns(self.schema, columns, self.state)
        bound = bind_filters(filters, self.state.known, self.state)
        return Scan(self.store, self.state, shown, bound, prune=prune, limit=limit)

    def count(self) -> int:
        """Count the rows: from metadata alone where no segments have to be merged."""
        if not self.schema.row_key:
            return self.state.segments.shown_rows
        return self.scan(columns=[]).count()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Export the rows as an Arrow stream, in bounded memory: see Arrow's PyCapsule interface."""
        return self.scan().__arrow_c_stream__(requested_schema)

    def to_pandas(self, **options: Any) -> Any:
        """Read the rows to a pandas DataFrame; options are those of ``pyarrow.Table.to_pandas``."""
        return self.scan().to_pandas(**options)

    def to_polars(self) -> Any:
        """A Polars LazyFrame of the rows. See ``Scan.to_polars``."""
        return self.scan().to_polars()

    def to_duckdb(self, connection: Any = None) -> Any:
        """A DuckDB relation of the rows. See ``Scan.to_duckdb``."""
        return self.scan().to_duckdb(connection)

    def segments(self) -> pa.Table:
        """List the live segments. See ``Inspection.segments``."""
        return metadata_tables.segments(self.state)

    def partitions(self) -> pa.Table:
        """List the partitions. See ``Inspection.partitions``."""
        return metadata_tables.partitions(self.state)

    def holding(self, path: str | tuple[str, ...] | int) -> pa.Table:
        """List how the live segments hold a column. See ``Inspection.holding``."""
        return column_tables.holding(
            self.state, column_tables.find_column(self.state, path, self.name)
        )
