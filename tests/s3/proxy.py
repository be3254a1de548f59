"""A proxy between a client and a server of S3, GCS, Azure or HDFS that injects faults by rules.

``python -m s3.proxy URL`` prints its port. Requests to ``/_proxy/rules`` set the rules, requests to
``/_proxy/seen`` return the requests so far, and requests to ``/_proxy/pending`` the number of those that
may still reach the server; ``_proxy`` is not a valid name of a bucket. ``Host`` is passed on unchanged,
since signatures cover it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
from collections.abc import Coroutine, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from killing import kill_session
from s3.rules import Fault, Request, Rules
from s3.server import KEY, SECRET
from s3.wire import Message, request_from, response_from

_CODES = {
    500: "InternalError",
    503: "SlowDown",
    409: "ConditionalRequestConflict",
    403: "AccessDenied",
    404: "NoSuchUpload",
}
_STATUS = {
    Fault.ERROR_500: 500,
    Fault.ERROR_503: 503,
    Fault.ERROR_409: 409,
    Fault.LATE_409: 409,
    Fault.ERROR_403: 403,
    Fault.ERROR_500_AFTER: 500,
    Fault.ERROR_503_AFTER: 503,
    Fault.ERROR_409_AFTER: 409,
    Fault.NO_UPLOAD_AFTER: 404,
}
_BEFORE = (Fault.ERROR_500, Fault.ERROR_503, Fault.ERROR_409, Fault.ERROR_403, Fault.LATE_409)
_FOREVER = 3600.0
_IN_QUERY = re.compile("ifGenerationMatch=0|renameoptions=NONE")
"""The condition of a put to GCS and of a rename on HDFS; others are in a header."""


class _Closed(Exception):
    """The connection to the client must be closed."""


class Proxy:
    """The connections, the rules and the requests so far."""

    def __init__(self, server: str) -> None:
        where = urlsplit(server)
        self._host, self._port = where.hostname or "", where.port or 80
        self._rules = Rules()
        self._seen: list[tuple[str, str | None, int | None]] = []
        self._running: set[asyncio.Task[Any]] = set()
        self._pending = 0

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection of a client."""
        self._run(self._serve(reader, writer))

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        # asyncio keeps only weak references to tasks.
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream = _Upstream(self._host, self._port)
        try:
            while (request := await request_from(reader, writer)) is not None:
                if request.target.startswith("/_proxy/"):
                    response = self._control(request)
                else:
                    with self._counted():
                        response = await self._forward(request, upstream, writer)
                writer.write(response.head + response.body)
                await writer.drain()
        except (_Closed, OSError, asyncio.IncompleteReadError):
            pass
        finally:
            upstream.close()
            with contextlib.suppress(OSError):
                writer.transport.abort() if writer.is_closing() else writer.close()

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        """Count a request as pending."""
        self._pending += 1
        try:
            yield
        finally:
            self._pending -= 1

    def _control(self, request: Message) -> Message:
        if request.target == "/_proxy/rules":
            self._rules, self._seen = Rules.from_json(json.loads(request.body)), []
            return _response(200, b"")
        if request.target == "/_proxy/pending":
            return _response(200, json.dumps(self._pending).encode())
        return _response(200, json.dumps(self._seen).encode())

    async def _forward(
        self, request: Message, upstream: _Upstream, writer: asyncio.StreamWriter
    ) -> Message:
        """Forward a request, with its fault if any; return the response for the client."""
        is_conditional = request.get("if-none-match") is not None or bool(
            _IN_QUERY.search(request.target)
        )
        asked = Request(request.method, request.target, is_conditional)
        fault, seconds, client = self._rules.fault_of(asked) or (None, 0.0, 0)
        seen = len(self._seen)
        self._seen.append((asked.name, fault, None))
        if fault is Fault.LATE_409:
            self._run(self._arrive(request, seconds))
        if fault in _BEFORE:
            return _error(_STATUS[fault])
        if fault is not None:
            request = await self._before(fault, seconds, client, request)
        response = await upstream.ask(request)
        if seen < len(self._seen):  # the rules may have been replaced meanwhile
            self._seen[seen] = (asked.name, fault, response.status)
        return response if fault is None else await _after(fault, client, response, writer)

    async def _before(self, fault: Fault, seconds: float, client: int, request: Message) -> Message:
        """Apply the fault to the request; raise ``_Closed`` if the server must not see it."""
        match fault:
            case Fault.DELAY:
                await asyncio.sleep(seconds)
            case Fault.HANG:
                await asyncio.sleep(_FOREVER)
            case Fault.DROP_REQUEST:
                raise _Closed
            case Fault.KILL_BEFORE:
                kill_session(client)
                raise _Closed
            case Fault.LATE:
                self._run(self._arrive(request, seconds))
                raise _Closed
            case Fault.CUT_REQUEST:
                await _Upstream(self._host, self._port).cut(request)
                raise _Closed
            case Fault.UNCONDITIONAL:
                if _IN_QUERY.search(request.target):
                    return replace(request, start=_IN_QUERY.sub("", request.start))
                return _signed(request.without("if-none-match"))
        return request

    async def _arrive(self, request: Message, seconds: float) -> None:
        upstream = _Upstream(self._host, self._port)
        with self._counted(), contextlib.suppress(OSError):
            await asyncio.sleep(seconds)
            await upstream.ask(request)
        upstream.close()


