"""The files that ``source_table`` of a procedure names: of a table of Spark's catalog, or a folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyspark_versioned.spark_types import from_spark_schema, struct_from_json
from pyspark_versioned.sql.procedure import Invocation
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.snapshots import open_catalog
from versioned_catalog import InvalidRequestError, NotFoundError
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.type_text import parse_path, quote
from versioned_catalog.storage.opening import plain_url
from versioned_catalog.storage.store import Store, StoredFile
from versioned_interop.imports.listing import FileSource, file_source, selected

PARQUET, ORC = "parquet", "orc"
_SESSION_CATALOG = "spark_catalog"
_INSTEAD = {
    **dict.fromkeys(("delta", "iceberg"), "take it in with CALL system.convert(..., {folder!r})"),
    **dict.fromkeys(
        ("csv", "json"), "copy its rows with CALL system.import_files(..., {folder!r})"
    ),
}


@dataclass(frozen=True)
class SourceFiles:
    """Files to take in.

    Args:
        folder: the path or URL of their folder.
        format: ``parquet`` or ``orc``.
        table: the table of Spark's own catalog that they are of, or None.
    """

    folder: str
    format: str
    table: messages.SessionTable | None

    @property
    def schema(self) -> Schema | None:
        """The columns of the table; None for a folder, whose files have them."""
        if self.table is None:
            return None
        return Schema(from_spark_schema(struct_from_json(self.table.schema)))

    def levels(self, store: Store, partitions: Mapping[str, str], table: str) -> list[str]:
        """The columns of a filter in the order of the folders.

        Raises:
            InvalidRequestError: one of them is not in the paths of the files.
        """
        if not partitions:
            return []
        known = [parse_path(field)[0] for field in self.partitioned_by(store)]
        for name in partitions:
            if name not in known:
                raise InvalidRequestError(
                    f"{table}: partition_filter names {name}, by which {self.folder} is not "
                    f"partitioned; its partition columns: {', '.join(known) or 'none'}",
                    condition="INVALID_OPTION",
                )
        return [name for name in known if name in partitions]

    def partitioned_by(self, store: Store) -> tuple[str, ...]:
        """The partition columns, quoted; of a folder, those that stand in the paths of its files."""
        if self.table is not None:
            return tuple(map(quote, self.table.partitioned_by))
        file = next(self.listed(store), None)
        parts = [] if file is None else self._source(store).below(file.name).split("/")[:-1]
        return tuple(quote(part.partition("=")[0]) for part in parts if "=" in part)

    def listed(self, store: Store) -> Iterator[StoredFile]:
        """The files, with paths below the root.

        Args:
            store: a store that knows the roots of the catalog.
        """
        source = self._source(store)
        return selected(source, source.store.walk(source.folder))

    def _source(self, store: Store) -> FileSource:
        return file_source(store, self.folder, in_place=self.format == PARQUET)

    def check(self, store: Store, table: str) -> None:
        """Refuse a table of Spark's own catalog whose rows are not those of the files in its folder.

        Args:
            store: a store that knows the roots of the catalog.
            table: the table that takes the files in, for the error.

        Raises:
            InvalidRequestError: a partition is elsewhere, or the catalog does not know a partition.
        """
        if self.table is None or self.table.partitions is None or not self.table.partitioned_by:
            return
        known = set(map(plain_url, self.table.partitions))
        outside = sorted(url for url in known if not url.startswith(f"{plain_url(self.folder)}/"))
        if outside:
            raise InvalidRequestError(
                f"{table}: the partition {outside[0]} of {self.table.name} is outside the folder of its "
                f"table, {self.folder}; take each folder in with CALL system.import_files",
                condition="NOT_SUPPORTED",
            )
        base = self._source(store).store.url
        for file in self.listed(store):
            folder = plain_url(f"{base}/{file.name}").rpartition("/")[0]
            if folder not in known:
                raise InvalidRequestError(
                    f"{table}: {folder} has files of a partition that {self.table.name} does not have; "
                    f"run MSCK REPAIR TABLE {self.table.name} first, or move the folder away",
                    condition="NOT_SUPPORTED",
                )


def files_of(call: Invocation, table: str) -> SourceFiles:
    """The files that ``source_table`` names, for a table of that name for errors.

    Raises:
        InvalidRequestError: it names a versioned table, or one of another format.
        NotFoundError: it names nothing.
    """
    text, other = call.text("source_table"), call.request.session_table
    parts = parse_path(text)
    if parts[0].lower() != _SESSION_CATALOG and _is_versioned(call):
        raise InvalidRequestError(
            f"{table}: {text} is a versioned table; write INSERT INTO ... SELECT, or CREATE TABLE ... "
            f"CLONE, or {_SESSION_CATALOG} before the name for a table of Spark's own catalog",
            condition="NOT_SUPPORTED",
        )
    if other is not None:
        return SourceFiles(other.location, _format(other, table), other)
    kind, *path = parts
    if kind.lower() in (PARQUET, ORC) and len(path) == 1:
        return SourceFiles(path[0].rstrip("/"), kind.lower(), None)
    raise NotFoundError(
        f"{table}: there is no table {text} in {_SESSION_CATALOG}; write its name, or its folder as in "
        f"source_table => '`parquet`.`/data/sales`'",
        condition="TABLE_NOT_FOUND",
    )


def _is_versioned(call: Invocation) -> bool:
    named = call.request.source
    return named is not None and open_catalog(named.catalog).table_exists(tuple(named.name))


def _format(table: messages.SessionTable, target: str) -> str:
    provider = table.provider.lower()
    if provider == "hive":
        serde = (table.serde or "").lower()
        provider = next((kind for kind in (PARQUET, ORC) if kind in serde), provider)
    if provider in (PARQUET, ORC):
        return provider
    instead = _INSTEAD.get(provider, "copy its rows with INSERT INTO ... SELECT")
    raise InvalidRequestError(
        f"{target}: {table.name} is a table of {provider}; {instead.format(folder=table.location)}",
        condition="NOT_SUPPORTED",
    )
