"""Every type by every path with every feature passes, or is refused with the reason in ``kinds``."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from every_type.kind import FEATURES, Kind, Refusal, slug
from every_type.kinds import KINDS
from every_type.lanes import FORMS, ArrowLane, Form, Lane, SourceLane, SqlLane, plain
from pairwise import matrix
from versioned_catalog import Catalog, Table
from versioned_catalog.model.ddl import render_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NULL = (None,)


def filled(lane: Lane, kind: Kind, **how: Any) -> Table:
    """A table with the kind's values, and a null after them."""
    properties = kind.properties("x") | how.pop("properties", {})
    table = lane.create(f"id BIGINT, x {kind.sql}", properties=properties, **how)
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
        inside = FORMS[form]
        properties = kind.properties(inside.path)
        table = lane.create(f"id BIGINT, x {inside.ddl.format(kind.sql)}", properties=properties)
        lane.write(table, kind, (*kind.values, *NULL), inside)
        assert lane.show(table, kind, inside) == whole(lane, kind)
        if kind.logical is not None:
            assert_is_logical(lane, table, kind, inside)

    return cell


def assert_is_logical(lane: Lane, table: Table, kind: Kind, form: Form) -> None:
    """Check that a nested column takes and shows Arrow's own types, and no value that is none."""
    shown = table.refresh().scan(["x"]).to_arrow(logical_types=True)
    own = kind.arrow if kind.in_arrow is None else kind.in_arrow.type
    assert shown.schema.field("x").type == form.arrow(own)
    table.append(shown)
    again = table.refresh().scan(["x"]).to_arrow(logical_types=True)
    assert repr(again["x"].to_pylist()) == repr(shown["x"].to_pylist() * 2)
    assert kind.unfit is not None
    value, refusal = kind.unfit
    with pytest.raises(Exception, match=refusal.reason):
        lane.write(table, kind, [value], form)


def key(lane: Lane, kind: Kind, folder: Path) -> None:
    table = lane.create(
        f"id BIGINT, x {kind.sql} NOT NULL", primary_key=["x"], properties=kind.properties("x")
    )
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
    if kind.logical is not None:
        table.alter().set_logical("x", kind.logical).commit()
    assert lane.show(table, replace(kind, show=found.show)) == list(enumerate(found.values))


def in_arrow(lane: Lane, kind: Kind, folder: Path) -> None:
    table = filled(lane, kind)
    shown = table.refresh().scan().to_arrow(logical_types=True).sort_by("id")
    own = pa.array(kind.python, kind.arrow) if kind.in_arrow is None else kind.in_arrow
    assert shown.schema.field("x").type == own.type
    assert comparable(shown["x"]) == [*comparable(own), None]
    table.refresh().append(shown.slice(len(kind.values)))
    table.refresh().append(shown.slice(0, len(kind.values)))
    assert lane.show(table, kind) == sorted(whole(lane, kind) * 2, key=lambda row: row[0])


def comparable(values: pa.Array) -> list[Any]:
    """Values that equal themselves."""
    return [plain(value) for value in values.to_pylist()]


def checked(lane: Lane, kind: Kind, folder: Path) -> None:
    """A value that is none of the type is refused, and nothing is written."""
    assert kind.unfit is not None
    value, _ = kind.unfit
    table = filled(lane, kind)
    try:
        lane.write(table, kind, [*kind.values[:1], value], first=100)
    finally:
        assert lane.show(table, kind) == whole(lane, kind)


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
    "in arrow": in_arrow,
    "checked": checked,
}


def check(lane: Any, path: Any, kind: Kind, feature: str, folder: Path) -> None:
    """Run a cell; where a refusal is expected, the error must name the table and the column, too."""
    refusal = kind.refusal(path, feature)
    if feature == "checked" and refusal is None and kind.unfit is not None:
        refusal = kind.unfit[1]
    if refusal is None:
        CELLS[feature](lane, kind, folder)
        return
    with pytest.raises(Exception) as caught:
        CELLS[feature](lane, kind, folder)
    assert_says(str(caught.value), refusal, by_spark=path != "arrow")


TABLE = re.compile(r"\b(t0|imported)\b")
COLUMN = re.compile(r"(?<![\w'])[xy](\.(element|key|value|f))?(?![\w'])")


def assert_says(error: str, refusal: Refusal, *, by_spark: bool) -> None:
    """Check that an error says what is refused, of which table and column, and what to do."""
    if by_spark and refusal.spark is not None and re.search(refusal.spark, error):
        return
    for pattern in (refusal.reason, refusal.way_out, TABLE, COLUMN):
        assert re.search(pattern, error), error


def test_each_feature_has_a_cell() -> None:
    assert tuple(CELLS) == FEATURES


def named(kind: Kind, feature: str) -> str:
    return f"{slug(kind.name)}-{slug(feature)}"


def in_spark(kind: Kind, feature: str) -> bool:
    """Spark cuts some values before they get to us; these have no literal."""
    return feature != "checked" or (kind.unfit is not None and kind.unfit[0].sql != "")


def in_short_set(kind: Kind, feature: str) -> Collection[Hashable]:
    """Each group with each feature, but none that PyIceberg has to read."""
    slow = feature == "publish" and kind.refusal("arrow", feature) is None
    return () if slow else {(kind.group, feature)}


CASES = [(kind, feature) for kind in KINDS for feature in kind.features]
SPARK_CASES = [pytest.param(*case, id=named(*case)) for case in CASES if in_spark(*case)]


@pytest.mark.parametrize(("kind", "feature"), matrix(CASES, named, in_short_set))
def test_arrow(tmp_path: Path, kind: Kind, feature: str) -> None:
    catalog = Catalog(tmp_path / "warehouse")
    catalog.create_namespace("db")
    folder = tmp_path / "lake"
    folder.mkdir()
    check(ArrowLane(catalog, "db"), "arrow", kind, feature, folder)


@pytest.mark.nightly
@pytest.mark.parametrize(("kind", "feature"), SPARK_CASES)
def test_sql(
    sql_spark: SparkSession, catalog: Catalog, ns: str, tmp_path: Path, kind: Kind, feature: str
) -> None:
    check(SqlLane(sql_spark, catalog, ns), "sql", kind, feature, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize(("kind", "feature"), SPARK_CASES)
def test_source(
    spark: SparkSession, catalog: Catalog, ns: str, tmp_path: Path, kind: Kind, feature: str
) -> None:
    check(SourceLane(spark, catalog, ns), "source", kind, feature, tmp_path)
