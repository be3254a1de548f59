"""The path of the jar, which adds SQL and native scans."""

from __future__ import annotations

import atexit
import functools
import pkgutil
import shutil
import tempfile
from pathlib import Path

from versioned_catalog import VersionedError

_INSIDE = "jars/versioned-spark.jar"
_JAR = Path(__file__).parent / _INSIDE


class JarMissing(VersionedError):
    """The jar is missing; the message is one line with the remedy."""


def jar_path() -> str:
    """The jar's path, for ``spark.jars``. From a zip, a copy that is deleted when Python ends.

    Raises:
        JarMissing: the package was built with VERSIONED_NO_JAR, or is not installed.
    """
    return str(_JAR) if _JAR.is_file() else _unpacked()


def installed_jar() -> str:
    """The jar's path, for settings that outlive this process.

    Raises:
        JarMissing: it was not built, or this package is in a zip.
    """
    if not _JAR.is_file() and _packed() is not None:
        raise JarMissing(
            "the jar of pyspark-versioned is packed in a zip, where Spark can't take it from: "
            f"`python -m zipfile -e {_archive()} FOLDER` unpacks it; give its path by --jar"
        )
    return jar_path()


@functools.cache
def _unpacked() -> str:
    content = _packed()
    if content is None:
        raise JarMissing(
            "SQL needs the jar of pyspark-versioned, and this installation was built without it: "
            "install a wheel, or run `pip install .` in a checkout, with a JDK 17 at hand and "
            "VERSIONED_NO_JAR unset"
        )
    folder = tempfile.mkdtemp(prefix="versioned-jar-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copy = Path(folder, _JAR.name)
    copy.write_bytes(content)
    return str(copy)


def _packed() -> bytes | None:
    """The jar's bytes, wherever Python has this package; None if it has no jar."""
    try:
        return pkgutil.get_data(__package__ or "pyspark_versioned", _INSIDE)
    except OSError:
        return None


def _archive() -> Path:
    return next(parent for parent in _JAR.parents if parent.is_file())
