"""The REST server of Iceberg's own tests, with a SQLite database; Ivy, which PySpark has, fetches it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pyspark

VERSION = "1.11.0"
"""The newest release whose tests are on Maven Central."""

_DEPENDENCIES = "".join(
    f'<dependency org="{org}" name="{name}" rev="{rev}" conf="default->default" {more}'
    for org, name, rev, more in (
        (
            "org.apache.iceberg",
            "iceberg-core",
            VERSION,
            '><artifact name="iceberg-core" type="jar"/><artifact name="iceberg-core" type="jar" '
            'ext="jar" m:classifier="tests"/></dependency>',
        ),
        (
            "org.apache.iceberg",
            "iceberg-open-api",
            VERSION,
            'transitive="false"><artifact name="iceberg-open-api" type="jar" ext="jar" '
            'm:classifier="test-fixtures"/></dependency>',
        ),
        ("org.xerial", "sqlite-jdbc", "3.50.3.0", "/>"),
        ("org.eclipse.jetty.ee10", "jetty-ee10-servlet", "12.1.1", "/>"),
        ("org.eclipse.jetty.compression", "jetty-compression-server", "12.1.1", "/>"),
        ("org.eclipse.jetty.compression", "jetty-compression-gzip", "12.1.1", "/>"),
    )
)
_IVY = f"""<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
<info organisation="org.example" module="server"/><configurations><conf name="default"/></configurations>
<dependencies>{_DEPENDENCIES}</dependencies></ivy-module>"""


@cache
def _class_path() -> str:
    jars = Path(pyspark.__file__).parent / "jars"
    (ivy,) = jars.glob("ivy-*.jar")
    with tempfile.TemporaryDirectory() as folder:
        module, found = Path(folder, "ivy.xml"), Path(folder, "classpath")
        module.write_text(_IVY)
        command = ["-jar", ivy, "-ivy", module, "-confs", "default", "-cachepath", found]
        subprocess.run(
            [_java(), *map(str, command)], check=True, capture_output=True, text=True, timeout=600
        )
        fetched = found.read_text().strip()
    shared = [
        str(jar) for name in ("hadoop-client-*", "log4j-*") for jar in jars.glob(f"{name}.jar")
    ]
    return os.pathsep.join([fetched, *shared])


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else str(shutil.which("java"))


@contextmanager
def iceberg_server(folder: Path) -> Iterator[str]:
    """Run a server, and give its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "REST_PORT": str(port),
        "CATALOG_REST_PORT": str(port),
        "CATALOG_WAREHOUSE": str(folder / "server"),
        "CATALOG_URI": f"jdbc:sqlite:{folder}/server.db",
    }
    command = [_java(), "-cp", _class_path(), "org.apache.iceberg.rest.RESTCatalogServer"]
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(f"{url}/v1/config", server, folder / "server.log")
        yield url
    finally:
        server.kill()
        server.wait()


def _wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(url, timeout=10).close()
        except OSError:
            assert server.poll() is None, log.read_text()[-3000:]
            time.sleep(0.1)
        else:
            return
    raise AssertionError(log.read_text()[-3000:])
