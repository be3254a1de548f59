"""Failures of storage, and retries of those that may be transient."""

from __future__ import annotations

import errno
import os
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

from versioned_catalog.errors import StorageError, VersionedError
from versioned_catalog.observe.records import DEBUG, record

_FILE_ERRORS = frozenset(
    (
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.EINVAL,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENXIO,
    )
)
"""Errors that say that the file itself is missing, not a regular file, or damaged. For damaged content
PyArrow raises OSError without an errno; ``is_system_error`` treats that like these."""

_SHORTAGES = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM))
_NO_SPACE = frozenset((errno.ENOSPC, errno.EDQUOT))

_ADVICE = {
    errno.EMFILE: "; raise the limit (ulimit -n)",
    errno.ENFILE: "; raise the limit of the machine (fs.file-max)",
}


def is_system_error(error: BaseException) -> bool:
    """Whether an error comes from the disk or the machine, not from a missing or damaged file."""
    return isinstance(error, OSError) and error.errno not in (None, *_FILE_ERRORS)


def is_shortage(error: BaseException) -> bool:
    """Whether a StorageError means that the process is out of file descriptors or memory."""
    return _errno_of(error) in _SHORTAGES


def is_full(error: BaseException) -> bool:
    """Whether a StorageError means that the disk or the user's quota is full."""
    return _errno_of(error) in _NO_SPACE


def is_denied(error: BaseException) -> bool:
    """Whether a StorageError means that the reader lacks the permission."""
    cause = error.__cause__ if isinstance(error, StorageError) else None
    status = getattr(cause, "status_code", getattr(cause, "code", None))  # of Azure, of GCS
    return (
        isinstance(cause, PermissionError)
        or _errno_of(error) in (errno.EACCES, errno.EPERM)
        or str(status) in ("401", "403")
        or (isinstance(cause, OSError) and str(cause).startswith("Forbidden"))
    )


def is_media_error(error: BaseException) -> bool:
    """Whether a StorageError means that the disk failed to read the data (EIO)."""
    return _errno_of(error) == errno.EIO


def _errno_of(error: BaseException) -> int | None:
    cause = error.__cause__
    return cause.errno if isinstance(error, StorageError) and isinstance(cause, OSError) else None


def storage_error(verb: str, path: str, error: OSError) -> StorageError:
    """Translate an OSError into a StorageError; raise the result ``from error``.

    Args:
        verb: the action that failed, such as ``read``.
        path: the file.
        error: the operating system's error.
    """
    # PyArrow's own text repeats the path and the number.
    reason = os.strerror(error.errno) if error.errno else str(error)
    return StorageError(f"can't {verb} {path}: {reason}{_ADVICE.get(error.errno or 0, '')}")


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
    seconds = random.uniform(0, longest)
    record(DEBUG, "waiting %.3f s after a lost race", seconds, seconds=seconds, attempts=losses)
    time.sleep(seconds)
