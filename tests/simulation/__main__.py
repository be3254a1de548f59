"""``PYTHONPATH=tests python -m simulation --seeds 1000``: run seeds; shrink and print what fails."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from simulation.runs import plan_of, report, run, shrink


def main(arguments: list[str] | None = None) -> int:
    """Run seeds one after another."""
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--actors", type=int, default=None)
    parser.add_argument("--tables", type=int, default=None)
    parser.add_argument("--ops", type=int, default=7)
    parser.add_argument("--no-shrink", action="store_true")
    options = parser.parse_args(arguments)
    began, cpu_before, steps, failed = time.perf_counter(), time.process_time(), 0, 0
    outcomes: Counter[tuple[str, str]] = Counter()
    for seed in range(options.first, options.first + options.seeds):
        plan = plan_of(seed, options.actors, options.ops, options.tables)
        result = run(plan)
        steps += result.steps
        outcomes += result.outcomes
        if result.findings:
            failed += 1
            print(f"seed {seed}: {result.findings[0]}", flush=True)
            if failed == 1 and not options.no_shrink:
                print(report(run(shrink(plan))), flush=True)
    seconds = time.perf_counter() - began
    for (kind, outcome), times in sorted(outcomes.items()):
        print(f"{kind:<12} {outcome:<8} {times:>7}")
    cpu = time.process_time() - cpu_before
    print(f"{options.seeds} seeds, {failed} failed")
    print(f"{steps:,} steps in {seconds:.1f} s, of which {cpu:.1f} s of CPU")
    print(f"{60 * steps / seconds:,.0f} steps a minute, {60 * steps / cpu:,.0f} a minute of CPU")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
