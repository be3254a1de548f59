"""What a warehouse needs of its storage, tried out: a part of ``versioned doctor``."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from versioned_catalog.errors import (
    CorruptTableError,
    InvalidRequestError,
    StorageError,
    UnsupportedFeatureError,
    VersionedError,
)
from versioned_catalog.findings import Finding, fault, ok, warning
from versioned_catalog.log.features import check_writable
from versioned_catalog.names.names import Names
from versioned_catalog.storage.opening import open_store, reopen
from versioned_catalog.storage.s3 import answer_of
from versioned_catalog.storage.store import Put, Store

CONNECT_SECONDS = 5.0
"""The time that an endpoint has to accept a connection."""

EXACT = timedelta(seconds=2)
"""Differences of clocks that mean nothing: S3 shows whole seconds."""

LITTLE_SPACE, NO_SPACE = 1024**3, 16 * 1024**2
"""Free bytes of a disk below which there is a warning, and a fault."""

_PROBE = "_versioned_doctor"
"""How the names of files begin that are created and deleted again, at the top of the warehouse."""

_CREDENTIALS = (
    "give credentials that this store knows: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, "
    "the machine's role, or VERSIONED_STORAGE"
)
_WRONG_KEYS = frozenset(
    (
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
        "ExpiredToken",
        "InvalidToken",
        "NoCredentialsError",
        "PartialCredentialsError",
    )
)


def storage_findings(
    warehouse: str, options: Mapping[str, str], clock_limit: timedelta, *, read_only: bool
) -> Iterator[Finding]:
    """Everything about the storage of a warehouse; what can't be tried after a fault is left out.

    Args:
        warehouse: its folder, a path or a URL.
        options: storage options, which may be secrets.
        clock_limit: how far the clocks may be apart.
        read_only: try nothing that writes.
    """
    try:
        store = open_store(warehouse, options)
    except InvalidRequestError as error:
        text, _, remedy = str(error).partition(": ")
        yield fault("storage", text, remedy or "correct --warehouse or the storage options")
        return
    found = _reached(store)
    yield found
    if found.remedy:
        return
    yield from _warehouse(store, read_only=read_only)
    yield from _roots(store)
    if not read_only:
        written = list(_written(store))
        yield from written
        if not all(finding.remedy for finding in written):
            yield _clock(store, clock_limit)
    yield from _space(store)


def _reached(store: Store) -> Finding:
    """Whether the folder, or its bucket, is there and can be read and listed."""
    problem = _unreachable(store)
    if problem is not None:
        return problem
    if not store.exists():
        return fault(
            "storage",
            f"there is no folder {store.url}",
            "check --warehouse; versioned create makes a warehouse with its first namespace or table",
        )
    try:
        store.read(f"{_PROBE}.{uuid.uuid4().hex}")
        store.files("_versioned")
    except VersionedError as error:
        return fault("storage", str(error), _remedy(store, error, "read and list"))
    return ok("storage", f"{store.url} can be read and listed")


def _unreachable(store: Store) -> Finding | None:
    """The finding that nothing listens at the endpoint, after seconds instead of many retries."""
    endpoint = store.endpoint
    if endpoint is None:
        return None
    parts = urlsplit(endpoint)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    if parts.scheme in getproxies() and not proxy_bypass(host):
        return None
    try:
        socket.create_connection((host, port), CONNECT_SECONDS).close()
    except OSError as error:
        return fault(
            "storage",
            f"nothing answers at the endpoint {host}:{port}: {error.strerror or error}",
            "check --storage endpoint_url or AWS_ENDPOINT_URL, the network, and that the server runs",
        )
    return None


def _remedy(store: Store, error: BaseException, action: str) -> str:
    """What to do about a refused action."""
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.errno in (errno.EACCES, errno.EPERM):
        return f"let this user {action} files in {store.url}, or run as its owner"
    if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free space on the disk; versioned maintain --all deletes what no version needs"
    if isinstance(cause, OSError) and cause.errno == errno.EROFS:
        return "the disk is mounted read-only: mount it for writing, or pass --read-only"
    if not store.is_remote:
        return f"check the path and the disk of {store.url}"
    code, status, _ = answer_of(cause)
    if code == "NoSuchBucket":
        return "create the bucket, or check its name, the region and the endpoint"
    if code in _WRONG_KEYS:
        return _CREDENTIALS
    if status in (401, 403):
        return (
            f"let these credentials {action} objects: s3:GetObject, s3:PutObject and s3:DeleteObject "
            f"below {store.url}, s3:ListBucket on the bucket"
        )
    return "check the endpoint, the credentials and the network"


def _warehouse(store: Store, *, read_only: bool) -> Iterator[Finding]:
    """Whether there is a warehouse that this release can read and write."""
    try:
        state = Names(store).log.load().state
        if state is not None and not read_only:
            check_writable(state.features, store.url)
    except UnsupportedFeatureError as error:
        yield fault("warehouse", str(error), "upgrade it: pip install -U pyspark-versioned")
        return
    except CorruptTableError as error:
        yield fault(
            "warehouse",
            str(error),
            f"restore the folder {store.url}/_versioned from a backup; the tables' own folders are not "
            "affected: versioned verify FOLDER checks one",
        )
        return
    except VersionedError as error:
        yield fault("warehouse", str(error), _remedy(store, error, "read"))
        return
    if state is None:
        yield warning(
            "warehouse",
            f"there is no warehouse at {store.url} yet",
            "check --warehouse; the first versioned create makes one",
        )
        return
    yield ok("warehouse", f"tables: {len(state.tables)}, at version {state.version}")


def _roots(store: Store) -> Iterator[Finding]:
    for name, location in store.location.roots:
        try:
            root = reopen(location)
            finding = _reached(root)
            if not root.exists():
                finding = fault(
                    "root", f"there is no folder {root.url}", f"correct --root {name}=..."
                )
        except InvalidRequestError as error:
            finding = fault("root", str(error), f"correct --root {name}=... and its options")
        yield Finding(f"root {name}", finding.state, finding.text, finding.remedy)


def _written(store: Store) -> Iterator[Finding]:
    """Try what a commit does: create a file only if it is absent; and then delete it."""
    path = f"{_PROBE}.{uuid.uuid4().hex}"
    try:
        first, second = store.put_if_absent(path, b""), store.put_if_absent(path, b"")
    except InvalidRequestError as error:
        text = str(error)
        yield fault(
            "conditional puts", text, "put the warehouse on a local disk, S3, GCS, Azure or HDFS"
        )
        return
    except StorageError as error:
        if "its server ignores" in str(error) or "hard links" in str(error):
            text, _, remedy = str(error).partition("; ")
            yield fault("conditional puts", text, remedy)
        else:
            yield fault("writing", str(error), _remedy(store, error, "write"))
        return
    if Put.UNKNOWN in (first, second):
        yield fault(
            "writing",
            f"{store.url} did not say whether it created a file",
            "check the network and the server, then run versioned doctor again",
        )
    elif (first, second) == (Put.WON, Put.TAKEN):
        yield ok("writing", "files can be created")
        yield ok("conditional puts", "a second writer of the same file is refused")
    else:
        yield fault(
            "conditional puts",
            f"{store.url} let a second writer create a file that exists: two could commit a version",
            "use a store that honours conditional puts; see docs/s3.md",
        )
    try:
        store.delete(path)
    except StorageError as error:
        yield fault("deleting", str(error), _remedy(store, error, "delete"))
        return
    yield ok("deleting", "files can be deleted")


def _clock(store: Store, limit: timedelta) -> Finding:
    try:
        theirs = store.now()
    except StorageError as error:
        return warning("clock", f"the store's can't be read: {error}", "check this machine's clock")
    off = datetime.now(UTC) - theirs
    side = "ahead of" if off > EXACT else "behind"
    text = f"this machine's is {abs(off).total_seconds():.1f} s {side} the store's"
    remedy = "set this machine's clock, and keep it right by NTP"
    if abs(off) <= EXACT:
        return ok("clock", "this machine's clock and the store's agree")
    make = fault if abs(off) > limit else warning
    return make("clock", f"{text}; the limit is {limit.total_seconds():g} s", remedy)


def _space(store: Store) -> Iterator[Finding]:
    if not store.has_disk:
        return
    free = shutil.disk_usage(os.path.realpath(store.url)).free
    text = f"{free / 1024**3:.1f} GiB are free on the disk of {store.url}"
    remedy = "free space; versioned maintain --all deletes what no version needs"
    if free < NO_SPACE:
        yield fault("space", text, remedy)
    elif free < LITTLE_SPACE:
        yield warning("space", text, remedy)
    else:
        yield ok("space", text)
