"""A run: a plan drawn by a seed, carried out in virtual time, judged, and shrunk if it fails."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random

from simulation.actors import (
    KEYED_ONLY,
    NAMERS,
    PLAIN_ONLY,
    ROLES,
    TENANTS,
    THEMES,
    live,
)
from simulation.history import Request
from simulation.model import Model
from simulation.naming import CLONE_NAMES, create_table
from simulation.operations import check_changes, check_scan
from simulation.patches import simulated
from simulation.scene import NAMESPACE, WAREHOUSE, Op, Process, Scene, log_of
from simulation.scheduler import Actor, Simulation
from simulation.world import FAULTS, SimulatedStore, Weather, World
from versioned_catalog import Catalog, Table

Described = tuple[str, bool, tuple[tuple[str, str], ...]]
"""A table of a plan: its name, whether it has a primary key, and its properties."""


@dataclass(frozen=True)
class Part:
    """What one actor does: its name, its clock's error in seconds, and its operations."""

    name: str
    skew: float
    ops: tuple[Op, ...]


@dataclass(frozen=True)
class Plan:
    """A run as data: all that it depends on."""

    seed: int
    weather: Weather
    tables: tuple[Described, ...]
    parts: tuple[Part, ...]

    def __str__(self) -> str:
        rates = ", ".join(f"{fault} {rate:.3f}" for fault, rate in self.weather.rates)
        kind = "disk" if self.weather.is_disk else "object store"
        lines = [
            f"seed {self.seed}: {kind}, {self.weather.latency * 1000:.0f} ms, {rates or 'no faults'}"
        ]
        lines += [
            f"  table {name}{' keyed' if keyed else ''} {dict(props)}"
            for name, keyed, props in self.tables
        ]
        for part in self.parts:
            lines.append(f"  {part.name}, clock {part.skew:+.0f} s")
            lines += [f"    {op}" for op in part.ops]
        return "\n".join(lines)


@dataclass
class Result:
    """How a run ended."""

    plan: Plan
    findings: list[str]
    steps: int
    trace: str
    tail: list[str] = field(repr=False)
    outcomes: Counter[tuple[str, str]] = field(repr=False)
    requests: list[str] = field(repr=False)
    seconds: float = 0.0


RATES = {
    "refused": 0.01,
    "lost": 0.01,
    "unanswered": 0.02,
    "late": 0.02,
    "stale": 0.1,
    "death": 0.01,
    "slow": 0.01,
}


def plan_of(seed: int, actors: int | None = None, ops: int = 7, tables: int | None = None) -> Plan:
    """Draw a plan. Each kind of fault is there in some runs only, so that none hides the others."""
    draw = Random(f"plan {seed}")
    theme = draw.choice(["everything", *THEMES])
    roles, own_tables = THEMES[theme]
    chosen = [fault for fault in FAULTS if draw.random() < 0.5] if draw.random() < 0.85 else []
    if theme == "retention" and "slow" not in chosen:
        chosen.append("slow")
    rates = tuple((fault, RATES[fault] * draw.choice([0.2, 1, 2])) for fault in chosen)
    weather = Weather(draw.choice([0.001, 0.01, 0.05]), rates=rates, is_disk=draw.random() < 0.3)
    described: list[Described] = []
    for at in range(tables or own_tables or draw.choice([1, 1, 2, 3])):
        properties: dict[str, str] = {}
        is_keyed = draw.random() < 0.4
        if not is_keyed and draw.random() < 0.6:
            properties["row_changes"] = draw.choice(["copy", "mark"])
        if not is_keyed and draw.random() < 0.3:
            properties["row_ids"] = "true"
        if draw.random() < 0.25:
            properties["isolation"] = "serializable"
        if draw.random() < 0.1:
            properties["auto_maintain"] = "on"
        described.append((f"{NAMESPACE}.t{at}", is_keyed, tuple(sorted(properties.items()))))
    pauses = (
        (0.0, 0.1, 2.0)
        if theme == "retention"
        else draw.choice([(0.0,), (0.0, 0.0, 0.01, 0.1, 1.0, 20.0), (1.0, 20.0, 60.0)])
    )
    parts = []
    for at in range(actors or draw.randint(4, 7)):
        role = roles[at % len(roles)] if own_tables and at < 4 else draw.choice(roles)
        skew = draw.choice([0, 0, 0, 1, -1, 3600, -3600, 86400 * 365])
        parts.append(Part(f"{role}{at}", skew, tuple(_ops(draw, role, described, ops, pauses))))
    return Plan(seed, weather, tuple(described), tuple(parts))


