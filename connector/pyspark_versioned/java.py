"""Check for a Java that Spark can run on, before Spark starts and fails at length."""

import os
import re
import shutil
import subprocess
from pathlib import Path

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
        home = os.environ.get("JAVA_HOME")
        problem = f"there is none in JAVA_HOME ({home})" if home else "there is none on the PATH"
    else:
        version = java_version(java)
        if version is not None and version >= OLDEST:
            return java
        problem = f"{java} " + ("does not run" if version is None else f"is Java {version}")
    raise JavaMissing(f"Spark needs Java {OLDEST} or newer, and {problem}: {REMEDY}.")
