"""What to say of columns that can't be merged, with the options that settle each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from versioned_catalog.importing.disagreements import Disagreement, Hint, Option, Variant
from versioned_catalog.importing.file_schema import FileColumn, FileSchema, Kind, as_type
from versioned_catalog.importing.readable import fits
from versioned_catalog.types.paths import ColumnPath, render_path
from versioned_catalog.types.type_text import render_type
from versioned_catalog.types.types import Atom, Column, DataType, Decimal, Struct, is_nested
from versioned_catalog.types.widening import MOST_DIGITS, type_name


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
    for one in sources:
        shown = type_name(as_type(one.column))
        counts[shown] += one.group.files
        samples[shown] = (*samples.get(shown, ()), *one.group.samples)
    return tuple(Variant(what, files, samples[what]) for what, files in counts.most_common())


def _files(groups: Sequence[Group], what: str) -> Variant:
    samples = tuple(path for group in groups for path in group.samples)
    return Variant(what, sum(group.files for group in groups), samples)


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
    columns = [one.column for one in sources]
    if any(column.kind is not Kind.LEAF for column in columns):
        return
    fixed = of_table or named
    candidates = list(_candidates(columns)) if fixed is None else [fixed]
    if any(is_nested(one) for one in candidates):
        return
    for converted in (False, True):
        fit = (
            type_
            for type_ in candidates
            if all(fits(column, type_, copy=converted or copy) for column in columns)
        )
        found = next(fit, None)
        if found is not None:
            options: dict[str, Option] = {}
            if fixed is None:
                options["schema"] = f"{render_path(path)} {render_type(found)}"
            if converted and not copy:
                options["copy"] = True
            if options:
                yield Hint(options)
            return


def _candidates(columns: Sequence[FileColumn]) -> Iterator[DataType]:
    types = {as_type(column) for column in columns}
    if types & {Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ, Atom.DATE}:
        yield from (Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ)
    decimals = [one for one in types if isinstance(one, Decimal)]
    if decimals and not types & {Atom.FLOAT, Atom.DOUBLE}:
        scale = max(one.scale for one in decimals)
        yield Decimal(MOST_DIGITS, scale)
    if not types & {Atom.STRING, Atom.BINARY, Atom.BOOLEAN}:
        yield Atom.DOUBLE
    yield from (Atom.STRING, Atom.BINARY)


def _exclude(sources: Sequence[Source]) -> Hint:
    return Hint({"exclude": list(dict.fromkeys(render_path(one.path) for one in sources))})


def refused(path: ColumnPath, sources: Sequence[Source]) -> Disagreement:
    """A column that can't be read, with the reason."""
    reasons = dict.fromkeys(one.column.reason for one in sources)
    groups = [one.group for one in sources]
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


def unnameable(path: ColumnPath, sources: Sequence[Source], reason: str) -> Disagreement:
    """A name that no column can have."""
    groups = [one.group for one in sources]
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