def _ops(
    draw: Random,
    role: str,
    tables: list[Described],
    count: int,
    pauses: tuple[float, ...],
) -> Iterator[Op]:
    for number in range(draw.randint(count // 2, count * 2)):
        pause = draw.choice(pauses) * draw.random()
        if role in NAMERS:
            name, is_keyed = f"{NAMESPACE}.n{draw.choice([0, 0, 1])}", False
        elif role in TENANTS:
            name, is_keyed = f"{NAMESPACE}.{draw.choice(CLONE_NAMES)}", False
        else:
            name, is_keyed, _ = draw.choice(tables)
        unfit = PLAIN_ONLY if is_keyed else KEYED_ONLY
        weights = {kind: weight for kind, weight in ROLES[role].items() if kind not in unfit}
        [kind] = draw.choices(list(weights), list(weights.values()))
        yield Op(kind, name, number, pause)


def run(plan: Plan) -> Result:
    """Carry out a plan, and judge it."""
    began = time.perf_counter()
    simulation = Simulation()
    world = World(simulation, Weather(latency=1e-6))
    model = Model(simulation.find, lambda: simulation.now, world.files.__contains__, WAREHOUSE)
    world.observers.append(model.see)
    simulation.opened = lambda actor, url: SimulatedStore(
        world, actor, f"{url.removeprefix('sim://')}/"
    )
    tables = tuple(name for name, _, _ in plan.tables)
    scene = Scene(str(plan.seed), simulation, world, model, tables)
    with simulated(simulation):
        maker = Actor("maker")

        def make() -> None:
            catalog = Catalog.over(SimulatedStore(world, maker, f"{WAREHOUSE}/"))
            catalog.create_namespace(NAMESPACE)
            for name, is_keyed, properties in plan.tables:
                create_table(catalog, name, is_keyed, dict(properties))

        simulation.add(maker, make)
        simulation.run()
        world.weather = plan.weather
        for part in plan.parts:
            actor = Actor(part.name, part.skew)
            simulation.add(actor, lambda actor=actor, part=part: live(scene, actor, list(part.ops)))
        simulation.run()
        steps = simulation.steps
        world.weather = Weather(latency=1e-6)
        if not simulation.findings:
            model.settle()
        judge = Actor("judge")
        simulation.add(judge, lambda: _judge(scene, judge))
        simulation.run()
    return Result(
        plan,
        simulation.findings,
        steps,
        simulation.trace,
        list(simulation.tail),
        Counter(scene.outcomes),
        [str(request) for request in model.requests],
        time.perf_counter() - began,
    )


MOST_READ = 4
"""Versions of a table that are read at the end of a run."""


def _judge(scene: Scene, judge: Actor) -> None:
    """Read the tables when all is calm, and compare them with the model."""
    process, draw = Process(scene, judge), Random(f"judge {scene.seed}")
    for name, (location, uuid) in sorted(
        scene.model.names[-1].items() if scene.model.names else ()
    ):
        folder = f"{WAREHOUSE}/{location}"
        model = scene.model.tables[folder]
        if model.newest.is_dropped or model.newest.created_uuid != uuid:
            scene.find(f"{name} names the table {uuid}, which is gone")
            continue
        request = Request("judge", "judge", folder, base=len(model.versions) - 1)
        table = process.table(name, is_current=True)
        if table.version != len(model.versions) - 1:
            scene.find(f"{request}: the newest version is {table.version}")
        retained = model.retained()
        chosen = {retained[0], retained[-1], *draw.sample(retained, min(len(retained), MOST_READ))}
        for version in sorted(chosen | set(model.newest.tags.values())):
            check_scan(scene, table.as_of(version), request)
        later = [
            version
            for version in retained
            if version >= max(model.newest.incarnation, model.newest.floor)
        ]
        check_changes(scene, table, request, later[0], later[-1])
        for branch in sorted(model.newest.branches):
            _judge_branch(scene, table.branch(branch))
        for problem in table.maintenance.verify(every_version=True).findings:
            scene.find(f"{request}: {problem}")


def _judge_branch(scene: Scene, branch: Table) -> None:
    log = scene.model.tables[log_of(branch)]
    request = Request("judge", "judge", log.name, base=len(log.versions) - 1)
    if branch.version != len(log.versions) - 1:
        scene.find(f"{request}: the newest version is {branch.version}")
    check_scan(scene, branch, request)


def failing(plan: Plan) -> Result | None:
    """The result of a run, if it has findings."""
    result = run(plan)
    return result if result.findings else None


def shrink(
    plan: Plan, fails: Callable[[Plan], bool] = lambda plan: failing(plan) is not None
) -> Plan:
    """Leave out actors, operations and faults as long as the run still fails."""
    smaller = True
    while smaller:
        smaller = False
        for candidate in _smaller(plan):
            if fails(candidate):
                plan, smaller = candidate, True
                break
    return plan


def _smaller(plan: Plan) -> Iterator[Plan]:
    for at in range(len(plan.parts)):
        yield replace(plan, parts=plan.parts[:at] + plan.parts[at + 1 :])
    for at in range(len(plan.weather.rates)):
        rates = plan.weather.rates[:at] + plan.weather.rates[at + 1 :]
        yield replace(plan, weather=replace(plan.weather, rates=rates))
    for at, part in enumerate(plan.parts):
        size = len(part.ops) // 2
        while size >= 1:
            for first in range(0, len(part.ops), size):
                ops = part.ops[:first] + part.ops[first + size :]
                parts = (*plan.parts[:at], replace(part, ops=ops), *plan.parts[at + 1 :])
                yield replace(plan, parts=parts)
            size //= 2


def report(result: Result) -> str:
    """A failed run, as a test prints it."""
    lines = [*result.findings[:5], str(result.plan), "  what was asked for:"]
    lines += [f"    {request}" for request in result.requests]
    lines += ["  the last steps:", *(f"    {line}" for line in result.tail[-30:])]
    return "\n".join(lines)
