"""When something is tried again, and after how long: bounded, and with jitter."""

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
"""How often a put without an answer is put again before the outcome is called unknown."""

_READ_TRIES = 5
_SECONDS = 60
"""After how long nothing is begun again: a server that is silent takes its time-out each time."""

_PAUSE, _LONGEST_PAUSE = 0.005, 1.0


def again_while(is_open: Callable[[T], bool], attempt: Callable[[], T]) -> T:
    """What an attempt gives, tried again while that leaves the question open.

    Args:
        is_open: of a result, whether it is no answer yet.
        attempt: is called up to ``PUT_TRIES`` times; whatever it raises ends it.
    """
    policy = Retrying(
        stop=stop_after_attempt(PUT_TRIES) | stop_after_delay(_SECONDS),
        wait=wait_random_exponential(multiplier=0.02, max=2.0),
        retry=retry_if_result(is_open),
        retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
    )
    return policy(attempt)


def again_after(is_passing: Callable[[BaseException], bool], attempt: Callable[[], T]) -> T:
    """What an attempt gives, tried again after errors that may pass; the last one is raised."""
    policy = Retrying(
        stop=stop_after_attempt(_READ_TRIES) | stop_after_delay(_SECONDS),
        wait=wait_random_exponential(multiplier=0.05, max=5.0),
        retry=retry_if_exception(lambda e: not isinstance(e, VersionedError) and is_passing(e)),
        reraise=True,
    )
    return policy(attempt)


def pause_after(losses: int) -> None:
    """Let others go first after a race was lost, the longer the more were lost, with full jitter.

    Writers who all try again at once mostly keep each other busy with losing.
    """
    longest = min(_PAUSE * 2 ** min(losses, 10), _LONGEST_PAUSE)  # beyond 1,000 it would overflow
    time.sleep(random.uniform(0, longest))
