"""Where the jar is that brings SQL and native scans."""

from __future__ import annotations

from pathlib import Path

from versioned_catalog.errors import VersionedError

_JAR = Path(__file__).parent / "jars" / "versioned-spark.jar"


class JarMissing(VersionedError):
    """This installation has no jar; the message is one line with the remedy."""


def jar_path() -> str:
    """The jar's path, for ``spark.jars``.

    Raises:
        JarMissing: it was not built, since there was no JDK, or no PySpark to build against.
    """
    if not _JAR.is_file():
        raise JarMissing(
            "SQL needs the jar of pyspark-versioned, and this installation was built without it: "
            "install a wheel, or, with PySpark and a JDK 17 at hand, build it by "
            "`pip install hatchling && pip install --no-build-isolation .` in a checkout"
        )
    return str(_JAR)
