"""The records of mutants.toml still match the code; replaying them takes longer."""

from __future__ import annotations

import re
import tomllib

from replay_mutants import ROOT, Mutant, load

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()


def test_records_are_fresh() -> None:
    stale = {mutant.name: found for mutant in load() if (found := mutant.problems())}
    assert not stale


def test_the_example_of_contributing_is_a_record() -> None:
    (example,) = re.findall(
        r"^```toml\n(\[\[mutant.*?)^```", CONTRIBUTING, re.DOTALL | re.MULTILINE
    )
    (record,) = tomllib.loads(example)["mutant"]
    assert Mutant(**record) in load()
    assert re.findall(r"replay_mutants\.py --only ([\w-]+)", CONTRIBUTING) == [record["name"]]
