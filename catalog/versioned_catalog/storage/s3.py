"""A store on S3, or on a compatible server that honours ``If-None-Match: *``.

All requests go through ``call_s3`` of s3fs, which applies all of its options (accounts, profiles,
encryption, requester pays), and ``_call_s3``, which by fsspec's convention is its asynchronous form and
saves a thread for each request. boto3 and obstore were rejected, since they take other options, and so
was aiobotocore, which does not apply those of s3fs. fsspec's ``pipe_file(mode="create")`` hides the
response, which has the outcome of a repeated request, and the server's time.
"""

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
from versioned_catalog.observe.requests import of_data, of_result, request
from versioned_catalog.storage.failures import retry_errors
from versioned_catalog.storage.remote import Range, RangedFile, RemoteStore
from versioned_catalog.storage.store import Put, StoredFile, as_time, check_size

LASTING = frozenset(
    ("NoSuchBucket", "NoCredentialsError", "PartialCredentialsError", "ParamValidationError")
)
"""Errors that a retry does not cure, of requests that had no effect."""

_REFUSED = frozenset((400, 401, 403, 404, 405, 411, 413, 501))
"""Statuses of requests that had no effect."""


def answer_of(error: BaseException | None) -> tuple[str, int | None, str]:
    """The code, HTTP status and message of an error; for one without an answer, its type as the code."""
    response = response_of(error)
    if "Error" in response:
        details = response["Error"]
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        return str(details.get("Code", "")), status, str(details.get("Message", ""))
    if isinstance(error, asyncio.TimeoutError):
        return "timed out", None, ""
    return type(error).__name__, None, str(error)


def response_of(error: BaseException | None) -> Mapping[str, Any]:
    """The response that an error was made from; empty if there was none."""
    cause = error
    while cause is not None:
        response = getattr(cause, "response", None)
        if isinstance(response, Mapping) and "Error" in response:
            return response
        cause = cause.__cause__
    return {}


def date_of(response: Mapping[str, Any]) -> datetime | None:
    """The server's time in a response, in whole seconds; None if it has none."""
    text = response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    try:
        return None if text is None else as_time(parsedate_to_datetime(text))
    except ValueError:
        return None


def is_transient(error: BaseException) -> bool:
    """Whether a retry may succeed."""
    code, status, _ = answer_of(error)
    return code not in LASTING and (status is None or status >= 500 or status in (408, 429))


def is_refusal(code: str, status: int | None) -> bool:
    """Whether a request with this error surely had no effect."""
    return status in _REFUSED and code != "RequestTimeout"


_FLAGS = ("anon", "use_ssl", "requester_pays", "fixed_upload_size")
_NUMBERS = ("max_concurrency", "default_block_size")

FlatOptions = tuple[tuple[str, Any], ...]


def flat_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options without nesting: names in a mapping are prefixed with its name and a dot."""
    flat: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{inner}": inner_value for inner, inner_value in value.items()}
        else:
            flat[name] = value
    return flat


def options_key(options: Mapping[str, Any]) -> FlatOptions:
    """Options as a key of a cache."""
    return tuple(sorted(flat_options(options).items()))


def file_system(options: Mapping[str, Any]) -> Any:
    """The ``s3fs.S3FileSystem`` of this process for some options.

    Raises:
        InvalidRequestError: an option is invalid, or s3fs is not installed.
    """
    return _file_system(options_key(options), os.getpid())


@lru_cache(maxsize=16)
def _file_system(key: FlatOptions, process: int) -> Any:
    """One file system for each process, since connections do not survive a fork."""
    try:
        import s3fs
    except ImportError:
        raise InvalidRequestError("S3 needs s3fs: pip install 'pyspark-versioned[s3]'") from None
    arguments = _nested(key)
    config = {
        "connect_timeout": 5,
        "read_timeout": 30,
        "max_pool_connections": 32,
        **arguments.pop("config_kwargs", {}),
        "retries": {"mode": "standard", "total_max_attempts": 5},
    }
    try:
        fs = s3fs.S3FileSystem(
            **arguments, config_kwargs=config, use_listings_cache=False, skip_instance_cache=True
        )
        fs.retries = 1  # botocore retries, with jitter
        fs.connect()
    except Exception as error:  # botocore raises many types of its own
        names = ", ".join(sorted(arguments))  # never the values
        raise InvalidRequestError(
            f"S3 can't be opened with the options {names}: {type(error).__name__}"
        ) from None
    return fs


def _nested(key: FlatOptions) -> dict[str, Any]:
    """The arguments of s3fs for flat options, whose values may be text."""
    out: dict[str, Any] = {}
    for name, value in key:
        where, _, inner = ("client_kwargs.region_name" if name == "region" else name).partition(".")
        if inner:
            out.setdefault(where, {})[inner] = _typed(name, value)
        else:
            out[where] = _typed(name, value)
    return out


def _typed(name: str, value: Any) -> Any:
    """A flag or a number from text; credentials that consist of digits stay text."""
    if name in _FLAGS and isinstance(value, str):
        return value.lower() == "true"
    is_number = name in _NUMBERS or name.startswith("config_kwargs.")
    if is_number and isinstance(value, str) and value.isdecimal() and len(value) < 10:
        return int(value)
    return value


TAIL = 64 * 1024
"""The length of a file's end that is fetched with its size: most footers are shorter."""

