"""Requests about tables and their options: load, create, change, drop, rename."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NoReturn, TypeAlias

from pyspark_versioned.option_names import Use, accepted
from pyspark_versioned.options import Target, parse_options, parse_overflow
from pyspark_versioned.sql.branch_choice import chosen
from pyspark_versioned.sql.changes import notes, parse_changes, replaced_columns
from pyspark_versioned.sql.declarations import Declaration, check_location, parse_declaration
from pyspark_versioned.sql.metadata_requests import (
    describe_metadata,
    described_table,
    hidden_warning,
)
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.protocol.base import Commit, Refused
from pyspark_versioned.sql.snapshots import (
    Opened,
    full_name,
    landed,
    name_table,
    open_catalog,
    open_table,
    remember,
    storage_of,
)
from pyspark_versioned.sql.table_description import describe
from pyspark_versioned.sql.values import parse_timestamp, parse_type
from pyspark_versioned.sql.write_plans import describe_plan, plan_of
from pyspark_versioned.writer import check_partitioning
from versioned_catalog import Catalog, InvalidRequestError, NotFoundError, Table
from versioned_catalog.commit.version_rules import version_or_tag
from versioned_catalog.log.state import TableState
from versioned_catalog.model.arrow import to_arrow_schema
from versioned_catalog.model.changes import ChangeType
from versioned_catalog.model.generated import generated_of
from versioned_catalog.model.type_text import quote, render_path
from versioned_catalog.model.types import Struct
from versioned_catalog.model.widening import widens
from versioned_catalog.names.creation import name_commit
from versioned_catalog.names.names_log import Name
from versioned_catalog.names.references import TAG_PREFIX, Reference, reference_in
from versioned_catalog.observe.records import CONNECTOR, WARNING, record
from versioned_catalog.write.conditions import unknown_columns

_AnyLoad: TypeAlias = messages.Load | messages.LoadToWrite


def load(request: messages.Load) -> messages.Loaded:
    """Load a table or a metadata table."""
    return _load(request)[0]


def load_to_write(request: messages.LoadToWrite) -> messages.LoadedTarget:
    """Load a table, and plan a write of all its columns."""
    loaded, opened = _load(request)
    if opened is None or not opened.state.seen.is_whole:
        return messages.LoadedTarget(loaded, None)
    plan = describe_plan(plan_of(opened), opened.state.properties)
    return messages.LoadedTarget(loaded, plan)


def _load(request: _AnyLoad) -> tuple[messages.Loaded, Opened | None]:
    """A table, or a metadata table, which is not opened."""
    catalog = open_catalog(request.catalog)
    named = reference_in(catalog, tuple(request.name))
    if named is None:
        return messages.Loaded(_load_metadata(catalog, request), (), past=False), None
    table = _opened(catalog.load_table(named.table), request.catalog, named.table)
    if named.tag is not None:
        return messages.Loaded(_at_tag(table, named, named.tag, request), (), past=True), None
    table, is_past = _chosen(table, named, request)
    table = _seen(table, request)
    state = table.state if is_past else _snapshot(table, request)
    overflow = parse_overflow(request.overflow)
    loaded = _described(table, state, request.catalog, named.table, overflow)
    hidden = hidden_warning(catalog, named.table)
    warnings = () if hidden is None else (hidden,)
    return messages.Loaded(loaded, warnings, past=is_past), Opened(table, state, state, ())


def _chosen(table: Table, named: Reference, request: _AnyLoad) -> tuple[Table, bool]:
    """The table, or the branch that the request is for, and whether it can only be read."""
    catalog, branch = request.catalog, named.branch
    if isinstance(request, messages.LoadToWrite):
        return chosen(table, catalog, branch, request.branch, writes=True), False
    if request.version is not None and request.version in table.branches:
        if branch is not None or request.branch is not None:
            raise InvalidRequestError(
                f"{table.name}: VERSION AS OF names the branch {request.version}, and the name or the "
                "option branch names one, too; leave one of them out"
            )
        return chosen(table, catalog, request.version, None, writes=False), True
    if _is_past(request) and branch is None and request.branch is None:
        return table, False  # of the table itself, whatever the session stages
    return chosen(table, catalog, branch, request.branch, writes=False), False


def _at_tag(table: Table, named: Reference, tag: str, request: _AnyLoad) -> messages.LoadedTable:
    """A table at a tag, by a name such as ``ns.t.tag_x``.

    Raises:
        InvalidRequestError: it is written to, or a version is asked for, too.
    """
    name = f"{table.name}.{TAG_PREFIX}{tag}"
    if isinstance(request, messages.LoadToWrite):
        raise InvalidRequestError(
            f"{name} is an older version, which can't be changed; write to {table.name}"
        )
    if _is_past(request) or request.branch is not None:
        raise InvalidRequestError(
            f"{table.name}: leave out VERSION AS OF, or the tag {TAG_PREFIX}{tag}"
        )
    version = table.version_of(tag)
    state, overflow = _seen(table, request).at(version), parse_overflow(request.overflow)
    return _described(table, state, request.catalog, named.table, overflow)


def _is_past(request: messages.Load) -> bool:
    """Whether a request is for a version, tag, branch or time."""
    return request.version is not None or request.timestamp is not None


def _load_metadata(catalog: Catalog, request: _AnyLoad) -> messages.LoadedMetadata:
    name = tuple(request.name)
    counts_as_missing = isinstance(request, messages.Load) and request.views
    if not counts_as_missing and catalog.view_exists(name):
        _refuse_view(request)
    described = described_table(catalog, name)
    if described is None:
        raise Refused("missing")
    table = _opened(described, request.catalog, name[:-1])
    loaded = _described(table, _snapshot(table, request), request.catalog, name[:-1])
    return describe_metadata(loaded.table, name[-1])


def _refuse_view(request: _AnyLoad) -> NoReturn:
    """Refuse to load a view as a table.

    Raises:
        InvalidRequestError: always.
    """
    catalog = request.catalog.name
    view = full_name(request.catalog, request.name)
    if isinstance(request, messages.LoadToWrite):
        raise InvalidRequestError(
            f"{view} is a view and holds no rows; write to the tables that it reads, which "
            f"CALL {quote(catalog)}.system.views() lists"
        )
    if request.version is not None or request.timestamp is not None:
        raise InvalidRequestError(
            f"{view} is a view, which has no versions; write VERSION AS OF or TIMESTAMP AS OF after "
            "the tables in a query of your own"
        )
    raise InvalidRequestError(
        f"{view} is a view; to read it, use Spark 4.2 or newer and set "
        f"spark.sql.catalog.{catalog} to versioned.spark.VersionedRelationCatalog"
    )


def _opened(table: Table, catalog: messages.CatalogRef, name: Sequence[str]) -> Table:
    """A table that was just loaded, under the name that errors use."""
    remembered = remember(table, storage_of(catalog, table.store.location))
    name_table(remembered, full_name(catalog, name))
    return remembered


def _seen(table: Table, request: _AnyLoad) -> Table:
    """The table in the schema that the statement's option names, or else the session.

    Raises:
        NotFoundError: the option names no pin or schema version of the table.
        InvalidRequestError: the session's label is a number.
    """
    overflow = parse_overflow(request.overflow)
    if request.schema_version is not None:
        return table.seen_as(request.schema_version, overflow=overflow)
    label = request.catalog.schema_label
    if label is not None and label.isdigit():
        raise InvalidRequestError(
            f"spark.sql.catalog.{request.catalog.name}.schema_label is {label}, and must be the label "
            "of a schema pin; for a schema version, use the option schemaVersion of a statement",
            condition="INVALID_OPTION",
        )
    # The label is that of a job, which may use tables that have no such pin.
    if label is None:
        return table
    if label not in table.state.pins:
        _report_retired(table, label)
        return table
    return table.seen_as(label, overflow=overflow)


_looked_at: set[tuple[str, str]] = set()
"""The tables, by name, and labels whose retirement was looked for in this process."""


def _report_retired(table: Table, label: str) -> None:
    """Log once in a process that the pin of the session's label was retired."""
    if (table.name, label) in _looked_at:
        return
    _looked_at.add((table.name, label))
    retired = table.handle.retired_pin(label)
    if retired is None:
        return
    record(
        WARNING,
        "%s: the schema pin %r, the label of this session, was retired at version %d, and the table is "
        "used in its current schema; unset schema_label, or declare the pin again",
        table.name,
        label,
        retired.version,
        logger=CONNECTOR,
        table=table.name,
        label=label,
    )


