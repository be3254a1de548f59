"""More tables with one feature each: such as row IDs, branches, clones and transactions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from pairs.features import COLUMNS, Rows, Subject, arrow, at_once, by_id, row
from versioned_catalog import (
    CommitConflictError,
    Identity,
    InvalidRequestError,
    NotFoundError,
    VersionedError,
)


def shown(rows: Rows) -> list[tuple[Any, ...]]:
    """Rows of a model, as ``by_id`` shows those of a table."""
    return sorted((number, *values) for number, values in rows.items())


class Identified(Subject):
    """A table with row IDs: each row that was seen once keeps its ID.

    Attributes:
        ids: the ID of each row, as it was seen first.
    """

    options: ClassVar[dict[str, Any]] = {"properties": {"row_ids": "true"}}

    def __init__(self, folder: Path) -> None:
        self.ids: dict[int, int] = {}
        super().__init__(folder)

    def act(self) -> None:
        """Update a row to the values that it has, and insert one."""
        number, name = min(self.rows), self.names[1]
        self.table.update({name: self.rows[number][0]}, [("id", "=", number)])
        self.insert(1)

    def check(self) -> None:
        super().check()
        seen = self.table.scan(["_row_id", "id"]).to_arrow().to_pylist()
        ids = {line["id"]: line["_row_id"] for line in seen}
        assert len({*ids.values()}) == len(seen) == len(self.rows), "each row has an ID of its own"
        assert ids == {**ids, **{key: self.ids[key] for key in ids.keys() & self.ids.keys()}}
        self.ids |= ids

    def act_twice_at_once(self) -> None:
        """An append, and an update of a row that is there."""
        number = min(self.rows)
        ids = self.numbers(1)
        at_once(
            lambda: self.table.append(arrow(ids)),
            lambda: self.table.update({"v": self.rows[number][0]}, [("id", "=", number)]),
        )
        self.expect(ids)

    def check_replaced(self) -> None:
        """The numbers begin again."""
        self.ids = {}
        super().check_replaced()
        self.insert(1)
        self.check()


class Narrowed(Subject):
    """A table whose column ``n`` was a BIGINT once, and is narrowed whenever it has become one again."""

    def create(self) -> None:
        self.catalog.create_table("t", "id BIGINT, v STRING, n BIGINT")
        self.insert(4)
        self.narrow()

    def narrow(self) -> None:
        """Make ``n`` an INT, which the rows allow."""
        self.table.alter().narrow("n", "INT").commit()

    def act(self) -> None:
        """Widen the column, write to it, and narrow it again."""
        self.table.alter().change_type("n", "BIGINT").commit()
        self.insert(1)
        self.narrow()

    def act_twice_at_once(self) -> None:
        """A narrowing, and an append whose values fit: one of them may have to be run again."""
        self.table.alter().change_type("n", "BIGINT").commit()
        ids = self.numbers(1)
        at_once(self.narrow, lambda: self.table.append(arrow(ids)))
        self.expect(ids)

    def check(self) -> None:
        super().check()
        column = self.table.scan(["n"]).to_arrow()["n"]
        assert column.type in (pa.int32(), pa.int64())


class Branched(Subject):
    """A table with a branch, whose rows come into it by merges.

    Attributes:
        ahead: the rows of the branch that were not merged.
    """

    def __init__(self, folder: Path) -> None:
        self.ahead: Rows = {}
        super().__init__(folder)

    def create(self) -> None:
        super().create()
        self.table.create_branch("work")
        self.write()

    def write(self) -> None:
        """Write a row to the branch, by the names of the branch."""
        ids = self.numbers(1)
        self.table.branch("work").append(arrow(ids))
        self.ahead |= {number: row(number) for number in ids}

    def act(self) -> None:
        """Merge the branch, and write a row to it that is not merged."""
        self.table.merge_branch("work")
        self.rows |= self.ahead
        self.ahead = {}
        self.write()

    def act_twice_at_once(self) -> None:
        """Two merges of one branch: its rows come in once."""

        def merge() -> None:
            self.table.merge_branch("work")

        at_once(merge, merge)
        self.rows |= self.ahead
        self.ahead = {}

    def act_after_rollback(self, taken_back: Rows) -> None:
        """The branch can't be merged, since its rows were taken back; one that begins anew can."""
        with pytest.raises(CommitConflictError, match="rolled back what was merged"):
            self.table.merge_branch("work")
        self.table.create_branch("work", replace=True)
        self.ahead = {}
        self.write()
        self.act()

    def check(self) -> None:
        super().check()
        branch = self.table.branch("work").scan().to_arrow()
        seen = {line["id"] for line in branch.to_pylist()}
        assert seen >= self.ahead.keys(), "the branch has what is not merged"
        assert len(seen) == branch.num_rows

    def before_replacing(self) -> None:
        """A branch would be lost, so it must be dropped."""
        with pytest.raises(InvalidRequestError, match="drop its branches first"):
            self.connect().replace_table("t", "id BIGINT, v STRING, n INT")
        self.table.drop_branch("work")

    def check_replaced(self) -> None:
        """The branch has ended, and another one of its name begins anew."""
        with pytest.raises(NotFoundError, match="work"):
            self.table.branch("work")
        self.ahead = {}
        self.table.create_branch("work")
        super().check_replaced()


