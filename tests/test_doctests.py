"""The examples in the docstrings of the public API run."""

from __future__ import annotations

import doctest
import importlib

import pyarrow as pa
import pytest

from versioned_catalog import Catalog

DOCUMENTED = (
    "alteration",
    "catalog.catalog",
    "inspection.inspection",
    "maintenance.maintenance",
    "scan.scan",
    "schema.schema",
    "snapshot",
    "table",
    "transaction",
    "write.expressions",
)
"""The modules of the public API; each of them has an example."""


def examples() -> list[doctest.DocTest]:
    modules = [importlib.import_module(f"versioned_catalog.{name}") for name in DOCUMENTED]
    found = [test for module in modules for test in doctest.DocTestFinder().find(module)]
    return [test for test in found if test.examples]


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_example(example: doctest.DocTest) -> None:
    example.globs |= {"pa": pa, "catalog": Catalog(f"memory://{example.name}")}
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example)
    assert result.failed == 0
    assert result.attempted > 0


def test_every_module_has_an_example() -> None:
    shown = {test.globs["__name__"].removeprefix("versioned_catalog.") for test in examples()}
    assert shown == set(DOCUMENTED)
