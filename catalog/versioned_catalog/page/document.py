"""The page as one HTML document, which loads nothing."""

from __future__ import annotations

from versioned_catalog.drawing.markup import Markup, join, tag
from versioned_catalog.drawing.style import STYLE
from versioned_catalog.handle import TableHandle
from versioned_catalog.page.gather import gather
from versioned_catalog.page.model import PageModel
from versioned_catalog.page.sections import body
from versioned_catalog.storage.credentials import without_credentials

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --paper: #fcfcfa; }
@media (prefers-color-scheme: dark) { :root { --ink: #dde3ea; --paper: #14181d; } }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--paper); }
main.vt { margin: 0 auto; padding: 2.5rem 1.5rem 4rem; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; font-weight: 650; letter-spacing: -.01em; margin: 0; }
h2 { font-size: 1.1rem; font-weight: 650; margin: 0; }
section { margin-top: 2.75rem; }
section > .soft { margin: .15rem 0 1rem; max-width: 44rem; }
.soft { color: var(--vt-soft); }
.comment { font-size: 1.05rem; margin: .3rem 0 0; max-width: 44rem; }
dl { display: flex; flex-wrap: wrap; gap: .9rem 2.2rem; margin: 1.3rem 0 0; }
dt { color: var(--vt-soft); font-size: .8rem; }
dd { margin: 0; font-size: 1.05rem; font-weight: 600; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 2rem; }
figure { margin: 0; min-width: 0; }
figcaption { margin-bottom: .35rem; }
.chart { width: 100%; height: 120px; border-bottom: 1px solid var(--vt-faint); }
.chart .area { fill: var(--vt-line); opacity: .13; }
.chart .step { fill: none; stroke: var(--vt-line); stroke-width: 2; }
.chart .hover { fill: transparent; }
.chart .hover:hover { fill: var(--vt-faint); }
.ends { display: flex; justify-content: space-between; font-size: .8rem; margin-top: .25rem; }
.bars { display: grid; gap: .3rem; }
.bars .row { display: grid; grid-template-columns: minmax(6rem, 14rem) 1fr minmax(6rem, 13rem);
  gap: .9rem; align-items: center; }
.bars .label { font-weight: 600; }
.bars .value { text-align: right; }
.bars .track { height: .6rem; }
.bars .bar { height: 100%; min-width: 2px; background: var(--vt-line); border-radius: 2px; }
.history { width: 100%; border-collapse: collapse; }
.history th { text-align: left; font-weight: 400; font-size: .8rem; color: var(--vt-soft);
  padding: 0 .9rem .35rem 0; }
.history td { padding: .42rem .9rem .42rem 0; border-top: 1px solid var(--vt-faint);
  vertical-align: top; }
.history .number { text-align: right; white-space: nowrap; }
.history .time { white-space: nowrap; }
.history .what { width: 45%; }
.history .who { padding-right: 0; }
.history .changes { font-size: .88rem; }
@media (max-width: 700px) {
  main.vt { padding: 1.4rem 1rem 3rem; }
  .pair { grid-template-columns: 1fr; gap: 1.5rem; }
  .bars { gap: .7rem; }
  .bars .row { grid-template-columns: 1fr auto; gap: .1rem .9rem; }
  .bars .track { grid-column: 1 / -1; grid-row: 2; }
  .history thead { display: none; }
  .history tr { display: grid; grid-template-columns: auto 1fr auto; gap: 0 .8rem;
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


def table_page(handle: TableHandle) -> str:
    """The page of a table, as the text of an HTML file in UTF-8."""
    return document(gather(handle, without_credentials(handle.name)))


def document(model: PageModel) -> str:
    """A page as the text of an HTML file."""
    head = tag(
        "head",
        Markup('<meta charset="utf-8">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<link rel="icon" href="data:,">'),  # or browsers ask for one
        tag("title", model.title),
        STYLE,
        tag("style", Markup(_STYLE)),
    )
    main = tag("main", body(model), class_="vt")
    return str(join(Markup("<!doctype html>\n"), tag("html", head, tag("body", main), lang="en")))
