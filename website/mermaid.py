"""The script that draws diagrams, served by the site itself and not by somebody else's server."""

from __future__ import annotations

import hashlib
import logging
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

VERSION = "11.12.0"
SHA256 = "07e37dfa97b337ccc85365d57eddf99b9706f09db3b59b260d0333b23b343c4b"
CACHE = Path(__file__).parents[1] / "build" / f"mermaid-{VERSION}.min.js"
_MEMBER = "package/dist/mermaid.min.js"

log = logging.getLogger("mkdocs.hooks.mermaid")


def script() -> Path | None:
    """The script, fetched by npm at the first build; without npm None, and diagrams are shown as text.

    Raises:
        ValueError: the script is not the one that this module names.
    """
    if CACHE.is_file():
        return CACHE
    npm = shutil.which("npm")
    if npm is None:
        log.info("there is no npm: diagrams are shown as text")
        return None
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", f"mermaid@{VERSION}", "--silent"]
        if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode:
            log.info("npm can't fetch mermaid: diagrams are shown as text")
            return None
        with tarfile.open(Path(folder) / f"mermaid-{VERSION}.tgz") as archive:
            member = archive.extractfile(_MEMBER)
            content = member.read() if member else b""
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise ValueError(
            f"mermaid {VERSION} from npm is not the file that website/mermaid.py names"
        )
    CACHE.parent.mkdir(exist_ok=True)
    CACHE.write_bytes(content)
    return CACHE
