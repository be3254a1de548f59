"""The options of imports that a table keeps for its next one (FORMAT.md, section 6.3).

What names columns of the table does so by ID: a column that was renamed since goes on to get what files
have under the earlier name, and one that was dropped gets nothing.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.log.state import TableState
from versioned_catalog.model.keys import IMPORT_OPTIONS
from versioned_catalog.model.schema import Schema, name_key
from versioned_catalog.model.table_changes import KeepImportOptions
from versioned_catalog.model.tokens import sql_string
from versioned_catalog.model.type_text import ColumnPath, render_path, render_type
from versioned_catalog.model.types import Column, children, is_nested
from versioned_catalog.spelling import one_of
from versioned_interop.imports.options import KEPT, ImportOptions, import_options
from versioned_interop.imports.provided import Names, Provided, ProvidedColumn
from versioned_interop.imports.text_formats import date_pattern

_PATHS = "paths"
"""The member with the columns that stand in paths, and that users asked for."""

_BY_COLUMN = ("schema", "strict", "aliases")

_DAMAGED = object()
"""A value that can't be read, and is none that an import gives."""


class Mode(enum.Enum):
    """What an import does with the options that the table keeps."""

    USE = "use"
    """Those that are not given are used, and those that are given are kept."""
    IGNORE = "ignore"
    """They are neither used nor changed."""
    FORGET = "forget"
    """They are dropped, and those that are given are kept."""


@dataclass(frozen=True)
class Resolved:
    """The options of an import.

    Args:
        options: those given, and those kept.
        mode: what is done with the latter.
        raw: those given, as users gave them.
        used: the names of the kept ones that are used.
    """

    options: ImportOptions
    mode: Mode = Mode.IGNORE
    raw: Mapping[str, Any] = field(default_factory=dict)
    used: tuple[str, ...] = ()


def resolve(options: Mapping[str, Any], state: TableState | None) -> Resolved:
    """Check the arguments of ``import_files``, and add what the table keeps.

    Args:
        state: of the table; None if it does not exist.

    Raises:
        InvalidRequestError: an argument is invalid.
        CorruptTableError: what the table keeps is.
    """
    raw = {name: value for name, value in options.items() if name != "kept"}
    mode = one_of(Mode, options.get("kept") or "use", "kept")
    given = {name: raw[name] for name in KEPT if raw.get(name) is not None}
    document = _document(state) if mode is Mode.USE and state is not None else {}
    if not document:
        checked = replace(import_options(**raw), given=frozenset(given))
        return Resolved(checked, mode, given)
    assert state is not None, "it has the document"
    try:
        return _with_kept(raw, given, document, state.schema)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InvalidRequestError):
            raise
        raise _damaged() from error


def _without_strict(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in raw.items() if name != "strict"}


def _with_kept(
    raw: Mapping[str, Any], given: Mapping[str, Any], document: Mapping[str, Any], schema: Schema
) -> Resolved:
    plain = {n: v for n, v in document.items() if n not in (*_BY_COLUMN, _PATHS)}
    changes = {name: value for name, value in raw.items() if value is not None}
    has_schema = "schema" in given or "schema" not in document
    named = changes if has_schema else _without_strict(changes)
    options = import_options(**{**plain, **named})
    kept_schema = {} if has_schema else document["schema"]
    implied, explicit = _kept_aliases(document, kept_schema, schema)
    if "aliases" in given:
        explicit = dict(options.names.aliases)
    provided = options.provided
    if kept_schema:
        strict = given.get("strict", kept_schema.get("strict", False))
        provided = replace(_provided(kept_schema, schema), strict=bool(strict))
    names = Names({**implied, **explicit}, options.names.excluded)
    used = tuple(name for name in KEPT if name in document and name not in given)
    options = replace(options, provided=provided, names=names, given=frozenset(given))
    return Resolved(options, Mode.USE, given, used)


def _document(state: TableState) -> Mapping[str, Any]:
    """What a table keeps.

    Raises:
        CorruptTableError: it is no JSON object.
        InvalidRequestError: a newer release has kept it.
    """
    text = state.properties.get(IMPORT_OPTIONS)
    if text is None:
        return {}
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged() from error
    if not isinstance(document, dict):
        raise _damaged()
    if unknown := document.keys() - {*KEPT, _PATHS}:
        raise InvalidRequestError(
            f"the option {min(unknown)} is kept from an import by a newer release; install that "
            "release, or pass kept='ignore'",
            condition="NOT_SUPPORTED",
        )
    return document


