"""A warehouse as one HTML page, and as a folder of pages: its own, and one of each table."""

from __future__ import annotations

import os
import re
import shlex
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from versioned_catalog.catalog import Catalog
from versioned_catalog.commit.table_handle import Progress
from versioned_catalog.maintain.advice import MaintenanceBounds
from versioned_catalog.model.type_text import render_path
from versioned_catalog.names.dropped import DroppedTable
from versioned_catalog.names.names_log import Name
from versioned_catalog.storage.text import replace_file
from versioned_interop.pages.drawing import Markup, clip, count_text, size_text, tag, time_text
from versioned_interop.pages.frame import facts, grid, html_page, search, section
from versioned_interop.pages.warehouse import (
    Hold,
    Measured,
    Unreadable,
    Warehouse,
    measure_all,
    measure_table,
    measure_warehouse,
    problem_text,
)

INDEX = "index.html"
MOST_NAME = 60
MOST_TABLES = 2_000
"""How many tables, and holds of them, a page lists."""


@dataclass(frozen=True)
class WarehousePage:
    """A page of a warehouse.

    Args:
        html: text of the file.
        tables: number of tables.
        failed: how many of them could not be read, or not as a whole; the page says why.
    """

    html: str
    tables: int
    failed: int


def warehouse_page(
    catalog: Catalog, names: Sequence[Name], bounds: MaintenanceBounds, progress: Progress
) -> WarehousePage:
    """The page of a warehouse."""
    return _page(measure_all(catalog, names, bounds, progress))


def _page(warehouse: Warehouse) -> WarehousePage:
    return WarehousePage(draw_warehouse(warehouse), len(warehouse.tables), warehouse.failed)


