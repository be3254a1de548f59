"""Bounded retries with jitter."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from tenacity import (
    Retrying,
    retry_if_exception,
    retry_if_result,
    stop_after_attempt,
    stop_after_delay,
)
from tenacity.wait import wait_random_exponential

from versioned_catalog.errors import VersionedError

T = TypeVar("T")
PUT_TRIES = 8
"""Attempts of a put without an answer before its outcome is unknown."""

_READ_TRIES = 5
_SECONDS = 60
"""Seconds after which no new attempt begins: each one may take a whole time-out."""

_PAUSE, _LONGEST_PAUSE = 0.005, 1.0


def retry_while(is_open: Callable[[T], bool], attempt: Callable[[], T]) -> T:
    """Repeat an attempt while its outcome is open, up to ``PUT_TRIES`` times; return the last result."""
    policy = Retrying(
        stop=stop_after_attempt(PUT_TRIES) | stop_after_delay(_SECONDS),
        wait=wait_random_exponential(multiplier=0.02, max=2.0),
        retry=retry_if_result(is_open),
        retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
    )
    return policy(attempt)


def retry_errors(is_transient: Callable[[BaseException], bool], attempt: Callable[[], T]) -> T:
    """Repeat an attempt after transient errors, and return its result; the last error is raised."""
    policy = Retrying(
        stop=stop_after_attempt(_READ_TRIES) | stop_after_delay(_SECONDS),
        wait=wait_random_exponential(multiplier=0.05, max=5.0),
        retry=retry_if_exception(lambda e: not isinstance(e, VersionedError) and is_transient(e)),
        reraise=True,
    )
    return policy(attempt)


def back_off(losses: int) -> None:
    """Sleep after a lost race, longer after more losses, with full jitter.

    Writers that retry at the same moment would mostly make each other lose again.
    """
    longest = min(_PAUSE * 2 ** min(losses, 10), _LONGEST_PAUSE)  # avoids an overflow
    time.sleep(random.uniform(0, longest))