class Cloned(Subject):
    """A shallow clone, whose source goes its own way.

    Attributes:
        others: the rows of the source.
    """

    def create(self) -> None:
        self.others: Rows = {}
        self.catalog.create_table("source", "id BIGINT, v STRING, n INT")
        self.write_source(4)
        self.catalog.clone_table("t", "source", shallow=True)
        self.expect(self.others)

    def write_source(self, count: int) -> None:
        """Write rows to the source alone."""
        ids = self.numbers(count)
        self.connect().load_table("source").append(arrow(ids))
        self.others |= {number: row(number) for number in ids}

    def act(self) -> None:
        """Write to the clone; in the source, write, delete a row, compact and vacuum."""
        self.insert(1)
        self.write_source(1)
        source, number = self.connect().load_table("source"), min(self.others)
        source.delete([("id", "=", number)])
        del self.others[number]
        source.refresh().maintenance.compact(strategy="full")
        source.refresh().maintenance.expire(timedelta(0), 1, dry_run=False, force=True)
        source.refresh().maintenance.vacuum(timedelta(0), dry_run=False, force=True)

    def check(self) -> None:
        super().check()
        source = self.connect().load_table("source")
        assert by_id(source.scan().to_arrow()) == shown(self.others)

    def act_twice_at_once(self) -> None:
        """A full compaction of the clone, and a vacuum of its source."""
        at_once(
            lambda: self.table.maintenance.compact(strategy="full"),
            lambda: (
                self.connect().load_table("source").maintenance.vacuum(timedelta(0), force=True)
            ),
        )


class Together(Subject):
    """A table that is written in transactions, together with another one.

    Attributes:
        others: the rows of the other table.
    """

    def create(self) -> None:
        self.others: Rows = {}
        self.catalog.create_table("t", "id BIGINT, v STRING, n INT")
        self.catalog.create_table("other", "id BIGINT, v STRING, n INT")
        self.together(self.numbers(2))
        self.together(self.numbers(2))

    def write(self, ids: Iterable[int]) -> None:
        """Write the same rows to both tables at once."""
        rows = arrow(ids)
        with self.connect().transaction("t", "other") as transaction:
            transaction.table("t").append(rows.rename_columns(list(self.names)))
            transaction.table("other").append(rows)

    def together(self, ids: list[int]) -> None:
        """Write rows to both tables, and expect them there."""
        self.write(ids)
        self.expect(ids)
        self.others |= {number: row(number) for number in ids}

    def act(self) -> None:
        """One more transaction, and one that is discarded."""
        self.together(self.numbers(1))
        discarded = self.connect().transaction("t", "other")
        for name in ("t", "other"):
            names = list(self.names) if name == "t" else ["id", "v", "n"]
            discarded.table(name).append(arrow(self.numbers(1)).rename_columns(names))
        discarded.abort()

    def act_twice_at_once(self) -> None:
        """Two transactions over both tables."""
        first, second = self.numbers(1), self.numbers(1)
        at_once(lambda: self.write(first), lambda: self.write(second))
        self.expect(first + second)
        self.others |= {number: row(number) for number in first + second}

    def check(self) -> None:
        super().check()
        other = self.connect().load_table("other")
        assert by_id(other.scan().to_arrow()) == shown(self.others)


class Computed(Subject):
    """A table that computes a column, numbers its rows, and checks a constraint.

    Attributes:
        numbered: the number of each row, as it was seen first.
    """

    options: ClassVar[dict[str, Any]] = {
        "generated": {"loud": "concat(v, '!')"},
        "identity": {"number": Identity()},
        "checks": {"positive": "id > 0"},
    }

    def __init__(self, folder: Path) -> None:
        self.numbered: dict[int, int] = {}
        super().__init__(folder)

    def create(self) -> None:
        columns = f"{COLUMNS}, loud STRING, number BIGINT"
        self.catalog.create_table("t", columns, **self.options)
        self.insert(4)

    def act(self) -> None:
        """Insert a row, and none that breaks the constraint; update one to the values that it has."""
        self.insert(1)
        with pytest.raises(InvalidRequestError, match="positive"):
            self.table.append(arrow([0]).rename_columns(list(self.names)))
        number, name = min(self.rows), self.names[1]
        self.table.update({name: self.rows[number][0]}, [("id", "=", number)])

    def check(self) -> None:
        super().check()
        lines = self.table.scan().to_arrow().to_pylist()
        assert {line["id"]: line["loud"] for line in lines} == {
            number: f"{v}!" for number, (v, _) in self.rows.items()
        }
        seen = {line["id"]: line["number"] for line in lines}
        assert len({*seen.values()}) == len(self.rows), "each row has a number of its own"
        assert seen == {**seen, **{key: self.numbered[key] for key in seen.keys() & self.numbered}}
        self.numbered |= seen

    def check_replaced(self) -> None:
        """Nothing is computed or refused in the new table, which was declared without."""
        self.rows = {}
        super().check()
        assert [column.name for column in self.table.schema.columns] == ["id", "v", "n"]
        self.table.append(arrow([0]))


class Typed(Subject):
    """A table whose column ``id`` has a logical type."""

    def create(self) -> None:
        self.catalog.create_table("t", COLUMNS)
        self.table.alter().set_logical("id", "UINT32").commit()
        self.insert(4)

    def act(self) -> None:
        """Insert a row by the type of Arrow, and none that the type does not hold."""
        ids = self.numbers(1)
        rows = arrow(ids).rename_columns(list(self.names))
        self.table.append(rows.set_column(0, "id", pa.array(ids, pa.uint32())))
        self.expect(ids)
        with pytest.raises(VersionedError, match="UINT32"):
            self.table.append(arrow([-1]).rename_columns(list(self.names)))

    def observed(self) -> dict[str, list[tuple[Any, ...]]]:
        typed = self.table.scan().to_arrow(logical_types=True)
        assert typed["id"].type == pa.uint32()
        return super().observed() | {"with logical types": by_id(typed, self.names)}


LATER_FEATURES: dict[str, type[Subject]] = {
    "row IDs": Identified,
    "narrowed": Narrowed,
    "branches": Branched,
    "clones": Cloned,
    "transactions": Together,
    "computed columns": Computed,
    "logical types": Typed,
}
