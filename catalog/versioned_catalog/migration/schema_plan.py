"""A plan: the changes from a table to what a CREATE TABLE statement declares."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from versioned_catalog.errors import InvalidRequestError, VersionedError
from versioned_catalog.evolution.diff import difference
from versioned_catalog.evolution.evolution import Evolution
from versioned_catalog.evolution.matching import path_key
from versioned_catalog.evolution.to_sql import statements
from versioned_catalog.log.state import TableState
from versioned_catalog.migration.planned_change import PlannedChange, Safety, planned_change
from versioned_catalog.schema.definition import APPLIED_SCHEMA, Definition
from versioned_catalog.types.paths import parse_path, render_path

_SIGNS = {"add": "+", "drop": "-"}


@dataclass(frozen=True)
class SchemaPlan:
    """The changes that make a table what a CREATE TABLE statement declares.

    Args:
        table: the table's name.
        ddl: the statement.
        changes: the changes, in order; apply makes them in one commit.
        table_uuid, version, schema_version: the table that the plan was made on; None if it is to be
            created.
        new_schema_version: the schema version after the changes.
        refused: the paths of columns that would be dropped, and are not allowed to be.
        drift: what others altered since a plan was last applied, as SQL; empty if nothing.
        allow_drop, renames: as given to the plan.
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
        """Check that every drop is allowed.

        Raises:
            InvalidRequestError: one is not.
        """
        if self.refused:
            names = ", ".join(self.refused)
            options = " ".join(f"--allow-drop {name}" for name in self.refused)
            raise InvalidRequestError(
                f"{self.table}: the plan drops {names} with the values; allow it by name: {options}, or "
                f"allow_drop={list(self.refused)!r}",
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
            "allow_drop": list(self.allow_drop),
            "renames": dict(self.renames or {}),
            "ddl": self.ddl,
        }

    def text(self) -> str:
        """The plan for people, ending with a line break."""
        if self.creates:
            return f"{self.table}  new table\n" + "".join(
                f"  + {line}".rstrip() + "\n" for line in self.ddl.strip().splitlines()
            )
        schema = f"schema {self.schema_version}"
        if self.new_schema_version != self.schema_version:
            schema += f" -> {self.new_schema_version}"
        lines = [f"{self.table}  version {self.version}, {schema}"]
        lines += [f"  ! altered by others since the last apply: {sql}" for sql in self.drift]
        rows = [_row(change) for change in self.changes]
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
        for row in rows:
            padded = [cell.ljust(width) for cell, width in zip(row[:3], widths, strict=True)]
            lines.append(f"  {'  '.join(padded)}  {row[3]}".rstrip())
        if self.is_empty:
            lines.append("  nothing to change")
        return "\n".join(lines) + "\n"


def _row(change: PlannedChange) -> tuple[str, str, str, str]:
    held = f"{change.segments} segment{'' if change.segments == 1 else 's'}"
    match change.safety:
        case Safety.SAFE:
            note = "safe"
        case Safety.MAY_CONFLICT:
            note = f"may conflict: {held} to check for nulls"
        case Safety.DESTRUCTIVE:
            verb = "holds" if change.segments == 1 else "hold"
            note = f"DESTRUCTIVE: {held} {verb} it, {change.rows} rows"
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
    """Plan the changes from a table to what is declared.

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
    allowed = _own(allow_drop, table)
    steps = difference(state.evolution, state.comment, target, renames, allowed)
    planned = tuple(planned_change(step, state, table) for step in steps)
    schema = steps[-1].after.schema if steps else state.schema
    same = schema.same_but_version(state.schema)
    keys = {path_key(parse_path(one)) for one in allowed}
    return SchemaPlan(
        table,
        ddl,
        planned,
        state.table_uuid,
        state.version,
        state.schema_version,
        state.schema_version if same else state.schemas.newest.version + 1,
        tuple(
            render_path(one.path)
            for one, step in zip(planned, steps, strict=True)
            if one.kind == "drop" and path_key(_path_at_first(step.column_id, state)) not in keys
        ),
        tuple(_drift(state, table)),
        tuple(allow_drop),
        renames,
    )


def _path_at_first(column_id: int | None, state: TableState) -> tuple[str, ...]:
    assert column_id is not None
    return state.schema.path(column_id)


def _own(allow_drop: Collection[str], table: str) -> list[str]:
    """The paths, without the table's name before them."""
    name = parse_path(table)
    found = []
    for text in allow_drop:
        path = parse_path(text)
        own = path[len(name) :] if path[: len(name)] == name and len(path) > len(name) else path
        found.append(render_path(own))
    return found


def _drift(state: TableState, table: str) -> list[str]:
    """What was altered since a plan was last applied, as SQL."""
    applied = state.properties.get(APPLIED_SCHEMA, "")
    version = int(applied) if applied.isdecimal() and len(applied) < 10 else state.schema_version
    if version == state.schema_version or version not in state.schemas:
        return []
    then, now = state.schemas[version].visible, state.schema.visible
    before = Evolution(then, state.next_column_id)
    target = Definition((), now, given_ids=frozenset(then.ids & now.ids))
    try:
        steps = difference(before, None, target, allow_drop=list(map(then.path_text, then.ids)))
    except VersionedError:  # a rollback, say, which no ALTER undoes
        return [f"schema {version} became schema {state.schema_version}"]
    return [sql for one in steps for sql in statements(one.bound, one.before, one.after, table)]


def committed(plan: SchemaPlan, version: int) -> SchemaPlan:
    """The plan after its commit."""
    return replace(plan, committed=version)
