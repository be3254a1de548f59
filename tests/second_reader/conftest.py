"""Small tables have checkpoints, deltas and manifests, as otherwise only large ones do."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from versioned_catalog import limits
from versioned_catalog.log import commit_log, decisions, deltas, reader


@pytest.fixture
def files_of_large_tables() -> Iterator[pytest.MonkeyPatch]:
    """No public property does this, since only speed depends on these numbers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deltas, "LEAST", 2)
        patch.setattr(deltas, "RATIO", 1)
        patch.setattr(commit_log, "LARGE", 1)
        patch.setattr(reader, "MANY_ENTRIES", 2)
        patch.setattr(limits, "MANIFEST_FROM", 0)
        patch.setattr(decisions, "GRACE", timedelta(0))  # nobody waits for the dead
        yield patch
