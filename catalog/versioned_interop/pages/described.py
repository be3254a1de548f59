"""What a table declares, for its page: facts of columns, constraints, properties, and what it keeps."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from versioned_catalog.log.clones import protections
from versioned_catalog.log.state import TableState
from versioned_catalog.model.checks import shown_checks
from versioned_catalog.model.generated import generated_of
from versioned_catalog.model.identifiers import shown_properties
from versioned_catalog.model.identity import identities_of
from versioned_catalog.model.keys import key_properties, render_sort_by
from versioned_catalog.model.sql_literals import to_sql
from versioned_catalog.model.types import Column, walk
from versioned_interop.pages.drawing import Markup, count_text, date_text, tag
from versioned_interop.pages.frame import grid, section
from versioned_interop.pages.lanes import Facts


def column_facts(state: TableState) -> dict[int, Facts]:
    """Facts of the columns that the table has now, nested ones too, by their IDs."""
    schema, properties = state.seen.schema, state.properties
    computed = {
        g.column_id: f"generated as {g.shown(state.schema)}" for g in generated_of(properties)
    }
    numbered = {i.column_id: i.identity.sql.lower() for i in identities_of(properties)}
    partitioned: dict[int, str] = {
        field.source: "partition column"
        if field.transform == "identity"
        else f"partitioned by {field.transform}"
        for field in schema.partitioning
    }
    sources = (computed, numbered, partitioned)
    return {
        column.id: Facts(
            (
                *(["primary key"] if column.id in schema.primary_key else []),
                *(["time index"] if column.id == schema.time_index else []),
                *_of_column(column),
                *(source[column.id] for source in sources if column.id in source),
            ),
            column.comment,
        )
        for column, _ in walk(schema.columns)
    }


def _of_column(column: Column) -> list[str]:
    phrases = [] if column.nullable else ["not null"]
    defaults = [
        None if default is None else to_sql(default, column.type)
        for default in (column.write_default, column.read_default)
    ]
    written, read = defaults
    if written is not None:
        phrases.append(f"default {written}")
    if read is not None and read != written:
        phrases.append(f"{read} in older rows")
    return phrases


def declared(state: TableState) -> Markup:
    """The CHECK constraints and the properties."""
    schema = state.seen.schema
    checks = shown_checks(state.properties, state.schema)
    rows = [[f"CHECK {name}", code(condition)] for name, condition in sorted(checks.items())]
    sort_by = render_sort_by(schema)
    properties: Mapping[str, str] = {
        **shown_properties(state.properties, schema),
        **({"sort_by": sort_by} if sort_by else {}),
        **key_properties(schema),
    }
    rows += [[key, code(text)] for key, text in sorted(properties.items())]
    if not rows:
        return Markup("")
    names = [("Name", False), ("Value", False)]
    return section("Constraints and properties", "", grid("short", names, rows))


def code(text: str) -> Markup:
    """Text as code."""
    return tag("code", text)


def kept(state: TableState) -> Markup:
    """Branches and tags, and what holds old versions and columns back."""
    rows = [
        *_references(state),
        *(
            [f"pin {label}", f"schema {pin.schema_version}", _pin_text(pin.owner, pin.until)]
            for label, pin in sorted(state.pins.items())
        ),
        *(
            [
                f"consumer {name}",
                f"version {count_text(consumer.version)}",
                f"moved {date_text(consumer.moved)}, keeps unread versions {_days(consumer.keep)}",
            ]
            for name, consumer in sorted(state.consumers.items())
        ),
    ]
    if not rows:
        return Markup("")
    names = [("Name", False), ("At", False), ("", False)]
    note = "What names a version or a schema, and keeps what it needs from expiry and vacuum."
    return section("Branches, tags, pins and consumers", note, grid("short cards", names, rows))


def _references(state: TableState) -> list[list[str]]:
    clones = protections(state.tags)
    tags = {name: at for name, at in state.tags.items() if name not in clones}
    return [
        *(
            [f"branch {name}", f"from version {count_text(branch.base)}", _span(branch.keep)]
            for name, branch in sorted(state.branches.items())
        ),
        *(
            [f"tag {name}", f"version {count_text(at)}", _span(state.tags_kept.get(name))]
            for name, at in sorted(tags.items())
        ),
        *(
            [f"clone {clone.folder}", f"version {count_text(state.tags[name])}", "reads its files"]
            for name, clone in sorted(clones.items())
        ),
    ]


def _span(keep: timedelta | None) -> str:
    return "" if keep is None else f"kept {_days(keep)}"


def _days(keep: timedelta) -> str:
    return str(keep).removesuffix(", 0:00:00")


def _pin_text(owner: str | None, until: datetime | None) -> str:
    parts = [owner or "", "" if until is None else f"until {date_text(until)}"]
    return ", ".join(filter(None, parts))