def _snapshot(table: Table, request: _AnyLoad) -> TableState:
    if isinstance(request, messages.LoadToWrite):
        return table.state
    if request.version is not None:
        return table.at(version_or_tag(request.version))
    if request.timestamp is not None:
        return table.at(timestamp=parse_timestamp(request.timestamp))
    return table.state


def load_format(request: messages.LoadFormat) -> messages.LoadedTable:
    """Load the table that options of the data source name."""
    options = parse_options(request.options, Use.READ)
    storage, target = dict(options.storage), Target.of(options)
    table = target.seen(remember(target.open(), storage))
    state = table.at(options.version, options.timestamp)
    return describe(table, state, storage, overflow=options.overflow)


def format_exists(request: messages.FormatExists) -> messages.Exists:
    """Whether options of the data source name an existing table."""
    return messages.Exists(Target.of(parse_options(request.options, Use.WRITE)).find() is not None)


def create(request: messages.Create, commit: Commit) -> messages.Altered:
    """Create an empty table."""
    catalog = open_catalog(request.catalog)
    declared = parse_declaration(request.declaration, like=request.like)
    if not catalog.namespace_exists(declared.name[:-1]):
        raise Refused("missing_namespace")
    if catalog.view_exists(declared.name):
        raise Refused("exists")
    if not catalog.table_exists(declared.name):
        created = _create(catalog, declared, commit)
    else:
        created = catalog.load_table(declared.name)
        if landed(commit, created) is None and not _is_registered(catalog, commit):
            raise Refused("exists")
    table = _opened(created, request.catalog, declared.name)
    loaded = _described(table, table.state, request.catalog, declared.name)
    return messages.Altered(loaded, declared.notes)


