"""What a converted table remembers of its source, in two properties.

``source.table`` names the source, and its version that was followed last. ``source.columns`` holds its
schema at that time with the IDs of this table. A sync compares three schemas: that one, the source's of
now, and the table's of now, which may have been altered here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.model.ddl import SOURCE, SOURCE_COLUMNS
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.schema_json import member, optional, schema_from_json, schema_to_json
from versioned_catalog.storage.text import parse_json


@dataclass(frozen=True)
class Origin:
    """The source of a table.

    Args:
        kind, uuid, location: of the source.
        root: the name of the external root that its files lie below.
        columns: the source's schema that was followed last, with IDs of this table.
        keys: the IDs of this table by the source's keys; those of dropped columns, too, if the source
            never uses a key for another column.
        schema_id: the largest of the source's numbers of schemas that were followed: a source may go
            back to an earlier schema, and counts on from its newest one afterwards.
        version: the version whose files were followed last; empty before the first.
        number: the source's number of that version, which grows; -1 before the first.
        digest: identity of the set of its files.
        mode: ``adopt``, or ``copy`` if all rows are copied.
        deletes: ``copy`` or ``refuse`` files that have deleted rows.
        names: the name mapping by which files without field IDs were read; None if that is not known.
    """

    kind: str
    uuid: str
    location: str
    root: str
    columns: Schema
    keys: Mapping[str, int]
    schema_id: int
    version: str = ""
    number: int = -1
    digest: str = ""
    mode: str = "adopt"
    deletes: str = field(default="copy")
    names: Mapping[str, tuple[str, ...]] | None = None

    def properties(self) -> dict[str, str]:
        """The properties that hold it."""
        table = {
            "kind": self.kind,
            "uuid": self.uuid,
            "location": self.location,
            "root": self.root,
            "schema_id": self.schema_id,
            "version": self.version,
            "number": self.number,
            "files": self.digest,
            "mode": self.mode,
            "deletes": self.deletes,
        }
        columns: dict[str, object] = {
            "schema": schema_to_json(self.columns),
            "keys": dict(self.keys),
        }
        if self.names is not None:
            columns["names"] = {key: list(names) for key, names in self.names.items()}
        return {SOURCE: _dump(table), SOURCE_COLUMNS: _dump(columns)}


def origin_of(properties: Mapping[str, str], table: str) -> Origin:
    """The source of a table.

    Raises:
        InvalidRequestError: it was not converted, or its properties were changed.
    """
    if SOURCE not in properties or SOURCE_COLUMNS not in properties:
        raise InvalidRequestError(
            f"{table} was not converted from another table, so there is nothing to follow; convert one "
            "under a new name: Catalog.convert"
        )
    try:
        named = parse_json(properties[SOURCE], f"the property {SOURCE}")
        document = parse_json(properties[SOURCE_COLUMNS], f"the property {SOURCE_COLUMNS}")
        texts = {
            name: member(named, name, str)
            for name in ("kind", "uuid", "location", "root", "version", "mode", "deletes")
        }
        keys = {str(key): int(id_) for key, id_ in member(document, "keys", dict).items()}
        names = optional(document, "names", dict)
        return Origin(
            columns=schema_from_json(member(document, "schema", dict)),
            keys=keys,
            schema_id=member(named, "schema_id", int),
            number=member(named, "number", int),
            digest=member(named, "files", str),
            names=None if names is None else {key: tuple(texts) for key, texts in names.items()},
            **texts,
        )
    except (CorruptTableError, TypeError, ValueError) as error:
        raise InvalidRequestError(
            f"{table}: the properties {SOURCE} and {SOURCE_COLUMNS} are not what a conversion wrote "
            f"({error}); roll the table back to before they were changed, or convert the source under a "
            "new name"
        ) from None


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
