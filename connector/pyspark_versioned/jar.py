"""The jar, which adds SQL and native scans, and the Java that Spark runs on."""

from __future__ import annotations

import atexit
import functools
import os
import pkgutil
import re
import shutil
import subprocess
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


OLDEST = 17
"""The oldest Java that Spark 4 runs on."""

REMEDY = (
    f"install a JDK {OLDEST} (on Debian: apt install openjdk-{OLDEST}-jdk-headless) "
    "and put java on the PATH or set JAVA_HOME"
)


class JavaMissing(RuntimeError):
    """No Java that Spark can run on; the message is one line with the remedy."""


def find_java() -> Path | None:
    """Find the java that Spark would start: the one of JAVA_HOME if that is set, else of PATH."""
    home = os.environ.get("JAVA_HOME")
    path = shutil.which(Path(home) / "bin" / "java") if home else shutil.which("java")
    return Path(path) if path else None


def java_version(java: Path) -> int | None:
    """The major version of a java executable; None if it does not say."""
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    # 'openjdk version "17.0.15" ...', and 'java version "1.8.0_402"' before Java 9
    match = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(match[1]) if match else None


def require_java() -> Path:
    """Return the java that Spark will start, or raise `JavaMissing` in one line."""
    java = find_java()
    if java is None:
        home, on_path = os.environ.get("JAVA_HOME"), shutil.which("java")
        problem = f"there is none in JAVA_HOME ({home})" if home else "there is none on the PATH"
        if home and on_path:
            raise JavaMissing(
                f"Spark needs Java {OLDEST} or newer, and {problem}: unset JAVA_HOME, since there is "
                f"{on_path}, or set it to the folder of a JDK."
            )
    else:
        version = java_version(java)
        if version is not None and version >= OLDEST:
            return java
        problem = f"{java} " + ("does not run" if version is None else f"is Java {version}")
    raise JavaMissing(f"Spark needs Java {OLDEST} or newer, and {problem}: {REMEDY}.")
