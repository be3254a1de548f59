"""The module that Spark's daemon runs for the jar: reads one request, writes one response.

Spark's daemon only runs modules whose names begin with ``pyspark``.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import sys
from collections.abc import Callable
from typing import IO, Any

from pyspark import serializers

from pyspark_versioned.sql.dispatch import respond

Main = Callable[[IO[Any], IO[Any]], None]

_read_int: Callable[[IO[Any]], int] = serializers.read_int
_write_int: Callable[[int, IO[Any]], None] = serializers.write_int
_write_with_length: Callable[[bytes, IO[Any]], None] = serializers.write_with_length


def _worker_run() -> Callable[[Main, IO[Any], IO[Any]], None]:
    """The function that Spark wraps around a worker's own work, which exists since 4.2."""
    try:
        from pyspark.sql.worker.utils import worker_run
    except ImportError:
        return _worker_run_before_4_2
    run: Callable[[Main, IO[Any], IO[Any]], None] = worker_run
    return run


def _worker_run_before_4_2(main: Main, infile: IO[Any], outfile: IO[Any]) -> None:
    from pyspark.accumulators import _accumulatorRegistry
    from pyspark.serializers import SpecialLengths
    from pyspark.util import handle_worker_exception
    from pyspark.worker_util import (
        check_python_version,
        send_accumulator_updates,
        setup_broadcasts,
        setup_spark_files,
    )

    try:
        check_python_version(infile)
        setup_spark_files(infile)
        setup_broadcasts(infile)
        _accumulatorRegistry.clear()
        main(infile, outfile)
    except BaseException as error:
        handle_worker_exception(error, outfile)
        sys.exit(-1)
    send_accumulator_updates(outfile)
    if _read_int(infile) == SpecialLengths.END_OF_STREAM:
        _write_int(SpecialLengths.END_OF_STREAM, outfile)
    else:
        _write_int(SpecialLengths.END_OF_DATA_SECTION, outfile)
        sys.exit(-1)


_run = _worker_run()


def _respond(infile: IO[Any], outfile: IO[Any]) -> None:
    request = json.loads(infile.read(_read_int(infile)))
    received = [infile.read(_read_int(infile)) for _ in range(_read_int(infile))]
    sent: list[bytes] = []
    text = respond(request, received, sent)
    if not text.startswith('{"response"'):
        _refusals.append(request["request"])
    _write_with_length(text.encode(), outfile)
    _write_int(len(sent), outfile)
    for attachment in sent:
        _write_with_length(attachment, outfile)


def main(infile: IO[Any], outfile: IO[Any]) -> None:
    """Respond to one request; Spark's daemon calls this."""
    _send_at_once(outfile)
    _run(_respond, infile, outfile)
    _spare_the_collector()


def _send_at_once(outfile: IO[Any]) -> None:
    """Send the end of a large response without waiting until the JVM has acknowledged its beginning.

    Else a response of more than 64 KiB takes 40 ms longer (RFC 896 and delayed acknowledgements).
    """
    with socket.socket(fileno=os.dup(outfile.fileno())) as connection:
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


_COLLECTED_EVERY = 100
"""Number of responses after which garbage is collected."""

_modules = 0
_responses = 0
_refusals: list[str] = []
"""Requests that failed since garbage was collected: their errors may hold on to tables."""


def _spare_the_collector() -> None:
    """Hide what is in memory from the daemon, which collects garbage after every response.

    Modules and the schemas of a wide table take it 20 to 60 ms, for which the next request waits. Hidden
    objects are still freed, but for cycles: these are sought after new imports, and now and then.
    """
    global _modules, _responses  # noqa: PLW0603  the daemon calls functions of this module
    _responses += 1
    if len(sys.modules) > _modules or _refusals or _responses % _COLLECTED_EVERY == 0:
        _refusals.clear()
        gc.unfreeze()
        gc.collect()
        _modules = len(sys.modules)
    gc.freeze()


_spare_the_collector()
