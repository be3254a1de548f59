"""Delta tables, as the library deltalake reads their log."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import fs

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.sql_literals import from_scalar_text
from versioned_catalog.model.types import Atom, DataType
from versioned_interop.convert.delta_schema import DeltaSchema, delta_schema
from versioned_interop.convert.source import (
    SourceFile,
    SourcePartition,
    SourceTable,
    below,
    decoded,
    library,
)

EXTRA = "delta"

_COMMIT = re.compile(r"[0-9]{20}\.json")

HISTORY = 1000
"""The most versions that are searched for earlier schemas."""

_SAME_SCHEMA = ("DELETE", "UPDATE", "OPTIMIZE", "VACUUM START", "VACUUM END", "STREAMING UPDATE")
"""Operations that never change the schema, as histories name them."""


def load_delta(
    location: str, options: Mapping[str, str] | None = None, version: int | None = None
) -> Any:
    """A version of a table, by default the newest one.

    Raises:
        InvalidRequestError: there is no such table or version, or deltalake can't read it.
    """
    deltalake = library("deltalake", EXTRA)
    errors = library("deltalake.exceptions", EXTRA)
    try:
        return deltalake.DeltaTable(location, version=version, storage_options=dict(options or {}))
    except (errors.DeltaError, OSError, ValueError) as error:
        at = "" if version is None else f" at version {version}"
        raise InvalidRequestError(
            f"{location} is not a Delta table that can be read{at}: {error}"
        ) from error


def delta_source(
    table: Any, root: str, options: Mapping[str, str] | None = None, since: int | None = None
) -> SourceTable:
    """The state of a table of deltalake.

    Args:
        table: a ``deltalake.DeltaTable``, at the version to convert.
        root: the URL below which its files lie.
        options: storage options, to load earlier versions.
        since: a version whose schema was read before; None for the whole retained history.

    Raises:
        InvalidRequestError: it has what can't be converted.
    """
    metadata, version = table.metadata(), table.version()
    current = _schema(table)
    reader = _Reader(table.table_uri, root, dict(options or {}))
    constraints = [
        f"the constraint {key.removeprefix('delta.constraints.')} ({text})"
        for key, text in metadata.configuration.items()
        if key.startswith("delta.constraints.")
    ]
    return SourceTable(
        "delta",
        metadata.id,
        decoded(table.table_uri),
        str(version),
        version,
        tuple(schema.schema for schema in [*reader.earlier(table, since), current]),
        partial(reader.files, table),
        reader.files_at,
        partial(reader.oldest_first, table),
        _partitioning(current.partitioning(metadata.partition_columns)),
        by_field_id=_mode(table) == "id",
        stable_keys=_mode(table) != "none",
        physical=current.physical,
        dropped=(*constraints, *current.dropped),
    )


def _mode(table: Any) -> str:
    mode: str = table.metadata().configuration.get("delta.columnMapping.mode", "none")
    return mode


def _schema(table: Any) -> DeltaSchema:
    stored = json.loads(table.schema().to_json())
    return delta_schema(stored, table.version(), mapped=_mode(table) != "none")


def _partitioning(types: Mapping[str, DataType]) -> tuple[SourcePartition, ...]:
    """The partitioning by columns that can partition a table here, too: all but floats."""
    return tuple(
        SourcePartition(key, "identity")
        for key, type_ in types.items()
        if type_ not in (Atom.FLOAT, Atom.DOUBLE)
    )


@dataclass(frozen=True)
class _Reader:
    """Lists the files, and the schemas, of versions.

    Args:
        location: the table's URL as deltalake has it, percent-encoded.
        root: the URL below which its files lie.
        options: storage options.
    """

    location: str
    root: str
    options: dict[str, str]

    def earlier(self, table: Any, since: int | None) -> list[DeltaSchema]:
        """The schemas before the current one that are still in the log, oldest first."""
        # The history of a table at an earlier version numbers its entries wrongly.
        newest = load_delta(self.location, self.options)
        changes = [
            entry["version"]
            for entry in newest.history(HISTORY)
            if entry.get("version", -1) < table.version()
            and entry.get("operation") not in _SAME_SCHEMA
            and (since is None or entry["version"] > since)
        ]
        schemas: list[DeltaSchema] = []
        last = _text(_schema(table))
        for version in sorted(changes):
            try:
                schema = _schema(load_delta(self.location, self.options, version))
            except InvalidRequestError:
                continue  # its log has expired
            if not schemas or _text(schemas[-1]) != _text(schema):
                schemas.append(schema)
        while schemas and _text(schemas[-1]) == last:
            schemas.pop()
        return schemas

    def files_at(self, version: str) -> Sequence[SourceFile] | None:
        """The files of an earlier version; None if its log has expired."""
        try:
            return self.files(load_delta(self.location, self.options, int(version)))
        except (InvalidRequestError, ValueError):
            return None

    def files(self, table: Any) -> list[SourceFile]:
        """The files of a version."""
        current = _schema(table)
        names = table.metadata().partition_columns
        types = current.partitioning(names)
        fields = _partitioning(types)
        deleted = self._deleted(table)
        actions = pa.table(table.get_add_actions())
        texts: dict[str, list[str | None]] = {}
        if names:
            parts = actions["partition"].combine_chunks()
            stored = [part.name for part in parts.type]
            for name, (key, type_) in zip(names, types.items(), strict=True):
                at = stored.index(name if name in stored else current.physical[key])
                texts[key] = [_text_of(value, type_) for value in parts.field(at)]
        return [
            self._file(action, {key: values[at] for key, values in texts.items()}, fields, deleted)
            for at, action in enumerate(actions.to_pylist())
        ]

    def _file(
        self,
        action: Mapping[str, Any],
        constants: dict[str, str | None],
        fields: tuple[SourcePartition, ...],
        deleted: Mapping[str, pa.Array],
    ) -> SourceFile:
        path = self._path(action["path"])
        positions = deleted.get(path)
        return SourceFile(
            path,
            action.get("num_records"),
            action["size_bytes"],
            constants,
            overrides=True,
            partition=tuple(constants[field.key] for field in fields),
            partitioning=fields,
            deletes="" if positions is None else _identity(positions),
            deleted=None if positions is None else (lambda: positions),
        )

    def _path(self, stored: str) -> str:
        """The path below the root of a path in the log: relative or absolute, and percent-encoded."""
        path = decoded(stored)
        absolute = path.startswith("/") or "://" in path or path.startswith("file:")
        location = decoded(self.location).rstrip("/")
        return below(self.root, path if absolute else f"{location}/{path}")

    def oldest_first(self, table: Any, files: Sequence[SourceFile]) -> list[SourceFile]:
        """Order files by the versions that added them.

        Files whose log entry has expired come first, by modification time.
        """
        times = pa.table(table.get_add_actions()).select(["path", "modification_time"]).to_pylist()
        ranks = {self._path(action["path"]): (-1, action["modification_time"]) for action in times}
        for version, commit in self._commits(table.version()):
            added = [action["add"] for action in commit if "add" in action]
            removes = (action["remove"] for action in commit if "remove" in action)
            removed = [self._path(remove["path"]) for remove in removes]
            rewritten = max((ranks[path] for path in removed if path in ranks), default=(-1, 0))
            for add in added:
                # OPTIMIZE moves rows, and may commit after an append of newer ones.
                is_moved = removed and not add.get("dataChange", True)
                ranks[self._path(add["path"])] = rewritten if is_moved else (version, 0)
        return sorted(files, key=lambda file: ranks[file.path])

    def _commits(self, newest: int) -> Iterator[tuple[int, list[Any]]]:
        """The actions of each version whose log is there, oldest first."""
        handler = library("deltalake.fs", EXTRA).DeltaStorageHandler
        files = fs.PyFileSystem(handler(self.location, self.options))
        infos = files.get_file_info(fs.FileSelector("_delta_log"))
        names = sorted(info.base_name for info in infos if _COMMIT.fullmatch(info.base_name))
        for name in names:
            if (version := int(name.partition(".")[0])) <= newest:
                with files.open_input_stream(f"_delta_log/{name}") as file:
                    yield version, [json.loads(line) for line in file.read().splitlines() if line]

    def _deleted(self, table: Any) -> dict[str, pa.Array]:
        """The positions of deleted rows, by path below the root."""
        if "deletionVectors" not in (table.protocol().reader_features or []):
            return {}
        positions_by_path: dict[str, pa.Array] = {}
        for batch in self._vectors(table):
            for path, kept in zip(batch.column(0), batch.column(1), strict=True):
                mask = np.asarray(kept.values.to_numpy(zero_copy_only=False), bool)
                positions = pa.array(np.flatnonzero(~mask), pa.int64())
                positions_by_path[below(self.root, decoded(path.as_py()))] = positions
        return positions_by_path

    def _vectors(self, table: Any) -> list[pa.RecordBatch]:
        errors = library("deltalake.exceptions", EXTRA)
        try:
            return [pa.record_batch(batch) for batch in table.deletion_vectors()]
        except errors.DeltaError as error:
            raise InvalidRequestError(
                f"the deletion vectors of {self.location} can't be read by deltalake: {error}. Remove "
                "them in the source: REORG TABLE ... APPLY (PURGE), then ALTER TABLE ... DROP FEATURE "
                "deletionVectors",
                condition="NOT_SUPPORTED",
            ) from error


def _text(schema: DeltaSchema) -> str:
    return repr((schema.schema.columns, schema.schema.keys))


def _identity(positions: pa.Array) -> str:
    return hashlib.sha256(positions.to_numpy().tobytes()).hexdigest()[:32]


def _text_of(value: Any, type_: DataType) -> str | None:
    """The value text of a partition value that deltalake has typed."""
    if not value.is_valid or (type_ is Atom.STRING and value.as_py() == ""):
        return None  # Delta writes null as an empty string, too
    if type_ is Atom.BINARY:
        # Escaped as \u0001\u0002; deltalake leaves it as it is.
        text = value.as_py().decode("ascii").encode().decode("unicode_escape")
        value = pa.scalar(text.encode("latin-1"))
    encoded = from_scalar_text(value, type_)
    assert encoded is None or isinstance(encoded, str)
    return encoded
