"""A store on S3, or on a server that speaks it and honours ``If-None-Match: *``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any, TypeVar

from versioned_catalog.errors import InvalidRequestError, StorageError
from versioned_catalog.limits import ENTRY_BYTES
from versioned_catalog.storage.ranged import Range, RangedFile
from versioned_catalog.storage.remote import RemoteStore
from versioned_catalog.storage.retrying import again_after
from versioned_catalog.storage.store import Put, StoredFile, as_time, check_size

PROBE = "_versioned/put_if_absent"
"""What is put twice, to see that the second one is refused (FORMAT.md, section 10)."""

TAIL = 64 * 1024
"""How much of a file's end is got with its size: footers mostly are shorter."""

T = TypeVar("T")

_FLAGS = ("anon", "use_ssl", "requester_pays", "fixed_upload_size")
_NUMBERS = ("max_concurrency", "default_block_size")

_REFUSED = frozenset((400, 401, 403, 404, 405, 411, 413, 501))
"""Statuses that say that nothing was done."""


class S3Store(RemoteStore):
    """Objects below a prefix of a bucket."""

    def __init__(self, fs: Any, protocol: str, root: str, options: dict[str, Any]) -> None:
        super().__init__(fs, protocol, root, options)
        self._bucket = self._root.partition("/")[0]

    def _object(self, path: str) -> dict[str, str]:
        return {"Bucket": self._bucket, "Key": self._full(path).partition("/")[2]}

    def _whole(self, full: str, limit: int) -> bytes:
        return self._get(full, limit)[1]

    def read_in_order(self, paths: Sequence[str]) -> Iterator[bytes | None]:
        """All at once, without a thread for each; what failed is asked for again, alone."""
        wanted = [self._full(path) for path in paths]
        for path, found in zip(paths, self._wait(self._all(wanted)), strict=True):
            match found:
                case bytes():
                    yield found
                case FileNotFoundError():
                    self._check_absent(found)
                    yield None
                case _:
                    yield self.read(path)

    async def _all(self, wanted: Sequence[str]) -> Sequence[bytes | BaseException]:
        got = (self._got(full, ENTRY_BYTES) for full in wanted)
        found = await asyncio.gather(*got, return_exceptions=True)
        return [one if isinstance(one, BaseException) else one[1] for one in found]

    def _get(
        self, full: str, limit: int | None = None, **how: str
    ) -> tuple[Mapping[str, Any], bytes]:
        return self._wait(self._got(full, limit, **how))

    async def _got(
        self, full: str, limit: int | None = None, **how: str
    ) -> tuple[Mapping[str, Any], bytes]:
        """What the server says of an object, and its content or a range of it.

        It is one request: s3fs would ask for the size first.
        """
        bucket, _, key = full.partition("/")
        try:
            answer = await self._fs._call_s3("get_object", Bucket=bucket, Key=key, **how)
        except Exception as error:
            self._hear(_response(error))
            raise
        self._hear(answer)
        async with answer["Body"] as body:
            if limit is not None:
                check_size(int(answer["ContentLength"]), limit, full)
            return answer, await body.read()

    def _wait(self, asked: Coroutine[Any, Any, T]) -> T:
        from fsspec.asyn import sync

        found: T = sync(self._fs.loop, lambda: asked)
        return found

    def _check_absent(self, error: OSError) -> None:
        if _answer(error)[0] == "NoSuchBucket":
            raise StorageError(f"can't read {self.url}: {self._reason(error)}") from error

    def _reason(self, error: BaseException) -> str:
        code, status, message = _answer(error)
        match code:
            case "NoSuchBucket":
                return f"there is no bucket {self._bucket} there; make it, or check the endpoint"
            case "NoCredentialsError" | "PartialCredentialsError":
                return (
                    "no credentials were found; give them by the environment (AWS_ACCESS_KEY_ID, "
                    "AWS_SECRET_ACCESS_KEY), a profile or the machine's role"
                )
        if status in (401, 403):
            return (
                f"{code}: {message}; check the credentials, and that they allow s3:GetObject, "
                f"s3:PutObject, s3:DeleteObject and s3:ListBucket on {self._bucket}"
            )
        return f"{code}: {message}" if message else code

    def _is_passing(self, error: BaseException) -> bool:
        code, status, _ = _answer(error)
        return code not in _LASTING and (status is None or status >= 500 or status in (408, 429))

    def put_if_absent(self, path: str, data: bytes, dated: datetime | None = None) -> Put:
        self._prove()
        return self._put(path, data)

    def _put(self, path: str, data: bytes, *, is_probe: bool = False) -> Put:
        """Put, if absent. Refused, only a probe has surely failed.

        aiohttp sends a request again by itself where a connection breaks, and tells nobody: the first
        may have been carried out, and the second be refused.
        """
        try:
            answer = self._fs.call_s3(
                "put_object", **self._object(path), Body=data, IfNoneMatch="*"
            )
        except Exception as error:
            self._hear(_response(error))
            code, status, _ = _answer(error)
            if status == 412 or isinstance(error, FileExistsError):
                return Put.TAKEN
            if code in _LASTING or (is_probe and _is_refusal(code, status)):
                raise StorageError(
                    f"can't write {self.url}/{path}: {self._reason(error)}"
                ) from error
            return Put.UNKNOWN
        self._hear(answer)
        return Put.WON

    def _hear(self, answer: Mapping[str, Any]) -> None:
        """Take note of the server's time, which is in every answer."""
        date = _date(answer)
        if date is not None:
            self.clock.hear(date)

    def _prove(self) -> None:
        """See that the server obeys the condition: one that ignores it lets two writers win."""
        proven = _proven(os.getpid())
        place = (self._bucket, _key_of(dict(self.location.options)))
        if place in proven:
            return
        for _ in range(4):  # a first one that wins, one that loses, and two that get lost
            if self._put(PROBE, b"", is_probe=True) is Put.TAKEN:
                proven.add(place)
                return
        raise StorageError(
            f"the server of {self.url} ignores If-None-Match, so two writers could both win; use S3, or "
            "a server that honours it, such as a newer MinIO or SeaweedFS"
        )

    def files(self, folder: str) -> Sequence[StoredFile]:
        with self._told("list", folder):
            found = [_stored(one) for page in self._pages(folder) for one in page]
            return sorted((file for file in found if file.name), key=lambda file: file.name)

    def _pages(self, folder: str) -> Iterator[list[dict[str, Any]]]:
        where = self._object(folder)
        asked = {"Bucket": where["Bucket"], "Prefix": where["Key"] + "/", "Delimiter": "/"}
        while True:
            page = self._fs.call_s3("list_objects_v2", **asked)
            yield page.get("Contents", [])
            if not page.get("IsTruncated"):
                return
            asked["ContinuationToken"] = page["NextContinuationToken"]

    def now(self) -> datetime:
        """By the date of an answer."""
        with self._told("ask", ""):
            try:
                answer = self._fs.call_s3("head_bucket", Bucket=self._bucket)
            except Exception as error:
                date = _date(_response(error))  # a refusal has a date, too
                if date is None:
                    raise
                return date
            date = _date(answer)
            if date is None:
                raise StorageError(f"the server of {self.url} does not say what time it is")
            return date

    def delete(self, path: str) -> None:
        with self._told("delete", path):
            self._fs.call_s3("delete_object", **self._object(path))

    def delete_all(self, paths: Sequence[str]) -> None:
        for start in range(0, len(paths), 1000):
            some = paths[start : start + 1000]
            objects = [{"Key": self._object(path)["Key"]} for path in some]
            with self._told("delete", some[0]):
                done = self._fs.call_s3(
                    "delete_objects",
                    Bucket=self._bucket,
                    Delete={"Objects": objects, "Quiet": True},
                )
            for failed in done.get("Errors", []):
                if failed.get("Code") != "NoSuchKey":
                    raise StorageError(f"can't delete {failed.get('Key')}: {failed.get('Message')}")

    def _finish(self, file: Any) -> None:
        """Asked again to end an upload that it has ended, a server may say that there is none."""
        try:
            file.close()
        except Exception as error:
            if _answer(error)[0] != "NoSuchUpload":
                raise
            file.closed = True
            if self._tail(file.path)[0] != file.loc:  # names are new: what is there is ours
                raise

    def _discard(self, file: Any) -> None:
        file.discard()
        file.closed = True

    def _ranged(self, full: str) -> RangedFile:
        size, tail = again_after(self._is_passing, lambda: self._tail(full))
        return RangedFile(lambda ranges: self._fetch(full, ranges), size, tail)

    def _tail(self, full: str) -> tuple[int, bytes]:
        """The size of an object and its end, in one request."""
        answer, data = self._get(full, Range=f"bytes=-{TAIL}")
        size = str(answer.get("ContentRange", "")).rpartition("/")[2]
        return (int(size) if size.isdecimal() else len(data)), data

    def _fetch(self, full: str, ranges: Sequence[Range]) -> Sequence[bytes]:
        found = super()._fetch(full, ranges)
        for (first, end), data in zip(ranges, found, strict=True):
            if len(data) != end - first:
                raise StorageError(f"{self._protocol}://{full} ends early, at {first + len(data)}")
        return found


