"""What the jar's catalog asks: namespaces, tables, their columns and changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from pyspark_versioned.options import parse_options
from pyspark_versioned.spark_types import to_spark
from pyspark_versioned.sql.changes import parse_changes
from pyspark_versioned.sql.creating import parse_declaration
from pyspark_versioned.sql.describing import describe
from pyspark_versioned.sql.metadata_questions import describe_metadata, hidden_text, told_of
from pyspark_versioned.sql.settling import landed
from pyspark_versioned.sql.snapshots import newest, open_catalog, open_table
from pyspark_versioned.sql.view_refusals import refuse_view
from pyspark_versioned.sql.view_warnings import view_problems
from pyspark_versioned.target import Target
from versioned_catalog import Catalog, InvalidRequestError, NotFoundError, Table
from versioned_catalog.conflicts.tags import version_or_tag
from versioned_catalog.evolution.changes import ChangeType
from versioned_catalog.inspection import tables
from versioned_catalog.log.entry import UNIX_EPOCH
from versioned_catalog.log.state import TableState
from versioned_catalog.schema.partition_values import is_unreadable, partition_text
from versioned_catalog.schema.schema import PartitionField, Schema
from versioned_catalog.schema.transforms import (
    Transform,
    parse_transform,
    render_field,
    result_type,
)
from versioned_catalog.types.paths import parse_path, render_path
from versioned_catalog.types.types import Atom, DataType
from versioned_catalog.types.widening import widens

Json = dict[str, Any]


def load(request: Json) -> Json:
    """A table at its newest version, at a ``version``, or at a ``timestamp`` (µs since 1970).

    Of the request: ``views``, where a view of that name is not to be refused: it is no table.
    """
    catalog, name = open_catalog(request["catalog"]), tuple(request["name"])
    if not catalog.table_exists(name):
        return _load_metadata(catalog, request)
    table = newest(catalog.load_table(name), request["catalog"]["storage"])
    table.name = _shown(request)
    told = describe(table, _asked(table, request), request["catalog"]["storage"])
    hidden = hidden_text(catalog, name)
    return {"loaded": told if hidden is None else {**told, "hides": hidden}}


def _load_metadata(catalog: Catalog, request: Json) -> Json:
    if not request.get("views") and catalog.view_exists(_name(request)):
        refuse_view(request)
    name, storage = tuple(request["name"]), request["catalog"]["storage"]
    found = told_of(catalog, name)
    if found is None:
        return {"missing": True}
    table = newest(found, storage)
    table.name = render_path((request["catalog"]["name"], *name[:-1]))
    reference = describe(table, _asked(table, request), storage)["table"]
    return {"loaded": describe_metadata(reference, name[-1])}


def _shown(request: Json) -> str:
    return render_path((request["catalog"]["name"], *request["name"]))


def _asked(table: Table, request: Json) -> TableState:
    version, micros = request.get("version"), request.get("timestamp")
    if version is not None:
        return table.at(version_or_tag(version))
    if micros is not None:
        return table.at(timestamp=UNIX_EPOCH + timedelta(microseconds=micros))
    return table.state


def load_format(request: Json) -> Json:
    """The table that the data source's ``options`` name, as they name it."""
    options = parse_options(request["options"])
    storage = dict(options.storage)
    table = newest(Target.of(options).load(), storage)
    return {"loaded": describe(table, table.at(options.version, options.timestamp), storage)}


def format_exists(request: Json) -> Json:
    """Whether there is a table where the data source's ``options`` name one."""
    return {"exists": Target.of(parse_options(request["options"])).find() is not None}


def create(request: Json) -> Json:
    """Make a table without rows."""
    catalog, declared = open_catalog(request["catalog"]), parse_declaration(request)
    if not catalog.namespace_exists(declared.name[:-1]):
        return {"missing_namespace": True}
    if catalog.view_exists(declared.name):
        return {"exists": True}
    if not catalog.table_exists(declared.name):
        placement = catalog.plan_creation(declared.name)
        made = catalog.commit_creation(
            declared.name, placement, declared.operation(), request["commit_id"]
        )
    else:
        made = catalog.load_table(declared.name)
        if landed(request, made) is None:
            return {"exists": True}
    storage = request["catalog"]["storage"]
    table = newest(made, storage)
    table.name = _shown(request)
    return {"loaded": describe(table, table.state, storage)}


