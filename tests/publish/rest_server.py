"""A small catalog with Iceberg's REST interface, for what Iceberg's own test server can't do.

It keeps one location for each table, and replaces it if a client registers with ``overwrite``, as
Polaris and Gravitino do; or refuses to, with the response of Iceberg's own server.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


class Server(ThreadingHTTPServer):
    """The server, and what it knows."""

    def __init__(self, *, overwrites: bool) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.overwrites = overwrites
        self.namespaces: set[str] = set()
        self.tables: dict[tuple[str, str], str] = {}
        self.moves: list[str] = []
        """What each table named, one after another."""
        self.lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *arguments: Any) -> None:
        """Log nothing."""

    def _respond(self, status: int, body: Any = None) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _fail(self, status: int, kind: str, message: str = "") -> None:
        self._respond(status, {"error": {"message": message, "type": kind, "code": status}})

    def _loaded(self, location: str) -> None:
        file = Path(location.removeprefix("file://"))
        if not file.exists():
            self._fail(404, "NotFoundException", "Failed to open input stream")
            return
        metadata = json.loads(file.read_text())
        self._respond(200, {"metadata-location": location, "metadata": metadata, "config": {}})

    def _handle(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        path = urlsplit(self.path).path.strip("/").split("/")
        tables, server = self.server.tables, self.server
        match self.command, path:
            case "GET", ["v1", "config"]:
                self._respond(200, {"defaults": {}, "overrides": {}})
            case "POST", ["v1", "namespaces"]:
                name = ".".join(body["namespace"])
                if name in server.namespaces:
                    self._fail(409, "AlreadyExistsException")
                    return
                server.namespaces.add(name)
                self._respond(200, {"namespace": body["namespace"], "properties": {}})
            case "POST", ["v1", "namespaces", namespace, "register"]:
                key, location = (namespace, body["name"]), body["metadata-location"]
                if body.get("overwrite") and not server.overwrites:
                    self._fail(406, "UnsupportedOperationException", "overwrite is not supported")
                elif key in tables and not body.get("overwrite"):
                    self._fail(409, "AlreadyExistsException")
                else:
                    tables[key] = location
                    server.moves.append(location)
                    self._loaded(location)
            case "GET", ["v1", "namespaces", namespace, "tables", table]:
                if (namespace, table) in tables:
                    self._loaded(tables[namespace, table])
                else:
                    self._fail(404, "NoSuchTableException")
            case "DELETE", ["v1", "namespaces", namespace, "tables", table]:
                if tables.pop((namespace, table), None) is None:
                    self._fail(404, "NoSuchTableException")
                else:
                    self._respond(204)
            case _:
                self._fail(400, "BadRequestException", self.path)

    def do_GET(self) -> None:
        with self.server.lock:
            self._handle()

    do_POST = do_DELETE = do_GET


@contextmanager
def rest_server(*, overwrites: bool) -> Iterator[Server]:
    """Run a server in a thread."""
    server = Server(overwrites=overwrites)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
