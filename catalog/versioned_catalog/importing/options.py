"""The options of an import."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.importing.disagreements import Dialect
from versioned_catalog.importing.file_types import LeafRules
from versioned_catalog.importing.names import Names
from versioned_catalog.importing.provided import Provided, SchemaSource, provided_schema
from versioned_catalog.importing.text_files import CsvOptions
from versioned_catalog.spelling import one_of

BATCH_FILES = 1000
"""Files that are adopted in one commit."""


class Again(enum.Enum):
    """Which files are imported although the table has taken them in before."""

    CHANGED = "changed"
    """Those that have changed since. A segment of the old file leaves the table."""
    ALL = "all"
    """All of them."""


@dataclass(frozen=True)
class ImportOptions:
    """How files are imported; see ``Catalog.import_files``, whose arguments these are."""

    format: str | None = None
    copy: bool = False
    provided: Provided = field(default_factory=Provided)
    names: Names = field(default_factory=Names)
    evolve: bool = False
    path_columns: bool = True
    rules: LeafRules = field(default_factory=LeafRules)
    csv: CsvOptions = field(default_factory=CsvOptions)
    skip_unreadable: bool = False
    batch_files: int = BATCH_FILES
    dialect: Dialect = Dialect.PYTHON
    again: Again | None = None


def import_options(
    *,
    format: str | None = None,
    copy: bool = False,
    schema: SchemaSource = None,
    strict: bool | None = None,
    aliases: Mapping[str, str] | None = None,
    exclude: Sequence[str] = (),
    evolve: bool = False,
    path_columns: bool = True,
    binary_as_string: bool = False,
    nanoseconds: str = "refuse",
    delimiter: str | None = None,
    header: bool = True,
    null: str = "",
    skip_unreadable: bool = False,
    batch_files: int = BATCH_FILES,
    dialect: Dialect = Dialect.PYTHON,
    again: str | None = None,
) -> ImportOptions:
    """Check the arguments of users.

    Raises:
        InvalidRequestError: one of them is invalid.
    """
    if nanoseconds not in ("refuse", "truncate"):
        raise InvalidRequestError(
            f"nanoseconds must be refuse or truncate, got {nanoseconds!r}",
            condition="INVALID_OPTION",
        )
    if not isinstance(batch_files, int) or batch_files < 1:
        raise InvalidRequestError(
            f"batch_files must be a positive integer, got {batch_files!r}",
            condition="INVALID_OPTION",
        )
    return ImportOptions(
        format,
        copy,
        provided_schema(schema, strict=strict),
        Names.of(aliases, exclude),
        evolve,
        path_columns,
        LeafRules(binary_as_string, nanoseconds == "truncate"),
        CsvOptions(delimiter, header, null),
        skip_unreadable,
        batch_files,
        dialect,
        None if again is None else one_of(Again, again, "again"),
    )