_LASTING = frozenset(
    ("NoSuchBucket", "NoCredentialsError", "PartialCredentialsError", "ParamValidationError")
)
"""Failures that stay, and that no request was sent for, or none that could do anything."""


def open_s3(path: str, options: Mapping[str, Any]) -> S3Store:
    """The store of ``s3://<path>``.

    Args:
        path: bucket and prefix.
        options: what ``s3fs.S3FileSystem`` takes; as text too, nested ones with a dot
            (``client_kwargs.region_name``), and ``region`` for that.

    Raises:
        InvalidRequestError: the path holds more than a bucket and a prefix, an option makes no sense, or
            s3fs is not installed.
    """
    if "@" in path.partition("/")[0]:
        raise InvalidRequestError(
            "a URL of S3 holds no credentials; give them by the environment, a profile or a role"
        )
    if not path.strip("/") or "?" in path:
        raise InvalidRequestError("give S3 as s3://<bucket>/<folder>, without a query")
    key = _key_of(options)
    fs = _file_system(key, os.getpid())
    return S3Store(fs, "s3", path.strip("/"), dict(options))


def flat_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options without nesting: what is in a mapping gets its name before it, and a dot."""
    flat: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{inner}": of_it for inner, of_it in value.items()}
        else:
            flat[name] = value
    return flat


def _key_of(options: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Options as a key of a cache."""
    return tuple(sorted(flat_options(options).items()))


