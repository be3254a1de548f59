"""Iceberg's changelog: views over the changes of a table, with its columns and names."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from pyspark_versioned.sql.procedure import TABLE, Invocation, Procedure, Row, optional
from pyspark_versioned.sql.values import parse_timestamp
from versioned_catalog import Catalog, InvalidRequestError, NotFoundError, Table
from versioned_catalog.model.type_text import quote, render_path, render_type
from versioned_catalog.model.types import Atom, Column
from versioned_catalog.names.names_log import Name
from versioned_catalog.names.view import View, ViewColumn
from versioned_catalog.read.metadata_columns import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION

CHANGES = "changes"
"""The name of the metadata table: all changes from the first version on whose changes can be read."""

_OWN = (
    Column(-1, CHANGE_TYPE, Atom.STRING, nullable=False),
    Column(-2, "_change_ordinal", Atom.INT, nullable=False),
    Column(-3, "_commit_snapshot_id", Atom.LONG, nullable=False),
)
"""Iceberg's columns beside those of the table."""

_BOUNDS = ("start-snapshot-id", "end-snapshot-id", "start-timestamp", "end-timestamp")


def changelog_view(catalog: Catalog, catalog_name: str, name: Name) -> View | None:
    """The view that a name such as ``ns.t.changes`` stands for; None for other names, and tables."""
    if len(name) < 2 or name[-1].lower() != CHANGES:
        return None
    if catalog.table_exists(name) or not catalog.table_exists(name[:-1]):
        return None
    table = catalog.load_table(name[:-1])
    first, last = _first(table), table.version
    columns = (*table.columns_of_changes(first, last), *_OWN)
    return View(
        name,
        _query((catalog_name, *name[:-1]), first, last),
        tuple(ViewColumn(c.name, render_type(c.type), c.nullable, c.comment) for c in columns),
        tuple(column.name for column in columns),
    )


def _first(table: Table) -> int:
    """The first version whose changes can be read."""
    state = table.state
    return state.created_version if state.floor <= state.created_version else state.floor + 1


def _query(
    name: Name,
    first: int,
    last: int,
    *,
    net: bool = False,
    updates: bool = False,
    identifiers: Sequence[str] = (),
) -> str:
    """The changes of a range of versions, both included, with Iceberg's columns.

    Args:
        updates: whether the table knows which rows replace which, by its primary key.
        identifiers: columns that identify a row instead.
    """
    options = ["'deduplicationMode' = 'netChanges'"] if net else []
    options += ["'computeUpdates' = 'true'"] if updates else []
    asked = f" WITH ({', '.join(options)})" if options else ""
    changes = f"{render_path(name)} CHANGES FROM VERSION {first} TO VERSION {last}{asked}"
    left_out, kind = [CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP], _KIND
    if identifiers:
        by = ", ".join((COMMIT_VERSION, *identifiers))
        counts = {"delete": "__deletes", "insert": "__inserts"}
        counted = ", ".join(
            f"count_if({CHANGE_TYPE} = '{change}') OVER (PARTITION BY {by}) AS {count}"
            for change, count in counts.items()
        )
        changes = f"(SELECT *, {counted} FROM {changes})"
        left_out += counts.values()
        kind = _kind_by(identifiers)
    return (
        f"SELECT * EXCEPT ({', '.join(left_out)}), {kind} AS {CHANGE_TYPE}, "
        f"CAST({COMMIT_VERSION} - {first} AS INT) AS _change_ordinal, "
        f"{COMMIT_VERSION} AS _commit_snapshot_id FROM {changes}"
    )


_KIND = (
    f"CASE {CHANGE_TYPE} WHEN 'insert' THEN 'INSERT' WHEN 'delete' THEN 'DELETE' "
    "WHEN 'update_preimage' THEN 'UPDATE_BEFORE' ELSE 'UPDATE_AFTER' END"
)


def _kind_by(identifiers: Sequence[str]) -> str:
    shown = ", ".join(identifiers).replace("'", "\\'")
    return (
        "CASE WHEN __deletes > 0 AND __inserts > 0 AND __deletes + __inserts > 2 THEN raise_error("
        f"'updates can\\'t be computed: a commit has changed several rows with the same {shown}; give "
        "identifier_columns that are unique') "
        f"WHEN __deletes > 0 AND __inserts > 0 AND {CHANGE_TYPE} = 'delete' THEN 'UPDATE_BEFORE' "
        "WHEN __deletes > 0 AND __inserts > 0 THEN 'UPDATE_AFTER' "
        f"ELSE upper({CHANGE_TYPE}) END"
    )


