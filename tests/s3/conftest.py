from __future__ import annotations

import os
import random

import pytest


@pytest.fixture
def seed() -> int:
    """Printed when a test fails."""
    chosen = int(os.environ.get("VERSIONED_SEED") or random.randrange(1 << 32))
    print(f"VERSIONED_SEED={chosen}")
    return chosen
