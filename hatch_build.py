"""The build's hook: puts the jar into wheels and source distributions, or fails."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WITHOUT = "VERSIONED_NO_JAR"
"""Set, it lets a build go without the jar: for those who do not use SQL and have no JDK."""


class JarHook(BuildHookInterface):  # type: ignore[type-arg]
    """Puts the jar into ``pyspark_versioned/jars``, from where it goes into what is built.

    A source distribution holds it, too, so that installing from one takes no JDK and no PySpark.
    """

    def dependencies(self) -> list[str]:
        """What an isolated build needs besides hatchling.

        Raises:
            SystemExit: there is no JDK; so that nothing large is fetched in vain.
        """
        builder = _builder(self.root)
        if os.environ.get(WITHOUT) or builder.is_fresh():
            return []
        try:
            builder.compiler()
        except builder.CannotBuild as error:
            raise _refusal(error) from None
        return [builder.REQUIREMENT]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the jar.

        Args:
            version: the kind of build, ``standard`` or ``editable``.
            build_data: what the wheel or source distribution will hold.

        Raises:
            SystemExit: the jar can't be built, and nobody asked to go without it.
        """
        if os.environ.get(WITHOUT):
            self.app.display_warning(f"{WITHOUT} is set: this build has no jar, and no SQL")
            return
        builder = _builder(self.root)
        try:
            builder.build()
        except builder.CannotBuild as error:
            raise _refusal(error) from None
        build_data["artifacts"].append("connector/pyspark_versioned/jars/*.jar")


def _refusal(error: Exception) -> SystemExit:
    return SystemExit(
        f"pyspark-versioned can't build its jar: {error}\n"
        f"To install without it, set {WITHOUT}=1: everything works but SQL and Spark's native scans."
    )


def _builder(root: str) -> Any:
    path = Path(root) / "connector" / "jvm" / "build.py"
    spec = importlib.util.spec_from_file_location("versioned_jar_build", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
