"""What files disagree on, as one error: the types, how many files have each, and the way out."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.types.paths import quote
from versioned_catalog.types.tokens import sql_string

_SHOWN_FILES, _SHOWN = 3, 20


class Dialect(enum.Enum):
    """How the error writes options."""

    PYTHON = "python"
    SQL = "sql"
    CLI = "cli"


Option = str | bool | Sequence[str] | Mapping[str, str]


@dataclass(frozen=True)
class Hint:
    """Options of an import that settle a disagreement.

    >>> hint = Hint({"schema": "n DOUBLE", "copy": True})
    >>> [hint.text(dialect) for dialect in Dialect]
    ["schema='n DOUBLE', copy=True", "schema => 'n DOUBLE', copy => true", "--schema 'n DOUBLE' --copy"]
    """

    options: Mapping[str, Option]

    def text(self, dialect: Dialect) -> str:
        """The options as a user of a dialect writes them."""
        match dialect:
            case Dialect.PYTHON:
                return ", ".join(f"{key}={value!r}" for key, value in self.options.items())
            case Dialect.SQL:
                shown = (f"{key} => {_sql(value)}" for key, value in self.options.items())
                return ", ".join(shown)
            case Dialect.CLI:
                return " ".join(_cli(key, value) for key, value in self.options.items())


def _sql(value: Option) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return sql_string(value)
        case Mapping():
            return sql_string(", ".join(f"{old} = {quote(new)}" for old, new in value.items()))
        case _:
            return sql_string(", ".join(value))


def _cli(key: str, value: Option) -> str:
    name = {"aliases": "--alias"}.get(key, f"--{key.replace('_', '-')}")
    match value:
        case bool():
            return name
        case str():
            return f"{name} {sql_string(value)}"
        case Mapping():
            return " ".join(f"{name} {sql_string(f'{old}={new}')}" for old, new in value.items())
        case _:
            return " ".join(f"{name} {sql_string(one)}" for one in value)


@dataclass(frozen=True)
class Variant:
    """What some of the files say of a column.

    Args:
        what: a type, or a description.
        files: how many files say so.
        samples: the first of their paths.
    """

    what: str
    files: int
    samples: tuple[str, ...]

    def __str__(self) -> str:
        if not self.files:
            return self.what
        shown = ", ".join(self.samples[:_SHOWN_FILES])
        more = ", …" if self.files > len(self.samples[:_SHOWN_FILES]) else ""
        files = "1 file" if self.files == 1 else f"{self.files:,} files"
        return f"{self.what} in {files} ({shown}{more})"


@dataclass(frozen=True)
class Disagreement:
    """One column on which files do not agree, or that can't be imported.

    Args:
        path: the column, as dotted text.
        variants: the types, the most frequent first.
        hints: alternatives, any of which settles it.
        problem: what is wrong, if it is not that the types differ.
    """

    path: str
    variants: tuple[Variant, ...]
    hints: tuple[Hint, ...]
    problem: str = ""

    def text(self, dialect: Dialect) -> str:
        """One line of the report."""
        what = " and ".join(map(str, self.variants))
        shown = f"{self.path} {self.problem}: {what}" if self.problem else f"{self.path} is {what}"
        if not self.hints:
            return shown
        return f"{shown}. Pass {' or '.join(hint.text(dialect) for hint in self.hints)}"


@dataclass
class Report:
    """Collects disagreements, to refuse an import with all of them at once."""

    found: list[Disagreement] = field(default_factory=list)

    def add(self, one: Disagreement) -> None:
        """Take one more."""
        self.found.append(one)

    def check(self, source: str, files: int, dialect: Dialect) -> None:
        """Refuse the import if anything was found.

        Raises:
            InvalidRequestError: listing each column.
        """
        if self.found:
            raise InvalidRequestError(report_text(self.found, source, files, dialect))


def report_text(found: Sequence[Disagreement], source: str, files: int, dialect: Dialect) -> str:
    """The text of the error."""
    columns = "1 column" if len(found) == 1 else f"{len(found)} columns"
    head = f"can't import {source}: {columns} of its {files:,} files can't be brought together"
    lines = [one.text(dialect) for one in found[:_SHOWN]]
    if len(found) > _SHOWN:
        lines.append(f"and {len(found) - _SHOWN} more")
    return "\n".join((head, *(f"  {line}" for line in lines), *_together(found, dialect)))


def _together(found: Sequence[Disagreement], dialect: Dialect) -> Iterable[str]:
    """The schema that settles all at once, if there is one for each."""
    first = [one.hints[0].options if one.hints else {} for one in found]
    schemas = [str(one["schema"]) for one in first if isinstance(one.get("schema"), str)]
    if len(found) > 1 and len(schemas) == len(found):
        merged: dict[str, Option] = {"schema": ", ".join(schemas)}
        if any(one.get("copy") for one in first):
            merged["copy"] = True
        yield f"  All at once: {Hint(merged).text(dialect)}"
