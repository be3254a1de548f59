"""Requests of the naive model of keyed tables, applied to a real table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from faults.keyed_model import Ask
from versioned_catalog import Table

DDL, NAMES = "g INT, k LONG, n LONG, m INT", ("g", "k", "n", "m")
PRIMARY_KEY = ("g", "k")


def arrow_of(ask: Ask) -> pa.Table:
    """The rows of an upsert."""
    columns: list[Any] = (
        list(zip(*ask["rows"], strict=True)) if ask["rows"] else [[] for _ in ask["names"]]
    )
    return pa.table([pa.array(list(one), pa.int32()) for one in columns], list(ask["names"]))


def filters_of(where: Sequence[Any] | None) -> Any:
    """A condition as ``Table.scan`` takes it."""
    return None if where is None else [tuple(where)]


def assignments_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Assignments as ``Table.update`` takes them."""
    return {
        name: pc.field(name) + new[1] if isinstance(new, list) else new
        for name, new in asked.items()
    }


def alter_by(table: Table, ask: Ask) -> Any:
    """The alteration, to be committed."""
    change = table.alter()
    for what, name, *rest in ask["changes"]:
        match what:
            case "add":
                change.add_column(name, "int", default=rest[0])
            case "drop":
                change.drop_column(name)
            case "rename":
                change.rename_column(name, rest[0])
            case "default":
                change.set_default(name, rest[0])
            case "widen":
                change.change_type(name, "long")
    return change
