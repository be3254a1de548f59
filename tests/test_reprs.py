"""The representations of the public objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from versioned_catalog import Catalog, Schema, Table


@pytest.fixture
def table(tmp_path: Path) -> Table:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    return catalog.create_table(
        "n.t",
        "id INT NOT NULL, ts TIMESTAMP, host STRING DEFAULT 'a', s STRUCT<x: INT>",
        partitioned_by=["days(ts)", "bucket(4, id)"],
        properties={"sort_by": "host, ts DESC"},
    )


def test_repr_of_a_table(table: Table, tmp_path: Path) -> None:
    assert repr(table) == "Table('n.t', version=0, columns: id, ts, host, s)"
    wide = Catalog.create_path(tmp_path / "w", ", ".join(f"c{i} INT" for i in range(30)))
    assert repr(wide).endswith("c18, c19, and 10 more)")
    table.drop()
    assert repr(table) == "Table('n.t', dropped)"


def test_repr_of_a_schema(table: Table, tmp_path: Path) -> None:
    assert repr(table.schema) == (
        "Schema(version 0: id INT NOT NULL, ts TIMESTAMP, host STRING DEFAULT 'a', s STRUCT<x: INT>; "
        "partitioned by days of ts, bucket(4) of id; sorted by host, ts DESC)"
    )
    keyed = Catalog.create_path(
        tmp_path / "k", "k INT, t TIMESTAMP", primary_key=["k"], time_index="t"
    )
    assert repr(keyed.schema).endswith("; primary key k; time index t)")
    wide = Schema.parse(", ".join(f"c{i} INT" for i in range(30)))
    assert repr(wide).endswith("c19 INT, and 10 more)")


def test_repr_of_an_alteration(table: Table) -> None:
    assert repr(table.alter()) == "Alteration(no changes yet)"
    change = table.alter().add_column("n", "int", default=5, after="id").drop_column("host")
    assert repr(change) == "Alteration(ADD COLUMN n INT DEFAULT 5 AFTER id; DROP COLUMN host)"


def test_repr_of_a_scan(table: Table) -> None:
    plain = repr(table.scan())
    assert plain == f"Scan('{table.location}', version=0, columns=['id', 'ts', 'host', 's'])"
    filters_ = [
        [("id", ">", 1), ("host", "in", ["a", "it's"])],
        [("s.x", "!=", 3), ("_schema_version", "=", 0)],
    ]
    filtered = repr(table.scan(columns=["id"], filters=filters_, limit=5))
    assert "columns=['id'], where (id > 1 AND host IN ('a', 'it\\'s')) OR (s.x " in filtered
    assert filtered.endswith(", limit=5)")
