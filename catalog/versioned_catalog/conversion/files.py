"""Files of a source as external files of the table: their maps, constants and statistics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from versioned_catalog.conversion.held import HeldFile, Names, has_field_ids
from versioned_catalog.conversion.source import SourceFile, SourcePartition
from versioned_catalog.datafile.calendars import julian_leaves
from versioned_catalog.datafile.foreign_file import OpenedFile, open_foreign
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.schema.id_map import IdMap, file_columns
from versioned_catalog.schema.schema import PartitionField, Schema
from versioned_catalog.statistics.foreign import foreign_stats
from versioned_catalog.statistics.stats import ColumnStats
from versioned_catalog.storage.root_paths import PREFIX
from versioned_catalog.storage.store import Store
from versioned_catalog.types.types import is_floating, is_nested
from versioned_catalog.values.fitting import widen_text
from versioned_catalog.write.external import ExternalFile

THREADS = 16
"""The number of footers that are read at a time."""


def external_path(root: str, path: str) -> str:
    """The path of the segment of a source's file."""
    return f"{PREFIX}{root}/{path}"


@dataclass(frozen=True)
class Adopter:
    """Looks into the files of a source.

    Args:
        store: the table's folder.
        schema: the table's schema, with all columns.
        source: the source's schema with the table's IDs; types of constants.
        ids: the column IDs by the source's keys.
        names: how columns are found in files.
        root: name of the external root.
    """

    store: Store
    schema: Schema
    source: Schema
    ids: Mapping[str, int]
    names: Names
    root: str
    _maps: dict[IdMap, IdMap] = field(default_factory=dict, init=False)

    def all(self, files: Sequence[SourceFile]) -> Iterable[ExternalFile]:
        """The external files, in order; their footers are read in parallel."""
        with ThreadPoolExecutor(THREADS) as pool:
            yield from pool.map(self.file, files)

    def file(self, file: SourceFile) -> ExternalFile:
        """One file.

        Raises:
            InvalidRequestError: it does not fit the table, or is not what the source's metadata says.
        """
        path = external_path(self.root, file.path)
        opened = open_foreign(self.store, path)
        self._check(file, opened)
        constants = self._constants(file)
        id_map = self._id_map(opened, path, constants if file.overrides else {})
        return ExternalFile(
            path,
            opened.rows,
            opened.bytes,
            self.schema.version,
            id_map,
            {one: text for one, text in constants.items() if one not in id_map.columns},
            self._stats(file, opened, id_map),
            file.partition,
        )

    def remapped(self, files: Sequence[SourceFile], before: Names) -> set[str]:
        """The tokens of the files that show other columns than they did by earlier names."""
        with ThreadPoolExecutor(THREADS) as pool:
            differ = pool.map(lambda one: self._is_remapped(one, before), files)
            return {one.token for one, changed in zip(files, differ, strict=True) if changed}

    def _is_remapped(self, file: SourceFile, before: Names) -> bool:
        path = external_path(self.root, file.path)
        parquet = open_foreign(self.store, path).parquet
        if self.names.by_field_id and has_field_ids(parquet.schema_arrow):
            return False
        columns = self.schema.visible.columns
        old, new = (
            HeldFile(parquet, path, one, has_ids=False).id_map(columns)
            if one.mapping
            else IdMap({})
            for one in (before, self.names)
        )
        return old != new

    def _check(self, file: SourceFile, opened: OpenedFile) -> None:
        known = ((file.rows, opened.rows, "rows"), (file.bytes, opened.bytes, "bytes"))
        for said, found, what in known:
            if said is not None and said != found:
                raise InvalidRequestError(
                    f"{file.path} has {found} {what}, and the source's metadata says {said}; the source "
                    "is damaged: repair it there"
                )

    def _constants(self, file: SourceFile) -> dict[int, str | None]:
        """The constants that the table can show, in its own types."""
        top = {column.id: column for column in self.schema.visible.columns}
        found: dict[int, str | None] = {}
        for key, text in file.constants.items():
            column = top.get(self.ids.get(key, 0))
            if column is None or is_nested(column.type):
                continue
            given = self.source.column(column.id).type
            widened = text if text is None else widen_text(text, given, column.type)
            assert widened is None or isinstance(widened, str)
            found[column.id] = widened
        return found

    def _id_map(self, opened: OpenedFile, path: str, constants: Mapping[int, str | None]) -> IdMap:
        columns = [one for one in self.schema.visible.columns if one.id not in constants]
        has_ids = self.names.by_field_id and has_field_ids(opened.parquet.schema_arrow)
        julian = julian_leaves(opened.parquet, opened.footer)
        found = HeldFile(opened.parquet, path, self.names, has_ids, julian).id_map(columns)
        found = replace(found, codec=opened.odd_codec)
        return self._maps.setdefault(found, found)

    def _stats(self, file: SourceFile, opened: OpenedFile, id_map: IdMap) -> dict[int, ColumnStats]:
        """Statistics from the footer; only the source's metadata may know the number of NaNs."""
        held = file_columns(self.schema, id_map)
        found = foreign_stats(opened.footer, held, id_map, self.schema.columns)
        for key, count in file.nans.items():
            column_id = self.ids.get(key, 0)
            known = found.get(column_id)
            if known is not None and is_floating(self.schema.column(column_id).type):
                found[column_id] = replace(known, nans=count)
        return found


def wanted_partitioning(
    partitioning: Sequence[SourcePartition], ids: Mapping[str, int], schema: Schema
) -> tuple[PartitionField, ...]:
    """How a file is partitioned, in the words of the table.

    A field of a column that the table does not have any more is left out; see ``partition_of``.
    """
    known = ((ids.get(one.key, 0), one.transform) for one in partitioning)
    return tuple(PartitionField(one, text) for one, text in known if one in schema.ids)


def partition_of(
    file: SourceFile, ids: Mapping[str, int], schema: Schema, source: Schema
) -> tuple[str | None, ...]:
    """The value texts of ``wanted_partitioning``."""
    pairs = zip(file.partitioning, file.partition, strict=True)
    found: list[str | None] = []
    for one, text in pairs:
        column_id = ids.get(one.key, 0)
        if column_id not in schema.ids:
            continue
        if text is not None and one.transform == "identity":
            old, new = source.column(column_id).type, schema.column(column_id).type
            widened = widen_text(text, old, new)
            assert isinstance(widened, str)
            text = widened
        found.append(text)
    return tuple(found)
