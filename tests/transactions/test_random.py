"""Random interleavings of transactions against a model, and killed writers while others add up."""

from __future__ import annotations

import multiprocessing as mp
import os
import random
from dataclasses import dataclass, field
from datetime import timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from transactions.bank import (
    TABLES,
    add_up_while_killing,
    amounts,
    bank,
    check_end,
    keep_moving,
    leave_undecided,
    read,
    rows,
)
from versioned_catalog import Catalog, CommitConflictError
from versioned_catalog.log import decisions
from versioned_catalog.multi_table import MultiTableTransaction

SEED = int(os.environ.get("VERSIONED_SEED", "7"))


@dataclass
class Model:
    """Both tables, and when each key and each table was written last; it knows nothing of logs."""

    tables: dict[str, dict[int, int]]
    clock: int = 0
    written: dict[tuple[str, int], int] = field(default_factory=dict)

    def write(self, changes: dict[str, dict[int, int]]) -> None:
        self.clock += 1
        for name, accounts in changes.items():
            self.tables[name] |= accounts
            self.written |= {(name, key): self.clock for key in accounts}

    def changed_since(self, began: int, name: str) -> bool:
        return any(when > began for (table, _), when in self.written.items() if table == name)


@dataclass
class Running:
    """A transaction, and what the model says that it sees."""

    real: MultiTableTransaction
    isolation: str
    began: int
    sees: dict[str, dict[int, int]]
    changes: dict[str, dict[int, int]] = field(default_factory=lambda: {n: {} for n in TABLES})

    def conflicts(self, model: Model) -> bool:
        if not any(self.changes.values()):
            return False
        if self.isolation == "serializable":
            return any(model.changed_since(self.began, name) for name in TABLES)
        keys = [(name, key) for name in TABLES for key in self.changes[name]]
        return any(model.written.get(pair, 0) > self.began for pair in keys)


def interleaving(folder: Path, seed: int) -> None:
    draw, catalog = random.Random(seed), bank(folder, {1: 10, 2: 20, 3: 30})
    model = Model({name: {1: 10, 2: 20, 3: 30} for name in TABLES})
    running: list[Running] = []
    for _ in range(draw.randint(8, 24)):
        name, change = draw.choice(TABLES), {draw.randint(1, 4): draw.randint(0, 99)}
        match draw.choice(["begin", "write", "write", "read", "plain", "commit", "die", "abort"]):
            case "begin" if len(running) < 3:
                isolation = draw.choice(["snapshot", "serializable"])
                real = catalog.transaction(*TABLES, isolation=isolation)
                sees = {n: dict(accounts) for n, accounts in model.tables.items()}
                running.append(Running(real, isolation, model.clock, sees))
            case "plain":
                Catalog(folder).load_table(name).upsert(rows(change))
                model.write({name: change})
            case "die":
                leave_undecided(folder)
            case "write" if running:
                one = draw.choice(running)
                one.real.table(name).upsert(rows(change))
                one.changes[name] |= change
                one.sees[name] |= change
            case "read" if running:
                one = draw.choice(running)
                assert read(one.real.table(name)) == one.sees[name]
            case "abort" if running:
                running.pop(draw.randrange(len(running))).real.abort()
            case "commit" if running:
                one = running.pop(draw.randrange(len(running)))
                conflicts = one.conflicts(model)
                try:
                    one.real.commit()
                    assert not conflicts
                    model.write({n: c for n, c in one.changes.items() if c})
                except CommitConflictError:
                    assert conflicts
        for each in TABLES:
            assert amounts(catalog, each) == model.tables[each]
    for each in TABLES:
        folder_of = folder / each.replace(".", "/")
        assert Catalog.verify_path(folder_of, every_version=True).findings == ()
        assert read(Catalog.load_path(folder_of)) == model.tables[each]


@pytest.mark.parametrize(
    "number", [2, pytest.param(500, marks=[pytest.mark.nightly, pytest.mark.thorough])]
)
def test_interleavings_are_as_the_model_says(number: int, tmp_path: Path) -> None:
    for seed in range(SEED, SEED + number):
        try:
            interleaving(tmp_path / str(seed), seed)
        except BaseException:
            print(f"VERSIONED_SEED={seed}")
            raise


@pytest.mark.thorough
@pytest.mark.parametrize("seconds", [3, pytest.param(60, marks=pytest.mark.nightly)])
def test_the_sum_never_changes_while_writers_are_killed(
    seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, "GRACE", timedelta(seconds=0.3))
    catalog, context = bank(tmp_path), mp.get_context("fork")

    def start(number: int) -> BaseProcess:
        child = context.Process(target=keep_moving, args=(tmp_path, None, number, 0.02))
        child.start()
        return child

    sums, killed = add_up_while_killing(
        lambda: Catalog(tmp_path), start, random.Random(SEED), seconds=seconds, pauses=(0.0, 0.3)
    )
    assert sums
    assert killed
    check_end(catalog)
    for name in ("a", "b"):
        assert Catalog.verify_path(tmp_path / "n" / name, every_version=True).findings == ()
