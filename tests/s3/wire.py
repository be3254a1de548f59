"""The part of HTTP/1.1 that the proxy needs: read whole messages from a stream."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Self

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Message:
    """A request or a response.

    Args:
        start: the first line.
        headers: pairs of name and value, in order.
        body: the whole body, with chunks joined.
    """

    start: str
    headers: Headers
    body: bytes = b""

    def get(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)

    def without(self, *names: str) -> Self:
        return replace(self, headers=tuple(h for h in self.headers if h[0].lower() not in names))

    def adding(self, name: str, value: str) -> Self:
        return replace(self, headers=(*self.headers, (name, value)))

    @property
    def head(self) -> bytes:
        lines = [self.start, *(f"{name}: {value}" for name, value in self.headers), "", ""]
        return "\r\n".join(lines).encode("latin-1")

    @property
    def method(self) -> str:
        return self.start.split(" ")[0]

    @property
    def target(self) -> str:
        return self.start.split(" ")[1]

    @property
    def status(self) -> int:
        return int(self.start.split(" ")[1])


async def request_from(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> Message | None:
    """Read the next request, or None at the end of the connection; answer ``Expect: 100-continue``."""
    found = await _head(reader)
    if found is None:
        return None
    if (found.get("expect") or "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await writer.drain()
    return await _with_body(found.without("expect"), reader)


async def response_from(reader: asyncio.StreamReader, method: str) -> Message:
    """Read the response to a request."""
    while True:
        found = await _head(reader)
        if found is None:
            raise ConnectionResetError("no response")
        if found.status >= 200:
            break
    if method == "HEAD" or found.status in (204, 304):
        return found
    return await _with_body(found, reader)


async def _head(reader: asyncio.StreamReader) -> Message | None:
    try:
        data = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    start, *lines = data.decode("latin-1")[:-4].split("\r\n")
    headers = tuple(line.split(": ", 1) if ": " in line else (line[:-1], "") for line in lines)
    return Message(start, tuple((name, value) for name, value in headers))


async def _with_body(message: Message, reader: asyncio.StreamReader) -> Message:
    """Read the body of a message; chunks are joined to a body of known length."""
    if "chunked" in (message.get("transfer-encoding") or ""):
        chunks = []
        while size := int((await reader.readline()).split(b";")[0], 16):
            chunks.append(await reader.readexactly(size))
            await reader.readline()
        while (await reader.readline()).strip():
            pass
        body = b"".join(chunks)
        plain = message.without("transfer-encoding").adding("Content-Length", str(len(body)))
        return replace(plain, body=body)
    size = int(message.get("content-length") or 0)
    return replace(message, body=await reader.readexactly(size)) if size else message
