"""Disagreements of files in one error: the types, the files, and the options that settle them."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from versioned_catalog.model.tokens import sql_string
from versioned_catalog.model.type_text import ColumnPath, quote, render_path, render_type
from versioned_catalog.model.types import Atom, Column, DataType, Decimal, Struct, is_nested
from versioned_catalog.model.widening import MOST_DIGITS, type_name
from versioned_interop.imports.file_schema import FileColumn, FileSchema, Kind, as_type, fits

COPY_ROWS = "copy the rows (copy=True; on the command line, --copy)"
"""What to do with files that can't stay where they are."""

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
            return " ".join(f"{name} {sql_string(item)}" for item in value)


@dataclass(frozen=True)
class Variant:
    """A type or description of a column, and the files that have it.

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
        text = " and ".join(map(str, self.variants))
        shown = f"{self.path} {self.problem}: {text}" if self.problem else f"{self.path} is {text}"
        if not self.hints:
            return shown
        return f"{shown}. Pass {' or '.join(hint.text(dialect) for hint in self.hints)}"


def report_text(problems: Sequence[Disagreement], source: str, files: int, dialect: Dialect) -> str:
    """The text of the error."""
    columns = "1 column" if len(problems) == 1 else f"{len(problems)} columns"
    head = f"can't import {source}: {columns} of its {files:,} files can't be brought together"
    lines = [problem.text(dialect) for problem in problems[:_SHOWN]]
    if len(problems) > _SHOWN:
        lines.append(f"and {len(problems) - _SHOWN} more")
    return "\n".join((head, *(f"  {line}" for line in lines), *_together(problems, dialect)))


def _together(problems: Sequence[Disagreement], dialect: Dialect) -> Iterable[str]:
    """The schema that settles all disagreements, if a schema settles each."""
    first = [problem.hints[0].options if problem.hints else {} for problem in problems]
    schemas = [str(hint["schema"]) for hint in first if isinstance(hint.get("schema"), str)]
    if len(problems) > 1 and len(schemas) == len(problems):
        merged: dict[str, Option] = {"schema": ", ".join(schemas)}
        if any(hint.get("copy") for hint in first):
            merged["copy"] = True
        yield f"  All at once: {Hint(merged).text(dialect)}"


@dataclass(frozen=True)
class Group:
    """Files whose columns are the same.

    Args:
        schema: the columns.
        files: how many there are.
        samples: the first of their paths.
    """

    schema: FileSchema
    files: int
    samples: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """A column of a group of files.

    Args:
        column: the column.
        path: where it is in these files.
        group: the files.
    """

    column: FileColumn
    path: ColumnPath
    group: Group


def variants(sources: Sequence[Source]) -> tuple[Variant, ...]:
    """The different types of a column, the most frequent first."""
    counts, samples = Counter[str](), dict[str, tuple[str, ...]]()
    for source in sources:
        shown = type_name(as_type(source.column))
        counts[shown] += source.group.files
        samples[shown] = (*samples.get(shown, ()), *source.group.samples)
    return tuple(Variant(shown, files, samples[shown]) for shown, files in counts.most_common())


def _files(groups: Sequence[Group], description: str) -> Variant:
    samples = tuple(path for group in groups for path in group.samples)
    return Variant(description, sum(group.files for group in groups), samples)


def differ(
    path: ColumnPath,
    sources: Sequence[Source],
    named: DataType | None,
    of_table: DataType | None,
    *,
    copy: bool,
) -> Disagreement:
    """Types that do not fit together, the provided one, or that of the table."""
    others = []
    if of_table is not None:
        others.append(Variant(f"{type_name(of_table)} in the table", 0, ()))
    if named is not None:
        others.append(Variant(f"{type_name(named)} in the provided schema", 0, ()))
    hints = tuple(_type_hints(path, sources, named, of_table, copy=copy)) or (_exclude(sources),)
    return Disagreement(render_path(path), (*variants(sources), *others), hints)


def _type_hints(
    path: ColumnPath,
    sources: Sequence[Source],
    named: DataType | None,
    of_table: DataType | None,
    *,
    copy: bool,
) -> Iterator[Hint]:
    """Types that all files can be read as: in place if there is one, else in a copy."""
    columns = [source.column for source in sources]
    if any(column.kind is not Kind.LEAF for column in columns):
        return
    fixed = of_table or named
    candidates = list(_candidates(columns)) if fixed is None else [fixed]
    if any(is_nested(candidate) for candidate in candidates):
        return
    for converted in (False, True):
        fit = (
            type_
            for type_ in candidates
            if all(fits(column, type_, copy=converted or copy) for column in columns)
        )
        fitting = next(fit, None)
        if fitting is not None:
            options: dict[str, Option] = {}
            if fixed is None:
                options["schema"] = f"{render_path(path)} {render_type(fitting)}"
            if converted and not copy:
                options["copy"] = True
            if options:
                yield Hint(options)
            return


def _candidates(columns: Sequence[FileColumn]) -> Iterator[DataType]:
    types = {as_type(column) for column in columns}
    if types & {Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ, Atom.DATE}:
        yield from (Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ)
    decimals = [type_ for type_ in types if isinstance(type_, Decimal)]
    if decimals and not types & {Atom.FLOAT, Atom.DOUBLE}:
        scale = max(decimal.scale for decimal in decimals)
        yield Decimal(MOST_DIGITS, scale)
    if not types & {Atom.STRING, Atom.BINARY, Atom.BOOLEAN}:
        yield Atom.DOUBLE
    yield from (Atom.STRING, Atom.BINARY)


def _exclude(sources: Sequence[Source]) -> Hint:
    return Hint({"exclude": list(dict.fromkeys(render_path(source.path) for source in sources))})


def refused(path: ColumnPath, sources: Sequence[Source]) -> Disagreement:
    """A column that can't be read, with the reason."""
    reasons = dict.fromkeys(source.column.reason for source in sources)
    groups = [source.group for source in sources]
    outside = Source(sources[0].column, path, sources[0].group)
    return Disagreement(
        render_path(path),
        (_files(groups, "; ".join(reasons)),),
        (_exclude([outside]),),
        "can't be imported",
    )


