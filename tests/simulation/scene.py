"""What the actors of a run share, and one life of an actor."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from simulation.history import Request
from simulation.model import Model
from simulation.scheduler import Actor, Simulation
from simulation.tables import TableModel
from simulation.world import SimulatedStore, World
from versioned_catalog import Catalog, Table
from versioned_catalog.storage.store import Location

WAREHOUSE = "w"
NAMESPACE = "db"
LAKE = "lake"
"""The folder of files of others, which is an external root of each catalog."""


@dataclass(frozen=True)
class Op:
    """An operation: its kind, its table by name, its number, and the pause before it in seconds."""

    kind: str
    table: str
    number: int
    pause: float

    def __str__(self) -> str:
        return f"{self.number}: {self.kind} {self.table} after {self.pause:.2f} s"


@dataclass
class Scene:
    """What the actors of a run share.

    Args:
        tables: the names of the tables that are there from the beginning.
        lake: the rows of the files of others, by folder and name.
    """

    seed: str
    simulation: Simulation
    world: World
    model: Model
    tables: tuple[str, ...]
    outcomes: dict[tuple[str, str], int] = field(default_factory=dict)
    lake: dict[str, dict[str, list[dict[str, Any]]]] = field(default_factory=dict)

    def find(self, text: str) -> None:
        self.simulation.find(text)

    def landed(self) -> dict[str, int]:
        """The newest version of each log."""
        return {name: len(table.versions) - 1 for name, table in self.model.tables.items()}


class Process:
    """One life of an actor: a catalog and the tables that it has opened."""

    def __init__(self, scene: Scene, actor: Actor) -> None:
        self.actor = actor
        store = SimulatedStore(scene.world, actor, f"{WAREHOUSE}/")
        self.catalog = Catalog.over(store.allow_roots(((LAKE, Location(f"sim://{LAKE}")),)))
        self._tables: dict[str, Table] = {}

    def has(self, name: str) -> bool:
        return name in self._tables

    def table(self, name: str, is_current: bool) -> Table:
        """The table of a name; its newest version, unless an older one will do."""
        if name not in self._tables:
            self._tables[name] = self.catalog.load_table(name)
        elif is_current:
            self._tables[name].refresh()
        return self._tables[name]

    def forget(self, name: str) -> None:
        self._tables.pop(name, None)


def folder_of(name: str) -> str:
    """The folder of a table that has always had its name."""
    return f"{WAREHOUSE}/{name.replace('.', '/')}"


def log_of(table: Table) -> str:
    """The name of the log of a table or branch in the model."""
    branch = table.state.branch
    folder = table.location.removeprefix("sim://")
    return folder if branch is None else f"{folder}@{branch.id}"


def model_of(scene: Scene, request: Request) -> TableModel:
    """The model of the table that a request is about."""
    return scene.model.tables[request.table]


def some_version(scene: Scene, table: Table, request: Request, draw: Random) -> int:
    """A version that is retained when it is chosen."""
    model = model_of(scene, request)
    first = model.newest.incarnation
    retained = [v for v in model.retained() if first <= v <= table.version]
    return draw.choice(retained[-12:] or [table.version])
