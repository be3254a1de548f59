"""The installation that these tests share."""

from __future__ import annotations

import pytest

from newcomer.installation import Installation


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return Installation(tmp_path_factory.mktemp("newcomer"))
