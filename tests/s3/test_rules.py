"""What the proxy does by chance is the seed's doing alone."""

from __future__ import annotations

import random
from collections import Counter

from s3.rules import STUCK, Asked, Fault, Random, Rules

RATES = {"DELAY": 0.1, "DROP_REPLY": 0.1, "ERROR_409": 0.1}


def asked(name: str, *, conditional: bool = True) -> Asked:
    return Asked("PUT", f"/bucket/{random.getrandbits(64):x}/{name}", conditional)


def met(seed: int, order: int) -> Counter[tuple[str, int, str]]:
    """What each request of each name met, when clients ask in some order."""
    names = [f"log/{number}" for number in range(40)] * 10
    random.Random(order).shuffle(names)
    rules, asks, found = Rules(random=Random(seed, RATES, stuck=0.1)), Counter[str](), Counter()
    for name in names:
        asks[name] += 1
        fault = rules.fault_of(asked(name))
        found[name, asks[name], str(fault)] += 1
    return found


def test_a_seed_replays_whatever_the_order() -> None:
    assert met(1, order=1) == met(1, order=2)
    assert met(1, order=1) != met(2, order=1)


def test_faults_come_as_often_as_they_should() -> None:
    rules = Rules(random=Random(5, RATES))
    found = Counter((rules.fault_of(asked(f"log/{n}")) or ("",))[0] for n in range(3000))
    assert all(200 < found[Fault[name]] < 400 for name in RATES)
    assert found[""] > 1900


def test_conflicts_are_for_puts_with_a_condition() -> None:
    rules = Rules(random=Random(5, {"ERROR_409": 1.0}, stuck=1.0))
    assert rules.fault_of(asked("x", conditional=False)) is None
    for _ in range(STUCK):
        fault = rules.fault_of(asked("y"))
        assert fault
        assert fault[0] in (Fault.ERROR_409, Fault.LATE_409)
