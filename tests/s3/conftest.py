from __future__ import annotations

import os
import random

import pytest


@pytest.fixture
def seed() -> int:
    """The seed of the test, which is printed if it fails; ``VERSIONED_SEED`` sets it."""
    seed = int(os.environ.get("VERSIONED_SEED") or random.randrange(1 << 32))
    print(f"VERSIONED_SEED={seed}")
    return seed
