"""The law of changes, on the naive model: what a feed must say of a range of versions.

For each commit, the deletes are the rows that the version before has more often than the one after, and
the inserts are the reverse, all seen in the columns of the last version. It imports nothing of the
packages under test.

Two kinds of histories have no such law, since the answer depends on how rows are stored, which a model
of rows does not know:

- A rollback may restore a column that was dropped. Rows that were copied in between have lost its values
  and others still have them, so whether a copied row counts as changed depends on the copies.
- A time to live hides rows that are still stored until a compaction leaves them out. The feed reports no
  deletion then, and an upsert of such a key is an update or an insert, as the row is still there or not.

``columns_persist`` and ``Histories.hides`` leave these out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from histories.drive import to_tuples
from histories.naive import WIDER, Field, Version, show, walk

Difference = tuple[Counter[str], Counter[str]]
"""The rows that were taken away, and those that were added."""


def seen(version: Version | None, fields: tuple[Field, ...]) -> Counter[str]:
    """The rows of a version in some columns, as a multiset; none before the first version."""
    rows = [] if version is None else version.rows
    return Counter(repr(to_tuples({f.name: show(f, row) for f in fields})) for row in rows)


def between(before: Version | None, after: Version | None, fields: tuple[Field, ...]) -> Difference:
    """What changed from one version to another."""
    old, new = seen(before, fields), seen(after, fields)
    return old - new, new - old


def columns_persist(past: Sequence[Version]) -> bool:
    """Whether each column of the last version, once there, stayed, and in types that it widens.

    Otherwise a rollback restored a column: rewrites of rows in between may or may not have lost its
    values, and its type may be narrower than values were.
    """
    last = {path[-1].key: path[-1].type for path in walk(past[-1].fields)}
    had: set[int] = set()
    for version in past:
        types = {p[-1].key: p[-1].type for p in walk(version.fields) if p[-1].key in last}
        if had - set(types):
            return False
        had |= set(types)
        if not all(_fits(type_, last[key]) for key, type_ in types.items()):
            return False
    return True


def columns_stay(past: Sequence[Version], fields: tuple[Field, ...]) -> bool:
    """Whether all versions have some columns, at every depth, and in the same types."""
    wanted = {path[-1].key: path[-1].type for path in walk(fields)}
    types = ({path[-1].key: path[-1].type for path in walk(one.fields)} for one in past)
    return all(
        key in has and (not isinstance(type_, str) or has[key] == type_)
        for has in types
        for key, type_ in wanted.items()
    )


def _fits(then: Any, now: Any) -> bool:
    return not isinstance(then, str) or then == now or now in WIDER.get(then, ())


def told(rows: Sequence[dict[str, Any]]) -> dict[int, Difference]:
    """What a feed says of each commit."""
    found: dict[int, Difference] = {}
    for row in rows:
        type_, version = row["_change_type"], row["_commit_version"]
        gone, come = found.setdefault(version, (Counter(), Counter()))
        values = {name: value for name, value in row.items() if name not in FEED}
        (gone if type_ in ("delete", "update_preimage") else come)[repr(to_tuples(values))] += 1
    return found


FEED = ("_change_type", "_commit_version", "_commit_timestamp")
EMPTY: Difference = (Counter(), Counter())
