"""A plan: the changes from a table to the one that a CREATE TABLE statement declares."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from versioned_catalog.alteration import Alteration
from versioned_catalog.commit.operations import PlannedOn
from versioned_catalog.commit.schema_rules import check_unaltered
from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import InvalidRequestError, VersionedError
from versioned_catalog.log.state import TableState
from versioned_catalog.migrate.declared_rules import check_made_alike
from versioned_catalog.migrate.planned_change import PlannedChange, Safety, planned_change
from versioned_catalog.model.alter_parser import parse_alter
from versioned_catalog.model.changes import SetProperty
from versioned_catalog.model.checks import checks_of, with_names
from versioned_catalog.model.ddl import APPLIED_PROPERTIES
from versioned_catalog.model.diff import Step, difference, difference_by_id
from versioned_catalog.model.evolution import Evolution
from versioned_catalog.model.keys import CHECK_PREFIX, MAINTAINED, TTL, parse_ttl, user_properties
from versioned_catalog.model.matching import check_comments, path_key
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.table_text import APPLIED_SCHEMA, Definition
from versioned_catalog.model.tokens import sql_string
from versioned_catalog.model.type_text import parse_path, quote, render_path
from versioned_catalog.read.checks import parse_check, parse_checks

_SIGNS = {"add": "+", "drop": "-"}
_IGNORED = (
    "the column IDs in the statement are those of another table ({}); columns are found by name"
)


@dataclass(frozen=True)
class SchemaPlan:
    """The changes from a table to the one that a CREATE TABLE statement declares.

    Args:
        table: the table's name.
        ddl: the statement.
        changes: the changes, in order; apply makes them in one commit.
        table_uuid, version, schema_version: the table that the plan was made on; None if it is to be
            created.
        new_schema_version: the schema version after the changes.
        refused: losses that are not allowed: the paths of columns, and ``ttl = 7 days`` if that hides
            rows.
        drift: what others altered since a plan was last applied, as SQL; empty if nothing.
        notes: readings of the statement that may surprise.
        views: what views can no longer read after the changes; only in a plan that a catalog made.
        properties, new_properties: before and after the changes.
        new_checks: the stored constraints after the changes.
        new_schema: the schema after the changes; None if the table is to be created.
        allow_drop, renames: the arguments of the plan.
        committed: the version of the commit that made the changes; None before it.
    """

    table: str
    ddl: str
    changes: tuple[PlannedChange, ...] = ()
    table_uuid: str | None = None
    version: int | None = None
    schema_version: int | None = None
    new_schema_version: int = 0
    refused: tuple[str, ...] = ()
    drift: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    new_properties: Mapping[str, str] = field(default_factory=dict)
    new_checks: Mapping[str, str] = field(default_factory=dict)
    new_schema: Schema | None = None
    allow_drop: tuple[str, ...] = ()
    renames: Mapping[str, str] | None = None
    committed: int | None = None

    @property
    def creates(self) -> bool:
        """Whether the table does not exist yet."""
        return self.table_uuid is None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.creates and not self.changes

    @property
    def sql(self) -> list[str]:
        """The statements of all changes."""
        return [sql for change in self.changes for sql in change.sql]

    def check_allowed(self) -> None:
        """Check that every loss is allowed.

        Raises:
            InvalidRequestError: a loss is not allowed.
        """
        if self.refused:
            columns = [loss for loss in self.refused if allowed_ttl(loss) is None]
            lost = [f"drops {', '.join(columns)} with the values"] if columns else []
            lost += [
                f"hides rows by {loss}, which compaction then deletes"
                for loss in self.refused
                if loss not in columns
            ]
            raise InvalidRequestError(
                f"{self.table}: the plan {' and '.join(lost)}; allow it by name: "
                f"{allowing(self.refused)}, or allow_drop={list(self.refused)!r}",
                condition="NOT_SUPPORTED",
            )

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON, from which ``apply`` makes it again."""
        return {
            "table": self.table,
            "action": "create" if self.creates else "alter",
            "table_uuid": self.table_uuid,
            "version": self.version,
            "schema_version": self.schema_version,
            "new_schema_version": self.new_schema_version,
            "changes": [change.to_json() for change in self.changes],
            "refused": list(self.refused),
            "drift": list(self.drift),
            "notes": list(self.notes),
            "views": list(self.views),
            "properties": dict(self.properties),
            "allow_drop": list(self.allow_drop),
            "renames": dict(self.renames or {}),
            "ddl": self.ddl,
        }

    def text(self) -> str:
        """The plan as text, ending with a newline."""
        if self.creates:
            return f"{self.table}  new table\n" + "".join(
                f"  + {line}".rstrip() + "\n" for line in self.ddl.strip().splitlines()
            )
        schema = f"schema {self.schema_version}"
        if self.new_schema_version != self.schema_version:
            schema += f" -> {self.new_schema_version}"
        lines = [f"{self.table}  version {self.version}, {schema}"]
        lines += [f"  ! {note}" for note in self.notes]
        lines += [f"  ! altered by others since the last apply: {sql}" for sql in self.drift]
        rows = [_row(change) for change in self.changes]
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
        for row in rows:
            padded = [cell.ljust(width) for cell, width in zip(row[:3], widths, strict=True)]
            lines.append(f"  {'  '.join(padded)}  {row[3]}".rstrip())
        lines += [f"  ! breaks a view: {text}" for text in self.views]
        if self.is_empty:
            lines.append("  nothing to change")
        return "\n".join(lines) + "\n"