T = TypeVar("T")


class S3Store(RemoteStore):
    """Objects below a prefix of a bucket."""

    _advice = "use S3, or a server that honours it, such as a newer MinIO or SeaweedFS"

    def __init__(self, fs: Any, protocol: str, root: str, options: dict[str, Any]) -> None:
        super().__init__(fs, protocol, root, options)
        self._bucket = self._root.partition("/")[0]

    @property
    def endpoint(self) -> str | None:
        return str(self._fs.s3.meta.endpoint_url)

    def _object(self, path: str) -> dict[str, str]:
        return {"Bucket": self._bucket, "Key": self._full(path).partition("/")[2]}

    def _whole(self, full: str, limit: int) -> bytes:
        return self._get(full, limit)[1]

    def read_in_order(
        self, paths: Sequence[str], limit: int = ENTRY_BYTES
    ) -> Iterator[bytes | None]:
        """Read all files in parallel, without a thread for each; retry failed ones one by one."""
        wanted = [self._full(path) for path in paths]
        for path, content in zip(paths, self._read_all(wanted, limit), strict=True):
            match content:
                case bytes():
                    yield content
                case FileNotFoundError():
                    self._check_absent(content)
                    yield None
                case _:
                    yield self.read(path, limit)

    @request("read", of_result)
    def _read_all(self, wanted: Sequence[str], limit: int) -> Sequence[bytes | BaseException]:
        return self._wait(self._all(wanted, limit))

    async def _all(self, wanted: Sequence[str], limit: int) -> Sequence[bytes | BaseException]:
        requests = (self._get_async(full, limit) for full in wanted)
        replies = await asyncio.gather(*requests, return_exceptions=True)
        return [reply if isinstance(reply, BaseException) else reply[1] for reply in replies]

    def _get(
        self, full: str, limit: int | None = None, **arguments: str
    ) -> tuple[Mapping[str, Any], bytes]:
        return self._wait(self._get_async(full, limit, **arguments))

    async def _get_async(
        self, full: str, limit: int | None = None, **arguments: str
    ) -> tuple[Mapping[str, Any], bytes]:
        """The response and the content of a GET for an object or a range of it.

        It is a single request; s3fs would request the size first.
        """
        bucket, _, key = full.partition("/")
        try:
            answer = await self._fs._call_s3("get_object", Bucket=bucket, Key=key, **arguments)
        except Exception as error:
            self._observe_date(response_of(error))
            raise
        self._observe_date(answer)
        async with answer["Body"] as body:
            if limit is not None:
                check_size(int(answer["ContentLength"]), limit, full)
            return answer, await body.read()

    def _wait(self, request: Coroutine[Any, Any, T]) -> T:
        from fsspec.asyn import sync

        result: T = sync(self._fs.loop, lambda: request)
        return result

    def _check_absent(self, error: OSError) -> None:
        if answer_of(error)[0] == "NoSuchBucket":
            raise StorageError(f"can't read {self.url}: {self._reason(error)}") from error

    def _reason(self, error: BaseException) -> str:
        code, status, message = answer_of(error)
        match code:
            case "NoSuchBucket":
                return f"there is no bucket {self._bucket} there; create it, or check the endpoint"
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

    def _is_transient(self, error: BaseException) -> bool:
        return is_transient(error)

    @request("put", of_data)
    def _put(self, path: str, data: bytes, *, is_probe: bool = False) -> Put:
        """Put an object if it is absent. A refusal is final for a probe only.

        aiohttp silently repeats a request if a connection breaks: the first one may have had its effect,
        and the second one be refused.
        """
        try:
            answer = self._fs.call_s3(
                "put_object", **self._object(path), Body=data, IfNoneMatch="*"
            )
        except Exception as error:
            self._observe_date(response_of(error))
            code, status, _ = answer_of(error)
            if status == 412 or isinstance(error, FileExistsError):
                return Put.TAKEN
            if code in LASTING or (is_probe and is_refusal(code, status)):
                raise StorageError(
                    f"can't write {self.url}/{path}: {self._reason(error)}"
                ) from error
            return Put.UNKNOWN
        self._observe_date(answer)
        return Put.WON

    def _observe_date(self, answer: Mapping[str, Any]) -> None:
        """Record the server's time, which is in every response."""
        date = date_of(answer)
        if date is not None:
            self.clock.observe(date)

    @property
    def _proof(self) -> Any:
        return self._bucket, options_key(dict(self.location.options))

    def list(self, folder: str, start: str = "") -> list[str]:
        names = (file.name for file in self._files(folder, start))
        return [name for name in names if not name.startswith(".")]

    def files(self, folder: str) -> Sequence[StoredFile]:
        return self._files(folder)

    @request("list")
    def _files(self, folder: str, start: str = "") -> Sequence[StoredFile]:
        with self._translated("list", folder):
            files = [_stored(item) for page in self._pages(folder, start) for item in page]
            return sorted((file for file in files if file.name), key=lambda file: file.name)

    def _pages(self, folder: str, start: str) -> Iterator[Sequence[dict[str, Any]]]:
        root = self._object(folder)
        query = {"Bucket": root["Bucket"], "Prefix": f"{root['Key']}/{start}", "Delimiter": "/"}
        while True:
            page = self._fs.call_s3("list_objects_v2", **query)
            yield page.get("Contents", [])
            if not page.get("IsTruncated"):
                return
            query["ContinuationToken"] = page["NextContinuationToken"]

    @request("stat")
    def now(self) -> datetime:
        """Read the clock from the date of a response."""
        with self._translated("ask", ""):
            try:
                answer = self._fs.call_s3("head_bucket", Bucket=self._bucket)
            except Exception as error:
                date = date_of(response_of(error))  # a refusal is dated, too
                if date is None:
                    raise
                return date
            date = date_of(answer)
            if date is None:
                raise StorageError(f"can't read the clock of {self.url}: its response has no date")
            return date

    @request("delete")
    def delete(self, path: str) -> None:
        with self._translated("delete", path):
            self._fs.call_s3("delete_object", **self._object(path))

    @request("delete")
    def delete_all(self, paths: Sequence[str]) -> None:
        for start in range(0, len(paths), 1000):
            some = paths[start : start + 1000]
            objects = [{"Key": self._object(path)["Key"]} for path in some]
            with self._translated("delete", some[0]):
                done = self._fs.call_s3(
                    "delete_objects",
                    Bucket=self._bucket,
                    Delete={"Objects": objects, "Quiet": True},
                )
            for failed in done.get("Errors", []):
                if failed.get("Code") != "NoSuchKey":
                    raise StorageError(f"can't delete {failed.get('Key')}: {failed.get('Message')}")

    def _finish(self, file: Any) -> None:
        """Complete an upload. A server may answer a repeated request that there is no such upload."""
        try:
            file.close()
        except Exception as error:
            if answer_of(error)[0] != "NoSuchUpload":
                raise
            file.closed = True
            if self._tail(file.path)[0] != file.loc:  # names are new: the object is this one
                raise

    def _discard(self, file: Any) -> None:
        file.discard()
        file.closed = True

    def _ranged(self, full: str) -> RangedFile:
        size, tail = retry_errors(self._is_transient, lambda: self._tail(full))
        return RangedFile(lambda ranges: self._fetch(full, ranges), size, tail)

    @request("read", of_result)
    def _tail(self, full: str) -> tuple[int, bytes]:
        """Fetch the size of an object and its end in one request."""
        answer, data = self._get(full, Range=f"bytes=-{TAIL}")
        size = str(answer.get("ContentRange", "")).rpartition("/")[2]
        return (int(size) if size.isdecimal() else len(data)), data

    def _fetch(self, full: str, ranges: Sequence[Range]) -> Sequence[bytes]:
        chunks = super()._fetch(full, ranges)
        for (first, end), data in zip(ranges, chunks, strict=True):
            if len(data) != end - first:
                raise StorageError(
                    f"can't read {self._protocol}://{full}: it ends early, at {first + len(data)}"
                )
        return chunks


def open_s3(path: str, options: Mapping[str, Any]) -> S3Store:
    """Open the store of ``s3://<path>``.

    Args:
        path: bucket and prefix.
        options: arguments of ``s3fs.S3FileSystem``. Values may be text, nested names have a dot
            (``client_kwargs.region_name``), and ``region`` is an alias of that one.

    Raises:
        InvalidRequestError: the path is not a bucket and a prefix, an option is invalid, or s3fs is not
            installed.
    """
    if "@" in path.partition("/")[0]:
        raise InvalidRequestError(
            "a URL of S3 holds no credentials; give them by the environment, a profile or a role"
        )
    if not path.strip("/") or "?" in path:
        raise InvalidRequestError("give S3 as s3://<bucket>/<folder>, without a query")
    return S3Store(file_system(options), "s3", path.strip("/"), dict(options))


def _stored(item: Mapping[str, Any]) -> StoredFile:
    name = str(item["Key"]).rpartition("/")[2]
    return StoredFile(name, int(item["Size"]), as_time(item["LastModified"]))
