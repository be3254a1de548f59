"""A picture of costs over sizes, both on logarithmic scales, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Points = Sequence[tuple[float, float]]

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#666666", "#b8860b")
WIDTH, HEIGHT, LEFT, TOP = 420, 300, 64, 40
"""Size of the area of a panel, and where the first one begins, in pixels."""

GAP = 90
ROW = TOP + HEIGHT + 60
LEGEND = 130


@dataclass(frozen=True)
class Panel:
    """One diagram.

    Args:
        title: what the horizontal axis counts.
        lines: milliseconds by size, by what is measured.
    """

    title: str
    lines: Mapping[str, Points]


def picture(panels: Sequence[Panel], across: int = 2) -> str:
    """The SVG of diagrams, so many beside each other, with one scale of milliseconds for all."""
    points = [point for panel in panels for line in panel.lines.values() for point in line]
    low = math.floor(math.log10(min(y for _, y in points)))
    high = math.ceil(math.log10(max(y for _, y in points)))
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    across = min(across, len(panels))
    width = LEFT + across * (WIDTH + GAP) + LEGEND
    height = -(-len(panels) // across) * ROW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for at, panel in enumerate(panels):
        place = LEFT + at % across * (WIDTH + GAP), TOP + at // across * ROW
        parts += _panel(panel, place, (low, high), names)
    left = LEFT + across * (WIDTH + GAP) - GAP + 20
    for at, name in enumerate(names):
        y = TOP + 14 + 20 * at
        parts.append(_line([(left, y - 4), (left + 18, y - 4)], COLORS[at % len(COLORS)]))
        parts.append(f'<text x="{left + 24}" y="{y}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _panel(
    panel: Panel, corner: tuple[float, float], ends: tuple[int, int], names: Sequence[str]
) -> list[str]:
    left, top = corner
    low, high = ends
    sizes = [x for line in panel.lines.values() for x, _ in line]
    first, last = math.log10(min(sizes)), max(math.log10(max(sizes)), math.log10(min(sizes)) + 1)

    def place(point: tuple[float, float]) -> tuple[float, float]:
        x = left + (math.log10(point[0]) - first) / (last - first) * WIDTH
        return x, top + HEIGHT - (math.log10(point[1]) - low) / (high - low) * HEIGHT

    parts = []
    for power in range(low, high + 1):
        _, y = place((min(sizes), 10.0**power))
        parts.append(_line([(left, y), (left + WIDTH, y)], "#dddddd", 1))
        parts.append(
            f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{10.0**power:,g} ms</text>'
        )
    for power in range(math.ceil(first), math.floor(last) + 1):
        x, _ = place((10.0**power, 10.0**low))
        parts.append(_line([(x, top), (x, top + HEIGHT)], "#eeeeee", 1))
        parts.append(
            f'<text x="{x}" y="{top + HEIGHT + 18}" text-anchor="middle">{10**power:,}</text>'
        )
    middle = left + WIDTH / 2
    parts.append(
        f'<text x="{middle}" y="{top + HEIGHT + 40}" text-anchor="middle">{panel.title}</text>'
    )
    for name, line in panel.lines.items():
        color = COLORS[names.index(name) % len(COLORS)]
        parts.append(_line([place(point) for point in line], color))
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in map(place, line)
        ]
    return parts


def _line(points: Points, color: str, width: float = 2) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{width}"/>'