def _row(change: PlannedChange) -> tuple[str, str, str, str]:
    count = f"{change.segments} segment{'' if change.segments == 1 else 's'}"
    match change.safety:
        case Safety.SAFE:
            note = "safe"
        case Safety.MAY_SURPRISE:
            note = f"may surprise: {change.surprise}"
        case Safety.MAY_CONFLICT:
            searched = {"constraint": "", "narrow": " for values that do not fit"}.get(
                change.kind, " for nulls"
            )
            note = f"may conflict: {count} to check{searched}"
        case Safety.DESTRUCTIVE:
            if change.kind == "property":
                note = f"DESTRUCTIVE: hides older rows; {count} may hold some, {change.rows} rows in all"
            else:
                verb = "holds" if change.segments == 1 else "hold"
                note = f"DESTRUCTIVE: {count} {verb} it, {change.rows} rows"
    notes = [note, *(f"pin {pin}" for pin in change.pins)]
    which = "" if change.column_id is None else f"(id {change.column_id})"
    return f"{_SIGNS.get(change.kind, '~')} {change.kind}", change.detail, which, "; ".join(notes)


def make_plan(
    state: TableState,
    table: str,
    target: Definition,
    ddl: str,
    renames: Mapping[str, str] | None = None,
    allow_drop: Collection[str] = (),
) -> SchemaPlan:
    """Plan the changes from a table to the declared one.

    Args:
        state: the table.
        table: the table's name as SQL.
        target: the declared table, parsed from ``ddl``.
        ddl: the statement.
        renames: new names by current paths.
        allow_drop: the paths of columns that may be dropped, also with the table's name before them.

    Raises:
        InvalidRequestError: the table can't become the declared one, or a rename is ambiguous.
        NotFoundError: ``renames`` names a column that does not exist.
    """
    check_comments(state.schema.visible, target, renames or {})
    allowed = _column_paths(allow_drop, table)
    conditions = parse_checks(target.checks)
    steps = difference(state.evolution, target, renames, allowed, conditions)
    planned = tuple(planned_change(step, state, table) for step in steps)
    after = steps[-1].after if steps else state.evolution
    check_made_alike(target, after)
    same = after.schema.same_but_version(state.schema)
    notes = [_IGNORED.format(", ".join(target.tables))] if target.ignores_ids else []
    return SchemaPlan(
        table,
        ddl,
        planned,
        table_uuid=state.table_uuid,
        version=state.version,
        schema_version=state.schema_version,
        new_schema_version=state.schema_version if same else state.schemas.newest.version + 1,
        refused=tuple(_refused(state, zip(planned, steps, strict=True), allow_drop, allowed)),
        drift=tuple(_drift(state, table)),
        notes=tuple(notes),
        properties=declared_properties(state.properties),
        new_properties=declared_properties(after.properties),
        new_checks={k: v for k, v in after.properties.items() if k.startswith(CHECK_PREFIX)},
        new_schema=after.schema,
        allow_drop=tuple(allow_drop),
        renames=renames,
    )


def _refused(
    state: TableState,
    planned: Iterable[tuple[PlannedChange, Step]],
    allow_drop: Collection[str],
    allowed: Collection[str],
) -> Iterator[str]:
    """Losses that are not allowed by name: columns, or rows that a ``ttl`` hides."""
    keys = {path_key(parse_path(text)) for text in allowed}
    for change, step in planned:
        if change.safety is not Safety.DESTRUCTIVE:
            continue
        if change.column_id is not None:
            path = state.schema.path(change.column_id)
            if path_key(path) not in keys:
                yield render_path(path)
        elif parse_ttl(step.after.properties) not in map(allowed_ttl, allow_drop):
            yield f"{TTL} = {step.after.properties[TTL]}"


def allowed_ttl(text: str) -> timedelta | None:
    """The duration of an allowed loss such as ``ttl = 7 days``; None for any other text."""
    key, equals, value = (part.strip() for part in text.partition("="))
    return parse_ttl({TTL: value}) if (key, equals) == (TTL, "=") else None


def allowing(refused: Iterable[str]) -> str:
    """The command-line options that allow the refused losses."""
    shown = (f"'{loss}'" if allowed_ttl(loss) is not None else loss for loss in refused)
    return " ".join(f"--allow-drop {loss}" for loss in shown)


