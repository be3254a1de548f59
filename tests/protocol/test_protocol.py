"""The invariants of the protocol's models hold, and each safeguard is needed (see check.py)."""

from __future__ import annotations

import pytest

from protocol import check

MISSING = check.missing_tool()

pytestmark = [pytest.mark.skipif(MISSING is not None, reason=str(MISSING)), pytest.mark.thorough]


def test_the_quick_searches() -> None:
    assert check.main(["--quick"]) == 0


@pytest.mark.nightly
def test_all_searches() -> None:
    assert check.main([]) == 0
