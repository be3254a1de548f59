from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

from emulators.servers import KINDS, Emulator, serve
from s3.proxied import Proxied, proxied


@pytest.fixture
def seed() -> int:
    """The seed of the test, which is printed if it fails; ``VERSIONED_SEED`` sets it."""
    seed = int(os.environ.get("VERSIONED_SEED") or random.randrange(1 << 32))
    print(f"VERSIONED_SEED={seed}")
    return seed


@pytest.fixture(scope="session", params=KINDS)
def emulator(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Emulator]:
    """One emulator of each kind for all tests; each test uses its own folder."""
    kind = KINDS[request.param]
    if kind.missing:
        pytest.skip(kind.missing)
    with serve(kind, tmp_path_factory.mktemp(request.param)) as emulator:
        yield emulator


@pytest.fixture(scope="session")
def one_emulator_proxy(emulator: Emulator) -> Iterator[Proxied]:
    with proxied(emulator.endpoint) as proxy:
        yield proxy


@pytest.fixture
def faulty(one_emulator_proxy: Proxied) -> Iterator[Proxied]:
    """A proxy in front of the emulator, without rules at the start and end of each test."""
    one_emulator_proxy.set_rules()
    yield one_emulator_proxy
    one_emulator_proxy.set_rules()
