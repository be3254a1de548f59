"""FORMAT.md names each member that is written, and refers to sections that exist."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

ROOT = Path(__file__).parents[2]
FORMAT = (ROOT / "catalog/FORMAT.md").read_text()
# Their keys are names, paths and IDs of the table, and not members.
MAPS = {"properties", "tags", "tags_kept", "pins", "consumers", "batches", "branches", "roots"}
MAPS |= {"marked", "constants", "ops", "columns", "applications"}


def names(value: Any) -> Iterator[str]:
    """The names of all members inside a value."""
    if isinstance(value, list):
        for item in value:
            yield from names(item)
    if not isinstance(value, dict):
        return
    for name, item in value.items():
        yield name
        yield from names([*item.values()] if name in MAPS and isinstance(item, dict) else item)


def test_each_member_of_golden_entries_and_checkpoints_is_named() -> None:
    written: set[str] = set()
    for path in (ROOT / "tests/golden").rglob("_versioned/*/*"):
        data = path.read_bytes()
        if path.parent.name in ("log", "checkpoint") and path.suffix == ".json":
            written |= set(names(json.loads(data)))
        elif path.suffix == ".parquet" and path.parent.name in ("checkpoint", "kept"):
            written |= set(names(json.loads(pq.read_metadata(path).metadata[b"versioned.state"])))
    assert {"namespaces", "first_schema_version", "changes", "form", "resolved"} <= written
    ids = {name for name in written if name.isdecimal()}
    known = set(re.findall(r'[`"](\w+)[`"]', FORMAT))
    assert written - ids <= known


def test_each_section_and_note_exists() -> None:
    numbers = set(re.findall(r"^#+ (\d+(?:\.\d+)?)\.? ", FORMAT, re.M))
    named: set[str] = set()
    for place in ROOT.glob("catalog/**/*.py"):
        named |= sections(place.read_text(), r"FORMAT\.md, section")
    assert {"5", "11"} <= named
    assert named | sections(FORMAT, "[Ss]ection") <= numbers
    notes = set(re.findall(r"^(\d+)\. ", FORMAT, re.M))
    assert set(re.findall(r"notes? (\d+)", FORMAT)) <= notes


def sections(text: str, before: str) -> set[str]:
    listed = re.findall(before + r"s? ((?:\d+(?:\.\d+)?(?:, | and | or |\b))+)", text)
    return {number for numbers in listed for number in re.findall(r"\d+(?:\.\d+)?", numbers)}
