"""Charts of a page: growth as steps, and bars with their labels beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from versioned_catalog.drawing.figures import time_text
from versioned_catalog.drawing.markup import Markup, join, tag
from versioned_catalog.page.model import Point

_WIDTH, _HEIGHT = 1000.0, 120.0


def steps(
    name: str, points: Sequence[Point], value: Callable[[Point], int], text: Callable[[int], str]
) -> Markup:
    """A number over time: it stays until the next version, and starts at zero on the scale."""
    values = [value(point) for point in points]
    most = max(values)
    places = _places(points)
    lines = [f"M0,{_y(values[0], most):.1f}"]
    for x, number in zip(places[1:], values[1:], strict=True):
        lines += [f"H{x:.1f}", f"V{_y(number, most):.1f}"]
    outline = " ".join([*lines, f"H{_WIDTH:g}"])
    area = tag("path", d=f"{outline} V{_HEIGHT:g} H0 Z", class_="area")
    line = tag("path", d=outline, class_="step", vector_effect="non-scaling-stroke")
    hovers = [
        _hover(x, end, f"version {point.version}, {time_text(point.time)}: {text(number)}")
        for x, end, point, number in zip(places, [*places[1:], _WIDTH], points, values, strict=True)
    ]
    box = f"0 0 {_WIDTH:g} {_HEIGHT:g}"
    drawn = tag("svg", area, line, *hovers, viewBox=box, preserveAspectRatio="none", class_="chart")
    head = [tag("span", name, class_="soft"), " ", tag("b", text(values[-1]))]
    if most > values[-1]:
        head.append(tag("span", f" · most {text(most)}", class_="soft"))
    ends = [tag("span", text) for text in _ends(points[0].time, points[-1].time)]
    return tag("figure", tag("figcaption", *head), drawn, tag("div", *ends, class_="ends soft"))


def _ends(first: datetime, last: datetime) -> tuple[str, str]:
    short = last - first < timedelta(hours=1)
    if short:
        return f"{first.astimezone(UTC):%H:%M:%S}", f"{last.astimezone(UTC):%H:%M:%S}"
    return time_text(first), time_text(last)


def _places(points: Sequence[Point]) -> list[float]:
    """x by time, or by version if all have one time."""
    times = [point.time.timestamp() for point in points]
    if max(times) <= min(times):
        times = [float(at) for at in range(len(points))]
    # A clock may have gone back.
    sorted_times = sorted(times)
    start, span = sorted_times[0], (sorted_times[-1] - sorted_times[0]) or 1.0
    # The newest version has a width of its own, so that it can be seen.
    return [(time - start) / span * _WIDTH * 0.98 for time in sorted_times]


def _y(value: int, most: int) -> float:
    return _HEIGHT - (_HEIGHT - 4) * value / (most or 1)


def _hover(start: float, end: float, text: str) -> Markup:
    title = tag("title", text)
    width = max(end - start, 1.0)
    return tag("rect", title, x=start, y=0, width=width, height=_HEIGHT, class_="hover")


def bars(rows: Sequence[tuple[str, float, str, str]]) -> Markup:
    """Bars below each other: label, length from 0 to 1, text, and a longer text as its tooltip."""
    return tag("div", *(_bar(*row) for row in rows), class_="bars")


def _bar(label: str, length: float, text: str, full: str) -> Markup:
    bar = tag("div", style=f"width:{100 * length:.2f}%", class_="bar")
    cells = [
        tag("div", label, class_="label"),
        tag("div", bar, class_="track"),
        tag("div", text, class_="value"),
    ]
    return join(tag("div", *cells, class_="row", title=full))
