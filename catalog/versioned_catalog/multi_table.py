"""Transactions over several tables: what their blocks see and change, staged in memory.

``joint_commit`` commits what was staged. docs/transactions.md says what users see.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from versioned_catalog.commit.row_rules import Isolation
from versioned_catalog.errors import (
    CommitConflictError,
    InvalidRequestError,
    VersionedError,
)
from versioned_catalog.joint_commit import JointCommit, log_in
from versioned_catalog.log.reader import LoadedState
from versioned_catalog.log.staging import LogStage, Stage, StagingStore
from versioned_catalog.names.names_log import Name
from versioned_catalog.names.view_columns import Problem
from versioned_catalog.spelling import one_of
from versioned_catalog.storage.failures import back_off
from versioned_catalog.storage.store import Store
from versioned_catalog.table import Table


class Warehouse(Protocol):
    """What a transaction needs of a ``Catalog``."""

    def load_table(self, name: str | Name) -> Table:
        """Load a table."""
        ...

    def create_table(self, name: str | Name, schema: Any, **arguments: Any) -> Table:
        """Create a table."""
        ...

    def create_from_ddl(self, ddl: str) -> Table:
        """Create a table by its statement."""
        ...

    def drop_table(self, name: str | Name) -> None:
        """Drop a table."""
        ...

    def rename_table(self, old: str | Name, new: str | Name) -> None:
        """Rename a table."""
        ...

    def create_namespace(
        self,
        name: str | Name,
        if_not_exists: bool,
        properties: Mapping[str, str] | None,
    ) -> None:
        """Create a namespace."""
        ...

    def list_tables(self, namespace: str | Name | None = None) -> list[str]:
        """List the tables of a namespace."""
        ...

    def view_problems(self, name: str | Name | None) -> list[Problem]:
        """List what views can't read of a table, or of any."""
        ...


MOST_TRIES = 64
"""How often the tables of a transaction are loaded again until none has moved meanwhile."""


def _load(folder: str, store: Store) -> LoadedState[Any]:
    return log_in(folder, store).load()


def _has_moved(stage: LogStage) -> bool:
    log = log_in(stage.folder, stage.store)
    return log.advance(stage.pinned).version != stage.pinned.version


