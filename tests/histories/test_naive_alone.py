"""The model itself: it has no imports from the project, and gives the results of the seed examples."""

from __future__ import annotations

import re
from pathlib import Path

from histories.naive import Field, Model, alter, holds, show, store_row


def test_the_model_imports_nothing_of_the_project() -> None:
    text = Path(__file__).with_name("naive.py").read_text()
    imported = re.findall(r"^\s*(?:from|import)\s+(\w+)", text, re.M)
    assert set(imported) <= {
        "__future__", "collections", "dataclasses", "datetime", "decimal", "itertools", "math",
        "struct", "typing",
    }  # fmt: skip


def test_the_example_of_kudu() -> None:
    a, b = Field(1, "col_a", "int"), Field(2, "col_b", "int")
    model = Model((a, b))
    model.rows = [store_row(model.fields, {"col_a": 1, "col_b": 1})]
    model.fields = alter(model, [("drop", 2)])
    added = Field(3, "col_b", "int", nullable=False, read_default=999, write_default=999)
    model.fields = alter(model, [("add", None, added, None)])
    assert [show(f, model.rows[0]) for f in model.fields] == [1, 999]


def test_the_example_of_materialize() -> None:
    a, b = Field(1, "a", "string"), Field(2, "b", "int")
    model = Model((a, b))
    model.rows = [store_row(model.fields, {"a": "hello", "b": 5})]
    model.fields = alter(
        model, [("drop", 2), ("add", None, Field(3, "b", "int", True, 50, 50), None)]
    )
    assert not holds(model.fields, model.rows[0], [[((3,), "=", 5)]])
    assert holds(model.fields, model.rows[0], [[((3,), "=", 50)]])
