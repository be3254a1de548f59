"""A store on HDFS, through WebHDFS, the HTTP interface of its name node.

Put-if-absent writes a temporary file in the same folder and renames it, which the name node refuses if
the name exists. Without ``renameoptions``, a rename onto a folder would move the file into it.

fsspec's ``webhdfs`` authenticates and finds the data nodes. Its files are not used: they take the text
of an error for content, and a file that is replaced meanwhile is read in part.
"""

from __future__ import annotations

import getpass
import os
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from versioned_catalog.errors import InvalidRequestError, StorageError
from versioned_catalog.observe.requests import of_data, request
from versioned_catalog.observe.tracing import carried
from versioned_catalog.storage.failures import retry_errors
from versioned_catalog.storage.remote import MAX_PARALLEL, RangedFile, RemoteStore
from versioned_catalog.storage.store import Location, Put, StoredFile, as_time, check_size

if TYPE_CHECKING:
    from requests import Response

NAME_NODE = "name_node"
"""The storage option that says where the name node serves Hadoop's own protocol, which Spark uses."""

_TIMEOUTS = (5.0, 60.0)
"""Seconds to connect, and to wait for a response."""

_SPOOL_BYTES = 32 * 1024 * 1024
"""What is kept in memory of a file until it is sent; more is in a temporary file of this machine."""

_TRANSIENT = (
    "RetriableException",
    "StandbyException",
    "SafeModeException",
    "HTTP status 5",
    "HTTP status 429",
)


@dataclass(frozen=True)
class _Upload:
    """A file that is sent as a whole when it is complete."""

    path: str
    content: IO[bytes]

    def write(self, data: Any, /) -> int:
        return self.content.write(data)


