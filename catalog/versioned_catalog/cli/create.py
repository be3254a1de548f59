"""The commands ``create`` and ``drop``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from versioned_catalog.cli.output import printable, show_commit, show_json, wants_json
from versioned_catalog.cli.program import Session, is_folder, table_command
from versioned_catalog.errors import AlreadyExistsError, InvalidRequestError, NotFoundError

if TYPE_CHECKING:
    from versioned_catalog.catalog import Catalog


@table_command
@click.argument("columns")
@click.option(
    "--partitioned-by", metavar="FIELD", multiple=True, help="Such as days(ts); may be repeated."
)
@click.option(
    "--primary-key", metavar="COLUMN", multiple=True, help="Of a row's key; may be repeated."
)
@click.option("--time-index", metavar="COLUMN", help="Time by which rows are sorted last.")
@click.option(
    "--generated",
    metavar="COLUMN=SQL",
    multiple=True,
    help='Column that is computed from others, such as "day=CAST(ts AS DATE)"; may be repeated.',
)
@click.option(
    "--identity", metavar="COLUMN", multiple=True, help="Column that numbers rows; may be repeated."
)
@click.option(
    "--set", "properties", metavar="KEY=VALUE", multiple=True, help="Property to set; may repeat."
)
@click.option("--comment", help="Comment of the table.")
@click.option("--location", metavar="FOLDER", help="Folder; chosen by the name if omitted.")
@click.option("--parents", is_flag=True, help="Create the namespaces that are missing.")
@click.option("--if-not-exists", is_flag=True, help="Do nothing if there is a table of that name.")
def create(
    session: Session,
    table: str,
    columns: str,
    properties: tuple[str, ...],
    generated: tuple[str, ...],
    identity: tuple[str, ...],
    location: str | None,
    parents: bool,
    if_not_exists: bool,
    **options: Any,
) -> None:
    """Create TABLE with COLUMNS in SQL: "id BIGINT NOT NULL, name STRING DEFAULT 'x'".

    For a whole CREATE TABLE statement in a file, see apply.
    """
    from versioned_catalog.catalog import Catalog
    from versioned_catalog.model.value_clauses import Identity

    options |= {
        "properties": _pairs(properties, "--set takes KEY=VALUE"),
        "generated": _pairs(generated, "--generated takes COLUMN=SQL"),
        "identity": dict.fromkeys(identity, Identity()),
    }
    try:
        if is_folder(table):
            if location is not None or parents:
                raise click.UsageError("--location and --parents are for names; TABLE is a folder")
            made = Catalog.create_path(table, columns, **options, storage_options=session.storage)
        else:
            catalog = session.catalog()
            if parents:
                create_namespaces(catalog, table)
            made = _create_by_name(catalog, table, columns, {**options, "location": location})
    except AlreadyExistsError:
        if not if_not_exists or not _exists(session, table):
            raise
        _show_none(table, "created", "there is a table")
        return
    show_commit(made.name, made.version)


def _exists(session: Session, table: str) -> bool:
    try:
        session.table(table)
    except NotFoundError:
        return False
    return True


def _create_by_name(catalog: Any, table: str, columns: str, options: dict[str, Any]) -> Any:
    with naming_parents():
        return catalog.create_table(table, columns, **options)


@contextmanager
def naming_parents() -> Iterator[None]:
    """Name ``--parents`` in the error of a missing namespace."""
    try:
        yield
    except NotFoundError as error:
        if error.condition != "VERSIONED_NAMESPACE_NOT_FOUND":
            raise
        raise NotFoundError(f"{error}; or give --parents") from error


def create_namespaces(catalog: Catalog, table: str) -> None:
    """Create the namespaces around a table that are missing."""
    from versioned_catalog.model.type_text import parse_path, render_path

    parts = parse_path(table)
    for length in range(1, len(parts)):
        namespace = render_path(parts[:length])
        if not catalog.namespace_exists(namespace):
            catalog.create_namespace(namespace)


def _pairs(texts: tuple[str, ...], form: str) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    if not all(key and equals for key, equals, _ in pairs):
        raise InvalidRequestError(form, condition="INVALID_OPTION")
    return {key: value for key, _, value in pairs}


@table_command
@click.option("--if-exists", is_flag=True, help="Do nothing if there is no such table.")
@click.option("--view", is_flag=True, help="TABLE is a view, which can't be brought back.")
def drop(session: Session, table: str, if_exists: bool, view: bool) -> None:
    """Drop TABLE, which undrop brings back until a vacuum deletes its files.

    Files of a table with a location of its own stay.
    """
    from versioned_catalog.log.branches import BRANCH_PREFIX
    from versioned_catalog.model.type_text import parse_path, render_path

    if is_folder(table):
        raise InvalidRequestError(
            f"drop takes a name in a warehouse, and {table} is a folder; a table without a name is "
            "dropped by deleting its folder",
            condition="NOT_SUPPORTED",
        )
    catalog, parts = session.catalog(), parse_path(table)
    if parts[-1].startswith(BRANCH_PREFIX) and catalog.table_exists(parts[:-1]):
        names = render_path(parts[:-1]), parts[-1].removeprefix(BRANCH_PREFIX)
        raise InvalidRequestError(
            f"{table} is a branch; drop it with: versioned branch drop {shlex.join(names)}",
            condition="NOT_SUPPORTED",
        )
    if if_exists and not catalog.table_exists(table) and not catalog.view_exists(table):
        _show_none(table, "dropped", "there is no table")
        return
    if view:
        catalog.drop_view(table)
        _show_dropped(table, f"the view {table} is dropped", None)
        return
    if catalog.view_exists(table):
        raise InvalidRequestError(
            f"{table} is a view; to drop it, give --view", condition="NOT_SUPPORTED"
        )
    location = catalog.load_table(table).location if catalog.is_external(table) else None
    catalog.drop_table(table)
    if location is None:
        undrop = f"versioned undrop {shlex.quote(table)}"
        _show_dropped(table, f"{table} is dropped; {undrop} brings it back", None)
    else:
        _show_dropped(table, f"{table} is dropped; its files stay in {location}", location)


def _show_dropped(table: str, text: str, location: str | None) -> None:
    if wants_json():
        show_json({"table": table, "dropped": True, "files_stay_in": location})
    else:
        click.echo(printable(text))


def _show_none(table: str, verb: str, why: str) -> None:
    if wants_json():
        show_json({"table": table, verb: False})
    else:
        click.echo(f"{printable(table)} is not {verb}, since {why}")