def _column_paths(allow_drop: Collection[str], table: str) -> list[str]:
    """The paths of columns, without the table's name before them."""
    name = parse_path(table)
    paths = []
    for text in allow_drop:
        if allowed_ttl(text) is not None:
            continue
        path = parse_path(text)
        column = path[len(name) :] if path[: len(name)] == name and len(path) > len(name) else path
        paths.append(render_path(column))
    return paths


def _drift(state: TableState, table: str) -> list[str]:
    """Alterations since a plan was last applied, as SQL; empty if none ever was."""
    if APPLIED_SCHEMA not in state.properties:
        return []
    return [
        *_schema_drift(state, table),
        *_check_drift(state, table),
        *_property_drift(state, table),
    ]


UNDECLARED = MAINTAINED | {APPLIED_SCHEMA}
"""The properties of a table that no CREATE TABLE statement declares."""


def declared_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties of a table that a CREATE TABLE statement declares."""
    return {key: text for key, text in user_properties(properties).items() if key != APPLIED_SCHEMA}


def _schema_drift(state: TableState, table: str) -> list[str]:
    applied = state.properties[APPLIED_SCHEMA]
    version = int(applied) if applied.isdecimal() and len(applied) < 10 else state.schema_version
    if version == state.schema_version or version not in state.schemas:
        return []
    then, now = state.schemas[version].visible, state.schema.visible
    try:
        steps = difference_by_id(Evolution(then, state.next_column_id), now)
    except VersionedError:  # a rollback, say, which no ALTER undoes
        return [f"schema {version} became schema {state.schema_version}"]
    return [sql for step in steps for sql in step.statements(table)]


def _check_drift(state: TableState, table: str) -> list[str]:
    """Constraints that others added or dropped."""
    try:
        then = checks_of(json.loads(state.properties[APPLIED_PROPERTIES]))
    except (KeyError, TypeError, ValueError):  # applied by an earlier release
        return []
    now, schema = checks_of(state.properties), state.schema
    alter = f"ALTER TABLE {table}"
    return [
        f"{alter} DROP CONSTRAINT {quote(name)}" for name in then if now.get(name) != then[name]
    ] + [
        f"{alter} ADD CONSTRAINT {quote(name)} CHECK ({with_names(text, schema.path_text)})"
        for name, text in now.items()
        if then.get(name) != text
    ]


def _property_drift(state: TableState, table: str) -> list[str]:
    try:
        then = dict(json.loads(state.properties[APPLIED_PROPERTIES]))
    except (KeyError, TypeError, ValueError):  # applied by an earlier release
        return []
    now, alter = declared_properties(state.properties), f"ALTER TABLE {table}"
    then = {key: text for key, text in then.items() if not key.startswith(CHECK_PREFIX)}
    return [
        f"{alter} SET TBLPROPERTIES ({sql_string(key)} = {sql_string(now[key])})"
        if key in now
        else f"{alter} UNSET TBLPROPERTIES ({sql_string(str(key))})"
        for key in sorted({*then, *now})
        if then.get(key) != now.get(key)
    ]


def apply_plan(handle: TableHandle, plan: SchemaPlan, commit_id: str | None = None) -> SchemaPlan:
    """Make all changes of a plan in one commit, which also records the schema version as applied.

    Args:
        handle: the table that the plan was made on.
        plan: the plan.
        commit_id: idempotency key of the commit; generated if omitted.

    Returns:
        The plan with the version of its commit.

    Raises:
        InvalidRequestError: a drop is not allowed, or a change is not legal.
        CommitConflictError: the schema or the properties were changed since the plan was made.
    """
    plan.check_allowed()
    state, planned_on = handle.state, _planned_on(plan)
    # Checked before statements are bound, since their names may now be those of other columns.
    check_unaltered(planned_on, state, plan.table)
    if not plan.changes:
        return replace(plan, committed=state.version)
    return replace(plan, committed=_alteration(handle, plan).commit_on(planned_on, commit_id))


def check_plan(handle: TableHandle, plan: SchemaPlan) -> None:
    """Raise what ``apply_plan`` would raise whatever the rows are, but for drops that are not allowed.

    Args:
        handle: the table that the plan was made on.
        plan: the plan.

    Raises:
        VersionedError: a change is not legal.
    """
    if plan.changes:
        _alteration(handle, plan).check_on(_planned_on(plan))


def _planned_on(plan: SchemaPlan) -> PlannedOn:
    return PlannedOn(
        plan.table_uuid, plan.version, plan.schema_version, plan.properties, UNDECLARED
    )


def _alteration(handle: TableHandle, plan: SchemaPlan) -> Alteration:
    """All changes of a plan, and the record that they were applied."""
    changes = parse_alter("; ".join(plan.sql), handle.state.evolution, condition_of=parse_check)
    applied = {**plan.new_properties, **plan.new_checks}
    record = [
        SetProperty(APPLIED_SCHEMA, str(plan.new_schema_version)),
        SetProperty(APPLIED_PROPERTIES, json.dumps(applied, sort_keys=True)),
    ]
    return Alteration(handle).add_all([*changes, *record])
