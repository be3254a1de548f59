"""Leave a rule out of the conflict matrix, to prove that a test notices."""

from __future__ import annotations

from dataclasses import replace

import pytest

from versioned_catalog.commit.attempt import Rule
from versioned_catalog.commit.matrix import MATRIX


def skip_rule(monkeypatch: pytest.MonkeyPatch, operation: type, rule: Rule) -> None:
    """Leave a rule out of one operation's row."""
    row = MATRIX[operation]
    assert rule in row.rules
    left = tuple(one for one in row.rules if one is not rule)
    monkeypatch.setitem(MATRIX, operation, replace(row, rules=left))  # type: ignore[misc]