async def _after(
    fault: Fault, client: int, response: Message, writer: asyncio.StreamWriter
) -> Message:
    """Apply the fault to the response."""
    match fault:
        case Fault.DROP_REPLY:
            raise _Closed
        case Fault.KILL_AFTER:
            kill_session(client)
            raise _Closed
        case Fault.CUT_REPLY:
            writer.write(response.head + response.body[: len(response.body) // 2])
            await writer.drain()
            raise _Closed
        case Fault.LOSER_TOLD_WON if response.status == 412:
            return _response(200, b"")
        case _ if fault in _STATUS:
            return _error(_STATUS[fault])
    return response


class _Upstream:
    """A connection to the server, opened on demand."""

    def __init__(self, host: str, port: int) -> None:
        self._where = host, port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: Message) -> Message:
        reader, writer = await self._open()
        writer.write(request.head + request.body)
        await writer.drain()
        return await response_from(reader, request.method)

    async def cut(self, request: Message) -> None:
        _, writer = await self._open()
        writer.write(request.head + request.body[: len(request.body) // 2])
        await writer.drain()
        self.close()

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None or self._streams[0].at_eof():
            self.close()
            self._streams = await asyncio.open_connection(*self._where, limit=1 << 20)
        return self._streams

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def _response(status: int, body: bytes) -> Message:
    headers = (("Content-Length", str(len(body))), ("Content-Type", "application/xml"))
    return Message(f"HTTP/1.1 {status} Injected", headers, body)


def _error(status: int) -> Message:
    code = _CODES[status]
    return _response(
        status, f"<Error><Code>{code}</Code><Message>by the proxy</Message></Error>".encode()
    )


def _signed(request: Message) -> Message:
    """Sign a request again after its headers changed."""
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    again = ("authorization", "x-amz-date", "x-amz-content-sha256")
    plain = request.without(*again)
    headers = {name: value for name, value in plain.headers if name.lower() != "content-length"}
    url = f"http://{request.get('host')}{request.target}"
    signed = AWSRequest(request.method, url, headers=headers, data=request.body)
    S3SigV4Auth(Credentials(KEY, SECRET), "s3", "us-east-1").add_auth(signed)
    for name in again:
        if name in signed.headers:
            plain = plain.adding(name, signed.headers[name])
    return plain


async def main(server: str) -> None:
    proxy = Proxy(server)
    listening = await asyncio.start_server(proxy.accept, "127.0.0.1", 0, limit=1 << 20)
    print(listening.sockets[0].getsockname()[1], flush=True)
    async with listening:
        await listening.serve_forever()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(sys.argv[1]))
