"""Where the files of a log stand in the folder of a table or warehouse (FORMAT.md, section 1)."""

from __future__ import annotations

import re

FOLDER = "_versioned"
HINT = f"{FOLDER}/last_checkpoint.json"
LOG = f"{FOLDER}/log"
KEPT = f"{FOLDER}/kept"
CHECKPOINTS = f"{FOLDER}/checkpoint"
MANIFESTS = f"{FOLDER}/manifest"
IMPORTS = f"{FOLDER}/imports"

OWN_NAME = re.compile(r"[0-9]{1,20}-[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\.parquet")
"""Names of segments, manifests and pages of imported files: the version that their writer planned on,
and a UUID."""


def entry_path(version: int) -> str:
    """Path of the entry of a version."""
    return f"{LOG}/{version:020d}.json"
