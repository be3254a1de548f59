"""Requests about streams that read a table, and their responses. See ``connector/PROTOCOL.md``."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark_versioned.sql.protocol.base import Message, Request, SparkStruct
from pyspark_versioned.sql.protocol.common import Done, TableRef
from pyspark_versioned.sql.protocol.rows import ScanPlan


class StreamRef(Message):
    table: TableRef
    options: Mapping[str, str]


class StreamPlace(Message):
    offset: str


class StreamLag(Message):
    versions: int
    segments: int
    rows: int
    bytes: int


class StreamAhead(Message):
    offset: str
    newest: str
    behind: StreamLag


class MicroBatch(Message):
    stream: StreamRef
    start: str
    end: str


class StreamStart(Request[StreamPlace]):
    stream: StreamRef


class StreamLatest(Request[StreamAhead]):
    stream: StreamRef
    start: str
    limited: bool
    until: str | None


class StreamNewest(Request[StreamPlace]):
    stream: StreamRef


class StreamBehind(Request[StreamLag]):
    stream: StreamRef
    offset: str


class StreamConsumed(Request[Done]):
    stream: StreamRef
    offset: str


class PlanMicroBatch(Request[ScanPlan]):
    batch: MicroBatch
    schema: SparkStruct
    allow_native: bool
