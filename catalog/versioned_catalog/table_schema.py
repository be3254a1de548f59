"""The schema of a table as DDL, and changes of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from versioned_catalog import pinning
from versioned_catalog.alteration import Alteration
from versioned_catalog.error_context import names_table_in_errors
from versioned_catalog.evolution.alter_parser import parse_alter
from versioned_catalog.handle import TableHandle
from versioned_catalog.migration.schema_plan import SchemaPlan, apply_plan, make_plan
from versioned_catalog.pinning import Retired
from versioned_catalog.schema.definition import check_name, is_folder, sql_name
from versioned_catalog.schema.table_parser import parse_table
from versioned_catalog.snapshot import Snapshot
from versioned_catalog.types.paths import ColumnPath, render_path


@names_table_in_errors(lambda table: table._handle.error_names)
class TableSchema:
    """The part of ``Table`` that shows and changes its schema and properties."""

    _handle: TableHandle

    @property
    def handle(self) -> TableHandle:
        """The table's log and newest state, for the packages that work on a table."""
        return self._handle

    def ddl(self, ids: bool = False, *, name: str | None = None) -> str:
        """The CREATE TABLE statement of the table. See ``Snapshot.ddl``."""
        return Snapshot(self._handle.store, self._handle.state, self._handle.name).ddl(
            ids, name=name
        )

    def alter(self) -> Alteration:
        """Start changing the schema or properties: chain changes, then ``commit()``."""
        return Alteration(self._handle)

    def alter_sql(self, sql: str) -> Alteration:
        """Parse ALTER TABLE statements to an alteration, which ``commit()`` commits as a whole.

        Args:
            sql: one or more statements, separated by semicolons, as Spark with the jar accepts them.

        Raises:
            InvalidRequestError: a statement does not parse, is not supported, or is of another table.
            NotFoundError: a column does not exist.
        """
        return self.alter().add_all(parse_alter(sql, self._handle.state.evolution, self._name()))

    def evolve_to(
        self,
        ddl: str,
        *,
        renames: Mapping[str, str] | None = None,
        allow_drop: Collection[str] = (),
        dry_run: bool = False,
        commit_id: str | None = None,
    ) -> SchemaPlan:
        """Make the table what a CREATE TABLE statement declares, in one commit.

        Columns are matched by the ID in a comment (``-- id 2``, see ``ddl``), then by ``renames`` or a
        comment ``-- was host``, then by name. A line ``-- table UUID`` before CREATE says of which
        table the IDs are: those of other tables are ignored, and without such a line none renames a
        column. A dropped and an added column that could be a rename are refused; ``-- new`` says that a
        column is new although another one of its name is dropped.

        Args:
            ddl: the statement.
            renames: new names by current paths: ``{"place.lat": "latitude"}``.
            allow_drop: paths of columns that may be dropped with their values; ``ttl = 7 days`` to let
                that property hide rows.
            dry_run: only return the plan.
            commit_id: idempotency key of the commit; generated if omitted.

        Returns:
            The plan; ``committed`` is the version of its commit.

        Raises:
            InvalidRequestError: the table can't become that, a rename is ambiguous, or a drop is not
                allowed; nothing is changed.
            CommitConflictError: the schema was changed by another commit.
        """
        target = parse_table(ddl, self._handle.state.table_uuid)
        check_name(target.name, self._name())
        table = render_path(sql_name(self._handle.name))
        plan = make_plan(self._handle.state, table, target, ddl, renames, allow_drop)
        return plan if dry_run else apply_plan(self._handle, plan, commit_id)

    def _name(self) -> ColumnPath | None:
        name = self._handle.name
        return None if is_folder(name) else sql_name(name)

    def pin_schema(
        self,
        label: str,
        schema_version: int | None = None,
        *,
        owner: str | None = None,
        until: datetime | str | None = None,
        commit_id: str | None = None,
    ) -> int:
        """Declare that a job uses a schema version: dropped columns stay, hidden, until it is retired.

        Args:
            label: the name of the pin, which the job names; an existing pin keeps what is not given.
            schema_version: the current one by default. An existing pin that is moved to a later one
                lets go of the hidden columns that only it needed.
            owner: who to ask about the job.
            until: when the job will have moved on; for people, nothing happens by itself.

        Raises:
            NotFoundError: there is no such schema version.
            InvalidRequestError: a column of it was dropped for good.
        """
        return pinning.pin_schema(self._handle, label, schema_version, owner, until, commit_id)

    def retire_schema(
        self, label: str, *, dry_run: bool = False, commit_id: str | None = None
    ) -> Retired:
        """Remove a pin, and drop the hidden columns that no other pin needs.

        Args:
            dry_run: only say what would be dropped.

        Raises:
            NotFoundError: there is no such pin.
        """
        return pinning.retire_schema(self._handle, label, dry_run, commit_id)
