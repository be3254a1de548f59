"""Errors about a name that is not there list the nearest ones."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from uuid import uuid4

import pytest
from click.testing import CliRunner

from pyspark_versioned.sql.procedure_requests import load_procedure
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.protocol.common import CatalogRef
from versioned_catalog import Catalog, InvalidRequestError, NotFoundError
from versioned_catalog.cli.main import main
from versioned_catalog.spelling import listed


def many(stem: str) -> list[str]:
    return [f"{stem}{number:03}" for number in range(80)]


def test_few_names_are_listed_in_their_order_and_of_many_the_nearest() -> None:
    assert listed("x", ["b", "a"]) == "b, a"
    assert listed("x", []) == "none"
    names = [*many("table_"), "orders", "Ünïcode", "orders_by_day"]
    assert listed("oders", names, 2) == "orders, orders_by_day and 81 more"
    assert listed("ORDERS-by-day", names, 1) == "orders_by_day and 82 more"
    assert listed("`a.b`", names, 3).endswith(" and 80 more")
    assert listed("", names, 3).endswith(" and 80 more")


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    catalog = Catalog(f"memory://{uuid4()}")
    for name in many("space_"):
        catalog.create_namespace(name)
    catalog.create_namespace("shop")
    catalog.create_table("shop.orders", ", ".join(f"{name} INT" for name in [*many("c_"), "total"]))
    catalog.create_table("space_000.orders", "id INT")
    for name in many("a_")[:30]:
        catalog.create_table(f"shop.{name}", "id INT")
    for name in [*many("a_view_")[:30], "daily"]:
        catalog.create_view(f"shop.{name}", "SELECT 1", "one INT")
    table = catalog.load_table("shop.orders")
    for name in [*many("a_")[:60], "release"]:
        table.set_tag(name)
        table.move_consumer(name)
        table.pin_schema(name)
    return catalog


Act = Callable[[Catalog], object]


@pytest.mark.parametrize(
    "act, hint",
    [
        (lambda c: c.load_table("shop.ordrs"), "tables: orders, "),
        (lambda c: c.load_table("space_000.ordrs"), "tables: orders, shop.orders, "),
        (lambda c: c.load_view("shop.dayly"), "the views are daily, "),
        (lambda c: c.list_tables("shopp"), "namespaces: shop, "),
        (lambda c: c.load_table("shop.orders").scan(["totl"]), "the columns are total, "),
        (lambda c: c.load_table("shop.orders").alter().drop_column("totl").commit(),
         "the columns are total, "),
        (lambda c: c.load_table("shop.orders").alter().move_column("c_000", after="totl").commit(),
         "AFTER names a sibling: total, "),
        (lambda c: c.load_table("shop.orders").at("relase"), "(the tags: release, "),
        (lambda c: c.load_table("shop.orders", schema="relase"), "(the pins: release, "),
        (lambda c: c.load_table("shop.orders").drop_consumer("relase"), "(the consumers: release, "),
    ],
)  # fmt: skip
def test_the_nearest_names_come_first(catalog: Catalog, act: Act, hint: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        act(catalog)
    assert hint in str(caught.value)
    assert " more" in str(caught.value)


def test_a_misspelled_command_is_told_the_nearest() -> None:
    done = CliRunner().invoke(main, ["verfy", "t"])
    assert (
        done.stderr
        == "error: No such command 'verfy'; did you mean verify? (see: versioned --help)\n"
    )
    done = CliRunner().invoke(main, ["alter", "t", "renam", "a", "b"])
    assert "did you mean rename?" in done.stderr


def test_a_misspelled_procedure_is_told_the_nearest() -> None:
    request = messages.LoadProcedure(
        CatalogRef("c", "memory://x", {}, None, None, None), ["system", "vacum"]
    )
    with pytest.raises(
        NotFoundError, match=r"system\.vacum; did you mean system\.vacuum\? There are"
    ):
        load_procedure(request)


def test_a_pin_is_not_moved_in_silence_nor_left() -> None:
    table = Catalog(f"memory://{uuid4()}").create_table("t", "id INT")
    table.pin_schema("billing", owner="me")
    assert table.pin_schema("billing") == table.version  # nothing to change, nothing to say
    table.alter().add_column("n", "INT").commit()
    with pytest.raises(
        InvalidRequestError, match="of schema 0, and the current one is 1; give schema_v"
    ):
        table.pin_schema("billing")
    table.pin_schema("billing", owner="you")
    assert (table.state.pins["billing"].schema_version, table.state.pins["billing"].owner) == (
        0,
        "you",
    )
    table.pin_schema("billing", 0)
    table.pin_schema("billing", 1)
    assert table.state.pins["billing"].schema_version == 1


def test_dir_lists_the_public_names_and_imports_nothing() -> None:
    code = (
        "import sys, versioned_catalog as v; assert set(v.__all__) <= set(dir(v)); "
        "assert 'pyarrow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
