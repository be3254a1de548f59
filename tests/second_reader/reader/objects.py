"""Objects inside entries and checkpoints: an unknown member is corrupt (FORMAT.md)."""

from __future__ import annotations

from typing import Any

from .documents import members

# Required and optional members.
OBJECTS = {
    "batch": ("application id", ""),
    "branch": ("name id end", "end_row_id"),  # section 17
    "imported": ("", "files pages complete"),  # section 6.3
}
MAPS = {
    "pins": ("schema_version", "owner until"),  # section 4.6
    "consumers": ("version moved keep", ""),  # section 9
    "branches": ("id base ids", "row_ids merged keep"),  # section 17
}


def check_objects(document: dict[str, Any], what: str) -> None:
    """Refuse unknown members of the objects in an entry, or in the JSON of a checkpoint."""
    for name, (required, optional) in OBJECTS.items():
        if name in document:
            members(document[name], required, optional, f"{what}: {name}")
    for name, (required, optional) in MAPS.items():
        for label, value in document.get(name, {}).items():
            members(value, required, optional, f"{what}: {name} {label}")
    for page in document.get("imported", {}).get("pages", []):
        members(page, "path bytes checksum files", "", f"{what}: a page")
