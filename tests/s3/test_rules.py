"""The proxy's random faults depend on the seed alone."""

from __future__ import annotations

import random
from collections import Counter

from s3.rules import STUCK, Fault, Random, Request, Rules

RATES = {"DELAY": 0.1, "DROP_REPLY": 0.1, "ERROR_409": 0.1}


def request(name: str, *, conditional: bool = True) -> Request:
    return Request("PUT", f"/bucket/{random.getrandbits(64):x}/{name}", conditional)


def faults_met(seed: int, order: int) -> Counter[tuple[str, int, str]]:
    """The fault of each request, if requests of 40 names arrive in a random order."""
    names = [f"log/{number}" for number in range(40)] * 10
    random.Random(order).shuffle(names)
    rules, asks, found = Rules(random=Random(seed, RATES, stuck=0.1)), Counter[str](), Counter()
    for name in names:
        asks[name] += 1
        fault = rules.fault_of(request(name))
        found[name, asks[name], str(fault)] += 1
    return found


def test_a_seed_replays_in_any_order_of_requests() -> None:
    assert faults_met(1, order=1) == faults_met(1, order=2)
    assert faults_met(1, order=1) != faults_met(2, order=1)


def test_faults_occur_at_their_rates() -> None:
    rules = Rules(random=Random(5, RATES))
    found = Counter((rules.fault_of(request(f"log/{n}")) or ("",))[0] for n in range(3000))
    assert all(200 < found[Fault[name]] < 400 for name in RATES)
    assert found[""] > 1900


def test_only_conditional_puts_get_conflicts() -> None:
    rules = Rules(random=Random(5, {"ERROR_409": 1.0}, stuck=1.0))
    assert rules.fault_of(request("x", conditional=False)) is None
    for _ in range(STUCK):
        fault = rules.fault_of(request("y"))
        assert fault
        assert fault[0] in (Fault.ERROR_409, Fault.LATE_409)
