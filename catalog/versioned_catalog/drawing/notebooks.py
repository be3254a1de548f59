"""What notebooks show of tables, schemas and scans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from versioned_catalog.drawing.figures import plural
from versioned_catalog.drawing.lineage import trace, type_text
from versioned_catalog.drawing.lineage_layout import lay_out
from versioned_catalog.drawing.lineage_svg import draw_lineage
from versioned_catalog.drawing.markup import Markup, tag
from versioned_catalog.drawing.style import notebook
from versioned_catalog.types.types import Column, walk
from versioned_catalog.values.literals import to_sql

MOST_LANES = 16
MOST_COLUMNS = 60


def lineage_html(title: str, facts: Sequence[str], schemas: Mapping[int, Sequence[Column]]) -> str:
    """A title, facts, and the lineage of the columns of schema versions."""
    note = tag("p", "Columns by schema version:", class_="vt-note")
    return notebook(_head(title, facts), note, draw_lineage(lay_out(trace(schemas), MOST_LANES)))


def columns_html(title: str, facts: Sequence[str], columns: Sequence[Column]) -> str:
    """A title, facts, and a list of columns and nested fields."""
    every = list(walk(tuple(columns)))
    rows = [_column(column, len(above)) for column, above in every[:MOST_COLUMNS]]
    more = len(every) - len(rows)
    rest = [tag("p", f"{plural(more, 'more column')}.", class_="vt-note")] if more else []
    return notebook(_head(title, facts), tag("table", *rows, class_="vt-columns"), *rest)


def _head(title: str, facts: Sequence[str]) -> Markup:
    rest = [tag("span", f" · {fact}", class_="vt-soft") for fact in facts]
    return tag("p", tag("b", title), *rest, class_="vt-head")


def _column(column: Column, depth: int) -> Markup:
    notes = [] if column.nullable else ["not null"]
    if column.write_default is not None:
        notes.append(f"default {to_sql(column.write_default, column.type)}")
    name = tag("td", tag("b", column.name), style=f"padding-left:{1.2 * depth:g}em")
    rest = (type_text(column.type), ", ".join(notes))
    comment = tag("td", column.comment or "", class_="vt-note")
    return tag("tr", name, *(tag("td", text) for text in rest), comment)
