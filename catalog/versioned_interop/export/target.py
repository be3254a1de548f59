"""The folder that an export writes: empty before, whole afterwards, and marked in between."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from versioned_catalog.errors import (
    AlreadyExistsError,
    CommitConflictError,
    InvalidRequestError,
    StorageError,
)

MARKER = "_EXPORT_UNFINISHED"
"""The file that is there from before the first file of an export until after the last one.

It holds an ID of the export. Somebody who takes it for killed may delete the folder and export into it
again: an export deletes and completes nothing that is no longer its own.
"""


def local_folder(path: str | os.PathLike[str], table: str, location: str) -> Path:
    """The folder that a path or a ``file:`` URL names.

    Raises:
        InvalidRequestError: it is on another file system, or below the table's own folder.
    """
    text = os.fspath(path)
    if text.startswith("file:"):
        text = unquote(urlsplit(text).path)
    elif "://" in text:
        raise InvalidRequestError(
            f"{table} can't be exported to {text.partition('://')[0]}://...: an export is written to a "
            "local folder; export to one, or mount the store as a folder",
            condition="NOT_SUPPORTED",
        )
    folder = Path(text).absolute()
    own = Path(unquote(urlsplit(location).path)) if location.startswith(("file:", "/")) else None
    if own is not None and folder.resolve().is_relative_to(own.resolve()):
        raise InvalidRequestError(
            f"{table} can't be exported to {folder}, which is in the table's own folder, where a vacuum "
            "would delete it; give a folder elsewhere",
            condition="INVALID_OPTION",
        )
    return folder


@contextmanager
def unfinished(folder: Path, table: str) -> Iterator[None]:
    """Mark a new or empty folder as unfinished, until all files that were written into it are synced.

    If the export fails, what it wrote is deleted; if it is killed, the mark stays.

    Raises:
        AlreadyExistsError: the folder is not empty.
        CommitConflictError: the folder was deleted meanwhile, or is that of another export now.
        InvalidRequestError: it is a file.
        StorageError: the folder can't be written.
    """
    existed, own = folder.exists(), uuid.uuid4().hex
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _check_empty(folder, table)
        with (folder / MARKER).open("x") as marker:  # of two exports at once, one fails here
            marker.write(own)
    except FileExistsError:
        raise _not_empty(folder, table) from None
    except NotADirectoryError as error:
        raise InvalidRequestError(
            f"{table} can't be exported to {folder}: {error.filename} is a file; give a folder",
            condition="INVALID_OPTION",
        ) from None
    except OSError as error:
        raise StorageError(f"{folder} can't be written: {error.strerror}") from error
    try:
        yield
        _check_own(folder, own, table)
        _sync(folder)
        _check_own(folder, own, table)
        (folder / MARKER).unlink()
        _sync_folder(folder)
    except BaseException as error:
        if _is_own(folder, own):
            _clear(folder, keep=existed)
        if isinstance(error, OSError):
            raise StorageError(
                f"{table} was not exported: {error.filename or folder}: {error.strerror or error}"
            ) from error
        raise


def _is_own(folder: Path, own: str) -> bool:
    """Whether the mark in a folder is that of this export."""
    try:
        return (folder / MARKER).read_text() == own
    except (OSError, ValueError):
        return False


def _check_own(folder: Path, own: str, table: str) -> None:
    if not _is_own(folder, own):
        raise CommitConflictError(
            f"{table} was not exported to {folder}, which was deleted or emptied meanwhile: it may be "
            "that of another export now, so nothing there is touched; export to another folder"
        )


def _check_empty(folder: Path, table: str) -> None:
    if (folder / MARKER).exists():
        raise AlreadyExistsError(
            f"{table} can't be exported to {folder}: an export into it is running, or was killed (it "
            f"has the file {MARKER}); if none is running, delete the folder and export again"
        )
    if any(folder.iterdir()):
        raise _not_empty(folder, table)


def _not_empty(folder: Path, table: str) -> Exception:
    if folder.is_dir():
        return AlreadyExistsError(
            f"{table} can't be exported to {folder}, which is not empty; give a new or an empty folder"
        )
    return InvalidRequestError(
        f"{table} can't be exported to {folder}, which is a file; give a folder",
        condition="INVALID_OPTION",
    )


def _sync(folder: Path) -> None:
    """Sync all files and folders: somebody may delete the table once it is exported."""
    for above, _, names in os.walk(folder):
        for name in names:
            with (Path(above) / name).open("rb") as file:
                os.fsync(file.fileno())
        _sync_folder(Path(above))


def _sync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _clear(folder: Path, *, keep: bool) -> None:
    """Delete what an export wrote, its mark last."""
    for path in folder.iterdir():
        if path.name != MARKER:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with suppress(OSError):
                    path.unlink()
    with suppress(OSError):  # the export's own error is told
        (folder / MARKER).unlink()
        if not keep:
            folder.rmdir()
