"""Errors of the operating system: which of them say something of a file, and which do not."""

from __future__ import annotations

import errno
import os

from versioned_catalog.errors import StorageError

_OF_THE_FILE = frozenset(
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
"""The file is not there, is no plain file, or asks for what can't be; so do errors without a number,
which are PyArrow's own over damaged content."""

_SHORTAGES = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM))
_NO_SPACE = frozenset((errno.ENOSPC, errno.EDQUOT))

_ADVICE = {
    errno.EMFILE: "; raise the limit (ulimit -n)",
    errno.ENFILE: "; raise the limit of the machine (fs.file-max)",
}


def is_of_system(error: BaseException) -> bool:
    """Whether an error is the operating system's, and does not say that the file is damaged."""
    return isinstance(error, OSError) and error.errno not in (None, *_OF_THE_FILE)


def is_shortage(error: BaseException) -> bool:
    """Whether a StorageError comes of a limit of this process or machine: any file would meet it."""
    return _errno_of(error) in _SHORTAGES


def is_full(error: BaseException) -> bool:
    """Whether a StorageError comes of a full disk, or of a quota."""
    return _errno_of(error) in _NO_SPACE


def is_bad_block(error: BaseException) -> bool:
    """Whether a StorageError comes of a medium that can't give back what was written."""
    return _errno_of(error) == errno.EIO


def _errno_of(error: BaseException) -> int | None:
    cause = error.__cause__
    return cause.errno if isinstance(error, StorageError) and isinstance(cause, OSError) else None


def storage_error(what: str, path: str, error: OSError) -> StorageError:
    """The StorageError of an error of the operating system; raise it from that error.

    Args:
        what: what can't be done: ``read``.
        path: the file.
        error: what the system said.
    """
    # PyArrow's own text repeats the path and the number.
    reason = os.strerror(error.errno) if error.errno else str(error)
    return StorageError(f"can't {what} {path}: {reason}{_ADVICE.get(error.errno or 0, '')}")
