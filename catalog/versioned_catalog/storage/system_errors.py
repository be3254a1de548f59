"""Classify OSErrors: a failing disk or machine, or a missing or damaged file."""

from __future__ import annotations

import errno
import os

from versioned_catalog.errors import StorageError

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


def is_media_error(error: BaseException) -> bool:
    """Whether a StorageError means that the disk failed to read the data (EIO)."""
    return _errno_of(error) == errno.EIO


def _errno_of(error: BaseException) -> int | None:
    cause = error.__cause__
    return cause.errno if isinstance(error, StorageError) and isinstance(cause, OSError) else None


def storage_error(what: str, path: str, error: OSError) -> StorageError:
    """Translate an OSError into a StorageError; raise the result ``from error``.

    Args:
        what: the action that failed, such as ``read``.
        path: the file.
        error: the operating system's error.
    """
    # PyArrow's own text repeats the path and the number.
    reason = os.strerror(error.errno) if error.errno else str(error)
    return StorageError(f"can't {what} {path}: {reason}{_ADVICE.get(error.errno or 0, '')}")
