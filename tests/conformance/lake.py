"""A warehouse and files for one situation, and short ways to fill and read its tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from versioned_catalog import Catalog, Table, VersionedError
from versioned_catalog.model.arrow import to_arrow_schema


class Lake:
    """A warehouse of its own, with a root ``files`` for files of others.

    Args:
        folder: an empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.files = folder / "files"
        self.files.mkdir()
        self.warehouse = folder / "warehouse"
        self.catalog = Catalog(self.warehouse, roots={"files": str(self.files)})

    def table(self, columns: str, *rows: Sequence[Any], name: str = "t", **options: Any) -> Table:
        """Create a table with these rows, if there are any, in one commit."""
        table = self.catalog.create_table(name, columns, **options)
        if rows:
            put(table, *rows)
        return table

    def parquet(self, path: str, columns: dict[str, Any] | pa.Table, **options: Any) -> Path:
        """Write a Parquet file of somebody else below the root."""
        file = self.files / path
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(
            columns if isinstance(columns, pa.Table) else pa.table(columns), file, **options
        )
        return file

    def text(self, path: str, text: str) -> Path:
        """Write a text file of somebody else below the root."""
        file = self.files / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def imported(self, source: str = ".", name: str = "t", **options: Any) -> Table:
        """Import files below the root, and load the table."""
        self.catalog.import_files(name, self.files / source, **options)
        return self.catalog.load_table(name)


def arrow(
    table: Table, rows: Iterable[Sequence[Any]], columns: Sequence[str] | None = None
) -> pa.Table:
    """Rows as Arrow data with the columns of a table, or the first few or named ones of them."""
    schema = to_arrow_schema(table.schema.columns)
    listed = list(rows)
    names = list(columns or schema.names[: max(map(len, listed), default=len(schema.names))])
    chosen = pa.schema([schema.field(name) for name in names])
    return pa.Table.from_pylist(
        [dict(zip(names, row, strict=True)) for row in listed], schema=chosen
    )


def put(table: Table, *rows: Sequence[Any], columns: Sequence[str] | None = None) -> int:
    """Append rows, in the order of the table's columns; those that are left out take their defaults."""
    return table.append(arrow(table, rows, columns))


def rows(table: Table, *columns: str, **options: Any) -> list[tuple[Any, ...]]:
    """The rows of the newest version, sorted."""
    scanned = table.refresh().scan(list(columns) or None, **options).to_arrow()
    return sorted((tuple(row.values()) for row in scanned.to_pylist()), key=repr)


def shown(table: Table) -> str:
    """The columns of the newest version, as DDL."""
    return str(table.refresh().schema)


def ids(table: Table, *paths: str) -> list[int]:
    """The IDs of columns, by their dotted paths."""
    return [table.schema.get(tuple(path.split("."))).id for path in paths]


def alter(table: Table, sql: str) -> int:
    """Commit what follows ``ALTER TABLE`` in a statement."""
    return table.refresh().alter_sql(f"ALTER TABLE {table.name} {sql}").commit()


def changed(
    table: Table, start: int, end: int | None = None, **options: Any
) -> list[tuple[Any, ...]]:
    """The changes of a range of versions: their type, and the columns of the table, sorted."""
    feed = table.refresh().changes(start, end, **options).to_arrow()
    names = [name for name in feed.column_names if not name.startswith("_c")]
    return sorted(
        ((row["_change_type"], *(row[name] for name in names)) for row in feed.to_pylist()),
        key=repr,
    )


def refused(
    message: str, error: type[VersionedError] = VersionedError
) -> AbstractContextManager[Any]:
    """The block must raise one of our errors whose text has ``message``, a regular expression."""
    return pytest.raises(error, match=message)


def segments(table: Table) -> int:
    """The number of live segments of the newest version."""
    return table.refresh().inspect.segments().num_rows


def read_segments(table: Table, *condition: Any) -> int:
    """The number of segments that a filter leaves to be read."""
    report = table.refresh().scan(filters=[condition]).report()
    return report.segments - report.pruned


def three_versions(lake: Lake) -> Table:
    """A table whose versions 1, 2 and 3 add the rows 0 to 2, 3 to 5 and 6 to 8."""
    table = lake.table("id INT", (0,), (1,), (2,))
    put(table, (3,), (4,), (5,))
    put(table, (6,), (7,), (8,))
    return table
