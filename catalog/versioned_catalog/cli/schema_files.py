"""Schema files: one CREATE TABLE statement a file, in a folder for each namespace."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from versioned_catalog.errors import (
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
    VersionedError,
)

if TYPE_CHECKING:
    from versioned_catalog.catalog import Catalog
    from versioned_catalog.migrate.schema_plan import SchemaPlan
    from versioned_catalog.model.table_text import Definition
    from versioned_catalog.table import Table

A_SCHEMA_FILE = "a schema file"
"""What errors call a schema file."""


@dataclass(frozen=True)
class FilePlan:
    """A plan, and the schema file that it is for.

    ``written`` says whether ``apply`` wrote the file; None before it.
    """

    file: Path
    plan: SchemaPlan
    written: bool | None = None

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON."""
        shown = {"file": str(self.file), **self.plan.to_json(), "committed": self.plan.committed}
        return shown if self.written is None else {**shown, "file_written": self.written}


def path_of(folder: Path, table: str) -> Path:
    """The file of a table in a folder: ``db/t.sql``.

    Raises:
        InvalidRequestError: a part of its name would lead out of the folder.
    """
    from versioned_catalog.model.type_text import parse_path

    parts = parse_path(table)
    if any(part in (".", "..") for part in parts):
        raise InvalidRequestError(
            f"{table} can't have a file below {folder}, since . and .. are no names of folders; rename "
            "it, or print it with versioned ddl"
        )
    *namespace, name = (quote(part, safe=" ") for part in parts)
    return folder.joinpath(*namespace, f"{name}.sql")


def all_tables(catalog: Catalog, namespace: str | None = None) -> Iterator[str]:
    """The names of all tables of a warehouse."""
    from versioned_catalog.model.type_text import parse_path, render_path

    above = parse_path(namespace) if namespace else ()
    for table in catalog.list_tables(namespace):
        yield render_path((*above, table))
    for inner in catalog.list_namespaces(namespace):
        yield from all_tables(catalog, inner)


def write(file: Path, table: Table) -> None:
    """Write a table's statement with its IDs to a file; other text in it stays (see ``rewritten``).

    Raises:
        InvalidRequestError: the file is of another table, or not a schema file.
        StorageError: it can't be read or written.
    """
    from versioned_catalog.migrate.file_text import rewritten
    from versioned_catalog.storage.text import read_text, write_text

    old = read_text(file, A_SCHEMA_FILE) if os.path.lexists(file) else ""
    try:
        text = rewritten(old, table.snapshot().definition())
    except VersionedError as error:
        raise InvalidRequestError(
            f"{file} is there and can't be written again: {error}. Correct it, or delete it to have it "
            "written anew"
        ) from error
    if text != old:
        write_text(file, text)


def plan_files(source: Path, catalog: Catalog, allow_drop: Sequence[str]) -> list[FilePlan]:
    """Plan every schema file of a folder, or one file, on the current tables.

    Raises:
        NotFoundError: there is no such folder, or no file in it.
        InvalidRequestError: a file is not text in UTF-8 or does not parse, a table can't become what its
            file declares, or two files are of one table.
    """
    from versioned_catalog.model.matching import path_key
    from versioned_catalog.model.type_text import parse_path
    from versioned_catalog.storage.text import read_text

    if os.path.isdir(source):
        files = sorted(_sql_files(source))
    else:
        files = [source] if os.path.lexists(source) else []
    if not files:
        raise NotFoundError(
            f"there are no schema files (*.sql) at {source}; write them with versioned ddl --out FOLDER"
        )
    plans: dict[tuple[str, ...], FilePlan] = {}
    for file in files:
        text = read_text(file, A_SCHEMA_FILE)
        try:
            plan = plan_text(text, catalog, allow_drop)
        except (InvalidRequestError, NotFoundError) as error:
            raise InvalidRequestError(f"{file}: {error}") from error
        other = plans.setdefault(path_key(parse_path(plan.table)), FilePlan(file, plan))
        if other.file != file:
            raise InvalidRequestError(
                f"{file} and {other.file} are both of {plan.table}; keep one of them"
            )
    _check_not_dropped(plans.values(), catalog)
    return list(plans.values())


def _sql_files(folder: Path) -> Iterator[Path]:
    """Yield the paths named ``*.sql`` in a folder and below, also below links to folders.

    Raises:
        StorageError: a folder can't be listed.
    """
    from versioned_catalog.storage.failures import storage_error

    def fail(error: OSError) -> None:
        raise storage_error("list", str(error.filename), error) from error

    seen: set[str] = set()
    for above, folders, files in os.walk(folder, onerror=fail, followlinks=True):
        real = os.path.realpath(above)
        if real in seen:
            folders.clear()  # a link back to a folder above it
            continue
        seen.add(real)
        for name in [*folders, *files]:
            if name.lower().endswith(".sql"):
                yield Path(above, name)