def alter(request: Json) -> Json:
    """Change a table: all of ``changes``, in one commit."""
    catalog, name = open_catalog(request["catalog"]), tuple(request["name"])
    if not catalog.table_exists(name):
        return {"missing": True}
    table = newest(catalog.load_table(name), request["catalog"]["storage"])
    table.name = _shown(request)
    if landed(request, table) is not None:
        return {"loaded": describe(table, table.state, request["catalog"]["storage"])}
    changes = parse_changes(request["changes"], table.schema, table.name)
    before = view_problems(catalog, request)
    if changes:
        table.alter().add_all(changes).commit(commit_id=request["commit_id"])
    loaded = describe(table, table.state, request["catalog"]["storage"])
    broken = [text for text in view_problems(catalog, request) if text not in before]
    return {"loaded": loaded, "warnings": broken}


def evolve_table(request: Json) -> Json:
    """The table as it will be after ``changes`` that a statement commits together with its rows."""
    pending = [*request["table"]["pending"], *request["changes"]]
    table, state = open_table({**request["table"], "pending": pending})
    return {"loaded": describe(table, state, request["table"]["storage"], pending)}


def needs_change(request: Json) -> Json:
    """Whether a change helps rows to be written. A type only ever widens; what else differs, Spark
    casts or refuses, as in a write that changes no schema.
    """
    table, state = open_table(request["table"])
    (change,) = parse_changes(request["changes"], state.schema, table.name)
    if not isinstance(change, ChangeType):
        return {"needed": True}
    return {"needed": widens(state.schema.get(change.path).type, change.type)}


def drop(request: Json) -> Json:
    """Drop a table; tells whether it was there."""
    catalog, name = open_catalog(request["catalog"]), _name(request)
    if not catalog.table_exists(name) and told_of(catalog, name) is not None:
        raise InvalidRequestError(
            f"{_shown(request)} is what {render_path(name[:-1])} tells of itself, and goes with it; "
            "it can't be dropped alone"
        )
    found = _found(lambda: catalog.drop_table(name))
    return {"dropped": found or bool(request.get("retry"))}


def rename(request: Json) -> Json:
    """Give a table another name."""
    catalog = open_catalog(request["catalog"])
    old, new = _name(request), tuple(request["new_name"])
    if new[0] == request["catalog"]["name"] and not catalog.namespace_exists(new[:-1]):
        new = new[1:]  # Spark hands the new name on as it was written, catalog and all
    if not catalog.table_exists(old):
        done = request.get("retry") and catalog.table_exists(new)
        return {} if done else {"missing": True}
    if catalog.table_exists(new) or catalog.view_exists(new):
        return {"exists": True}
    catalog.rename_table(old, new)
    return {"warnings": view_problems(catalog, {**request, "name": new})}


def list_tables(request: Json) -> Json:
    """The names of the tables in a namespace."""
    catalog, namespace = open_catalog(request["catalog"]), tuple(request["namespace"])
    if not catalog.namespace_exists(namespace):
        return {"missing_namespace": True}
    return {"tables": catalog.list_tables(namespace)}


def list_namespaces(request: Json) -> Json:
    """The namespaces directly inside another, or at the top."""
    catalog, parent = open_catalog(request["catalog"]), tuple(request["namespace"])
    if not catalog.namespace_exists(parent):
        return {"missing_namespace": True}
    return {"namespaces": [list(parse_path(name)) for name in catalog.list_namespaces(parent)]}


def load_namespace(request: Json) -> Json:
    """The properties of a namespace."""
    catalog, namespace = open_catalog(request["catalog"]), tuple(request["namespace"])
    if not catalog.namespace_exists(namespace):
        return {"missing_namespace": True}
    return {"properties": catalog.namespace_properties(namespace)}


