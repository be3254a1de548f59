"""The frame of a page: one HTML file that loads nothing, with a search box for long lists."""

from __future__ import annotations

import base64
import hashlib

from versioned_interop.pages.drawing import STYLE, Markup, join, plural, tag


def section(title: str, note: str, *inside: Markup) -> Markup:
    """A section with a heading and a sentence about it."""
    notes = [tag("p", note, class_="soft")] if note else []
    return tag("section", tag("h2", title), *notes, *inside)


def facts(pairs: list[tuple[str, str]]) -> Markup:
    """Figures with their names; those without a text are left out."""
    shown = [
        tag("div", tag("dt", name), tag("dd", text), class_="fact") for name, text in pairs if text
    ]
    return tag("dl", *shown)


def grid(class_: str, names: list[tuple[str, bool]], rows: list[list[str]]) -> Markup:
    """A table whose cells stand below each other on a phone, each with the name of its column.

    Args:
        class_: of the table.
        names: of the columns, and whether they are numbers.
        rows: the cells of each row, as text or markup.
    """
    kinds = ["number" if is_number else None for _, is_number in names]
    header = [
        tag("th", name, class_=kind, scope="col")
        for (name, _), kind in zip(names, kinds, strict=True)
    ]
    body = [
        tag(
            "tr",
            *(
                tag("td", cell, class_=kind, data_name=name)
                for (name, _), kind, cell in zip(names, kinds, row, strict=True)
            ),
        )
        for row in rows
    ]
    table = tag("table", tag("thead", tag("tr", *header)), tag("tbody", *body), class_=class_)
    return table


MOST_WITHOUT_SEARCH = 20
"""A list that is no longer has no search box, and its page no script."""


def search(selector: str, noun: str, count: int) -> Markup:
    """A search box over the elements of a selector; it is shown if the browser runs its script."""
    if count <= MOST_WITHOUT_SEARCH:
        return Markup("")
    label = f"Search {noun}s"
    box = Markup(
        f'<input type="search" placeholder="{label}" aria-label="{label}" autocomplete="off">'
    )
    output = tag("output", plural(count, noun), aria_live="polite", class_="soft")
    return tag("div", box, " ", output, class_="find", data_rows=selector, hidden="")


