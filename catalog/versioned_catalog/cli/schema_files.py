"""Schema files: one CREATE TABLE statement a file, in a folder for each namespace."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from versioned_catalog.errors import InvalidRequestError, NotFoundError, VersionedError

if TYPE_CHECKING:
    from versioned_catalog.catalog.catalog import Catalog
    from versioned_catalog.migration.schema_plan import SchemaPlan
    from versioned_catalog.table import Table


@dataclass(frozen=True)
class FilePlan:
    """A plan, and the schema file that it is for."""

    file: Path
    plan: SchemaPlan

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON."""
        return {"file": str(self.file), **self.plan.to_json()}


def path_of(folder: Path, table: str) -> Path:
    """The file of a table in a folder: ``db/t.sql``."""
    from versioned_catalog.types.paths import parse_path

    *namespace, name = (quote(part, safe=" ") for part in parse_path(table))
    return folder.joinpath(*namespace, f"{name}.sql")


def all_tables(catalog: Catalog, namespace: str | None = None) -> Iterator[str]:
    """The names of all tables of a warehouse."""
    from versioned_catalog.types.paths import parse_path, render_path

    above = parse_path(namespace) if namespace else ()
    for table in catalog.list_tables(namespace):
        yield render_path((*above, table))
    for inner in catalog.list_namespaces(namespace):
        yield from all_tables(catalog, inner)


def write(file: Path, table: Table) -> None:
    """Write a table's statement with its IDs to a file; lines before CREATE stay."""
    old = file.read_text(encoding="utf-8") if file.exists() else ""
    text = header(old) + table.ddl(ids=True)
    if text != old:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def header(text: str) -> str:
    """The comments and blank lines at the start of a file."""
    lines = text.splitlines(keepends=True)
    count = next(
        (i for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("--")),
        0,
    )
    return "".join(lines[:count])


def plan_files(source: Path, catalog: Catalog, allow_drop: Sequence[str]) -> list[FilePlan]:
    """Plan every schema file of a folder, or one file, on the tables as they are.

    Raises:
        NotFoundError: there is no such folder, or no file in it.
        InvalidRequestError: a file does not parse, a table can't become what its file declares, or two
            files are of one table.
    """
    files = sorted(source.rglob("*.sql")) if source.is_dir() else [source]
    if not files or not files[0].is_file():
        raise NotFoundError(
            f"there are no schema files (*.sql) at {source}; write them with versioned ddl --out FOLDER"
        )
    plans: list[FilePlan] = []
    for file in files:
        try:
            plan = plan_text(file.read_text(encoding="utf-8"), catalog, allow_drop)
        except VersionedError as error:
            raise _in_file(error, file) from error
        for other in plans:
            if other.plan.table == plan.table:
                raise InvalidRequestError(
                    f"{file} and {other.file} are both of {plan.table}; keep one of them"
                )
        plans.append(FilePlan(file, plan))
    return plans


def _in_file(error: VersionedError, file: Path) -> VersionedError:
    """The error as one of a file that can't be planned."""
    if isinstance(error, InvalidRequestError | NotFoundError):
        return InvalidRequestError(f"{file}: {error}")
    return error


def plan_text(
    ddl: str,
    catalog: Catalog,
    allow_drop: Sequence[str] = (),
    renames: Mapping[str, str] | None = None,
) -> SchemaPlan:
    """Plan a statement on the table that it names, or the creation of that table."""
    from versioned_catalog.migration.schema_plan import SchemaPlan
    from versioned_catalog.schema.table_parser import parse_table
    from versioned_catalog.types.paths import render_path

    target = parse_table(ddl)
    name = render_path(target.name)
    if not catalog.table_exists(name):
        return SchemaPlan(name, ddl)
    return catalog.load_table(name).evolve_to(
        ddl, renames=renames, allow_drop=allow_drop, dry_run=True
    )


def read_plans(file: Path, catalog: Catalog) -> list[FilePlan]:
    """Read plans that ``plan --out`` wrote, and make them again on the tables as they are.

    Raises:
        NotFoundError: there is no such file.
        InvalidRequestError: it is not a plan, or a plan is not what it says.
        CommitConflictError: a table is not what its plan was made on.
    """
    from versioned_catalog.errors import CommitConflictError

    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        read = [(Path(one["file"]), one) for one in document["plans"]]
    except FileNotFoundError:
        raise NotFoundError(f"there is no plan at {file}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidRequestError(
            f"{file} is not a plan: {error}; make one with plan --out"
        ) from None
    plans = []
    for path, one in read:
        again = plan_text(one["ddl"], catalog, one["allow_drop"], one["renames"])
        planned_on = (one["table_uuid"], one["schema_version"])
        if planned_on != (again.table_uuid, again.schema_version):
            raise CommitConflictError(
                f"{again.table} is at schema {again.schema_version}, but the plan in {file} was made on "
                f"schema {one['schema_version']}; nothing was changed; make the plan again"
            )
        if [sql for change in one["changes"] for sql in change["sql"]] != again.sql:
            raise CommitConflictError(
                f"{again.table}: the changes in {file} are not those that its statement needs now; "
                "nothing was changed; make the plan again"
            )
        plans.append(FilePlan(path, again))
    return plans


def apply_file(one: FilePlan, catalog: Catalog) -> FilePlan:
    """Create or alter the table of a file, and write the file with the IDs that it has now.

    Raises:
        CommitConflictError: the table was changed since the plan was made.
    """
    from versioned_catalog.migration.apply import apply_plan

    plan = one.plan
    if plan.creates:
        table = _create(plan, catalog)
        done = replace(plan, committed=table.version)
    else:
        table = catalog.load_table(plan.table)
        done = apply_plan(table.handle, plan)
    write(one.file, table.refresh())
    return FilePlan(one.file, done)


def _create(plan: SchemaPlan, catalog: Catalog) -> Table:
    from versioned_catalog.schema.table_parser import parse_table
    from versioned_catalog.types.paths import render_path

    target = parse_table(plan.ddl)
    for length in range(1, len(target.name)):
        namespace = render_path(target.name[:length])
        if not catalog.namespace_exists(namespace):
            catalog.create_namespace(namespace)
    return catalog.create_table(target.name, target.schema, **target.creation_arguments())
