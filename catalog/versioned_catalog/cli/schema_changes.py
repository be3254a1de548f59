"""Carrying out the plans of schema files: all tables in one transaction, then the files are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from versioned_catalog.cli.schema_files import A_SCHEMA_FILE, FilePlan, write
from versioned_catalog.errors import CommitConflictError, InvalidRequestError, NotFoundError

if TYPE_CHECKING:
    from versioned_catalog.catalog import Catalog
    from versioned_catalog.migrate.schema_plan import SchemaPlan
    from versioned_catalog.multi_table import MultiTableTransaction
    from versioned_catalog.table import Table


def apply_files(
    plans: Sequence[FilePlan], catalog: Catalog, *, one_by_one: bool = False
) -> list[FilePlan]:
    """Create or alter the tables of all files, in one transaction, and write the files again.

    A plan that changes a single table is an ordinary commit of that table.

    Args:
        plans: what to carry out.
        catalog: the warehouse that they were made on.
        one_by_one: whether each table is changed for itself, so that those before one that fails are
            changed.

    Raises:
        InvalidRequestError: a change is not legal, or a table can't be part of a transaction.
        CommitConflictError: a table was changed since the plans were made.
    """
    changing = [each for each in plans if not each.plan.is_empty]
    if one_by_one:
        return [apply_file(each, catalog) for each in plans]
    for each in plans:
        if each.plan.is_empty:
            _check_current(each.plan, catalog)
    if len(changing) > 1:
        versions = _apply_together([each.plan for each in changing], catalog)
    else:
        versions = {each.plan.table: _apply(each.plan, catalog) for each in changing}
    return [_applied(each, versions.get(each.plan.table), catalog) for each in plans]


def _check_current(plan: SchemaPlan, catalog: Catalog) -> None:
    """Check that a table which needs no change is still the one that was planned on."""
    from versioned_catalog.migrate.schema_plan import apply_plan

    apply_plan(catalog.load_table(plan.table).handle, plan)


_TRIES = 8
"""How often a transaction is begun again if others change names of the warehouse meanwhile."""


def _apply_together(plans: Sequence[SchemaPlan], catalog: Catalog) -> dict[str, int]:
    """Carry out plans in one transaction; return the versions of the tables.

    Raises:
        InvalidRequestError: a change is not legal, or a table can't be part of a transaction.
        CommitConflictError: a table was changed since the plans were made.
    """
    from versioned_catalog.multi_table import MultiTableTransaction
    from versioned_catalog.storage.failures import back_off

    _check_inside(plans, catalog)
    for losses in range(1, _TRIES + 1):
        # Each change is checked against its own table, so rows that others add meanwhile do not matter.
        transaction = MultiTableTransaction(
            catalog.store, type(catalog).over, (), "snapshot", one_moment=False
        )
        broken_before = set(_broken_views(plans, transaction))
        for plan in plans:
            _stage(plan, transaction)
        _check_views(plans, broken_before, transaction)
        try:
            transaction.commit()
            return transaction.versions
        except CommitConflictError as error:
            if losses == _TRIES:
                raise CommitConflictError(
                    f"{error}. No table was changed; make the plan again"
                ) from error
            back_off(losses)
    raise AssertionError("the loop has no end")


def _check_inside(plans: Iterable[SchemaPlan], catalog: Catalog) -> None:
    """Check that all tables can take part in a transaction.

    Raises:
        InvalidRequestError: naming those that can't.
    """
    outside = [plan.table for plan in plans if not plan.creates and catalog.is_external(plan.table)]
    if outside:
        raise InvalidRequestError(
            f"{', '.join(outside)}: a table with a LOCATION can't be changed in one transaction with "
            "others, and nothing was changed; apply its file by itself, or give --one-by-one, which "
            "changes each table in a commit of its own",
            condition="NOT_SUPPORTED",
        )


def _stage(plan: SchemaPlan, transaction: MultiTableTransaction) -> None:
    from versioned_catalog.migrate.schema_plan import apply_plan

    if plan.creates:
        _create(plan, transaction)
    else:
        apply_plan(transaction.table(plan.table).handle, plan)


def _check_views(
    plans: Sequence[SchemaPlan], broken_before: set[str], transaction: MultiTableTransaction
) -> None:
    """Check that all changes together break no view but those that the plans show.

    Raises:
        CommitConflictError: a view was created or replaced since.
    """
    known = broken_before.union(*(plan.views for plan in plans))
    for text in _broken_views(plans, transaction):
        if text not in known:
            raise CommitConflictError(
                f"{text}. The plan does not show that; nothing was changed, make the plan again"
            )


def _broken_views(plans: Sequence[SchemaPlan], transaction: MultiTableTransaction) -> list[str]:
    """What views can't read of the tables that plans alter, as the transaction sees them."""
    altered = [plan.table for plan in plans if not plan.creates]
    return [problem.text for table in altered for problem in transaction.view_problems(table)]


def _apply(plan: SchemaPlan, catalog: Catalog) -> int:
    """Create or alter one table by itself; return its version."""
    from versioned_catalog.migrate.schema_plan import apply_plan

    if plan.creates:
        return _create(plan, catalog).version
    committed = apply_plan(catalog.load_table(plan.table).handle, plan).committed
    assert committed is not None
    return committed


def _write_unless_edited(file_plan: FilePlan, table: Table) -> bool:
    """Write the file of a plan, unless it was edited since; return whether it was written."""
    from versioned_catalog.storage.text import read_text

    try:
        is_planned = read_text(file_plan.file, A_SCHEMA_FILE) == file_plan.plan.ddl
    except (InvalidRequestError, NotFoundError):
        is_planned = False
    if is_planned:
        write(file_plan.file, table)
    return is_planned


def _applied(file_plan: FilePlan, version: int | None, catalog: Catalog) -> FilePlan:
    """Write the file of a plan that was carried out, unless it was edited since."""
    table = catalog.load_table(file_plan.plan.table)
    done = replace(file_plan.plan, committed=table.version if version is None else version)
    return FilePlan(file_plan.file, done, _write_unless_edited(file_plan, table))


def apply_file(file_plan: FilePlan, catalog: Catalog) -> FilePlan:
    """Create or alter the table of a file, and write the file with its current IDs.

    A file that was edited since the plan is left as it is.

    Raises:
        CommitConflictError: the table was changed since the plan was made.
    """
    return _applied(file_plan, _apply(file_plan.plan, catalog), catalog)


def _create(plan: SchemaPlan, target: Catalog | MultiTableTransaction) -> Table:
    from versioned_catalog.model.table_text import parse_table
    from versioned_catalog.model.type_text import render_path

    name = parse_table(plan.ddl).name
    for length in range(1, len(name)):
        target.create_namespace(render_path(name[:length]), if_not_exists=True)
    return target.create_from_ddl(plan.ddl)
