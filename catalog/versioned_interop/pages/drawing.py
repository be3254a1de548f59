"""Markup, style and figures of pages and of what notebooks show."""

from __future__ import annotations

import html
from datetime import UTC, datetime

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


def count_text(number: int) -> str:
    """A number with commas between thousands: ``12,345``."""
    return f"{number:,}"


def size_text(size: int) -> str:
    """A number of bytes in three digits: ``1.23 MB``.

    >>> size_text(999), size_text(1000), size_text(999_999), size_text(12_345_678)
    ('999 B', '1.00 kB', '1.00 MB', '12.3 MB')
    """
    value, unit = float(size), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    if unit == 0:
        return f"{size} B"
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f} {_UNITS[unit]}"


def time_text(time: datetime) -> str:
    """A time in UTC, in minutes: ``2026-01-31 12:00``."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M}"


def date_text(time: datetime) -> str:
    """A date in UTC: ``2026-01-31``."""
    return f"{time.astimezone(UTC):%Y-%m-%d}"


def plural(number: int, noun: str) -> str:
    """A number of things: ``1 row``, ``2 rows``."""
    return f"{count_text(number)} {noun}{'' if number == 1 else 's'}"


def clip(text: str, most: int) -> str:
    """Text of at most so many characters, with an ellipsis in the middle."""
    if len(text) <= most:
        return text
    head = (most - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


class Markup(str):
    """Text that is HTML. Any other text is escaped when it is put into a tag."""

    __slots__ = ()


def tag(name: str, *inside: str, **attributes: str | float | None) -> Markup:
    """An element. An underscore in an attribute's name is a hyphen, and one at its end is dropped.

    >>> tag("td", "<script>", class_="name", title='"')
    '<td class="name" title="&quot;">&lt;script&gt;</td>'
    """
    rendered = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{rendered}>{join(*inside)}</{name}>")


def join(*parts: str) -> Markup:
    """Concatenate parts."""
    return Markup("".join(p if isinstance(p, Markup) else escape(p) for p in parts))


def escape(text: str) -> Markup:
    """Text as HTML. What is not printable is shown escaped: it could hide or turn other text."""
    shown = "".join(ch if ch.isprintable() else ch.encode("unicode_escape").decode() for ch in text)
    return Markup(html.escape(shown, quote=True))


def _attribute(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else f"{value:.6g}"


_STYLE = """
.vt { --vt-line: #2f6db3; --vt-fresh: #1f7a4d; --vt-end: #b3402f;
  --vt-soft: color-mix(in srgb, currentColor 68%, transparent);
  --vt-faint: color-mix(in srgb, currentColor 14%, transparent);
  font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  font-variant-numeric: tabular-nums; max-width: 72rem; container-type: inline-size; }
@media (prefers-color-scheme: dark) {
  .vt { --vt-line: #6ea8e6; --vt-fresh: #62c494; --vt-end: #f0907f; } }
.vt [hidden] { display: none !important; }
.vt svg { display: block; overflow: visible; }
.vt p { margin: .4em 0; }
.vt .vt-head { font-size: 15px; margin: 0 0 .6em; overflow-wrap: anywhere; }
.vt .vt-note, .vt .vt-soft, .vt .vt-columns .vt-note { color: var(--vt-soft); }
.vt .vt-lanes, .vt .vt-events { list-style: none; margin: 0; padding: 0; }
.vt .vt-lane, .vt .vt-axis { display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 7fr);
  column-gap: 1.6rem; }
.vt .vt-lane { padding: .38rem 0; border-top: 1px solid var(--vt-faint); overflow-wrap: anywhere; }
.vt .vt-what { padding-left: calc(var(--vt-depth, 0) * 1.1rem); min-width: 0; }
.vt .vt-when { min-width: 0; padding: .28rem 6px 0; }
.vt .vt-name { font-weight: 600; }
.vt .vt-type { font-size: 12px; color: var(--vt-soft); }
.vt .vt-fact { display: inline-block; font-size: 11.5px; line-height: 1.35; padding: 0 .4em;
  border: 1px solid var(--vt-faint); border-radius: 4px; color: var(--vt-soft); }
.vt .vt-what .vt-note { font-size: 12.5px; }
.vt .vt-axis { align-items: end; font-size: 11.5px; line-height: 1.25; color: var(--vt-soft);
  padding-bottom: .3rem; }
.vt .vt-axis-line { grid-column: 2; position: relative; height: 2.6em; margin: 0 6px; }
.vt .vt-tick { position: absolute; bottom: 0; white-space: nowrap; }
.vt .vt-tick .vt-date { display: block; }
.vt .vt-newest { right: 0; }
.vt .vt-line { stroke: var(--vt-line); stroke-width: 3; }
.vt .vt-nested { stroke-width: 1.5; }
.vt .vt-mark { fill: var(--vt-line); stroke: none; }
.vt .vt-mark.vt-added { fill: var(--vt-fresh); }
.vt .vt-mark.vt-dropped { fill: var(--vt-end); }
.vt .vt-gone .vt-line { stroke: var(--vt-soft); stroke-width: 1.5; }
.vt .vt-gone .vt-name { font-weight: 400; color: var(--vt-soft); }
.vt .vt-events { display: flex; flex-wrap: wrap; gap: .1rem 1rem; font-size: 12.5px;
  margin-top: .2rem; }
.vt .vt-events .vt-at { display: inline-block; min-width: 1.4em; text-align: center;
  padding: 0 .3em; border-radius: 4px; background: var(--vt-faint); font-size: 11.5px; }
.vt .vt-events .vt-added span:last-child { color: var(--vt-fresh); }
.vt .vt-events .vt-dropped span:last-child { color: var(--vt-end); }
.vt .vt-older { font-size: 12.5px; color: var(--vt-soft); }
.vt .vt-rest { border-top: 1px solid var(--vt-faint); padding-top: .5rem; }
.vt summary { cursor: pointer; }
.vt .vt-columns { border-collapse: collapse; margin: 0; font-size: 13px; overflow-wrap: anywhere; }
.vt .vt-columns td, .vt .vt-columns th { text-align: left; padding: .15em 1.4em .15em 0;
  border: 0; background: none; vertical-align: top; }
.vt .vt-slim { display: none; }
@container (max-width: 820px) {
  .vt .vt-wide { display: none; } .vt .vt-slim { display: inline; }
  .vt .vt-lane { grid-template-columns: minmax(0, 1fr); row-gap: .1rem; padding: .55rem 0; }
  .vt .vt-axis { grid-template-columns: minmax(0, 1fr); } .vt .vt-axis-line { grid-column: 1; } }
"""

STYLE = tag("style", Markup(_STYLE))
"""The style as an element: every rule is about elements inside ``class="vt"``."""


def notebook(*parts: str) -> str:
    """A fragment for a notebook, which brings its style."""
    return str(tag("div", STYLE, join(*parts), class_="vt"))
