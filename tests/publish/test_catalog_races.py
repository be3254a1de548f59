"""The entry in a catalog never moves back, whoever is killed, is slow or publishes at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from publish.lakes import Lake, registered, rows
from versioned_catalog import (
    Catalog,
)
from versioned_catalog.names.folders import load_at
from versioned_catalog.storage.local import LocalStore
from versioned_interop.publish.manifests import METADATA
from versioned_interop.publish.publication import HINT


class Died(BaseException):
    """The process was killed."""


class Hooked(LocalStore):
    """A store in which something happens right after the N-th listing of what other engines wrote.

    A publisher lists it last when it looks for the newest publication.
    """

    def __init__(self, url: str, count: int, then: Callable[[], object]) -> None:
        super().__init__(url)
        self._left, self._then = count, then

    def list(self, folder: str, prefix: str = "") -> Sequence[str]:
        names = super().list(folder, prefix)
        if folder == METADATA and prefix:
            self._left -= 1
            if self._left == 0:
                self._then()
        return names


def die() -> None:
    raise Died


def test_the_next_publication_catches_up_after_a_kill(catalog: Catalog, lake: Lake) -> None:
    """The process dies after it has published, and before it has moved the entry."""
    for count in (2, 3):
        name = f"n.t{count}"
        table = registered(catalog, name)
        dying = load_at(Hooked(table.location, count, die), name)
        with pytest.raises(Died):
            dying.append(rows(3))
        assert Path(table.location, METADATA, "v3.metadata.json").exists()
        assert lake.number(name) == 2
        assert lake.ids(name) == [1, 2]
        if count == 2:
            assert table.maintenance.publish().files == 0
            assert lake.ids(name) == [1, 2, 3]
        catalog.load_table(name).append(rows(4))
        assert lake.ids(name) == [1, 2, 3, 4]


def test_an_older_publisher_does_not_move_the_entry_back(catalog: Catalog, lake: Lake) -> None:
    """It stops between its last look at the publication and the catalog."""
    table = registered(catalog)
    seen: list[int] = []

    def meanwhile() -> None:
        catalog.load_table("n.t").append(rows(4))
        seen.append(lake.number("n.t"))

    slow = load_at(Hooked(table.location, 3, meanwhile), "n.t")
    slow.append(rows(3))
    assert seen == [4]
    assert lake.number("n.t") == 4
    assert lake.ids("n.t") == [1, 2, 3, 4]


@pytest.mark.parametrize("first", [True, False], ids=["add", "move"])
def test_a_slow_publisher_does_not_bring_a_former_name_back(
    catalog: Catalog, lake: Lake, first: bool
) -> None:
    table = registered(catalog)
    if first:
        lake.open().drop_table("n.t")

    def meanwhile() -> None:
        other = catalog.load_table("n.t")
        other.alter().set_property("publish.catalog.table", "n.new").commit()

    load_at(Hooked(table.location, 3, meanwhile), "n.t").append(rows(3))
    assert lake.location("n.t") is None
    assert lake.ids("n.new") == [1, 2, 3]


@pytest.mark.parametrize("earlier", [1, 3], ids=["same number", "deleted file"])
def test_a_publisher_after_a_deletion_does_not_move_the_entry_back(
    catalog: Catalog, sql: Lake, earlier: int
) -> None:
    """Numbers of metadata files begin with 1 again, so the entry may name a file of now, or none."""
    table = registered(catalog)
    for value in range(earlier - 1):
        table.append(rows(10 + value))
    for file in Path(table.location, METADATA).iterdir():
        file.unlink()
    slow = load_at(
        Hooked(table.location, 3, lambda: catalog.load_table("n.t").append(rows(4))), "n.t"
    )
    slow.append(rows(3))
    assert sql.number("n.t") == 2
    assert {3, 4} <= set(sql.ids("n.t"))


def test_many_publishers_at_once(catalog: Catalog, lake: Lake) -> None:
    registered(catalog)
    shown, done = [0], threading.Event()

    def write(number: int) -> None:
        table = catalog.load_table("n.t")
        for each in range(5):
            table.append(rows(100 * number + each))

    def watch() -> None:
        while not done.is_set():
            location = lake.location("n.t")
            if location is not None:
                shown.append(int(location.rpartition("/v")[2].partition(".")[0]))

    watcher = threading.Thread(target=watch)
    watcher.start()
    writers = [threading.Thread(target=write, args=(number,)) for number in (1, 2, 3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    done.set()
    watcher.join()
    table = catalog.load_table("n.t")
    assert lake.location("n.t") == table.maintenance.publish().metadata
    assert lake.ids("n.t") == [1, 2, *(100 * n + each for n in (1, 2, 3) for each in range(5))]
    if lake.kind == "sql":
        assert shown == sorted(shown), "it compares and swaps, so the entry never moves back"


def test_a_hint_that_a_killed_publisher_left_is_no_reason_to_move_back(
    catalog: Catalog, sql: Lake
) -> None:
    table = registered(catalog)
    Path(table.location, HINT).write_text("1")
    table.maintenance.publish()
    assert sql.number("n.t") == 2