def _damaged() -> CorruptTableError:
    return CorruptTableError(
        f"the property {IMPORT_OPTIONS} does not hold the options of an import; pass kept='forget' to "
        "import_files, and the options again"
    )


def _kept_aliases(
    document: Mapping[str, Any], kept_schema: Mapping[str, Any], schema: Schema
) -> tuple[dict[ColumnPath, str], dict[ColumnPath, str]]:
    """New names by the paths in files: of columns that were renamed, and those that users gave."""
    entries = [*kept_schema.get("columns", ()), *document.get(_PATHS, ())]
    names = {int(entry["id"]): str(entry["path"][-1]) for entry in entries}
    files: dict[int, list[ColumnPath]] = {}
    explicit: dict[ColumnPath, str] = {}
    for entry in document.get("aliases", ()):
        path = tuple(map(str, entry["path"]))
        if "id" in entry:
            files.setdefault(int(entry["id"]), []).append(path)
        else:
            explicit[path] = str(entry["name"])
    implied: dict[ColumnPath, str] = {}

    def add(columns: Sequence[Column], above: Sequence[ColumnPath]) -> None:
        for column in columns:
            if column.hidden:
                continue
            earlier = names.get(column.id, column.name)
            paths = [(*parent, earlier) for parent in above]
            if name_key(earlier) != name_key(column.name):
                implied.update(dict.fromkeys(paths, column.name))
            explicit.update(dict.fromkeys(files.get(column.id, ()), column.name))
            add(children(column.type), [*paths, *files.get(column.id, ())])

    add(schema.columns, [()])
    return implied, explicit


def _provided(kept_schema: Mapping[str, Any], schema: Schema) -> Provided:
    """A provided schema, with the current names and types of its columns; those dropped are left out."""
    current = {column.id: (path, column) for column, path in _paths(schema.columns)}
    columns = []
    for entry in kept_schema["columns"]:
        path, column = current.get(int(entry["id"]), ((), None))
        if column is None or is_nested(column.type) or column.hidden:
            continue  # what is inside a nested one has entries of its own
        format_ = entry.get("format")
        if format_ is not None:
            _check_format(format_, path, column)
        columns.append(ProvidedColumn(path, column, format_))
    positions = dict.fromkeys(str(entry["path"][0]) for entry in kept_schema["columns"])
    return Provided(tuple(columns), positions=tuple(positions))


def _check_format(format_: str, path: ColumnPath, column: Column) -> None:
    try:
        date_pattern(format_, column.type)
    except InvalidRequestError as error:
        raise InvalidRequestError(
            f"the format of {render_path(path)} that is kept from an earlier import does not fit its "
            f"type any more: {error}; pass schema again, or kept='forget'",
            condition="INVALID_OPTION",
        ) from None


def _paths(
    columns: Sequence[Column], above: ColumnPath = ()
) -> Iterator[tuple[Column, ColumnPath]]:
    for column in columns:
        path = (*above, column.name)
        yield column, path
        yield from _paths(children(column.type), path)


def kept_change(
    state: TableState, resolved: Resolved, requested: Sequence[str]
) -> KeepImportOptions | None:
    """The change that keeps the options of an import whose columns the table has; None if none differs.

    Args:
        requested: the names of the columns that stand in paths, and that users asked for.
    """
    if resolved.mode is Mode.IGNORE:
        return None
    before = _kept_before(state, resolved.mode)
    document = {} if resolved.mode is Mode.FORGET else dict(before)
    document |= _rendered(resolved, document, state.schema)
    document = {name: value for name, value in document.items() if not _is_default(name, value)}
    document = _with_paths(document, state.schema, requested)
    names = (*KEPT, _PATHS)
    changed = [name for name in names if before.get(name) != document.get(name)]
    if not changed:
        return None
    shown = tuple(name for name in changed if name != _PATHS) or ("dir_columns",)
    members = tuple(
        (name, json.dumps(document[name]) if name in document else None) for name in changed
    )
    return KeepImportOptions(members, shown)


