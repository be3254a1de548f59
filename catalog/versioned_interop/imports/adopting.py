"""Files as external segments: their maps, constants and statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.foreign_statistics import foreign_stats
from versioned_catalog.model.id_map import IdMap, file_columns
from versioned_catalog.model.parquet_forms import Form
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import Column, walk
from versioned_catalog.read.foreign_file import ForeignFile, OpenedFile, open_foreign
from versioned_catalog.read.foreign_values import leaves_of, stated_ends
from versioned_catalog.storage.parquet import translate_errors
from versioned_catalog.storage.store import Store, StoredFile
from versioned_catalog.write.external import ExternalFile
from versioned_interop.imports.conforming import Target
from versioned_interop.imports.file_schema import FileSchema
from versioned_interop.imports.mapping import id_map_of
from versioned_interop.imports.reading import ParquetReader


@dataclass(frozen=True)
class _Mapped:
    """The mapping that files with one schema share."""

    id_map: IdMap
    columns: tuple[Column, ...]
    checked: tuple[Column, ...]


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
    mapped: dict[tuple[int, str | None], _Mapped] = field(default_factory=dict, init=False)

    def file(
        self, identity: str, listed: StoredFile, constants: dict[int, str | None]
    ) -> ExternalFile:
        """One file to adopt.

        Raises:
            InvalidRequestError: a column can't be read in place, or the file has changed meanwhile.
            CorruptTableError: it is no Parquet file any more.
        """
        opened = open_foreign(self.store, identity)
        check_unchanged(opened.bytes, listed, identity)
        mapped = self._mapped(self.reader.schema(opened), opened.odd_codec)
        if not mapped.columns and not constants:
            raise InvalidRequestError(f"{identity}: the file has none of the columns of the table")
        if mapped.checked:
            with translate_errors(identity):
                _check_times(opened, mapped.checked, identity)
        stats = foreign_stats(opened.footer, mapped.columns, mapped.id_map, self.schema.columns)
        return ExternalFile(
            identity,
            opened.rows,
            opened.bytes,
            self.schema.version,
            mapped.id_map,
            constants,
            stats,
        )

    def _mapped(self, schema: FileSchema, codec: str | None) -> _Mapped:
        key = id(schema), codec  # the reader keeps the object
        if key not in self.mapped:
            columns = self.target.columns
            id_map = id_map_of(schema, columns, self.target.names, self.target.elsewhere)
            id_map = replace(id_map, codec=codec)
            stored = file_columns(self.schema, id_map)
            forms = {id_ for id_, entry in id_map.columns.items() if entry.form in _TIMES}
            checked = tuple(top for top in stored if any(c.id in forms for c, _ in walk((top,))))
            self.mapped[key] = _Mapped(id_map, stored, checked)
        return self.mapped[key]


def check_unchanged(size: int, listed: StoredFile, identity: str) -> None:
    """Refuse a file that has another size than when it was listed.

    Raises:
        InvalidRequestError: naming the file.
    """
    if size != listed.bytes:
        raise changed_while_imported(identity)


def changed_while_imported(identity: str) -> InvalidRequestError:
    """The error for a file that is not the one that was listed."""
    return InvalidRequestError(f"{identity} was changed while it was imported; run it again")


_TIMES = (Form.NANOS, Form.MILLIS, Form.LOCAL)
"""Forms with values that may not fit into microseconds."""

_PER_MICRO = {"s": 1_000_000, "ms": 1000}


def _check_times(opened: OpenedFile, columns: Sequence[Column], identity: str) -> None:
    """Refuse a file with times that a table can't keep in microseconds.

    Digits below a microsecond are in no footer, so columns of nanoseconds are read.

    Raises:
        InvalidRequestError: a time has such digits, or is out of range.
    """
    file, parquet = ForeignFile(opened.parquet, identity), opened.parquet
    for leaf in file.leaves(columns):
        arrow = leaf.held.value_type if pa.types.is_dictionary(leaf.held) else leaf.held
        arrow = arrow.storage_type if isinstance(arrow, pa.BaseExtensionType) else arrow
        if getattr(arrow, "unit", "us") == "us" or pa.types.is_time32(arrow):
            continue
        if _is_in_range(opened, leaf.place, arrow.unit):
            continue
        options: Any = {"column_indices": [leaf.place], "use_threads": False}
        groups = list(range(len(opened.footer.rows)))
        for batch in parquet.reader.iter_batches(65_536, row_groups=groups, **options):
            for array in leaves_of(batch.column(0)):
                _check_array(array, arrow.unit, identity)


def _is_in_range(opened: OpenedFile, place: int, unit: str) -> bool:
    """Whether the footer says that all times of a coarser unit fit into microseconds."""
    ends = None if unit == "ns" else stated_ends(opened.footer, place, "<q")
    most = (2**63 - 1) // _PER_MICRO.get(unit, 1)
    return ends is not None and -most <= ends[0] and ends[1] <= most


def _check_array(array: Any, unit: str, identity: str) -> None:
    raw = array.view(pa.int64())
    if unit == "ns":
        whole = pc.multiply(pc.divide(raw, 1000), 1000)
        if pc.any(pc.not_equal(raw, whole)).as_py():
            raise InvalidRequestError(
                f"{identity} has nanoseconds with digits below a microsecond, which a table can't "
                "keep; cut them off (nanoseconds='truncate')",
                condition="INVALID_VALUE",
            )
        return
    most = (2**63 - 1) // _PER_MICRO[unit]
    if pc.any(pc.or_(pc.greater(raw, most), pc.less(raw, -most))).as_py():
        raise InvalidRequestError(
            f"{identity} has {array.type} values out of the range of microseconds, which a table keeps; "
            "leave the column out (exclude)",
            condition="INVALID_VALUE",
        )
