"""HTML and SVG in which every text is escaped, unless it is markup already."""

from __future__ import annotations

import html


class Markup(str):
    """Text that is HTML. Any other text is escaped when it is put into a tag."""

    __slots__ = ()


def tag(name: str, *inside: str, **attributes: str | float | None) -> Markup:
    """An element. An underscore in an attribute's name is a hyphen, and one at its end is dropped.

    >>> tag("td", "<script>", class_="name", title='"')
    '<td class="name" title="&quot;">&lt;script&gt;</td>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{given}>{join(*inside)}</{name}>")


def join(*parts: str) -> Markup:
    """The parts one after the other."""
    return Markup("".join(p if isinstance(p, Markup) else escape(p) for p in parts))


def escape(text: str) -> Markup:
    """Text as HTML. What is not printable is shown escaped: it could hide or turn other text."""
    shown = "".join(ch if ch.isprintable() else ch.encode("unicode_escape").decode() for ch in text)
    return Markup(html.escape(shown, quote=True))


def _attribute(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else f"{value:.6g}"