def create_namespace(request: Json) -> Json:
    """Make a namespace."""
    catalog, namespace = open_catalog(request["catalog"]), tuple(request["namespace"])
    if catalog.namespace_exists(namespace):
        return {} if request.get("retry") else {"exists": True}
    properties = {k: v for k, v in request["properties"].items() if k != "owner"}
    _refuse_location(properties, namespace)
    catalog.create_namespace(namespace, properties=properties)
    return {}


def alter_namespace(request: Json) -> Json:
    """Set and remove properties of a namespace."""
    catalog, namespace = open_catalog(request["catalog"]), tuple(request["namespace"])
    if not catalog.namespace_exists(namespace):
        return {"missing_namespace": True}
    _refuse_location(request["set"], namespace)
    catalog.alter_namespace(namespace, request["set"], request["unset"])
    return {}


def _refuse_location(properties: Mapping[str, str], namespace: tuple[str, ...]) -> None:
    if "location" in properties:
        raise InvalidRequestError(
            f"{render_path(namespace)}: the tables of a namespace live in the catalog's warehouse; "
            "leave out LOCATION, or register another catalog whose warehouse is there, with "
            "configure(..., catalog=...)"
        )


def drop_namespace(request: Json) -> Json:
    """Drop a namespace, with ``cascade`` all that is in it."""
    catalog, namespace = open_catalog(request["catalog"]), tuple(request["namespace"])
    if not catalog.namespace_exists(namespace):
        return {} if request.get("retry") else {"missing_namespace": True}
    filled = (catalog.list_tables, catalog.list_namespaces, catalog.list_views)
    if any(listed(namespace) for listed in filled) and not request["cascade"]:
        return {"not_empty": True}
    catalog.drop_namespace(namespace, cascade=request["cascade"])
    return {}


def partitions(request: Json) -> Json:
    """The partitions that the table has under its partitioning of now.

    Of the answer: ``fields``, one a part; ``rows``, value texts in their order. Years, months, days and
    hours, which the format counts since 1970, are texts that people read, and so are bytes.
    """
    _, state = open_table(request["table"])
    schema = state.schema
    fields = [_partition_field(field, schema) for field in schema.partitioning]
    shows = [_shows(field, schema) for field in schema.partitioning]
    keys = tables.partitions(state)["partition"].to_pylist()
    rows = [[show(text) for show, text in zip(shows, key, strict=True)] for key in keys]
    return {"fields": fields, "rows": rows}


def _partition_field(field: PartitionField, schema: Schema) -> Json:
    transform, type_ = _partition_type(field, schema)
    shown = Atom.STRING if is_unreadable(transform, type_) else type_
    return {
        "name": render_field(schema.path(field.source), transform),
        "type": to_spark(shown).jsonValue(),
    }


def _shows(field: PartitionField, schema: Schema) -> Callable[[str | None], str | None]:
    transform, type_ = _partition_type(field, schema)
    return lambda text: None if text is None else partition_text(transform, type_, text)


def _partition_type(field: PartitionField, schema: Schema) -> tuple[Transform, DataType]:
    transform = parse_transform(field.transform)
    return transform, result_type(transform, schema.column(field.source).type)


def _name(request: Json) -> tuple[str, ...]:
    return tuple(request["name"])


def _found(act: Any) -> bool:
    try:
        act()
    except NotFoundError:
        return False
    return True


QUESTIONS = {
    "load": load,
    "load_format": load_format,
    "format_exists": format_exists,
    "create": create,
    "alter": alter,
    "evolve": evolve_table,
    "needs_change": needs_change,
    "drop": drop,
    "rename": rename,
    "list_tables": list_tables,
    "list_namespaces": list_namespaces,
    "load_namespace": load_namespace,
    "create_namespace": create_namespace,
    "alter_namespace": alter_namespace,
    "drop_namespace": drop_namespace,
    "partitions": partitions,
}
