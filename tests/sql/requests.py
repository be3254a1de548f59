"""The requests to Python that a statement sends, from the jar's log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Request(NamedTuple):
    """A request by its name and the last part of the name that it is about, such as a table's."""

    name: str
    subject: str


@contextmanager
def recorded(spark: SparkSession) -> Iterator[list[Request]]:
    """The requests that are sent inside the ``with``, in the list once it ends.

    Requests that Python's data source answers without the jar are not among them, nor is the first
    request of a JVM, the handshake.
    """
    jvm: Any = spark._jvm
    text = jvm.java.io.StringWriter()
    log4j = jvm.org.apache.logging.log4j
    appender = log4j.core.appender.WriterAppender.createAppender(
        log4j.core.layout.PatternLayout.newBuilder().withPattern("%m%n").build(),
        None,
        text,
        "requests",
        False,
        True,
    )
    appender.start()
    logger = log4j.LogManager.getLogger("versioned.spark.python.Python")
    level = logger.getLevel()
    logger.addAppender(appender)
    logger.setLevel(log4j.Level.DEBUG)
    requests: list[Request] = []
    try:
        yield requests
    finally:
        logger.setLevel(level)
        logger.removeAppender(appender)
        requests += _parse(text.toString())


def _parse(log: str) -> Iterator[Request]:
    for line in log.splitlines():
        name, _, subject = line.partition(" ")
        if name != "handshake":
            yield Request(name, subject.strip('[]"`').replace('","', ".").rpartition(".")[2])