# Without < and &, so that the page is well-formed XML, too.
_SCRIPT = """
for (const find of document.querySelectorAll(".find")) {
  const box = find.querySelector("input"), shown = find.querySelector("output");
  const all = shown.textContent, section = find.closest("section");
  const rows = [...section.querySelectorAll(find.dataset.rows)];
  const texts = rows.map(row => [row, ...row.querySelectorAll("[title]")].map(part =>
    part === row ? row.textContent : part.title).join(" ").toLowerCase());
  const rest = [...section.querySelectorAll("details.vt-rest")];
  find.hidden = false;
  box.oninput = () => {
    const words = box.value.toLowerCase().split(/\\s+/).filter(word => word);
    let count = 0;
    rows.forEach((row, at) => {
      row.hidden = !words.every(word => texts[at].includes(word));
      count += row.hidden ? 0 : 1;
    });
    for (const part of rest) part.open = words.length > 0;
    shown.textContent = words.length ? count + " of " + all : all;
  };
}
"""
_HASH = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{_HASH}'"
)
"""What the page may do: names that were not escaped would still run no script."""

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --paper: #fcfcfa; }
@media (prefers-color-scheme: dark) { :root { --ink: #dde3ea; --paper: #14181d; } }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--paper); }
main.vt { margin: 0 auto; padding: 2.5rem 1.5rem 4rem; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; font-weight: 650; letter-spacing: -.01em; margin: 0; }
h2 { font-size: 1.1rem; font-weight: 650; margin: 0; }
section { margin-top: 2.75rem; }
section > .soft { margin: .15rem 0 1rem; max-width: 46rem; }
h2 + table, h2 + ul { margin-top: .8rem; }
.soft { color: var(--vt-soft); }
.warn { color: var(--vt-end); }
a { color: var(--vt-line); }
code { font-size: .92em; }
.comment { font-size: 1.05rem; margin: .3rem 0 0; max-width: 44rem; }
dl { display: flex; flex-wrap: wrap; gap: .9rem 2.2rem; margin: 1.3rem 0 0; }
dt { color: var(--vt-soft); font-size: .8rem; }
dd { margin: 0; font-size: 1.05rem; font-weight: 600; }
.find { margin: 0 0 .8rem; display: flex; flex-wrap: wrap; gap: .3rem .9rem; align-items: baseline; }
.find input { font: inherit; color: inherit; background: transparent; padding: .35rem .6rem;
  border: 1px solid var(--vt-soft); border-radius: 6px; width: 20rem; max-width: 100%; }
.pair { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 2rem; }
figure { margin: 0; min-width: 0; }
figcaption { margin-bottom: .6rem; }
.plot { display: grid; grid-template-columns: max-content minmax(0, 1fr); column-gap: .5rem; }
.y { display: flex; flex-direction: column; justify-content: space-between; text-align: right;
  font-size: .75rem; padding-top: 4px; }
.y span { display: block; line-height: 0; white-space: nowrap; }
.chart { width: 100%; height: 120px; }
.chart .rule { fill: none; stroke: var(--vt-faint); }
.chart .area { fill: var(--vt-line); opacity: .13; }
.chart .step { fill: none; stroke: var(--vt-line); stroke-width: 2; }
.chart .hover { fill: transparent; }
.chart .hover:hover { fill: var(--vt-faint); }
.x { grid-column: 2; display: flex; justify-content: space-between; gap: .6rem; font-size: .75rem;
  margin-top: .35rem; white-space: nowrap; }
.bars { display: grid; gap: .3rem; list-style: none; margin: 0; padding: 0; }
.bars .row { display: grid; gap: .9rem; align-items: center;
  grid-template-columns: minmax(6rem, 14rem) minmax(0, 1fr) minmax(6rem, 13rem); }
.bars .label { font-weight: 600; }
.bars .value { text-align: right; }
.bars .track { height: .6rem; }
.bars .bar { height: 100%; min-width: 2px; background: var(--vt-line); border-radius: 2px; }
table { width: 100%; border-collapse: collapse; }
th { text-align: left; font-weight: 400; font-size: .8rem; color: var(--vt-soft);
  padding: 0 .9rem .35rem 0; }
td { padding: .42rem .9rem .42rem 0; border-top: 1px solid var(--vt-faint);
  vertical-align: top; }
th.number, td.number { text-align: right; white-space: nowrap; }
td:last-child, th:last-child { padding-right: 0; }
.short { width: auto; }
.short td:first-child { font-weight: 600; }
.history .time { white-space: nowrap; }
.history .what { width: 42%; }
.history .changes { font-size: .88rem; }
.removed { color: var(--vt-end); }
.lines { list-style: none; margin: 0; padding: 0; }
@media (max-width: 700px) {
  main.vt { padding: 1.4rem 1rem 3rem; }
  .pair { grid-template-columns: minmax(0, 1fr); gap: 1.5rem; }
  .bars { gap: .7rem; }
  .bars .row { grid-template-columns: minmax(0, 1fr) auto; gap: .1rem .9rem; }
  .bars .track { grid-column: 1 / -1; grid-row: 2; }
  thead { display: none; }
  .cards tr { display: block; border-top: 1px solid var(--vt-faint); padding: .5rem 0; }
  .cards td { display: inline-block; border: 0; padding: 0 1rem 0 0; text-align: left;
    white-space: normal; }
  .cards td:empty { display: none; }
  .cards td:not(:first-child)::before { content: attr(data-name) " "; color: var(--vt-soft); }
  .cards td:first-child { display: block; font-weight: 600; }
  .history tr { display: grid; grid-template-columns: auto minmax(0, 1fr) auto; gap: 0 .8rem;
    border-top: 1px solid var(--vt-faint); padding: .5rem 0; }
  .history td { border: 0; padding: 0; }
  .history .what { grid-column: 2; grid-row: 1; width: auto; }
  .history .version { grid-column: 1; grid-row: 1; color: var(--vt-soft); min-width: 2.2rem; }
  .history .rows { grid-column: 3; grid-row: 1; }
  .history .time { grid-column: 2; grid-row: 2; color: var(--vt-soft); font-size: .88rem; }
  .history .segments { grid-column: 3; grid-row: 2; color: var(--vt-soft); font-size: .88rem; }
  .history .who { grid-column: 2; grid-row: 3; font-size: .88rem; }
}
@media print { :root { --ink: #000; --paper: #fff; } section { break-inside: avoid; } }
"""


def html_page(title: str, *inside: Markup) -> str:
    """A page, as the text of an HTML file in UTF-8."""
    main = tag("main", *inside, class_="vt")
    script = [tag("script", Markup(_SCRIPT))] if 'class="find"' in main else []
    head = tag(
        "head",
        Markup('<meta charset="utf-8">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        Markup('<link rel="icon" href="data:,">'),  # or browsers ask for one
        tag("title", title),
        STYLE,
        tag("style", Markup(_STYLE)),
    )
    page = tag("html", head, tag("body", main, *script), lang="en")
    return str(join(Markup("<!doctype html>\n"), page))
