"""What a description of a table costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyspark_versioned.sql import table_description
from pyspark_versioned.sql.table_description import describe
from versioned_catalog import Catalog
from versioned_catalog.model.types import Column
from versioned_catalog.read.metadata_columns import METADATA_COLUMNS


def test_each_column_is_described_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement asks for all columns of a wide table several times."""
    table = Catalog(tmp_path).create_table("t", "a INT, b STRING, c DECIMAL(5, 2)")
    described: list[str] = []
    describing = table_description._column

    def counting(column: Column) -> object:
        described.append(column.name)
        return describing(column)

    monkeypatch.setattr(table_description, "_column", counting)
    columns = describe(table, table.state, {}).columns
    assert described == ["a", "b", "c", *(column.name for column in METADATA_COLUMNS)]
    described.clear()
    assert describe(table, table.state, {}).columns == columns
    assert described == [column.name for column in METADATA_COLUMNS]
    assert [column.type for column in columns] == ["integer", "string", "decimal(5,2)"]
