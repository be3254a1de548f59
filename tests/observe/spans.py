"""Finished spans as values, from the lines of an exporter, and what must hold of all of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Span:
    """A finished span; times in nanoseconds."""

    name: str
    id: str
    parent: str | None
    trace: str
    start: int
    end: int
    attributes: Mapping[str, Any]
    failed: bool

    def __getitem__(self, name: str) -> Any:
        return self.attributes[f"versioned.{name}"]


def _nanoseconds(text: str) -> int:
    moment = datetime.fromisoformat(text)
    return int(moment.timestamp()) * 10**9 + moment.microsecond * 1000


def of_sdk(file: Path) -> list[Span]:
    """The spans that the SDK's exporter wrote."""
    return [
        Span(
            line["name"],
            line["context"]["span_id"],
            line["parent_id"],
            line["context"]["trace_id"],
            _nanoseconds(line["start_time"]),
            _nanoseconds(line["end_time"]),
            line["attributes"],
            line["status"]["status_code"] == "ERROR",
        )
        for line in map(json.loads, file.read_text().splitlines())
    ]


def of_collector(file: Path) -> list[Span]:
    """The spans in a file of the collector's file exporter, which are OTLP as JSON."""
    return [
        Span(
            span["name"],
            f"0x{span['spanId']}",
            f"0x{span['parentSpanId']}" if span.get("parentSpanId") else None,
            f"0x{span['traceId']}",
            int(span["startTimeUnixNano"]),
            int(span["endTimeUnixNano"]),
            {a["key"]: _value(a["value"]) for a in span.get("attributes", [])},
            span.get("status", {}).get("code") == 2,
        )
        for line in map(json.loads, file.read_text().splitlines())
        for resource in line["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def _value(value: Mapping[str, Any]) -> Any:
    ((kind, content),) = value.items()
    return int(content) if kind == "intValue" else content


class Forest:
    """Spans with their parents."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.spans = sorted(spans, key=lambda span: span.start)
        self._by_id = {span.id: span for span in self.spans}

    def parent(self, span: Span) -> Span | None:
        return None if span.parent is None else self._by_id.get(span.parent)

    def children(self, span: Span) -> list[Span]:
        return [other for other in self.spans if other.parent == span.id]

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    def only(self, name: str) -> Span:
        (span,) = self.named(name)
        return span

    def path(self, span: Span) -> list[str]:
        """The names from the root to a span."""
        above = self.parent(span)
        return [*([] if above is None else self.path(above)), span.name]

    def roots(self) -> list[Span]:
        return [span for span in self.spans if self.parent(span) is None]

    def check_that_they_add_up(self, tolerance: int = 0) -> None:
        """Each span lies within its parent, and its children together take no more than it."""
        for span in self.spans:
            above = self.parent(span)
            if above is not None:
                assert span.trace == above.trace
                assert above.start <= span.start + tolerance, (above, span)
                assert span.end <= above.end + tolerance, (above, span)
            assert span.start <= span.end
            assert _covered(self.children(span)) <= span.end - span.start + tolerance


def _covered(spans: list[Span]) -> int:
    """The time that at least one of some spans takes."""
    return sum(end - start for start, end in _united(spans))


def _united(spans: list[Span]) -> Iterator[tuple[int, int]]:
    start = end = 0
    for span in sorted(spans, key=lambda span: span.start):
        if span.start > end:
            yield start, end
            start, end = span.start, span.end
        end = max(end, span.end)
    yield start, end
