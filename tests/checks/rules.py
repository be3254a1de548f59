"""The two rules that commits hold rows to: a CHECK constraint, and a logical type.

``rows`` are of the columns ``COLUMNS``; by default, they satisfy every rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import InvalidRequestError, Table
from versioned_catalog.alteration import Alteration

COLUMNS = "id BIGINT, n INT, s STRING"
UUIDS = [f"00000000-0000-7000-8000-{at:012x}" for at in range(20)]
NO_UUID = UUIDS[10].upper()


def rows(*ids: int, n: int | None = 1, s: str | None = "") -> pa.Table:
    """Rows with an ID each; ``s`` is the UUID of the ID if it is empty."""
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "n": pa.array([n] * len(ids), pa.int32()),
            "s": pa.array([UUIDS[i] if s == "" else s for i in ids], pa.string()),
        }
    )


def ids(table: Table) -> list[int]:
    """The IDs of the rows that are there now."""
    return sorted(table.refresh().scan(["id"]).to_arrow()["id"].to_pylist())


def refused(what: Callable[[], object], *texts: str) -> InvalidRequestError:
    """Check that a request is refused with an error that holds some texts."""
    with pytest.raises(InvalidRequestError) as caught:
        what()
    for text in texts:
        assert text in str(caught.value)
    return caught.value


def opened_files(table: Table, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are opened from now on to be read."""
    store = type(table.handle.log.store)
    opened: list[str] = []
    real = store.open

    def recorded(self: Any, path: str) -> Any:
        opened.append(path)
        return real(self, path)

    monkeypatch.setattr(store, "open", recorded)
    return opened


@dataclass(frozen=True)
class Rule:
    """A rule for rows.

    Args:
        name: its name in the IDs of tests.
        add, drop: alter a table so that it has the rule, or not.
        column: the column that it looks at.
        bad: a value that violates it.
        said: what an error says of it and of the value.
    """

    name: str
    add: Callable[[Alteration], Alteration]
    drop: Callable[[Alteration], Alteration]
    column: str
    bad: Any
    said: tuple[str, ...]

    def violating(self, *ids: int) -> pa.Table:
        """Rows that violate it."""
        return rows(*ids, **{self.column: self.bad})

    def holds(self, table: Table) -> bool:
        """Whether a table has the rule."""
        return bool(table.checks or table.logical_types)


RULES = (
    Rule(
        "check",
        lambda alteration: alteration.add_check("positive", "n > 0"),
        lambda alteration: alteration.drop_check("positive"),
        *("n", 0, ("violates the constraint positive CHECK (n > 0)", "n = 0")),
    ),
    Rule(
        "numbers",
        lambda alteration: alteration.set_logical("n", "UINT8"),
        lambda alteration: alteration.drop_logical("n"),
        *("n", 256, ("the column n is UINT8", "n = 256", "0 to 255")),
    ),
    Rule(
        "texts",
        lambda alteration: alteration.set_logical("s", "UUID"),
        lambda alteration: alteration.drop_logical("s"),
        *("s", NO_UUID, ("the column s is UUID", f"s = '{NO_UUID}'", "hexadecimal")),
    ),
)
