"""Every type by every path with every feature passes, or is refused with the reason in ``kinds``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from every_type.kinds import FEATURES, KINDS, Kind, slug
from every_type.lanes import FORMS, ArrowLane, Lane, SourceLane, SqlLane, plain
from pairwise import matrix
from versioned_catalog import Catalog, Table
from versioned_catalog.model.ddl import render_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NULL = (None,)


def filled(lane: Lane, kind: Kind, **how: Any) -> Table:
    """A table with the kind's values, and a null after them."""
    table = lane.create(f"id BIGINT, x {kind.sql}", **how)
    lane.write(table, kind, (*kind.values, *NULL))
    return table


def whole(lane: Lane, kind: Kind) -> list[tuple[int, Any]]:
    """What ``filled`` must show."""
    return list(enumerate([*lane.expected(kind), None]))


def rows(lane: Lane, kind: Kind, folder: Path) -> None:
    table = filled(lane, kind)
    assert lane.show(table, kind) == whole(lane, kind)
    table.refresh().maintenance.compact(strategy="full")
    assert lane.show(table, kind) == whole(lane, kind)


def filter_(lane: Lane, kind: Kind, folder: Path) -> None:
    table = filled(lane, kind)
    everything = whole(lane, kind)
    assert lane.show(table, kind, where=("is null", None)) == everything[-1:]
    assert lane.show(table, kind, where=("is not null", None)) == everything[:-1]
    for at, value in enumerate(kind.values):
        assert lane.show(table, kind, where=("=", value)) == [everything[at]], value.sql
        assert lane.show(table, kind, where=("<", value)) == everything[:at], value.sql
        assert lane.show(table, kind, where=(">=", value)) == everything[at:-1], value.sql
    if kind.alike is not None:
        assert lane.show(table, kind, where=("=", kind.alike)) == everything[:1]


def statistics(lane: Lane, kind: Kind, folder: Path) -> None:
    table = filled(lane, kind)
    shown = lane.expected(kind)
    ends = (shown[0], shown[-1]) if lane.compares(kind) else (False, False)
    assert lane.ends(table, kind) == (len(shown), *ends)


def default(lane: Lane, kind: Kind, folder: Path) -> None:
    table = filled(lane, kind)
    count = len(kind.values) + 1
    lane.alter(table, kind, "add y", kind.last)
    lane.write(table, kind, NULL, first=count)
    last = lane.expected(kind)[-1]
    assert lane.show(table, kind, column="y") == [(at, last) for at in range(count + 1)]


def widen(lane: Lane, kind: Kind, folder: Path) -> None:
    table = filled(lane, kind)
    other = "DATE" if kind.sql == "BOOLEAN" else "BOOLEAN"
    lane.alter(table, kind, other if kind.wider is None else kind.wider.sql)
    wider = list(enumerate([*lane.widened(kind), None]))
    assert lane.show(table, kind) == wider


def nested(form: str) -> Callable[[Lane, Kind, Path], None]:
    def cell(lane: Lane, kind: Kind, folder: Path) -> None:
        table = lane.create(f"id BIGINT, x {FORMS[form].ddl.format(kind.sql)}")
        lane.write(table, kind, (*kind.values, *NULL), FORMS[form])
        assert lane.show(table, kind, FORMS[form]) == whole(lane, kind)

    return cell


def key(lane: Lane, kind: Kind, folder: Path) -> None:
    table = lane.create(f"id BIGINT, x {kind.sql} NOT NULL", primary_key=["x"])
    lane.write(table, kind, kind.values)
    lane.write(table, kind, kind.values[:1], first=100)
    first, *others = enumerate(lane.expected(kind))
    assert lane.show(table, kind) == [*others, (100, first[1])]
    assert lane.show(table, kind, where=("=", kind.values[0])) == [(100, first[1])]


def partition(lane: Lane, kind: Kind, folder: Path) -> None:
    table = filled(lane, kind, partitioned_by=["x"])
    assert lane.show(table, kind) == whole(lane, kind)
    assert table.refresh().snapshot().partitions().num_rows == len(kind.values) + 1
    for at, value in enumerate(kind.values):
        assert lane.show(table, kind, where=("=", value)) == [whole(lane, kind)[at]], value.sql


