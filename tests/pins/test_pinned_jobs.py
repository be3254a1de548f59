"""Every change of a schema, and every operation of a job that is pinned to the schema before it."""

from __future__ import annotations

import uuid
from typing import Any

import pyarrow as pa
import pytest

from pairwise import matrix
from pins.cases import (
    AFTER,
    ARROW,
    CHANGES,
    INSERTED,
    UPSERTED,
    Change,
    Row,
    create,
    expected_now,
    touch,
)
from versioned_catalog import Catalog, Table


@pytest.fixture
def catalog() -> Catalog:
    return Catalog(f"memory://{uuid.uuid4()}")


IN_PYTHON = [name for name in AFTER if name != "merge"]


def by_id(table: Table) -> list[Row]:
    return sorted(table.refresh().scan().to_arrow().to_pylist(), key=lambda row: row["id"])


def rows(values: list[Row], *names: str) -> pa.Table:
    kept = [ARROW.field(name) for name in names] if names else list(ARROW)
    return pa.Table.from_pylist(values, pa.schema(kept))


def operate(pinned: Table, operation: str) -> None:
    match operation:
        case "insert":
            pinned.append(rows([INSERTED], "id", "n", "p", "l", "k", "j"))
        case "update":
            pinned.update({"n": 21, "p.x": 22}, [("s", "=", "b")])
        case "delete":
            pinned.delete([("n", "=", 10)])
        case "upsert":
            pinned.upsert(rows(UPSERTED))
        case "partial upsert":
            given = [{"id": 1, "n": 111, "j": 1}, {"id": 7, "n": 77, "j": 7}]
            pinned.upsert(rows(given, "id", "n", "j"), partial=True)
        case "compact":
            pinned.maintenance.compact()
        case "read":
            pass


def is_possible(change: Change, operation: str, keyed: bool) -> bool:
    if operation in ("upsert", "partial upsert") and not keyed:
        return False
    return change.keyed is None or change.keyed == keyed


KINDS = {
    **dict.fromkeys(("read", "compact"), "read"),
    **dict.fromkeys(("insert", "upsert", "partial upsert"), "add"),
    **dict.fromkeys(("update", "delete"), "rewrite"),
}


def covered(change: Change, operation: str, keyed: bool) -> set[tuple[str, object]]:
    """Each change with each kind of operation and of table, and each operation with each table."""
    kind = KINDS[operation]
    return {(change.name, kind), (change.name, keyed), (operation, keyed)}


CASES = matrix(
    [
        (change, operation, keyed)
        for change in CHANGES
        for operation in IN_PYTHON
        for keyed in (False, True)
        if is_possible(change, operation, keyed)
    ],
    lambda change, operation, keyed: (
        f"{change.name} / {operation} / {'key' if keyed else 'no key'}"
    ),
    covered,
)


@pytest.mark.parametrize(("change", "operation", "keyed"), CASES)
def test_a_pinned_job_works_as_before_the_change(
    catalog: Catalog, change: Change, operation: str, keyed: bool
) -> None:
    table = create(catalog, keyed)
    change.alter(table.alter()).commit()
    touch(table, change)
    pinned = catalog.load_table("t", schema="job")
    assert pinned.schema.names == ARROW.names
    operate(pinned, operation)
    assert in_order(by_id(pinned)) == in_order(AFTER[operation](change.default))
    assert in_order(by_id(table)) == in_order(expected_now(change, operation))


def in_order(found: list[Row]) -> list[list[tuple[str, Any]]]:
    """Rows with their columns in order: a dictionary would compare equal in any order."""
    return [list(row.items()) for row in found]
