"""Parquet files of somebody else, mapped to a table by name: a small importer for tests."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from versioned_catalog import ExternalFile, Table
from versioned_catalog.log.foreign_statistics import foreign_stats
from versioned_catalog.model.id_map import Held, IdMap, file_columns
from versioned_catalog.model.parquet_forms import Form, seen_as
from versioned_catalog.model.types import (
    Array,
    Column,
    DayTimeInterval,
    Map,
    Struct,
    Time,
    children,
    is_text,
)
from versioned_catalog.read.foreign_file import open_foreign

ROOT = "lake"


def write(folder: Path, name: str, rows: pa.Table, **how: Any) -> Path:
    """Write a file that knows nothing of the table."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path, **how)
    return path


def mapped(
    table: Table,
    name: str,
    names: Mapping[str, str] | None = None,
    constants: Mapping[str, str | None] | None = None,
    forms: Mapping[str, Form] | None = None,
    *,
    statistics: bool = True,
    left_out: Collection[str] = (),
    partition: tuple[str | None, ...] | None = None,
) -> ExternalFile:
    """A file below the root, whose columns are those of the table with the same names.

    Args:
        names: the names in the file of top-level columns that have others.
        constants: value texts by the name of a top-level column.
        forms: forms of top-level columns that the file does not show.
        left_out: names of columns, nested ones too, that the map leaves out.
    """
    schema, path = table.schema, f"root:{ROOT}/{name}"
    opened = open_foreign(table.store, path)
    mapper = _Mapper(opened.parquet, dict(forms or {}), left_out)
    starts = mapper.starts(opened.parquet.schema_arrow)
    for column in schema.columns:
        given = (names or {}).get(column.name, column.name)
        if given in opened.parquet.schema_arrow.names and column.name not in left_out:
            field = opened.parquet.schema_arrow.field(given)
            mapper.add(column, field, starts[given], given)
    id_map = IdMap(mapper.held)
    held = file_columns(schema, id_map)
    stats = foreign_stats(opened.footer, held, id_map, schema.columns) if statistics else {}
    by_name = {column.name: column.id for column in schema.columns}
    return ExternalFile(
        path,
        opened.rows,
        opened.bytes,
        schema.version,
        id_map,
        {by_name[one]: text for one, text in (constants or {}).items()},
        stats,
        partition,
    )


class _Mapper:
    def __init__(
        self, parquet: pq.ParquetFile, forms: dict[str, Form], left_out: Collection[str]
    ) -> None:
        self._left_out = left_out
        self._leaves = parquet.metadata.schema
        self._forms = forms
        self.held: dict[int, Held] = {}

    def starts(self, schema: Any) -> dict[str, int]:
        found, at = {}, 0
        for field in schema:
            found[field.name] = at
            at += _count(field.type)
        return found

    def add(self, column: Column, field: pa.Field, start: int, given: str = "") -> None:
        name = None if given in ("", column.physical_name) else given
        match column.type:
            case Struct(fields):
                self.held[column.id] = Held(name)
                starts = self.starts(field.type)
                for inner in fields:
                    if inner.name in self._left_out:
                        continue
                    if field.type.get_field_index(inner.name) >= 0:
                        self.add(inner, field.type.field(inner.name), start + starts[inner.name])
            case Array(element):
                self.held[column.id] = Held(name, form=self._forms.get(column.name))
                self.add(element, field.type.value_field, start)
            case Map(key, value):
                self.held[column.id] = Held(name)
                self.add(key, field.type.key_field, start)
                self.add(value, field.type.item_field, start + _count(field.type.key_type))
            case _:
                if pa.types.is_null(field.type):
                    self.held[column.id] = Held(name, form=Form.NULL)
                    return
                seen = seen_as(field.type, self._leaves.column(start).physical_type)
                form = self._forms.get(column.name, seen.form)
                loose = is_text(column.type) or isinstance(column.type, Time | DayTimeInterval)
                type_ = column.type if loose or form is not seen.form else seen.type
                assert not children(column.type)
                self.held[column.id] = Held(name, None if type_ == column.type else type_, form)


def _count(type_: Any) -> int:
    if pa.types.is_struct(type_):
        return sum(_count(field.type) for field in type_)
    if pa.types.is_map(type_):
        return _count(type_.key_type) + _count(type_.item_type)
    if pa.types.is_list(type_):
        return _count(type_.value_type)
    return 1