def _is_default(name: str, value: object) -> bool:
    """Whether a value says what the option says if nothing is kept."""
    return value in ([], {}, None) or (value == "" and name not in ("quote", "null"))


def _kept_before(state: TableState, mode: Mode) -> Mapping[str, Any]:
    try:
        return _document(state)
    except (CorruptTableError, InvalidRequestError):
        if mode is not Mode.FORGET:
            raise
        return dict.fromkeys((*KEPT, _PATHS), _DAMAGED)


def _rendered(resolved: Resolved, before: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """The options that were given, as the document has them."""
    options, given = resolved.options, resolved.raw
    document = {name: given[name] for name in given if name not in _BY_COLUMN}
    for name in ("null", "dir_columns", "file_columns", "exclude"):
        value = document.get(name)
        if value is not None and not isinstance(value, bool | str):
            document[name] = dict(value) if isinstance(value, Mapping) else list(value)
    if "schema" in given:
        columns = list(_schema_entries(options.provided, schema))
        strict = {"strict": True} if options.provided.strict else {}
        document["schema"] = {**strict, "columns": columns} if columns else None
    elif "strict" in given and "schema" in before:
        document["schema"] = {**before["schema"], "strict": options.provided.strict}
    if "aliases" in given:
        document["aliases"] = [
            {"path": list(path), **_target(path, new, options.names, schema)}
            for path, new in options.names.aliases.items()
            if path in Names.of(given["aliases"]).aliases
        ]
    return document


def _schema_entries(provided: Provided, schema: Schema) -> Iterator[dict[str, Any]]:
    """The columns of a provided schema, and those around them, by ID."""
    formats, seen = provided.formats, set[int]()
    for key, column in provided.by_key.items():
        for depth in range(1, len(key) + 1):
            stored = _at(schema, column.path[:depth])
            if stored is not None and stored.id not in seen:
                seen.add(stored.id)
                entry: dict[str, Any] = {"id": stored.id, "path": list(column.path[:depth])}
                format_ = formats.get(key) if depth == len(key) else None
                yield entry if format_ is None else {**entry, "format": format_}


def _target(path: ColumnPath, new: str, names: Names, schema: Schema) -> dict[str, Any]:
    """The column that an alias means: by ID, or by name if the table does not have it."""
    above = (names.name(path[:depth]) or path[depth - 1] for depth in range(1, len(path)))
    stored = _at(schema, (*above, new))
    return {"name": new} if stored is None else {"id": stored.id}


def _at(schema: Schema, path: ColumnPath) -> Column | None:
    """The column at a path, regardless of case."""
    columns, column = schema.columns, None
    for name in path:
        column = next((c for c in columns if name_key(c.name) == name_key(name)), None)
        if column is None:
            return None
        columns = children(column.type)
    return column


def _with_paths(
    document: Mapping[str, Any], schema: Schema, requested: Sequence[str]
) -> dict[str, Any]:
    """The document with the columns that stand in paths, as long as users ask for them."""
    others = {name: value for name, value in document.items() if name != _PATHS}
    if not others.keys() & {"dir_columns", "file_columns"}:
        return others
    entries = list(document.get(_PATHS, ()))
    known = {entry["id"] for entry in entries}
    for name in requested:
        column = _at(schema, (name,))
        if column is not None and column.id not in known:
            entries.append({"id": column.id, "path": [name]})
    return {**others, _PATHS: entries} if entries else others


def kept_options(state: TableState) -> dict[str, Any]:
    """The options that a table keeps, as arguments of ``import_files``, with the current names.

    Raises:
        CorruptTableError: what it keeps is damaged.
    """
    resolved = resolve({}, state)
    document, options = _document(state), resolved.options
    shown = {n: v for n, v in document.items() if n not in (*_BY_COLUMN, _PATHS)}
    if "schema" in document:
        shown["schema"] = ", ".join(map(_declared, options.provided.columns))
        shown["strict"] = options.provided.strict
    if options.names.aliases:
        shown["aliases"] = {render_path(old): new for old, new in options.names.aliases.items()}
    return {name: shown[name] for name in KEPT if name in shown}


def _declared(column: ProvidedColumn) -> str:
    format_ = "" if column.format is None else f" FORMAT {sql_string(column.format)}"
    return f"{render_path(column.path)} {render_type(column.column.type)}{format_}"
