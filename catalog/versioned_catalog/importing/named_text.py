"""Columns of CSV that a provided schema or the table knows: their names, and that they are text."""

from __future__ import annotations

import re
from dataclasses import replace

from versioned_catalog.importing.file_schema import FileColumn, FileSchema, Kind
from versioned_catalog.importing.merging import Wanted
from versioned_catalog.schema.schema import name_key
from versioned_catalog.types.types import Atom

_GENERATED = re.compile(r"f[0-9]+")
"""The names that PyArrow gives the columns of a file without a header."""


def names_by_position(wanted: Wanted) -> tuple[str, ...]:
    """The names of the columns of CSV without a header: those of the provided schema, as in Drill.

    Columns that stand in paths are no columns of the files. If the schema, an alias or ``exclude`` uses
    ``f0``, ``f1``, … , these are the names.
    """
    in_paths = {name_key(one.name) for one in wanted.paths}
    provided = [name for name in wanted.provided.inside(()) if name_key(name) not in in_paths]
    used = [*provided, *(path[0] for path in (*wanted.names.aliases, *wanted.names.excluded))]
    return () if any(map(_GENERATED.fullmatch, used)) else tuple(provided)


def by_position(schema: FileSchema, names: tuple[str, ...]) -> FileSchema:
    """The columns of a CSV file without a header, with the names of their positions."""
    named = (replace(one, name=name) for one, name in zip(schema, names, strict=False))
    return (*named, *schema[len(names) :])


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
