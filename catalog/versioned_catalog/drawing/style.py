"""The style of pictures: of pages, and of what notebooks show."""

from __future__ import annotations

from versioned_catalog.drawing.markup import Markup, join, tag

_STYLE = """
.vt { --vt-line: #2f6db3; --vt-fresh: #1f7a4d; --vt-end: #b3402f;
  --vt-soft: color-mix(in srgb, currentColor 66%, transparent);
  --vt-faint: color-mix(in srgb, currentColor 14%, transparent);
  font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  font-variant-numeric: tabular-nums; max-width: 72rem; container-type: inline-size; }
@media (prefers-color-scheme: dark) {
  .vt { --vt-line: #6ea8e6; --vt-fresh: #62c494; --vt-end: #f0907f; } }
.vt svg { display: block; overflow: visible; }
.vt text { fill: currentColor; font-size: 12px; }
.vt .vt-grid { stroke: var(--vt-faint); stroke-width: 1; }
.vt .vt-tick { fill: var(--vt-soft); font-size: 11px; }
.vt .vt-name { font-weight: 600; }
.vt .vt-type, .vt .vt-event { fill: var(--vt-soft); font-size: 11px; }
.vt .vt-note, .vt .vt-soft, .vt .vt-columns .vt-note { color: var(--vt-soft); }
.vt .vt-line { stroke: var(--vt-line); stroke-width: 3; }
.vt .vt-nested { stroke-width: 1.5; }
.vt .vt-gone .vt-line { stroke: var(--vt-soft); stroke-width: 1.5; }
.vt .vt-gone .vt-name { font-weight: 400; fill: var(--vt-soft); }
.vt .vt-mark { fill: var(--vt-line); stroke: none; }
.vt .vt-added { fill: var(--vt-fresh); }
.vt .vt-dropped { fill: var(--vt-end); }
.vt p { margin: .4em 0; }
.vt .vt-head { font-size: 15px; margin: 0 0 .6em; }
.vt .vt-columns { border-collapse: collapse; margin: 0; font-size: 13px; }
.vt .vt-columns td, .vt .vt-columns th { text-align: left; padding: .15em 1.4em .15em 0;
  border: 0; background: none; vertical-align: top; }
.vt .vt-slim { display: none; }
@container (max-width: 940px) { .vt .vt-wide { display: none; } .vt .vt-slim { display: inline; } }
"""

STYLE = tag("style", Markup(_STYLE))
"""The style as an element: every rule is about elements inside ``class="vt"``."""


def notebook(*parts: str) -> str:
    """A fragment for a notebook, which brings its style."""
    return str(tag("div", STYLE, join(*parts), class_="vt"))