def write_pages(
    catalog: Catalog,
    names: Sequence[Name],
    folder: str | os.PathLike[str],
    bounds: MaintenanceBounds,
    progress: Progress,
) -> WarehousePage:
    """Write the page of a warehouse and one of each table into a folder; replace those that are there.

    Raises:
        OSError: a file can't be written.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    tables: list[Measured | Unreadable] = []
    for at, name in enumerate(names):
        progress("tables", at, len(names))
        tables.append(_with_page(catalog, name, measure_table(catalog, name, bounds), target))
    progress("tables", len(names), len(names))
    page = _page(measure_warehouse(catalog, tables))
    replace_file(target / INDEX, page.html.encode())
    return page


def _with_page(
    catalog: Catalog, name: Name, measured: Measured | Unreadable, folder: Path
) -> Measured | Unreadable:
    """Write the page of a table, if it can be read."""
    if isinstance(measured, Unreadable):
        return measured
    try:
        html = catalog.load_table(name).page()
    except Exception as error:
        return replace(measured, problem=measured.problem or problem_text(error))
    file = file_name(name)
    replace_file(folder / file, html.encode())
    return replace(measured, link=file)


def file_name(name: Name) -> str:
    """The file of a table's page: its name, with a checksum where that is not a good name of a file.

    >>> file_name(("metrics", "cpu")), file_name(("a/b",))
    ('metrics.cpu.html', 'a_b-aef0fa8d.html')
    """
    text = render_path(name)
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", ".".join(name))[:100]
    if plain == text and not plain.startswith(".") and f"{plain}.html" != INDEX:
        return f"{plain}.html"
    return f"{plain.lstrip('.')}-{zlib.crc32(text.encode()):08x}.html"


def draw_warehouse(warehouse: Warehouse) -> str:
    """The page, as the text of an HTML file."""
    readable = [table for table in warehouse.tables if isinstance(table, Measured)]
    return html_page(
        warehouse.url,
        _head(warehouse, readable),
        _problems(warehouse),
        _tables(warehouse.tables),
        _jobs(readable),
        _holds([hold for table in readable for hold in table.holds]),
        _dropped(warehouse),
    )


def _head(warehouse: Warehouse, tables: Sequence[Measured]) -> Markup:
    small = sum(table.small for table in tables)
    newest = max((table.time for table in tables), default=None)
    figures = [
        ("tables", count_text(len(warehouse.tables))),
        ("rows", count_text(sum(table.rows for table in tables))),
        ("size", size_text(sum(table.bytes for table in tables))),
        ("segments", count_text(sum(table.segments for table in tables))),
        ("small segments", count_text(small)),
        ("last commit (UTC)", time_text(newest) if newest is not None else ""),
        ("tables with problems", count_text(warehouse.failed) if warehouse.failed else ""),
        ("can be undropped", count_text(len(warehouse.dropped)) if warehouse.dropped else ""),
    ]
    return tag("header", tag("h1", warehouse.url), facts(figures))


def _problems(warehouse: Warehouse) -> Markup:
    rows = [
        *([name(table.name), table.problem] for table in warehouse.tables if table.problem),
        *([name(view), problem] for view, problem in warehouse.broken_views),
        *(["", problem] for problem in warehouse.problems),
    ]
    if not rows:
        return Markup("")
    names = [("Table or view", False), ("Problem", False)]
    return section("Problems", "", grid("cards", names, rows))


def name(text: str) -> Markup:
    """A name that is cut if it is long; the tooltip has the whole."""
    return tag("span", clip(text, MOST_NAME), title=text)


def _tables(tables: Sequence[Measured | Unreadable]) -> Markup:
    columns = [
        *(("Table", False), ("Rows", True), ("Size", True), ("Segments", True)),
        *(("Small", True), ("Versions", True), ("Last commit (UTC)", False), ("Due", False)),
    ]
    rows = [_table(table) for table in tables[:MOST_TABLES]]
    note = (
        "Rows in live segments; of a table with a primary key (*) the stored ones. Small segments are "
        "those that a compaction would merge. Versions are those that can be read."
    )
    if len(tables) > MOST_TABLES:
        note += f" The first {count_text(MOST_TABLES)} of {count_text(len(tables))} tables."
    box = search("tbody tr", "table", len(rows))
    return section("Tables", note, box, grid("cards", columns, rows))


def _table(table: Measured | Unreadable) -> list[str]:
    if isinstance(table, Unreadable):
        problem = tag("span", "can't be read: see Problems", class_="warn")
        return [name(table.name), "", "", "", "", "", "", problem]
    linked = name(table.name)
    if table.link is not None:
        linked = tag("a", clip(table.name, MOST_NAME), href=table.link, title=table.name)
    due = "see Problems" if table.jobs is None else ", ".join(job.name for job in table.jobs)
    return [
        linked,
        count_text(table.rows) + ("*" if table.is_keyed else ""),
        size_text(table.bytes),
        count_text(table.segments),
        f"{count_text(table.small)} ({size_text(table.small_bytes)})" if table.small else "0",
        count_text(table.versions),
        time_text(table.time),
        due or "nothing",
    ]


def _jobs(tables: Sequence[Measured]) -> Markup:
    rows = [
        [
            name(table.name),
            job.name,
            job.why,
            size_text(job.rewritten_bytes) if job.rewritten_bytes else "",
            size_text(job.freed_bytes) if job.freed_bytes else "",
        ]
        for table in tables
        for job in table.jobs or ()
    ]
    note = "What versioned advise says; versioned maintain --all does it."
    if not rows:
        return section("Maintenance that is due", "None. " + note)
    columns = [
        *(("Table", False), ("Job", False), ("Why", False)),
        *(("Rewrites", True), ("Frees", True)),
    ]
    return section("Maintenance that is due", note, grid("cards", columns, rows[:MOST_TABLES]))


def _holds(holds: Sequence[Hold]) -> Markup:
    if not holds:
        return Markup("")
    rows = [
        [
            name(hold.table),
            name(hold.what),
            hold.at,
            name(hold.keeps),
            "" if hold.bytes is None else size_text(hold.bytes),
        ]
        for hold in holds[:MOST_TABLES]
    ]
    columns = [
        *(("Table", False), ("What", False), ("At", False)),
        *(("Keeps", False), ("Old files", True)),
    ]
    note = (
        "Branches, tags, clones, consumers and pins, which expiry and vacuum respect. Old files are "
        "those of that version that the newest version does not have; two holds may need the same ones."
    )
    return section("What keeps versions, files and columns", note, grid("cards", columns, rows))


def _dropped(warehouse: Warehouse) -> Markup:
    if not warehouse.dropped:
        return Markup("")
    rows = [
        [
            name(render_path(table.name)),
            time_text(table.dropped),
            table.user or "",
            time_text(table.until),
            tag("code", _undrop(table)),
        ]
        for table in warehouse.dropped[:MOST_TABLES]
    ]
    columns = [
        *(("Table", False), ("Dropped (UTC)", False), ("By", False)),
        *(("At least until (UTC)", False), ("Bring it back", False)),
    ]
    return section("Dropped tables that can be undropped", "", grid("cards", columns, rows))


def _undrop(table: DroppedTable) -> str:
    """The command that brings a table back; names in backticks would be commands of the shell."""
    return f"versioned undrop {shlex.quote(render_path(table.name))} --uuid {table.uuid}"
