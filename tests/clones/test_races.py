"""Clones that are made while others clean, drop, replace and clone the same tables."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Barrier
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, VersionedError

ROUNDS = 12


def together(*jobs: Callable[[], Any]) -> list[Any]:
    """Run jobs at once; return their results, or what they refused."""
    barrier = Barrier(len(jobs))

    def run(job: Callable[[], Any]) -> Any:
        barrier.wait()
        try:
            return job()
        except VersionedError as error:
            return error

    with ThreadPoolExecutor(len(jobs)) as pool:
        return [*pool.map(run, jobs)]


def prepared(folder: Path, keyed: bool = False) -> Catalog:
    catalog = Catalog(folder)
    table = catalog.create_table("a", "id LONG", primary_key=["id"] if keyed else [])
    for number in range(3):
        table.append(pa.table({"id": [number]}))
    return catalog


def ids(catalog: Catalog, name: str) -> list[int]:
    return sorted(catalog.load_table(name).scan().to_arrow()["id"].to_pylist())


def clean(folder: Path, name: str = "a") -> Any:
    table = Catalog(folder).load_table(name)
    table.maintenance.expire(timedelta(0), force=True, dry_run=False)
    table.maintenance.vacuum(timedelta(0), force=True, dry_run=False)


def overwrite_and_clean(folder: Path) -> None:
    table = Catalog(folder).load_table("a")
    table.overwrite(pa.table({"id": [9]}))
    clean(folder)


@pytest.mark.parametrize("shallow", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_cleaning_the_source(tmp_path: Path, shallow: bool) -> None:
    made = 0
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        catalog = prepared(folder)
        clone, _ = together(
            lambda f=folder: Catalog(f).clone_table("b", "a", shallow=shallow),
            lambda f=folder: overwrite_and_clean(f),
        )
        clean(folder)
        if not isinstance(clone, VersionedError):
            made += 1
            assert ids(catalog, "b") in ([0, 1, 2], [9])
            assert catalog.load_table("b").maintenance.verify(deep=True).findings == ()
        else:
            assert not catalog.table_exists("b")
    assert made


def test_dropping_the_source(tmp_path: Path) -> None:
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        catalog = prepared(folder)
        location = catalog.load_table("a").location
        together(
            lambda f=folder: Catalog(f).clone_table("b", "a", shallow=True),
            lambda f=folder: Catalog(f).drop_table("a"),
        )
        Catalog.vacuum_path(location, timedelta(0), force=True, dry_run=False)
        if catalog.table_exists("b"):
            assert ids(catalog, "b") == [0, 1, 2]
            assert catalog.table_exists("a")
        else:
            assert not catalog.table_exists("a")


def test_two_clones_of_one_name(tmp_path: Path) -> None:
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        catalog = prepared(folder)
        results = together(
            *[lambda f=folder: Catalog(f).clone_table("b", "a", shallow=True).location] * 2
        )
        assert sum(isinstance(result, str) for result in results) == 1
        assert catalog.load_table("b").location in results
        clean(folder)
        assert len(catalog.load_table("a").tags) == 1, "the other one was dropped"
        assert ids(catalog, "b") == [0, 1, 2]


def test_two_that_replace_one_table(tmp_path: Path) -> None:
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        catalog = prepared(folder)
        catalog.create_table("b", "other INT")
        results = together(
            *[
                lambda f=folder: (
                    Catalog(f).clone_table("b", "a", shallow=True, or_replace=True).location
                )
            ]
            * 2
        )
        assert any(isinstance(result, str) for result in results)
        assert ids(catalog, "b") == [0, 1, 2]
        for dropped in catalog.dropped_tables():
            Catalog.vacuum_path(dropped.location, timedelta(0), force=True, dry_run=False)
        clean(folder)
        clean(folder, "b")
        assert ids(catalog, "b") == [0, 1, 2]
        assert len(catalog.load_table("a").tags) == 1


def test_the_middle_one_lets_go_while_it_is_cloned(tmp_path: Path) -> None:
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        catalog = prepared(folder)
        catalog.clone_table("b", "a", shallow=True)

        def let_go(folder: Path = folder) -> None:
            Catalog(folder).load_table("b").maintenance.compact(strategy="full")
            clean(folder, "b")
            overwrite_and_clean(folder)

        clone, _ = together(lambda f=folder: Catalog(f).clone_table("c", "b", shallow=True), let_go)
        for name in ("b", "a"):
            clean(folder, name)
        assert ids(catalog, "b") == [0, 1, 2]
        if not isinstance(clone, VersionedError):
            assert ids(catalog, "c") == [0, 1, 2]