class MultiTableTransaction:
    """Changes of several tables that become visible at once, or not at all.

    From ``Catalog.transaction``. All reads see the warehouse as of one moment, and the transaction's own
    changes. Leaving the ``with`` block commits; an exception in it discards everything.

    Args:
        store: the folder of the warehouse.
        over: opens a catalog over another store.
        tables: the tables to load at once.
        isolation: ``snapshot`` or ``serializable``.
        one_moment: whether there must be a moment at which all logs were as they are seen. Without it,
            rows of two tables may not fit together, and busy tables are no obstacle.

    >>> accounts = "id BIGINT NOT NULL, amount BIGINT"
    >>> for name in ("savings", "checking"):
    ...     _ = catalog.create_table(name, accounts, primary_key=["id"])
    >>> row = lambda amount: pa.table({"id": [1], "amount": [amount]})
    >>> with catalog.transaction("savings", "checking") as transaction:
    ...     _ = transaction.table("savings").upsert(row(60))
    ...     _ = transaction.table("checking").upsert(row(40))
    ...     catalog.load_table("savings").count()
    0
    >>> catalog.load_table("savings").count(), catalog.load_table("checking").count()
    (1, 1)
    >>> transaction.versions
    {'checking': 1, 'savings': 1}
    """

    def __init__(
        self,
        store: Store,
        over: Callable[[Store], Any],
        tables: Sequence[str | Name],
        isolation: str,
        *,
        one_moment: bool = True,
    ) -> None:
        self.id = str(uuid.uuid4())
        """UUID of the transaction; ``Catalog.find_transaction`` takes it."""
        self.versions: dict[str, int] = {}
        """Version of each table that it has changed, ordered by name; empty until it is committed."""
        self._isolation = one_of(Isolation, isolation, "isolation")
        self._store = store
        self._stage = Stage(_load, _has_moved if one_moment else None)
        self._over = over
        self._named: dict[str, str] = {}
        self._reads_names = False
        self._catalog = self._begun(tables)

    def _begun(self, tables: Sequence[str | Name]) -> Warehouse:
        """The catalog as of one moment, at which all the tables are loaded."""
        for losses in range(1, MOST_TRIES + 1):
            self._stage.logs.clear()
            self._catalog = self._over(StagingStore(self._store, self._stage))
            try:
                with self._stage.at_one_moment():
                    self._stage.log("", self._store)
                    for name in tables:
                        self.table(name)
                return self._catalog
            except CommitConflictError:
                if losses == MOST_TRIES:
                    raise
                back_off(losses)
        raise AssertionError("the loop has no end")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.abort()
        elif not self._stage.is_over:
            self.commit()

    def table(self, name: str | Name) -> Table:
        """Load a table as the transaction sees it; its methods that write are staged.

        Raises:
            NotFoundError: there is no such table.
            CommitConflictError: another commit has changed a table that was looked at before, so no
                moment shows both; run the transaction again, and name its tables when it begins.
            InvalidRequestError: the table is outside the warehouse's folder, or a branch.
        """
        try:
            table = self._catalog.load_table(name)
        except VersionedError:
            self._reads_names = True
            raise
        if not table.store.is_staging:
            raise InvalidRequestError(
                f"{table.name} is a branch, or has a LOCATION outside the warehouse's own folders, so a "
                "transaction over several tables can't have it; write to it outside",
                condition="NOT_SUPPORTED",
            )
        self._named[table.location] = table.name
        return table

    def create_table(self, name: str | Name, schema: Any, **arguments: Any) -> Table:
        """Create a table, as ``Catalog.create_table`` does, without ``location``."""
        if arguments.get("location") is not None:
            raise InvalidRequestError(
                "a transaction over several tables can't create a table with a location; create it "
                "before",
                condition="NOT_SUPPORTED",
            )
        table = self._catalog.create_table(name, schema, **arguments)
        self._named[table.location] = table.name
        return table

    def create_from_ddl(self, ddl: str) -> Table:
        """Create a table as CREATE TABLE declares it, as ``Catalog.create_from_ddl`` does."""
        table = self._catalog.create_from_ddl(ddl)
        self._named[table.location] = table.name
        return table

    def drop_table(self, name: str | Name) -> None:
        """Drop a table, as ``Catalog.drop_table`` does."""
        self.table(name)
        self._catalog.drop_table(name)

    def rename_table(self, old: str | Name, new: str | Name) -> None:
        """Rename a table, as ``Catalog.rename_table`` does."""
        self._catalog.rename_table(old, new)

    def create_namespace(
        self,
        name: str | Name,
        properties: Mapping[str, str] | None = None,
        *,
        if_not_exists: bool = False,
    ) -> None:
        """Create a namespace, as ``Catalog.create_namespace`` does."""
        self._catalog.create_namespace(name, if_not_exists=if_not_exists, properties=properties)

    def list_tables(self, namespace: str | Name | None = None) -> list[str]:
        """List the tables in a namespace, as ``Catalog.list_tables`` does."""
        self._reads_names = True
        return self._catalog.list_tables(namespace)

    def view_problems(self, name: str | Name | None = None) -> list[Problem]:
        """Find what views can't read, as ``Catalog.view_problems`` does, if it is committed."""
        self._reads_names = True
        return self._catalog.view_problems(name)

    def abort(self) -> None:
        """Discard all changes; the transaction is over, also if its ``with`` block goes on."""
        self._stage.is_over = True

    def commit(self) -> None:
        """Make all changes visible at once; leaving the ``with`` block does it.

        Raises:
            CommitConflictError: another commit conflicts with the transaction, or has aborted it since
                it was too slow; nothing is changed. Run it again.
            CommitOutcomeUnknown: the store did not say whether it was committed; its ``commit_id`` is
                the ID for ``Catalog.find_transaction``.
            StorageError: the store failed; nothing is changed.
            InvalidRequestError: the transaction is over.
        """
        if self._stage.is_over:
            raise InvalidRequestError("the transaction is over", condition="NOT_SUPPORTED")
        self._stage.is_over = True
        commit = JointCommit(
            self.id, self._store, self._stage, self._isolation, self._reads_names, self._named
        )
        changed = commit.run()
        named = ((self._named[at], version) for at, version in changed.items() if at in self._named)
        self.versions = dict(sorted(named))