class HdfsStore(RemoteStore):
    """Files below a folder of HDFS."""

    _advice = "connect to the WebHDFS of the name node, not to HttpFS"

    def __init__(self, fs: Any, protocol: str, root: str, options: dict[str, Any]) -> None:
        super().__init__(fs, protocol, root, options)
        url = f"{protocol}://{urlsplit(fs.url).netloc}{self._root}"
        self.location = Location(url, self.location.options)

    @property
    def endpoint(self) -> str | None:
        return str(self._fs.url)

    @property
    def _proof(self) -> Any:
        return self._fs.url, repr(self.location.options)

    def _ask(
        self, method: str, op: str, full: str, data: Any = None, **parameters: Any
    ) -> Response:
        """Send a request to the name node, and then with its data to the data node that it names."""
        fs = self._fs
        response: Response = fs.session.request(
            method,
            fs._apply_proxy(fs.url + quote(full, safe="/")),
            params={"op": op, **fs.pars, **parameters},
            allow_redirects=False,
            timeout=_TIMEOUTS,
        )
        if (date := _date_of(response)) is not None:
            self.clock.observe(date)
        if response.is_redirect:
            response = fs.session.request(
                method,
                fs._apply_proxy(response.headers["Location"]),
                data=data,
                headers={"Content-Type": "application/octet-stream"},
                allow_redirects=False,
                timeout=_TIMEOUTS,
            )
        if response.status_code >= 300:
            raise _error_of(response)
        return response

    def _is_transient(self, error: BaseException) -> bool:
        import requests

        if isinstance(error, _RemoteError):
            return error.name.startswith(_TRANSIENT)
        lost = (
            requests.ConnectionError | requests.Timeout | requests.exceptions.ChunkedEncodingError
        )
        return isinstance(error, lost)

    def _retried(self, attempt: Callable[[], Any]) -> Any:
        return retry_errors(self._is_transient, attempt)

    def _whole(self, full: str, limit: int) -> bytes:
        content = self._ask("GET", "OPEN", full, length=limit + 1).content
        check_size(len(content), limit, full)
        return content

    @request("put", of_data)
    def _put(self, path: str, data: bytes, *, is_probe: bool = False) -> Put:
        full = self._full(path)
        with self._translated("write", path):
            temporary = self._write_temporary(full, data)
        try:
            self._rename(temporary, full, "NONE")
        except FileExistsError:
            with suppress(Exception):
                self._ask("DELETE", "DELETE", temporary)
            return Put.TAKEN
        except Exception:
            if is_probe:
                with self._translated("write", path):
                    raise
            return Put.UNKNOWN
        return Put.WON

    @request("write", of_data)
    def overwrite(self, path: str, data: bytes) -> None:
        full = self._full(path)

        def attempt() -> None:
            self._rename(self._write_temporary(full, data), full, "OVERWRITE")

        with self._translated("write", path):
            self._retried(attempt)

    def _write_temporary(self, full: str, data: bytes) -> str:
        folder, _, name = full.rpartition("/")
        temporary = f"{folder}/.{name}.{uuid.uuid4().hex}.tmp"
        self._retried(lambda: self._ask("PUT", "CREATE", temporary, data, overwrite="true"))
        return temporary

    def _rename(self, source: str, target: str, option: str) -> None:
        parameters = {"destination": target, "renameoptions": option}
        response = self._ask("PUT", "RENAME", source, **parameters)
        if response.content:  # only a rename without options says whether it was done
            raise StorageError(
                f"can't write {target}: the server ignores renameoptions, as HttpFS does; "
                f"{self._advice}"
            )

    @request("list")
    def files(self, folder: str) -> Sequence[StoredFile]:
        with self._translated("list", folder):
            found = self._children(self._full(folder))
            return sorted(
                (_stored(one) for one in found if one["type"] == "FILE"), key=lambda file: file.name
            )

    def _children(self, full: str) -> list[dict[str, Any]]:
        try:
            response = self._retried(lambda: self._ask("GET", "LISTSTATUS", full or "/"))
        except FileNotFoundError:
            return []
        found: list[dict[str, Any]] = response.json()["FileStatuses"]["FileStatus"]
        return [
            one for one in found if one["pathSuffix"]
        ]  # without a name, it is the folder's: a file

    def walk(self, folder: str) -> Iterator[StoredFile]:
        top = self._full(folder) if folder else self._root
        with self._translated("list", folder):
            yield from sorted(self._below(top, ""), key=lambda file: file.name)

    def _below(self, full: str, prefix: str) -> Iterator[StoredFile]:
        for child in self._children(full):
            name = f"{prefix}{child['pathSuffix']}"
            if child["type"] == "FILE":
                yield replace(_stored(child), name=name)
            else:
                yield from self._below(f"{full}/{child['pathSuffix']}", f"{name}/")

    @request("stat")
    def now(self) -> datetime:
        """Read the clock from the date of a response of the name node, which also dates files."""
        with self._translated("ask", ""):
            date = _date_of(self._retried(lambda: self._ask("GET", "GETFILESTATUS", "/")))
            if date is None:
                raise StorageError(f"can't read the clock of {self.url}: its response has no date")
            return date

    def _status(self, full: str) -> dict[str, Any]:
        status: dict[str, Any] = self._retried(
            lambda: self._ask("GET", "GETFILESTATUS", full)
        ).json()["FileStatus"]
        return status

    @request("stat")
    def modified(self, path: str) -> datetime | None:
        with suppress(Exception):
            return _stored(self._status(self._full(path))).modified
        return None

    @request("delete")
    def delete(self, path: str) -> None:
        with self._translated("delete", path):
            self._retried(lambda: self._ask("DELETE", "DELETE", self._full(path)))

    def _new_file(self, full: str) -> _Upload:
        return _Upload(full, tempfile.SpooledTemporaryFile(_SPOOL_BYTES))

    def _finish(self, file: _Upload) -> None:
        def attempt() -> None:
            file.content.seek(0)
            self._ask("PUT", "CREATE", file.path, file.content, overwrite="true")

        with file.content:
            self._retried(attempt)

    def _discard(self, file: _Upload) -> None:
        file.content.close()

    def _ranged(self, full: str) -> RangedFile:
        status = self._status(full)
        if status["type"] != "FILE":
            raise FileNotFoundError(full)
        return RangedFile(lambda ranges: self._fetch(full, ranges), int(status["length"]))

    def _ranges(self, full: str, starts: Sequence[int], ends: Sequence[int]) -> Sequence[bytes]:
        def fetch(start: int, end: int) -> bytes:
            content = self._ask("GET", "OPEN", full, offset=start, length=end - start).content
            if len(content) != end - start:
                raise StorageError(f"can't read {full}: it ends early, at {start + len(content)}")
            return content

        with ThreadPoolExecutor(min(len(starts), MAX_PARALLEL)) as pool:
            return list(pool.map(carried(fetch), starts, ends))


