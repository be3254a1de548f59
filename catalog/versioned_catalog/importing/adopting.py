"""Files as external segments: their maps, constants and statistics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.datafile.calendars import leaves_of
from versioned_catalog.datafile.foreign_file import OpenedFile, open_foreign
from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.importing.conforming import Target
from versioned_catalog.importing.file_schema import FileSchema
from versioned_catalog.importing.mapping import id_map_of
from versioned_catalog.importing.reading import ParquetReader
from versioned_catalog.schema.id_map import IdMap, file_columns
from versioned_catalog.schema.schema import Schema
from versioned_catalog.statistics.foreign import foreign_stats
from versioned_catalog.storage.parquet import translate_errors
from versioned_catalog.storage.store import Store, StoredFile
from versioned_catalog.types.forms import Form
from versioned_catalog.types.types import Column
from versioned_catalog.write.external import ExternalFile


@dataclass(frozen=True)
class _Mapped:
    """What files with one schema share."""

    id_map: IdMap
    held: tuple[Column, ...]
    has_nanos: bool


@dataclass(frozen=True)
class Adopter:
    """Turns files into external segments; each different schema is mapped once.

    Args:
        store: of the table.
        schema: of the table.
        target: the columns and names.
    """

    store: Store
    schema: Schema
    target: Target
    reader: ParquetReader
    mapped: dict[int, _Mapped] = field(default_factory=dict, init=False)

    def file(
        self, identity: str, listed: StoredFile, constants: dict[int, str | None]
    ) -> ExternalFile:
        """One file to adopt.

        Raises:
            InvalidRequestError: a column can't be read in place, or the file has changed meanwhile.
            CorruptTableError: it is no Parquet file any more.
        """
        opened = open_foreign(self.store, identity)
        if opened.bytes != listed.bytes:
            raise InvalidRequestError(f"{identity} was changed while it was imported; run it again")
        mapped = self._mapped(self.reader.schema(opened))
        if mapped.has_nanos:
            with translate_errors(identity):
                _check_nanos(opened, identity)
        stats = foreign_stats(opened.footer, mapped.held, mapped.id_map, self.schema.columns)
        return ExternalFile(
            identity,
            opened.rows,
            opened.bytes,
            self.schema.version,
            mapped.id_map,
            constants,
            stats,
        )

    def _mapped(self, schema: FileSchema) -> _Mapped:
        key = id(schema)  # the reader keeps the object
        if key not in self.mapped:
            columns = self.target.columns
            id_map = id_map_of(schema, columns, self.target.names, self.target.elsewhere)
            nanos = any(held.form is Form.NANOS for held in id_map.columns.values())
            self.mapped[key] = _Mapped(id_map, file_columns(self.schema, id_map), nanos)
        return self.mapped[key]


def _check_nanos(opened: OpenedFile, identity: str) -> None:
    """Refuse a file whose nanoseconds have digits below a microsecond.

    Footers do not say it, so these columns are read.
    """
    parquet: Any = opened.parquet
    for group in range(parquet.num_row_groups):
        for batch in parquet.iter_batches(row_groups=[group], use_threads=False):
            for array in batch.columns:
                for leaf in filter(_is_nano, leaves_of(array)):
                    _check_digits(leaf, identity)


def _check_digits(leaf: Any, identity: str) -> None:
    raw = leaf.view(pa.int64())
    whole = pc.multiply(pc.divide(raw, 1000), 1000)
    if pc.any(pc.not_equal(raw, whole)).as_py():
        raise CorruptTableError(
            f"{identity} has nanoseconds with digits below a microsecond, which a table can't keep; cut "
            "them off (nanoseconds='truncate')"
        )


def _is_nano(leaf: Any) -> bool:
    held, t = leaf.type, pa.types
    is_time = t.is_timestamp(held) or t.is_time64(held) or t.is_duration(held)
    return bool(is_time and held.unit == "ns")
