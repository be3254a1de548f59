"""Build the jar if its sources have changed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


def builder() -> Any:
    """Import the module that builds the jar, which belongs to no package."""
    path = ROOT / "connector" / "jvm" / "build.py"
    spec = importlib.util.spec_from_file_location("versioned_jar_build", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def built_jar() -> str:
    """Build the jar if necessary and return its path; end the run if it does not compile."""
    module = builder()
    try:
        return str(module.build())
    except module.CannotBuild as error:
        pytest.exit(f"the jar was not built: {error}", returncode=3)