@lru_cache(maxsize=16)
def _file_system(key: tuple[tuple[str, Any], ...], process: int) -> Any:
    """One file system an account, and process, since connections do not survive a fork."""
    try:
        import s3fs
    except ImportError:
        raise InvalidRequestError("S3 takes s3fs: pip install 'pyspark-versioned[s3]'") from None
    given = _nested(key)
    config = {
        "connect_timeout": 5,
        "read_timeout": 30,
        "max_pool_connections": 32,
        **given.pop("config_kwargs", {}),
        "retries": {"mode": "standard", "total_max_attempts": 5},
    }
    try:
        fs = s3fs.S3FileSystem(
            **given, config_kwargs=config, use_listings_cache=False, skip_instance_cache=True
        )
        fs.retries = 1  # botocore does it, with jitter
        fs.connect()
    except Exception as error:  # botocore has many of its own
        names = ", ".join(sorted(given))  # never what was given
        raise InvalidRequestError(
            f"S3 can't be opened with the options {names}: {type(error).__name__}"
        ) from None
    return fs


def _nested(key: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    """Options as s3fs takes them, of flat ones that may be text."""
    out: dict[str, Any] = {}
    for name, value in key:
        where, _, inner = ("client_kwargs.region_name" if name == "region" else name).partition(".")
        if inner:
            out.setdefault(where, {})[inner] = _plain(name, value)
        else:
            out[where] = _plain(name, value)
    return out


def _plain(name: str, value: Any) -> Any:
    """A flag or a number of what may be text; credentials of digits alone stay text."""
    if name in _FLAGS and isinstance(value, str):
        return value.lower() == "true"
    is_number = name in _NUMBERS or name.startswith("config_kwargs.")
    if is_number and isinstance(value, str) and value.isdecimal() and len(value) < 10:
        return int(value)
    return value


@lru_cache(maxsize=1)
def _proven(process: int) -> set[Any]:
    return set()


def _answer(error: BaseException | None) -> tuple[str, int | None, str]:
    """What the server said: its code, the HTTP status, and its words; of other errors their kind."""
    response = _response(error)
    if "Error" in response:
        said = response["Error"]
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        return str(said.get("Code", "")), status, str(said.get("Message", ""))
    if isinstance(error, asyncio.TimeoutError):
        return "timed out", None, ""
    return type(error).__name__, None, str(error)


def _response(error: BaseException | None) -> Mapping[str, Any]:
    """The server's answer that an error was made of; an empty one where there was none."""
    at = error
    while at is not None:
        response = getattr(at, "response", None)
        if isinstance(response, Mapping) and "Error" in response:
            return response
        at = at.__cause__
    return {}


def _date(answer: Mapping[str, Any]) -> datetime | None:
    """The server's time when it answered, in whole seconds; None where it does not say."""
    text = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    try:
        return None if text is None else as_time(parsedate_to_datetime(text))
    except ValueError:
        return None


def _is_refusal(code: str, status: int | None) -> bool:
    """Whether an object was surely not made by the request that was answered so."""
    return status in _REFUSED and code != "RequestTimeout"


def _stored(one: Mapping[str, Any]) -> StoredFile:
    name = str(one["Key"]).rpartition("/")[2]
    return StoredFile(name, int(one["Size"]), as_time(one["LastModified"]))