class _RemoteError(OSError):
    """An exception of HDFS, with its name."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}" if message else name)
        self.name = name


_ERRORS: Mapping[str, Callable[[str], OSError]] = {
    "FileNotFoundException": FileNotFoundError,
    "FileAlreadyExistsException": FileExistsError,
    "AccessControlException": PermissionError,
    "SecurityException": PermissionError,
}


def _error_of(response: Response) -> OSError:
    try:
        error = response.json()["RemoteException"]
        name, message = str(error["exception"]), str(error["message"]).partition("\n")[0]
    except (ValueError, KeyError, TypeError):
        return _RemoteError(f"HTTP status {response.status_code}", response.reason or "")
    known = _ERRORS.get(name)
    return _RemoteError(name, message) if known is None else known(message)


def _date_of(response: Response) -> datetime | None:
    with suppress(KeyError, ValueError, TypeError):
        return parsedate_to_datetime(response.headers["Date"]).astimezone(UTC)
    return None


def _stored(status: Mapping[str, Any]) -> StoredFile:
    return StoredFile(
        str(status["pathSuffix"]), int(status["length"]), as_time(status["modificationTime"] / 1000)
    )


def open_hdfs(url: str, options: Mapping[str, Any]) -> HdfsStore:
    """Open the store of ``webhdfs://<name node>:<port>/<folder>``.

    Args:
        options: arguments of fsspec's ``WebHDFS``, and ``NAME_NODE``. Without ``user``, ``token`` or
            ``kerberos``, the user is that of Hadoop's own clients: ``HADOOP_USER_NAME``, or else who
            runs the process.

    Raises:
        InvalidRequestError: the URL has no host, an option is invalid, or requests is not installed.
    """
    where = urlsplit(url)
    if not where.hostname or where.query or not where.path.strip("/"):
        raise InvalidRequestError(
            "give HDFS as webhdfs://<name node>:<port>/<folder>, without a query"
        )
    key = (os.getpid(), where.netloc, repr(sorted(options.items())))
    if key not in _SYSTEMS:
        _SYSTEMS[key] = _file_system(where.hostname, where.port or 9870, options)
    return HdfsStore(_SYSTEMS[key], "webhdfs", "/" + where.path.strip("/"), dict(options))


_SYSTEMS: dict[tuple[int, str, str], Any] = {}
"""File systems by process, since connections do not survive a fork, by address and by options."""


def _file_system(host: str, port: int, options: Mapping[str, Any]) -> Any:
    try:
        from fsspec.implementations.webhdfs import WebHDFS
        from requests.adapters import HTTPAdapter
    except ImportError:
        raise InvalidRequestError(
            "HDFS needs requests: pip install 'pyspark-versioned[hdfs]'"
        ) from None
    arguments = {name: value for name, value in options.items() if name != NAME_NODE}
    if not arguments.keys() & {"user", "token", "kerberos"}:
        arguments["user"] = os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
    try:
        fs = WebHDFS(host, port=port, **arguments, skip_instance_cache=True)
    except (TypeError, ValueError, ImportError) as error:
        names = ", ".join(sorted(arguments))  # never the values
        raise InvalidRequestError(
            f"HDFS can't be opened with the options {names}: {type(error).__name__}"
        ) from None
    for scheme in ("http://", "https://"):
        fs.session.mount(scheme, HTTPAdapter(pool_maxsize=2 * MAX_PARALLEL))
    return fs