def plan_text(
    ddl: str,
    catalog: Catalog,
    allow_drop: Sequence[str] = (),
    renames: Mapping[str, str] | None = None,
) -> SchemaPlan:
    """Plan a statement on the table that it names, or the creation of that table.

    Raises:
        InvalidRequestError: the table can't become what is declared, its name is that of a view, or it
            has another name now.
    """
    from versioned_catalog.migrate.schema_plan import SchemaPlan
    from versioned_catalog.model.table_text import parse_table
    from versioned_catalog.model.type_text import render_path

    target = parse_table(ddl)
    name = render_path(target.name)
    if not catalog.table_exists(name):
        _check_free(target, catalog)
        return SchemaPlan(name, ddl)
    table = catalog.load_table(name)
    plan = table.evolve_to(ddl, renames=renames, allow_drop=allow_drop, dry_run=True)
    assert plan.new_schema is not None
    broken = catalog.problems_after(name, plan.new_schema)
    return replace(plan, views=tuple(problem.text for problem in broken))


def _check_free(target: Definition, catalog: Catalog) -> None:
    """Check that a table can be created, and is not one that exists under another name."""
    from versioned_catalog.model.type_text import render_path
    from versioned_catalog.names.creation import check_creation, creation_as_declared
    from versioned_catalog.names.names import check_new_name

    check_new_name(target.name)
    name = render_path(target.name)
    check_creation(creation_as_declared(target), name, catalog.store)
    if catalog.view_exists(name):
        raise InvalidRequestError(f"{name} is a view; choose another name, or drop the view")
    for uuid in target.tables:
        other = catalog.name_of(uuid)
        if other is not None:
            raise InvalidRequestError(
                f"there is no table {name}, and the table {uuid} of the file is {render_path(other)} "
                f"now; write that name, or remove the line -- table {uuid} to create another table"
            )


def _check_not_dropped(plans: Iterable[FilePlan], catalog: Catalog) -> None:
    """Check that no table that is to be created is one that was dropped, and can come back.

    Raises:
        InvalidRequestError: naming the first that is.
    """
    from versioned_catalog.model.table_text import parse_table

    created = [
        (each.file, each.plan.table, uuid)
        for each in plans
        if each.plan.creates
        for uuid in parse_table(each.plan.ddl).tables
    ]
    if not created:
        return
    try:
        dropped = {table.uuid: table.dropped for table in catalog.dropped_tables()}
    except NotFoundError:  # there is no warehouse yet
        return
    for file, name, uuid in created:
        if uuid in dropped:
            raise InvalidRequestError(
                f"{file}: {name}, the table {uuid} of the file, was dropped at {dropped[uuid]:%F %T}; "
                f"versioned undrop {shlex.quote(name)} brings it back, or remove the line -- table "
                f"{uuid} to create another table"
            )


def read_plans(file: Path, catalog: Catalog) -> list[FilePlan]:
    """Read plans that ``plan --out`` wrote, and make them again on the current tables.

    Raises:
        NotFoundError: there is no such file.
        InvalidRequestError: it is not a plan.
        CommitConflictError: a table was changed since its plan was made, or the plan was edited.
    """
    return [_replan(stored, file, catalog) for stored in _stored_plans(file)]


@dataclass(frozen=True)
class _StoredPlan:
    """The plan of one table, as ``plan --out`` wrote it."""

    file: Path
    ddl: str
    allow_drop: list[str]
    renames: dict[str, str]
    table_uuid: str | None
    schema_version: int | None
    properties: dict[str, str]
    sql: list[str]


def _stored_plans(file: Path) -> list[_StoredPlan]:
    from versioned_catalog.model.schema_json import member
    from versioned_catalog.storage.text import parse_json, read_text

    text = read_text(file, "a plan")
    try:
        return list(map(_stored_plan, member(parse_json(text, str(file)), "plans", list)))
    except (VersionedError, TypeError) as error:
        raise InvalidRequestError(
            f"{file} is not a plan: {error}; make one with plan --out"
        ) from error


def _stored_plan(plan: Any) -> _StoredPlan:
    from versioned_catalog.model.schema_json import member, optional, text_list, texts

    for key in ("allow_drop", "table_uuid", "schema_version"):
        if key not in plan:
            raise InvalidRequestError(f"the member {key!r} of a plan is missing")
    return _StoredPlan(
        Path(member(plan, "file", str)),
        member(plan, "ddl", str),
        text_list(plan, "allow_drop"),
        texts(member(plan, "renames", dict)),
        optional(plan, "table_uuid", str),
        optional(plan, "schema_version", int),
        texts(member(plan, "properties", dict)),
        [sql for change in member(plan, "changes", list) for sql in text_list(change, "sql")],
    )


def _replan(stored: _StoredPlan, file: Path, catalog: Catalog) -> FilePlan:
    plan = plan_text(stored.ddl, catalog, stored.allow_drop, stored.renames)
    again = "nothing was changed; make the plan again"
    if stored.table_uuid != plan.table_uuid:
        if stored.table_uuid is None:
            event = "was created since"
        else:
            event = "was dropped since" if plan.table_uuid is None else "was replaced since"
        raise CommitConflictError(f"{plan.table} {event} the plan in {file} was made; {again}")
    if stored.schema_version != plan.schema_version:
        raise CommitConflictError(
            f"{plan.table} is at schema {plan.schema_version}, but the plan in {file} was made on "
            f"schema {stored.schema_version}; {again}"
        )
    if stored.properties != plan.properties:
        raise CommitConflictError(
            f"{plan.table}: its properties were changed since the plan in {file} was made; {again}"
        )
    if stored.sql != plan.sql:
        raise CommitConflictError(
            f"{plan.table}: the changes in {file} are not those that its statement needs now; {again}"
        )
    return FilePlan(stored.file, plan)
