"""Writes to a keyed table by a writer that has not seen the newest commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from histories import keyed_naive, naive
from histories.drive import arrow_rows
from histories.keyed_drive import random_filters, random_rows, random_update
from histories.keyed_naive import Keyed
from histories.naive import Refused
from versioned_catalog import CommitConflictError, Table


class Late:
    """A writer that planned on an older version, and the possible outcomes of its commit.

    Args:
        random: chooses what is written.
        then: the model as of the version that the writer saw.
        now: the newest model.
        table: the table as the writer has loaded it, up to its commit.
    """

    def __init__(self, random: Random, then: Keyed, now: Keyed, table: Table) -> None:
        self._random = random
        self._then = then
        self._now = now
        self._table = table
        self._serializable = table.properties.get("isolation") == "serializable"
        self.aborted = False

    def upsert(self) -> list[list[Any]]:
        names, rows = random_rows(self._random, self._then)
        try:
            stored = keyed_naive.whole_rows(self._then, names, rows)
        except Refused:
            return []
        self._try(lambda: self._table.upsert(arrow_rows(self._then, names, rows)))
        return [keyed_naive.upsert(self._now, stored)]

    def patch(self) -> list[list[Any]]:
        names, rows = random_rows(self._random, self._then, partial=True)
        try:
            stored = keyed_naive.whole_rows(self._then, names, rows)
            keys = keyed_naive.assigned(self._then, names)
        except Refused:
            return []
        data = arrow_rows(self._then, names, rows)
        self._try(lambda: self._table.upsert(data, partial=True))
        return [keyed_naive.lay(self._now, keys, stored)]

    def delete(self) -> list[list[Any]]:
        filters, by_key = random_filters(self._random, self._then)
        self._try(lambda: self._table.delete(filters))
        after = [row for row in self._now.rows if not naive.passes(self._then, row, by_key)]
        seen = self._seen(by_key)
        if seen is None or (seen and self._serializable):
            return [after]
        return [after, [row for row in self._now.rows if self._key(row) not in seen]]

    def update(self) -> list[list[Any]]:
        filters, by_key = random_filters(self._random, self._then)
        named, assignments = random_update(self._random, self._then)
        now = replace(self._then, rows=self._now.rows)
        try:
            after = keyed_naive.update(now, assignments, by_key)
        except Refused:
            return []
        self._try(lambda: self._table.update(named, filters))
        seen = self._seen(by_key)
        if seen is None or (seen and self._serializable):
            return [after]
        pairs = zip(now.rows, after, strict=True)
        return [after, [new if self._key(old) in seen else old for old, new in pairs]]

    def compact(self) -> list[list[Any]]:
        self._try(lambda: self._table.maintenance.compact(strategy="full"))
        return [self._now.rows]

    def _seen(self, by_key: Any) -> set[Any] | None:
        """The keys of the rows that the writer read; None if another writer changed one of them since.

        A writer that found none commits nothing: it is ordered before the commits that it did not see,
        even if ``isolation`` is ``serializable``.
        """
        old = {self._key(row): row for row in self._then.rows}
        new = {self._key(row): row for row in self._now.rows}
        keys = {key for key, row in old.items() if naive.passes(self._then, row, by_key)}
        return keys if all(old[key] == new.get(key) for key in keys) else None

    def _key(self, row: Any) -> Any:
        return keyed_naive.key_of(self._now, row)

    def _try(self, write: Callable[[], object]) -> None:
        try:
            write()
        except CommitConflictError:
            self.aborted = True
