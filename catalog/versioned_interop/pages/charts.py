"""Charts: a number over time, and bars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from versioned_interop.pages.contents import Point
from versioned_interop.pages.drawing import Markup, clip, date_text, tag, time_text

_WIDTH, _HEIGHT = 1000.0, 120.0

_NEWEST = 0.98
"""The part of the width up to the newest version, which has a width of its own to be seen."""


def scale(most: int) -> list[int]:
    """Round numbers at even distances, from 0 to the first one that is not below ``most``.

    >>> scale(300), scale(7), scale(0)
    ([0, 100, 200, 300], [0, 5, 10], [0, 1])
    """
    step = 1
    while step * 3 < most:
        step = _next(step)
    return list(range(0, max(1, -(-most // step)) * step + 1, step))


def _next(step: int) -> int:
    """1, 2, 5, 10, 20, 50, ..."""
    return step * 5 // 2 if str(step)[0] == "2" else step * 2


def steps(
    name: str, points: Sequence[Point], value: Callable[[Point], int], text: Callable[[int], str]
) -> Markup:
    """A number over time: it stays until the next version. The axes are labelled."""
    values = [value(point) for point in points]
    most, ticks = max(values), scale(max(values))
    places = _places(points)
    top = ticks[-1]
    lines = [f"M0,{_y(values[0], top):.1f}"]
    for x, number in zip(places[1:], values[1:], strict=True):
        lines += [f"H{x:.1f}", f"V{_y(number, top):.1f}"]
    outline = " ".join([*lines, f"H{_WIDTH:g}"])
    rules = " ".join(f"M0,{_y(tick, top):.1f} H{_WIDTH:g}" for tick in ticks)
    grid = tag("path", d=rules, class_="rule", vector_effect="non-scaling-stroke")
    area = tag("path", d=f"{outline} V{_HEIGHT:g} H0 Z", class_="area")
    line = tag("path", d=outline, class_="step", vector_effect="non-scaling-stroke")
    hovers = [
        _hover(x, end, f"version {point.version}, {time_text(point.time)}: {text(number)}")
        for x, end, point, number in zip(places, [*places[1:], _WIDTH], points, values, strict=True)
    ]
    drawn = tag(
        "svg",
        *(grid, area, line, *hovers),
        viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
        preserveAspectRatio="none",
        class_="chart",
        role="img",
        aria_label=f"{name}: {text(values[0])} at first, {text(values[-1])} now, at most {text(most)}",
    )
    head = [tag("span", name, class_="soft"), " ", tag("b", text(values[-1]))]
    if most > values[-1]:
        head.append(tag("span", f" · most {text(most)}", class_="soft"))
    marks = tag("div", *(tag("span", text(tick)) for tick in reversed(ticks)), class_="y soft")
    ends = tag("div", *_dates(points), class_="x soft")
    plot = tag("div", marks, drawn, ends, class_="plot")
    return tag("figure", tag("figcaption", *head), plot)


def _dates(points: Sequence[Point]) -> list[Markup]:
    """The times at the start, in the middle and at the end of an axis."""
    times = sorted(point.time for point in points)
    first, last = times[0], times[-1]
    text = _time_format(last - first)
    shown = dict.fromkeys((text(first), text(first + (last - first) / 2), text(last)))
    return [tag("span", time) for time in shown]


def _time_format(span: timedelta) -> Callable[[datetime], str]:
    if span < timedelta(hours=1):
        return lambda time: f"{time.astimezone(UTC):%H:%M:%S}"
    if span < timedelta(days=2):
        return lambda time: f"{time.astimezone(UTC):%d %b %H:%M}"
    return date_text


def _places(points: Sequence[Point]) -> list[float]:
    """x by time, or by version if all have one time."""
    times = [point.time.timestamp() for point in points]
    if max(times) <= min(times):
        times = [float(at) for at in range(len(points))]
    # Commit times may decrease.
    sorted_times = sorted(times)
    start, span = sorted_times[0], (sorted_times[-1] - sorted_times[0]) or 1.0
    return [(time - start) / span * _WIDTH * _NEWEST for time in sorted_times]


def _y(value: int, top: int) -> float:
    return _HEIGHT - (_HEIGHT - 4) * value / top


def _hover(start: float, end: float, text: str) -> Markup:
    title = tag("title", text)
    width = max(end - start, 1.0)
    return tag("rect", title, x=start, y=0, width=width, height=_HEIGHT, class_="hover")


MOST_LABEL = 60


def bars(rows: Sequence[tuple[str, float, str, str]]) -> Markup:
    """Bars below each other: label, length from 0 to 1, text, and a longer text as its tooltip."""
    if not rows:
        return tag("p", "No segments.")
    return tag("ul", *(_bar(*row) for row in rows), class_="bars")


def _bar(label: str, length: float, text: str, full: str) -> Markup:
    bar = tag("div", style=f"width:{100 * length:.2f}%", class_="bar")
    cells = [
        tag("div", clip(label, MOST_LABEL), class_="label"),
        tag("div", bar, class_="track", aria_hidden="true"),
        tag("div", text, class_="value"),
    ]
    return tag("li", *cells, class_="row", title=full)