def _range(call: Invocation, table: Table) -> tuple[int, int]:
    """The first and the last version; the bounds of Iceberg's options exclude the start."""
    options = call.pairs("options")
    for key in options:
        if key not in _BOUNDS:
            raise InvalidRequestError(
                f"create_changelog_view: the option {key} is not supported; there are "
                f"{', '.join(_BOUNDS)}"
            )
    for end in ("start", "end"):
        if f"{end}-snapshot-id" in options and f"{end}-timestamp" in options:
            raise InvalidRequestError(
                f"create_changelog_view: give {end}-snapshot-id or {end}-timestamp, not both"
            )
    numbers = {key: _number(key, text) for key, text in options.items()}
    first, last = _first(table), table.version
    if "start-snapshot-id" in numbers:
        first = table.version_of(numbers["start-snapshot-id"]) + 1
    elif "start-timestamp" in numbers:
        first = max(first, _version_at(table, numbers["start-timestamp"]) + 1)
    if "end-snapshot-id" in numbers:
        last = table.version_of(numbers["end-snapshot-id"])
    elif "end-timestamp" in numbers:
        last = _version_at(table, numbers["end-timestamp"])
    return (first, last) if first <= last else (table.version + 1, table.version)


def _number(key: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise InvalidRequestError(f"create_changelog_view: {key} is {text!r}; write a number")
    return int(text)


def _version_at(table: Table, millis: int) -> int:
    """The last version that was committed up to a millisecond, which includes it; -1 for none."""
    try:
        time = parse_timestamp(millis * 1000) + timedelta(microseconds=999)
        return table.version_at(time)
    except NotFoundError:
        return -1
    except OverflowError:
        raise InvalidRequestError(
            f"create_changelog_view: {millis} is no time in milliseconds since 1970"
        ) from None


def _statement(call: Invocation) -> str:
    """The statement that makes the view."""
    table, net = call.table, call.flag("net_changes", False)
    identifiers = [
        table.schema.get((name,)).name for name in call.items("identifier_columns") or ()
    ]
    key = [table.schema.column(column_id).name for column_id in table.schema.primary_key]
    updates = call.flag("compute_updates", bool(identifiers))
    if updates and net:
        raise InvalidRequestError(
            "create_changelog_view: net_changes has no updates; leave out identifier_columns and "
            "compute_updates, or net_changes"
        )
    if updates and not (identifiers or key):
        raise InvalidRequestError(
            f"create_changelog_view: compute_updates needs identifier_columns, since {table.name} has "
            "no primary key"
        )
    by_key = updates and (not identifiers or set(identifiers) == set(key))
    first, last = _range(call, table)
    table.columns_of_changes(first, last)  # refuse a range that can't be read
    query = _query(
        (call.request.catalog.name, *call.name),
        first,
        last,
        net=net,
        updates=by_key,
        identifiers=[quote(name) for name in identifiers] if updates and not by_key else (),
    )
    return f"CREATE OR REPLACE TEMPORARY VIEW {quote(_view_name(call))} AS {query}"


def _view_name(call: Invocation) -> str:
    given = call.arguments["changelog_view"]
    return f"{call.name[-1]}_{CHANGES}" if given is None else given.strip("`")


def _create_changelog_view(call: Invocation) -> list[Row]:
    return [(_view_name(call),)]


PROCEDURES = {
    "create_changelog_view": Procedure(
        "Makes a temporary view of the changes of a table, with Iceberg's columns.",
        (
            TABLE,
            optional("changelog_view", "STRING", f"its name; by default <table>_{CHANGES}"),
            optional("options", "MAP<STRING, STRING>", f"the range: {', '.join(_BOUNDS)}"),
            optional("compute_updates", "BOOLEAN", "true shows the two rows of an update"),
            optional(
                "identifier_columns", "ARRAY<STRING>", "find updates; by default the primary key"
            ),
            optional("net_changes", "BOOLEAN", "true compares the ends of the range only"),
        ),
        "STRUCT<changelog_view: STRING>",
        _create_changelog_view,
        writes=False,
        statement=_statement,
    ),
}