def _create(catalog: Catalog, declared: Declaration, commit: Commit) -> Table:
    """Create a table, or give its name to the one that is at its location."""
    name, location = declared.name, declared.location
    if location is not None and (not declared.columns or catalog.has_table_at(name, location)):
        as_is = None if declared.is_bare else declared.operation()
        return catalog.register_table(name, location, declared=as_is, commit_id=commit.id)
    placement = catalog.plan_creation(name, location=location)
    return catalog.commit_creation(name, placement, declared.operation(), commit.id)


def _is_registered(catalog: Catalog, commit: Commit) -> bool:
    """Whether the commit has named a table that was there before, which only a retry can find."""
    return commit.retry and catalog.has_landed(name_commit(commit.id))


def _described(
    table: Table,
    state: TableState,
    catalog: messages.CatalogRef,
    name: Name,
    overflow: str = "error",
) -> messages.LoadedTable:
    """A table of a catalog at one version."""
    return describe(
        table,
        state,
        storage_of(catalog, table.store.location),
        overflow=overflow,
        external=open_catalog(catalog).is_external(name),
    )


def alter(request: messages.Alter, commit: Commit) -> messages.Altered:
    """Change a table in one commit."""
    catalog = open_catalog(request.catalog)
    named = reference_in(catalog, tuple(request.name))
    if named is None or named.tag is not None:
        raise Refused("missing")
    name = named.table
    table = _opened(catalog.load_table(name), request.catalog, name)
    table = chosen(table, request.catalog, named.branch, None, writes=True, alters=True)
    if landed(commit, table) is not None:
        return messages.Altered(_described(table, table.state, request.catalog, name), ())
    label = request.catalog.schema_label
    if label in table.state.pins:
        raise InvalidRequestError(
            f"{table.name} is seen in an earlier schema ({label}), through which it can't be altered; "
            f"unset spark.sql.catalog.{request.catalog.name}.schema_label and alter the current schema",
            condition="NOT_SUPPORTED",
        )
    changes = replaced_columns(request.changes, table.state.evolution, table.name)
    if changes is None:
        changes = parse_changes(request.changes, table.schema, table.name)
    before = table.state
    if changes:
        table.alter().add_all(changes).commit(commit_id=commit.id)
    problems = []
    if table.state.branch is None:  # views read the table itself
        problems = catalog.problems_since(name, before, partial(full_name, request.catalog))
    loaded = _described(table, table.state, request.catalog, name)
    said = notes(request.changes, table.name)
    return messages.Altered(loaded, [*said, *(problem.text for problem in problems)])


