"""The command ``query``: SQL of DuckDB over the tables of a warehouse."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from versioned_catalog.cli.output import show_table, wants_json
from versioned_catalog.cli.program import Command, Session, at_most_one, version_of
from versioned_catalog.errors import (
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    StorageError,
    UnsupportedFeatureError,
    VersionedError,
)
from versioned_catalog.interop import optional_import

if TYPE_CHECKING:
    from versioned_catalog.catalog import Catalog

_NAME = re.compile(r'"((?:[^"]|"")+)"|([^".\s]+)')
_OURS = re.compile(r".*versioned_catalog\.errors\.(\w+): (.*)", re.DOTALL)
_KINDS: dict[str, type[VersionedError]] = {
    kind.__name__: kind
    for kind in (
        CorruptTableError,
        InvalidRequestError,
        NotFoundError,
        StorageError,
        UnsupportedFeatureError,
    )
}
"""The errors that a scan raises."""

_TIME_TRAVEL = re.compile(r"\b(VERSION|TIMESTAMP|SYSTEM_TIME)\s+AS\s+OF\b|\bAT\s*\(", re.IGNORECASE)
"""How a query of Spark or of DuckDB asks for an earlier version."""

_READS = ("SELECT", "EXPLAIN")
_DEEPEST = 3
"""The most parts of a name that DuckDB has."""


@click.command(cls=Command)
@click.argument("sql")
@click.option("--as-of", metavar="VERSION|TAG", help="Read all tables at this version or tag.")
@click.option(
    "--timestamp", metavar="TIME", help="Read all tables at this time (UTC if it has no offset)."
)
@click.pass_obj
def query(session: Session, sql: str, as_of: str | None, timestamp: str | None) -> None:
    """Run a SELECT of DuckDB over the tables of the warehouse: "SELECT * FROM metrics.cpu".

    It reads the columns and segments that the query needs, and writes nothing. It needs DuckDB:
    pip install duckdb
    """
    at_most_one({"--as-of": as_of, "--timestamp": timestamp})
    duckdb = optional_import("duckdb", "versioned query", "duckdb")
    as_of_version = version_of(as_of)
    catalog = session.catalog()
    with duckdb.connect() as connection:
        try:
            # Otherwise a name that is no table may be a variable of this program.
            connection.execute("SET python_enable_replacements = false")
            kind = _checked(connection.extract_statements(sql))
            if kind == "EXPLAIN":  # with ANALYZE, it runs
                _checked(_explained(connection, sql))
            names = sorted(connection.get_table_names(sql, qualified=True))
            missing = _add_tables(connection, catalog, map(_parts, names), as_of_version, timestamp)
            try:
                with warnings.catch_warnings():  # DuckDB 2 warns that Arrow copies rows
                    warnings.simplefilter("ignore", UserWarning)
                    result = connection.execute(sql).to_arrow_table()
            except (duckdb.CatalogException, duckdb.BinderException) as error:
                is_table = missing and re.match(
                    r'Catalog Error: Table|Binder Error: Catalog "', str(error)
                )
                raise (missing[0] if is_table else error) from None
        except VersionedError:
            raise
        except duckdb.Error as error:
            raise _translated(error, sql) from error
    if kind == "EXPLAIN" and not wants_json():
        click.echo("\n".join(result.column(1).to_pylist()))
    else:
        show_table(result.rename_columns(_distinct(result.column_names)))


def _distinct(names: list[str]) -> list[str]:
    """Names of columns, with a number after each that was there before: ``id``, ``id_1``."""
    taken, distinct = set(names), list[str]()
    for name in names:
        number, shown = 0, name
        while shown in distinct or (number and shown in taken):
            number += 1
            shown = f"{name}_{number}"
        distinct.append(shown)
    return distinct


def _checked(statements: list[Any]) -> str:
    """The kind of a query; what DuckDB writes would be lost, so it must be one statement that reads.

    Raises:
        InvalidRequestError: it is another kind of statement, or several.
    """
    kinds = [statement.type.name for statement in statements]
    if len(kinds) != 1:
        raise InvalidRequestError(
            f"versioned query takes one statement, got {len(kinds)}", condition="NOT_SUPPORTED"
        )
    if kinds[0] not in _READS:
        raise InvalidRequestError(
            f"versioned query only reads, and this is {kinds[0]}; write by Python or Spark, alter with "
            "versioned alter, create with versioned create",
            condition="NOT_SUPPORTED",
        )
    return str(kinds[0])


def _explained(connection: Any, sql: str) -> list[Any]:
    """The statement that an EXPLAIN is about: what parses first after the word and its options."""
    import duckdb

    for offset, _ in duckdb.tokenize(sql)[1:]:
        try:
            return list(connection.extract_statements(sql.encode()[offset:].decode()))
        except duckdb.ParserException:
            continue
    return []


def _parts(name: str) -> tuple[str, ...]:
    """The parts of a name as DuckDB shows it, without its alias."""
    parts, at = [], 0
    while match := _NAME.match(name, at):
        quoted, plain = match.groups()
        parts.append(plain if quoted is None else quoted.replace('""', '"'))
        at = match.end()
        if name[at : at + 1] != ".":
            break
        at += 1
    return tuple(parts)


def _add_tables(
    connection: Any,
    catalog: Catalog,
    names: Iterator[tuple[str, ...]],
    as_of: int | str | None,
    timestamp: str | None,
) -> list[VersionedError]:
    """Make views of the tables that a query names, and return the errors about those that are missing.

    A namespace is a database of DuckDB's, and one inside it a schema.
    """
    missing: list[VersionedError] = []
    for number, parts in enumerate(dict.fromkeys(names)):
        try:
            table = catalog.load_table(parts)
        except NotFoundError as error:  # may be a file, or a table of DuckDB's own
            missing.append(error)
            continue
        relation = table.scan(version=as_of, timestamp=timestamp).to_duckdb(connection)
        database = _quoted(parts[0]) if len(parts) > 1 else "memory"
        schema = _quoted(parts[1]) if len(parts) == _DEEPEST else "main"
        if len(parts) > 1:
            connection.execute(f"ATTACH IF NOT EXISTS ':memory:' AS {database}")
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {database}.{schema}")
        held = f"versioned_{number}"
        connection.register(held, relation)
        connection.execute(
            f"CREATE VIEW {database}.{schema}.{_quoted(parts[-1])} AS FROM temp.main.{held}"
        )
    return missing


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _translated(error: Exception, sql: str) -> VersionedError:
    """Our own error that a scan raised inside DuckDB, which keeps only its traceback; else DuckDB's."""
    text = str(error)
    ours = _OURS.match(text)
    kind = None if ours is None else _KINDS.get(ours[1])
    if ours is not None and kind is not None:
        return kind(ours[2])
    if _TIME_TRAVEL.search(sql):
        text += "\nread an earlier version with --as-of VERSION|TAG or --timestamp TIME, after the query"
    if "NameListToString" in text:
        text = f"a name in a query has up to {_DEEPEST} parts"
    return InvalidRequestError(f"DuckDB: {text}", condition="NOT_SUPPORTED")
