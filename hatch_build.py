"""The build's hook: makes the jar where a JDK and PySpark are at hand, and says so where not."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

RELEASE = "VERSIONED_RELEASE"
"""Set for wheels that are published: they must hold the jar."""


class JarHook(BuildHookInterface):  # type: ignore[type-arg]
    """Puts the jar into ``pyspark_versioned/jars``, from where it goes into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the jar.

        Args:
            version: the kind of build, ``standard`` or ``editable``.
            build_data: what the wheel will hold.
        """
        builder = _load(Path(self.root) / "connector" / "jvm" / "build.py")
        try:
            builder.build()
        except builder.CannotBuild as error:
            if os.environ.get(RELEASE):
                raise RuntimeError(f"a release needs the jar: {error}") from error
            self.app.display_warning(f"SQL will not be there, for the jar was not built: {error}")
        build_data["artifacts"].append("connector/pyspark_versioned/jars/*.jar")


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("versioned_jar_build", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