def clash(path: ColumnPath, columns: tuple[FileColumn, FileColumn], group: Group) -> Disagreement:
    """Two columns of a file that have the same name, regardless of case."""
    first, second = columns
    where = render_path((*path, second.name)) if second.name else ""
    both = f"{first.name!r} and {second.name!r}"
    options: dict[str, Option] = {"aliases": {where: f"{second.name}_2"}}
    if first.name == second.name:
        options = {"exclude": [where]}
    return Disagreement(
        render_path((*path, first.name)),
        (_files([group], both),),
        (Hint(options),),
        "is the name of two columns, regardless of case",
    )


def in_path_too(path: ColumnPath, sources: Sequence[Source]) -> Disagreement:
    """A column of files that has the name of one that users take from paths."""
    first = sources[0]
    where = render_path(first.path)
    hints = (Hint({"aliases": {where: f"{path[-1]}_2"}}),)
    groups = [source.group for source in sources]
    shown = _files(groups, type_name(as_type(first.column)))
    return Disagreement(
        render_path(path), (shown,), hints, "is taken from the paths, and a column of the files"
    )


def declared(path: ColumnPath, what: str) -> Disagreement:
    """A column that the provided schema declares otherwise than the table has it."""
    way_out = Variant("leave it out, or change the column with ALTER TABLE first", 0, ())
    return Disagreement(
        render_path(path),
        (way_out,),
        (),
        f"has {what} in the provided schema, and not in the table",
    )


def unnameable(path: ColumnPath, sources: Sequence[Source], reason: str) -> Disagreement:
    """A name that no column can have."""
    groups = [source.group for source in sources]
    return Disagreement(repr(".".join(path)), (_files(groups, reason),), (), "can't be a name")


def unknown(path: ColumnPath, sources: Sequence[Source]) -> Disagreement:
    """A column that the table does not have."""
    hints = [Hint({"evolve": True})]
    if sources:
        hints.append(_exclude(sources))
    shown = variants(sources) or (Variant("it stands in the paths of the files", 0, ()),)
    return Disagreement(render_path(path), shown, tuple(hints), "is not a column of the table")


def missing(path: ColumnPath, column: Column, groups: Sequence[Group]) -> Disagreement:
    """A NOT NULL column that some files do not have."""
    shown = "STRUCT<...>" if isinstance(column.type, Struct) else render_type(column.type)
    name = render_path(path)
    hints = (
        Hint({"schema": f"{name} {shown}"}),
        Hint({"schema": f"{name} {shown} NOT NULL DEFAULT ..."}),
    )
    return Disagreement(name, (_files(groups, "missing"),), hints, "is NOT NULL without a default")
