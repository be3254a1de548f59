"""The rules of the matrix decide for every caller, and no caller decides a second time."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pyspark_versioned.sql.dispatch import respond
from versioned_catalog import Catalog, InvalidRequestError, NotFoundError, Table, VersionedError
from versioned_catalog.commit import incarnation_rules as incarnation
from versioned_catalog.commit import operations
from versioned_catalog.commit import schema_rules as schema
from versioned_catalog.commit import version_rules as versions
from versioned_catalog.commit.attempt import Rule
from versioned_catalog.commit.matrix import MATRIX
from versioned_catalog.names.creation import creation

INTEGERS = pa.schema([("id", pa.int32())])


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """A table without a pin, and one whose pin must be kept, in two namespaces."""
    catalog = Catalog(tmp_path)
    for namespace in ("n", "n.m"):
        catalog.create_namespace(namespace)
    catalog.create_table("n.a", "id INT")
    protected = catalog.create_table("n.m.t", "id INT", properties={"pins": "refuse"})
    protected.append(pa.table({"id": [1]}, schema=INTEGERS))
    protected.pin_schema("job")
    return catalog


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[type, Rule], None]:
    """Leave a rule out of the row of an operation."""

    def leave_out(operation: type, rule: Rule) -> None:
        row = MATRIX[operation]
        assert rule in row.required
        required = tuple(other for other in row.required if other is not rule)
        monkeypatch.setitem(MATRIX, operation, replace(row, required=required))  # type: ignore[misc]

    return leave_out


def request(catalog: Catalog, name: str, /, **body: Any) -> None:
    """Send a request as the jar does, and raise the error that it answers with."""
    body["catalog"] = {
        "name": "versioned",
        "warehouse": catalog._store.url,
        "storage": {},
        "schema_label": None,
        "wap_branch": None,
        "wap_id": None,
    }
    commit = {"id": "c" * 36, "retry": False, "by": {}}
    response = json.loads(respond({"request": name, "body": body, "commit": commit}))
    if "error" in response:
        raise InvalidRequestError(response["error"]["message"])
    assert "response" in response


def replace_by_path(catalog: Catalog) -> None:
    table = catalog.load_table("n.m.t")
    plan, operation = Catalog.plan_replacing(table, creation("id INT"), INTEGERS)
    Catalog.commit_replacing(plan.location, operation, table.name, "c" * 36)


ENDINGS: dict[str, tuple[type, Callable[[Catalog], Any]]] = {
    "Table.drop": (operations.Drop, lambda c: c.load_table("n.m.t").drop()),
    "Catalog.drop_table": (operations.Drop, lambda c: c.drop_table("n.m.t")),
    "Catalog.drop_namespace": (operations.Drop, lambda c: c.drop_namespace("n", cascade=True)),
    "DROP TABLE": (
        operations.Drop,
        lambda c: request(c, "drop", name=["n", "m", "t"], purge=False),
    ),
    "DROP NAMESPACE": (
        operations.Drop,
        lambda c: request(c, "drop_namespace", namespace=["n"], cascade=True),
    ),
    "Catalog.replace_table": (operations.Replace, lambda c: c.replace_table("n.m.t", "id INT")),
    "Catalog.commit_replacing": (operations.Replace, replace_by_path),
}
"""The ways to end an incarnation of a table, and the operation that each commits."""


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_rule_about_pins_decides_for_all_that_drop_or_replace(
    ending: str, catalog: Catalog, without: Callable[[type, Rule], None]
) -> None:
    operation, end = ENDINGS[ending]
    with pytest.raises(InvalidRequestError, match=r"can't be replaced or dropped.*pin 'job'"):
        end(catalog)
    for name in ("n.a", "n.m.t"):
        assert catalog.load_table(name).count() == (name == "n.m.t")
    before = catalog.load_table("n.m.t")
    without(operation, incarnation.no_pins_lost)
    end(catalog)
    now = Table(before.handle.log, before.handle.log.load(), before.name).loaded.state
    assert now is not None
    assert now.dropped or now.table_uuid != before.state.table_uuid


def unpinned(catalog: Catalog) -> Table:
    catalog.load_table("n.m.t").alter().set_property("pins", "allow").add_column(
        "x", "INT"
    ).commit()
    return catalog.load_table("n.m.t")


REFUSED: list[tuple[type, Rule, type[VersionedError], str, Callable[[Table], Any]]] = [
    (
        operations.Tag,
        versions.tag_can_change,
        InvalidRequestError,
        "digits alone are a version",
        lambda t: t.set_tag("7"),
    ),
    (
        operations.Tag,
        versions.tag_can_change,
        NotFoundError,
        "has no version 99",
        lambda t: t.set_tag("v", 99),
    ),
    (
        operations.Consume,
        versions.consumer_can_change,
        InvalidRequestError,
        "can't have read version 99",
        lambda t: t.move_consumer("c", 99),
    ),
    (
        operations.Drop,
        schema.in_current_schema,
        InvalidRequestError,
        "is seen in an earlier schema",
        lambda t: t.seen_as("job").drop(),
    ),
    (
        operations.Rollback,
        schema.in_current_schema,
        InvalidRequestError,
        "is seen in an earlier schema",
        lambda t: t.seen_as("job").rollback(1),
    ),
]


@pytest.mark.parametrize("operation, rule, error, words, act", REFUSED)
def test_a_rule_alone_refuses(
    operation: type,
    rule: Rule,
    error: type[VersionedError],
    words: str,
    act: Callable[[Table], Any],
    catalog: Catalog,
    without: Callable[[type, Rule], None],
) -> None:
    table = unpinned(catalog)
    with pytest.raises(error, match=words):
        act(table)
    version = table.version
    without(operation, rule)
    assert act(table) == version + 1