def changes(lane: Lane, kind: Kind, folder: Path) -> None:
    table = filled(lane, kind)
    table.refresh().delete([("id", "=", 0)])
    inserted = [(*row, "insert") for row in whole(lane, kind)]
    deleted = (*whole(lane, kind)[0], "delete")
    found = lane.changes(table, kind)
    assert sorted(found, key=lambda row: (row[2], row[0])) == [deleted, *inserted]


def pin(lane: Lane, kind: Kind, folder: Path) -> None:
    table = filled(lane, kind)
    table.refresh().pin_schema("job")
    lane.alter(table, kind, "drop x")
    assert lane.show(table, kind, pin="job") == whole(lane, kind)
    lane.write(table, kind, kind.values[-1:] or NULL, first=50, pin="job")
    assert lane.show(table, kind, pin="job")[-1] == (50, [None, *lane.expected(kind)][-1])
    assert table.refresh().schema.names == ["id"]


def publish(lane: Lane, kind: Kind, folder: Path) -> None:
    from publish.engines import PYICEBERG, metadata_of  # imports much

    table = filled(lane, kind, properties={"publish": "iceberg"})
    found = PYICEBERG.read(metadata_of(table), None, None)
    values = kind.python if kind.published is None else list(kind.published)
    in_order = sorted(found, key=lambda row: row["id"])
    assert [plain(row["x"]) for row in in_order] == [*map(plain, values), None]


def import_(lane: Lane, kind: Kind, folder: Path) -> None:
    lane.lake(kind, folder)
    name = f"{lane.namespace}.imported"
    lane.catalog.import_files(name, folder, copy=True)
    table = lane.catalog.load_table(name)
    found = lane.imported(kind)
    assert render_type(table.schema.get(("x",)).type) == found.sql
    assert lane.show(table, replace(kind, show=found.show)) == list(enumerate(found.values))


CELLS: dict[str, Callable[[Any, Kind, Path], None]] = {
    "rows": rows,
    "filter": filter_,
    "statistics": statistics,
    "default": default,
    "widen": widen,
    **{form: nested(form) for form in FORMS},
    "key": key,
    "partition": partition,
    "changes": changes,
    "pin": pin,
    "publish": publish,
    "import": import_,
}


def check(lane: Any, path: Any, kind: Kind, feature: str, folder: Path) -> None:
    """Run a cell; where a refusal is expected, the error must say the reason."""
    refusal = kind.refusal(path, feature)
    if refusal is None:
        CELLS[feature](lane, kind, folder)
        return
    with pytest.raises(Exception, match=refusal):
        CELLS[feature](lane, kind, folder)


def test_each_feature_has_a_cell() -> None:
    assert tuple(CELLS) == FEATURES


def named(kind: Kind, feature: str) -> str:
    return f"{slug(kind.name)}-{slug(feature)}"


def in_short_set(kind: Kind, feature: str) -> Collection[Hashable]:
    """Each group with each feature, but none that PyIceberg has to read."""
    slow = feature == "publish" and kind.refusal("arrow", feature) is None
    return () if slow else {(kind.group, feature)}


CASES = [(kind, feature) for kind in KINDS for feature in FEATURES]


@pytest.mark.parametrize(("kind", "feature"), matrix(CASES, named, in_short_set))
def test_arrow(tmp_path: Path, kind: Kind, feature: str) -> None:
    catalog = Catalog(tmp_path / "warehouse")
    catalog.create_namespace("db")
    folder = tmp_path / "lake"
    folder.mkdir()
    check(ArrowLane(catalog, "db"), "arrow", kind, feature, folder)


@pytest.mark.nightly
@pytest.mark.parametrize(("kind", "feature"), [pytest.param(*c, id=named(*c)) for c in CASES])
def test_sql(
    sql_spark: SparkSession, catalog: Catalog, ns: str, tmp_path: Path, kind: Kind, feature: str
) -> None:
    check(SqlLane(sql_spark, catalog, ns), "sql", kind, feature, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize(("kind", "feature"), [pytest.param(*c, id=named(*c)) for c in CASES])
def test_source(
    spark: SparkSession, catalog: Catalog, ns: str, tmp_path: Path, kind: Kind, feature: str
) -> None:
    check(SourceLane(spark, catalog, ns), "source", kind, feature, tmp_path)
