"""Whether each row that was sent was found once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

Row = tuple[Any, ...]


def check_once(sent: Iterable[Row], found: Iterable[Row]) -> None:
    """Compare two multisets of rows.

    Raises:
        AssertionError: naming rows that are lost, doubled, or were never sent.
    """
    wanted, got = Counter(sent), Counter(found)
    lost, extra = sorted((wanted - got).elements()), sorted((got - wanted).elements())
    doubled = [row for row in extra if row in wanted]
    strange = [row for row in extra if row not in wanted]
    wrong = [*lost, *extra]
    assert not wrong, f"lost {lost}, doubled {doubled}, never sent {strange}"
