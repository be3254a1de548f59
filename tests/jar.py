"""The jar, never staler than its sources."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


def builder() -> Any:
    """The module that builds the jar, which is no part of any package."""
    path = ROOT / "connector" / "jvm" / "build.py"
    spec = importlib.util.spec_from_file_location("versioned_jar_build", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def built_jar() -> str:
    """The jar's path, built if need be. Sources that do not compile end the run."""
    made = builder()
    try:
        return str(made.build())
    except made.CannotBuild as error:
        pytest.exit(f"the jar was not built: {error}", returncode=3)
