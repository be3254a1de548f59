"""Columns of CSV whose type is known already: they are text, to be parsed as that type."""

from __future__ import annotations

from dataclasses import replace

from versioned_catalog.importing.file_schema import FileColumn, FileSchema, Kind
from versioned_catalog.importing.merging import Wanted
from versioned_catalog.schema.schema import name_key
from versioned_catalog.types.types import Atom


def with_named_text(schema: FileSchema, wanted: Wanted) -> FileSchema:
    """The schema of a CSV file, with text where the provided schema or the table says the type."""
    table = () if wanted.table is None else wanted.table.columns
    of_table = frozenset(name_key(one.name) for one in table)

    beside = [one.name for one in schema]

    def named(one: FileColumn) -> FileColumn:
        name = wanted.names.name((one.name,), beside)
        if name is None or one.kind is not Kind.LEAF:
            return one
        is_known = name_key(name) in of_table or wanted.provided.at((name,)) is not None
        return replace(one, type=Atom.STRING, candidates=()) if is_known else one

    return tuple(map(named, schema))
