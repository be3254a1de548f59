"""The anomalies of Hermitage (github.com/ept/hermitage), over two tables: item 1 is in n.a, 2 in n.b.

``docs/transactions.md`` lists which are possible; the test compares the list with what happens.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from transactions.bank import TABLES, amounts, bank, read, rows
from versioned_catalog import Catalog, CommitConflictError
from versioned_catalog.multi_table import MultiTableTransaction

DOCUMENT = Path(__file__).parents[2] / "docs/transactions.md"
Begin = Callable[[], MultiTableTransaction]


def get(transaction: MultiTableTransaction, item: int) -> int:
    return read(transaction.table(TABLES[item - 1]))[item]


def put(transaction: MultiTableTransaction, item: int, amount: int) -> None:
    transaction.table(TABLES[item - 1]).upsert(rows({item: amount}))


def matching(transaction: MultiTableTransaction, amount: int) -> int:
    """How many rows of both tables have an amount."""
    tables = map(transaction.table, TABLES)
    return sum(
        table.scan(filters=[("amount", "=", amount)]).to_arrow().num_rows for table in tables
    )


def commits(transaction: MultiTableTransaction) -> bool:
    try:
        transaction.commit()
    except CommitConflictError:
        return False
    return True


def dirty_write(begin: Begin, catalog: Catalog) -> bool:
    first, second = begin(), begin()
    put(first, 1, 11)
    put(second, 1, 12)
    put(first, 2, 21)
    commits(first)
    put(second, 2, 22)
    commits(second)
    return items(catalog) not in ((11, 21), (12, 22))


def aborted_read(begin: Begin, catalog: Catalog) -> bool:
    first, second = begin(), begin()
    put(first, 1, 101)
    seen = get(second, 1)
    first.abort()
    return 101 in (seen, get(second, 1), items(catalog)[0])


def intermediate_read(begin: Begin, catalog: Catalog) -> bool:
    first, second = begin(), begin()
    put(first, 1, 101)
    seen = [get(second, 1)]
    put(first, 1, 11)
    commits(first)
    return 101 in [*seen, get(second, 1), items(catalog)[0]]


def circular_information_flow(begin: Begin, catalog: Catalog) -> bool:
    first, second = begin(), begin()
    put(first, 1, 11)
    put(second, 2, 22)
    seen = get(first, 2), get(second, 1)
    commits(first), commits(second)
    return seen == (22, 11)


def observed_transaction_vanishes(begin: Begin, catalog: Catalog) -> bool:
    first, second = begin(), begin()
    put(first, 1, 11)
    put(first, 2, 19)
    put(second, 1, 12)
    put(second, 2, 18)
    commits(first)
    third = begin()
    seen = get(third, 1)
    commits(second)
    return (seen, get(third, 2), get(third, 1)) != (11, 19, 11)


def predicate_many_preceders(begin: Begin, catalog: Catalog) -> bool:
    first, second = begin(), begin()
    before = matching(first, 30)
    second.table("n.b").upsert(rows({3: 30}))
    commits(second)
    return matching(first, 30) != before


def lost_update(begin: Begin, catalog: Catalog) -> bool:
    first, second = begin(), begin()
    one, other = get(first, 1) + 1, get(second, 1) + 1
    put(first, 1, one)
    put(second, 1, other)
    return commits(first) & commits(second)


def read_skew(begin: Begin, catalog: Catalog) -> bool:
    first, second = begin(), begin()
    seen = get(first, 1)
    put(second, 1, 12)
    put(second, 2, 18)
    commits(second)
    return (seen, get(first, 2)) != (10, 20)


def write_skew(begin: Begin, catalog: Catalog) -> bool:
    first, second = begin(), begin()
    for transaction in (first, second):
        get(transaction, 1), get(transaction, 2)
    put(first, 1, 11)
    put(second, 2, 21)
    return commits(first) & commits(second)


def predicate_write_skew(begin: Begin, catalog: Catalog) -> bool:
    first, second = begin(), begin()
    for transaction in (first, second):
        assert matching(transaction, 30) == matching(transaction, 42) == 0
    first.table("n.a").upsert(rows({3: 30}))
    second.table("n.b").upsert(rows({4: 42}))
    return commits(first) & commits(second)


CASES: dict[str, Callable[[Begin, Catalog], bool]] = {
    "G0": dirty_write,
    "G1a": aborted_read,
    "G1b": intermediate_read,
    "G1c": circular_information_flow,
    "OTV": observed_transaction_vanishes,
    "PMP": predicate_many_preceders,
    "P4": lost_update,
    "G-single": read_skew,
    "G2-item": write_skew,
    "G2": predicate_write_skew,
}
ISOLATIONS = ("snapshot", "serializable")


def items(catalog: Catalog) -> tuple[int, int]:
    return amounts(catalog, "n.a")[1], amounts(catalog, "n.b")[2]


def documented() -> dict[tuple[str, str], bool]:
    """Whether each anomaly is possible, by its name and the isolation."""
    row = re.compile(r"^\| `(\S+)` \|[^|]*\| (\w+) \| (\w+) \|$", re.MULTILINE)
    return {
        (name, isolation): word == "possible"
        for name, *words in row.findall(DOCUMENT.read_text())
        for isolation, word in zip(ISOLATIONS, words, strict=True)
    }


@pytest.mark.thorough
@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_the_anomalies_that_are_possible_are_the_documented_ones(
    isolation: str, tmp_path: Path
) -> None:
    expected = {name: documented()[name, isolation] for name in CASES}
    found = {}
    for name, case in CASES.items():
        catalog = bank(tmp_path / name)
        found[name] = case(lambda c=catalog: c.transaction(*TABLES, isolation=isolation), catalog)
    assert found == expected


def test_the_list_is_complete() -> None:
    assert documented().keys() == {(name, isolation) for name in CASES for isolation in ISOLATIONS}
    possible = {pair for pair, is_possible in documented().items() if is_possible}
    assert possible == {("G2-item", "snapshot"), ("G2", "snapshot")}
