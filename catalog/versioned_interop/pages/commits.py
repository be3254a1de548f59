"""The commits of a table, for its page: the newest one by one, earlier ones by month."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from versioned_interop.pages.contents import RowCounts
from versioned_interop.pages.drawing import Markup, count_text, tag, time_text
from versioned_interop.pages.frame import section

MOST_COMMITS = 100
MOST_MONTHS = 24


def history(commits: Sequence[dict[str, Any]], rows: Mapping[int, RowCounts]) -> Markup:
    """The commits, newest first."""
    names = ("Version", "Time (UTC)", "Commit", "Rows", "Segments", "Writer")
    numbers = {"Version", "Rows", "Segments"}
    header = [
        tag("th", name, class_="number" if name in numbers else None, scope="col") for name in names
    ]
    newest, older = commits[:MOST_COMMITS], commits[MOST_COMMITS:]
    months = [list(group) for _, group in itertools.groupby(older, _month)]
    if joined := months[MOST_MONTHS - 1 :]:
        months[MOST_MONTHS - 1 :] = [list(itertools.chain.from_iterable(joined))]
    body = [_commit(commit, rows) for commit in newest]
    body += [_older(month, rows) for month in months]
    note = (
        "Newest first. Rows are those that a commit added (+) and removed (−); of one that copies "
    )
    note += "rows, as UPDATE may, the difference."
    if older:
        note += f" The {count_text(len(older))} commits before the newest {len(newest)} are "
        note += "summed up by month."
    table = tag("table", tag("thead", tag("tr", *header)), tag("tbody", *body), class_="history")
    return section("History", note, table)


def _month(commit: dict[str, Any]) -> str:
    return f"{commit['time']:%Y-%m}"


def _commit(commit: dict[str, Any], rows: Mapping[int, RowCounts]) -> Markup:
    cell: list[str] = [tag("b", commit["operation"] or "expired")]
    details = [*(commit["changes"] or ()), *(commit["parameters"] or ())]
    details += [commit["message"]] if commit["message"] else []
    if details:
        cell.append(tag("div", "; ".join(details), class_="soft changes"))
    signs = (("+", commit["segments_added"]), ("−", commit["segments_removed"]))
    author = ", ".join(filter(None, (commit["user"], commit["application"], commit["writer"])))
    return tag(
        "tr",
        tag("td", count_text(commit["version"]), class_="number version"),
        tag("td", time_text(commit["time"]), class_="time"),
        tag("td", *cell, class_="what"),
        _rows_cell([rows.get(commit["version"], RowCounts(commit["rows_added"] or 0, 0))]),
        tag(
            "td",
            " ".join(f"{sign}{count_text(count)}" for sign, count in signs if count),
            class_="number segments",
        ),
        tag("td", author, class_="soft who"),
    )


def _rows_cell(counts: Sequence[RowCounts]) -> Markup:
    added, removed = (sum(getattr(c, name) for c in counts) for name in ("added", "removed"))
    parts: list[str] = [f"+{count_text(added)}"] if added else []
    if removed:
        parts += [" "] if parts else []
        parts.append(tag("span", f"−{count_text(removed)}", class_="removed"))
    return tag("td", *parts, class_="number rows")


def _older(commits: Sequence[dict[str, Any]], rows: Mapping[int, RowCounts]) -> Markup:
    """The commits of a month, or of several, summed up."""
    first, last = _month(commits[-1]), _month(commits[0])
    counts = Counter(commit["operation"] or "expired" for commit in commits)
    cell = ", ".join(
        f"{count_text(count)} {operation}" for operation, count in counts.most_common()
    )
    versions = f"{count_text(commits[-1]['version'])}–{count_text(commits[0]['version'])}"
    return tag(
        "tr",
        tag("td", versions, class_="number version"),
        tag("td", last if first == last else f"{first} to {last}", class_="time"),
        tag("td", cell, class_="what"),
        _rows_cell([rows[c["version"]] for c in commits if c["version"] in rows]),
        tag("td", "", class_="number segments"),
        tag("td", "", class_="who"),
        class_="older",
    )
