"""Writers of these tests do not wait for transactions of processes that are dead."""

from __future__ import annotations

from datetime import timedelta

import pytest

from versioned_catalog.log import decisions


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "GRACE", timedelta(0))
