"""The examples in the docstrings of the public API run."""

from __future__ import annotations

import doctest
import sys

import pyarrow as pa
import pytest

import versioned_catalog
from versioned_catalog import Catalog, VersionedError

PUBLIC = [
    public
    for name in versioned_catalog.__all__
    if not isinstance(public := getattr(versioned_catalog, name), type)
    or not issubclass(public, VersionedError)
]
"""The public API without its errors; each part has an example."""


def examples() -> list[doctest.DocTest]:
    modules = {sys.modules[public.__module__]: None for public in PUBLIC}
    found = [test for module in modules for test in doctest.DocTestFinder().find(module)]
    return [test for test in found if test.examples]


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_example(example: doctest.DocTest) -> None:
    example.globs |= {"pa": pa, "catalog": Catalog(f"memory://{example.name}")}
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example)
    assert result.failed == 0
    assert result.attempted > 0


def test_all_of_the_public_api_has_examples() -> None:
    wanted = {f"{public.__module__}.{public.__qualname__}" for public in PUBLIC}
    assert wanted == {example.name for example in examples()}