def evolve(request: messages.Evolve) -> messages.LoadedTable:
    """The table with changes that a statement will commit together with its rows."""
    pending = [*request.table.pending, *request.changes]
    table, state = open_table(replace(request.table, pending=pending))
    return describe(table, state, request.table.storage, pending)


def refuse_rows(request: messages.RefuseRows) -> messages.Done:
    """Refuse rows with columns that the table lacks."""
    table, state = open_table(request.table)
    row_type = parse_type(request.schema, ())
    assert isinstance(row_type, Struct)
    error = unknown_columns(to_arrow_schema(row_type.fields), state, table.name)
    if error is not None:
        raise error
    return messages.Done()


def needs_change(request: messages.NeedsChange) -> messages.Needed:
    """Whether rows need a change to be written.

    A type only widens. Where types differ in another way, Spark casts or refuses, as in a write that
    changes no schema. A generated column keeps its type: Spark gives it that of the expression.
    """
    table, state = open_table(request.table)
    (change,) = parse_changes([request.change], state.seen.schema, table.name)
    if not isinstance(change, ChangeType):
        return messages.Needed(True)
    column = state.seen.schema.get(change.path)
    computed = {generated.column_id for generated in generated_of(state.properties)}
    return messages.Needed(column.id not in computed and widens(column.type, change.type))


def accept_options(request: messages.AcceptOptions) -> messages.Accepted:
    """Refuse options that no use honours, and return the others under their documented names."""
    uses = [Use(use) for use in request.uses]
    return messages.Accepted(accepted(request.options, uses, request.table, named=request.named))


def check_save(request: messages.CheckSave) -> messages.Done:
    """Refuse another format, place or partitioning than that of a table that saveAsTable overwrites."""
    declared = parse_declaration(request.declaration)
    table, state = open_table(request.table)
    check_location(declared.location, table.location, table.name)
    check_partitioning(declared.partitioned_by or None, state.seen.schema, table.name)
    return messages.Done()


def drop(request: messages.Drop, commit: Commit) -> messages.Dropped:
    """Drop a table."""
    catalog, name = open_catalog(request.catalog), tuple(request.name)
    if request.purge and catalog.table_exists(name) and catalog.is_external(name):
        raise InvalidRequestError(
            f"{full_name(request.catalog, name)} has a LOCATION, and its files are not the catalog's: "
            "leave out PURGE, and delete the folder that DESCRIBE EXTENDED shows",
            condition="NOT_SUPPORTED",
        )
    if not catalog.table_exists(name) and described_table(catalog, name) is not None:
        raise InvalidRequestError(
            f"{full_name(request.catalog, name)} is a metadata table of {render_path(name[:-1])} and "
            "can't be dropped alone; drop the table"
        )
    named = reference_in(catalog, name)
    if named is not None and named.branch is not None:
        raise InvalidRequestError(
            f"{full_name(request.catalog, name)} is a branch; write ALTER TABLE "
            f"{full_name(request.catalog, named.table)} DROP BRANCH {quote(named.branch)}",
            condition="NOT_SUPPORTED",
        )
    try:
        catalog.drop_table(name)
    except NotFoundError:
        return messages.Dropped(commit.retry)
    return messages.Dropped(True)


def rename(request: messages.Rename, commit: Commit) -> messages.Renamed:
    """Rename a table."""
    catalog, old = open_catalog(request.catalog), tuple(request.name)
    new = without_catalog(catalog, request.catalog, request.new_name)
    if not catalog.table_exists(old):
        if commit.retry and catalog.table_exists(new):
            return messages.Renamed(())
        raise Refused("missing")
    if catalog.table_exists(new) or catalog.view_exists(new):
        raise Refused("exists")
    catalog.rename_table(old, new)
    problems = catalog.view_problems(new, partial(full_name, request.catalog))
    return messages.Renamed([problem.text for problem in problems])


def without_catalog(
    catalog: Catalog, ref: messages.CatalogRef, name: Sequence[str]
) -> tuple[str, ...]:
    """A new name without the catalog's, which Spark leaves in if the user wrote it."""
    named = name[0] == ref.name and not catalog.namespace_exists(tuple(name[:-1]))
    return tuple(name[1:] if named else name)


HANDLERS = (
    load,
    load_to_write,
    load_format,
    format_exists,
    create,
    alter,
    evolve,
    refuse_rows,
    needs_change,
    accept_options,
    check_save,
    drop,
    rename,
)
