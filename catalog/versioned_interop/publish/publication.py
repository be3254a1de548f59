"""The newest published ``vN.metadata.json``, and files that other engines wrote."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from versioned_catalog.model.type_text import ColumnPath, parse_path, render_path
from versioned_catalog.storage.store import Store
from versioned_interop.publish.manifests import METADATA

HINT = f"{METADATA}/version-hint.text"
DIGEST, VERSION = "versioned.digest", "versioned.version"
DISCARDED = "versioned.discarded"
"""The property with the names of metadata files of other engines whose changes were discarded."""

CATALOG, CATALOG_TABLE = "versioned.catalog", "versioned.catalog.table"
"""The properties that say in which catalog a publication is registered, and under which name."""

_CATALOGS_START = "0"
"""How the first names begin that Iceberg's catalogs give to metadata files: ``00001-<uuid>...``."""
_NO_DIGEST = "0" * 64
_SEAL = re.compile(rb'"versioned\.digest": "([0-9a-f]{64})"')
_NAME = re.compile(r"v([0-9]{1,15})\.metadata\.json")


def metadata_path(number: int) -> str:
    """Path of a metadata file in the table's folder."""
    return f"{METADATA}/v{number}.metadata.json"


def sealed(metadata: dict[str, Any]) -> bytes:
    """Return a metadata file sealed with its digest; a rewrite by another engine breaks the seal."""
    metadata["properties"][DIGEST] = _NO_DIGEST
    data = json.dumps(metadata).encode()
    return data.replace(_NO_DIGEST.encode(), hashlib.sha256(data).hexdigest().encode(), 1)


@dataclass(frozen=True)
class Registration:
    """An entry of a catalog.

    Args:
        catalog: its name in PyIceberg's configuration.
        table: namespace and name there.
    """

    catalog: str
    table: ColumnPath

    def __str__(self) -> str:
        return f"{self.catalog}: {render_path(self.table)}"


@dataclass(frozen=True)
class Publication:
    """The newest metadata file of a published table.

    Args:
        number: the N of its name ``vN.metadata.json``.
        metadata: its content; None if another engine wrote it.
        hinted: the number that the hint names, or 0. A publication that dies leaves an older one there.
        others: names of metadata files that engines wrote through a catalog of theirs.
    """

    number: int
    metadata: dict[str, Any] | None
    hinted: int
    others: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Its path in the table's folder."""
        return metadata_path(self.number)

    @property
    def registration(self) -> Registration | None:
        """The entry of a catalog that shall name it, if any."""
        properties = {} if self.metadata is None else self.metadata["properties"]
        if CATALOG not in properties:
            return None
        return Registration(properties[CATALOG], parse_path(properties[CATALOG_TABLE]))

    @property
    def discarded(self) -> tuple[str, ...]:
        """The names of metadata files that other engines wrote and whose changes were discarded."""
        properties = {} if self.metadata is None else self.metadata["properties"]
        return tuple(filter(None, properties.get(DISCARDED, "").split("/")))

    @property
    def foreign(self) -> str | None:
        """The path of a metadata file that another engine wrote and that was not discarded, if any."""
        if self.metadata is None:
            return self.path
        left = [name for name in self.others if name not in self.discarded]
        return f"{METADATA}/{left[0]}" if left else None


def find_publication(store: Store) -> Publication | None:
    """Find the newest metadata file; None if nothing is published.

    Raises:
        CorruptTableError: it is too large to be one.
    """
    hinted = _hint(store)
    number, data = hinted, store.read(metadata_path(hinted)) if hinted else None
    if data is None:
        number = max((n for name in store.list(METADATA) if (n := number_of(name))), default=0)
        data = store.read(metadata_path(number)) if number else None
    if data is None:
        return None
    while (newer := store.read(metadata_path(number + 1))) is not None:
        number, data = number + 1, newer
    return Publication(number, _own(data), hinted, catalog_files(store))


def catalog_files(store: Store) -> tuple[str, ...]:
    """The names of metadata files that engines wrote through a catalog of theirs.

    Such a catalog keeps the newest name itself, and leaves ``vN.metadata.json`` and the hint alone.
    """
    names = store.list(METADATA, _CATALOGS_START)
    return tuple(name for name in names if ".metadata.json" in name)


def _hint(store: Store) -> int:
    text = (store.read(HINT, 64) or b"").decode("ascii", "replace").strip()
    return int(text) if text.isdecimal() else 0


def write_hint(store: Store, number: int) -> None:
    """Point the hint to a metadata file, or to the newest one if others were published since.

    Each publisher looks for later files after its write, so the last hint names the newest file.
    """
    store.overwrite(HINT, str(number).encode())
    while store.modified(metadata_path(number + 1)) is not None:
        number += 1
        store.overwrite(HINT, str(number).encode())


def number_of(name: str) -> int | None:
    """The N of a file ``vN.metadata.json``; None for other files."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else None


def _own(data: bytes) -> dict[str, Any] | None:
    """The content of a metadata file that this library wrote; None for any other."""
    seal = _SEAL.search(data)
    if seal is None:
        return None
    plain = data[: seal.start(1)] + _NO_DIGEST.encode() + data[seal.end(1) :]
    if hashlib.sha256(plain).hexdigest().encode() != seal[1]:
        return None
    content: dict[str, Any] = json.loads(data)
    return content
